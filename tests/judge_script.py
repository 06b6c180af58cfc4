"""A scripted judge that speaks the abstract replies of the conformance vectors in whatever form the library asks for."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec

from referee.errors import EndpointError
from referee.judge import Judge, Reply, Request, ScriptedModel
from referee.judge.forms import json_schema

#: Abstract lists with one value for each thing asked about.
PER_ENTRY = (
    "verdicts",
    "calls",
    "satisfied",
    "levels",
    "used",
    "matches",
    "impacts",
    "necessary",
    "ordered",
    "supported",
    "answered",
)
#: Abstract lists that say something about the entries, and are no part of the reply.
ABOUT_ENTRIES = ("as_written", "context", "criteria")
#: Our names of lists that the vectors call otherwise.
OUR_NAMES = {"major_issues": "issues"}
#: Our names of lists for which the judge's recorded words are taken, because later prompts must show them.
RECORDED = {"ground_truth_units": "groundTruthUnits", "matches": "matches", "contradictions": "contradictions"}


class AbstractJudge:
    """Replies to each question of a case from its `judge_abstract`; a question that it can't place is a problem.

    Attributes:
        judge: The judge for the scorer.
        problems: Questions that were asked and have no reply.
    """

    def __init__(self, case: dict[str, Any]) -> None:
        self.replies: dict[str, list[Any]] = case["judge_abstract"]
        self.words = recorded_words(case)
        self.asked: Counter[str] = Counter()
        self.problems: list[str] = []
        self.model = ScriptedModel(self.reply)
        self.judge = Judge(self.model)

    @property
    def prompts(self) -> str:
        """Everything that was asked."""
        return "\n".join(request.text for request in self.model.requests)

    def reply(self, request: Request) -> Any:
        """The reply to a question."""
        schema = json_schema(request.returns)
        assert schema is not None
        question = self.question(schema, request)
        replies = self.replies.get(question)
        if not replies:
            if question != "reason":
                self.problems.append(f"{question} was asked: {request.text}")
            return {"reason": "because"}
        place = self.asked[question]
        self.asked[question] += 1
        given = replies[min(place, len(replies) - 1)]
        if given == "invalid":
            return "no verdict can be given"
        if given == "truncated":
            valid = next(reply for reply in replies if reply != "truncated")
            whole = filled(schema, asked_ids(request), valid, self.words)
            return Reply(text=msgspec.json.encode(whole).decode()[:-2], finish="length")
        if question == "reason":
            return EndpointError("the reason fails") if given == "fails" else {"reason": given}
        return filled(schema, asked_ids(request), given, self.words)

    def question(self, schema: dict[str, Any], request: Request) -> str:
        """Which of the abstract questions this is."""
        fields = schema["properties"]
        if list(fields) == ["reason"]:
            return "reason"
        material = getattr(request.prompt, "material", {})
        if "user" in self.replies or "system" in self.replies:
            return "system" if "system_prompt" in material else "user"
        if "source" in self.replies:
            # A summary's claims, its questions, and the verdicts on both are questions of their own here.
            return "coverage" if "questions" in material else "source"
        if not asked_ids(request) and all(is_texts(field) for field in fields.values()):
            return "extract"
        return "judge"


def asked_ids(request: Request) -> dict[str, tuple[str, ...]]:
    """The ids that the question hands out, by the name of the reply's list."""
    ids: dict[str, tuple[str, ...]] = getattr(request.returns, "__asked__", {})
    return ids


def is_texts(field: dict[str, Any]) -> bool:
    """Whether a field of the reply is a list of texts."""
    return field.get("type") == "array" and field["items"].get("type") == "string"


def recorded_words(case: dict[str, Any]) -> dict[str, list[str]]:
    """What the recorded judge wrote in the lists of `RECORDED`, as texts."""
    words: dict[str, list[str]] = {}
    for step in case.get("judge", ()):
        found = step.get("object") or as_object(step.get("text", ""))
        for ours, theirs in RECORDED.items():
            if theirs in found:
                words[ours] = [each if isinstance(each, str) else json.dumps(each) for each in found[theirs]]
    return words


def as_object(text: str) -> dict[str, Any]:
    """The JSON object in a recorded text, with or without a code fence; an empty one if there is none."""
    try:
        found: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return {}
    return found


def filled(
    schema: dict[str, Any], asked: dict[str, tuple[str, ...]], given: dict[str, Any], words: dict[str, list[str]]
) -> dict[str, Any]:
    """A reply of this form that says what an abstract reply says."""
    per_entry = [given[key] for key in given if key in PER_ENTRY]
    others = {key: given[key] for key in given if key not in (*PER_ENTRY, *ABOUT_ENTRIES)}
    reply: dict[str, Any] = {}
    for name, field in schema["properties"].items():
        if name in asked:
            entry = schema["$defs"][field["items"]["$ref"].rpartition("/")[2]]
            reply[name] = entries(entry["properties"], asked[name], per_entry, given, words.get(name, []))
        elif is_texts(field):
            reply[name] = texts(taken(others, name), words.get(name, []))
        elif name == "reason":
            reply[name] = "because"
        else:
            value = taken(others, name) if others else per_entry[0]
            reply[name] = in_our_words(value, field, None)
    return reply


def taken(others: dict[str, Any], name: str) -> Any:
    """The value of this name, in the vectors' words or ours, else the first one; it is taken out."""
    return others.pop(next((key for key in others if key in (name, OUR_NAMES.get(name))), next(iter(others))))


def texts(given: Any, words: list[str]) -> list[str]:
    """Texts as they are given, or so many of them: the recorded ones first."""
    if isinstance(given, list):
        return given
    return [*words[:given], *(f"Thing {number} is so." for number in range(len(words) + 1, given + 1))]


def entries(
    fields: dict[str, Any],
    ids: tuple[str, ...],
    per_entry: list[list[Any]],
    given: dict[str, Any],
    words: list[str],
) -> list[dict[str, Any]]:
    """One entry for each value of the abstract lists, under the ids that were handed out, in order."""
    judged = [name for name in fields if name not in ("id", "reason")]
    count = max(map(len, per_entry), default=0)
    positions = given.get("context", given.get("criteria", list(range(count))))
    written = given.get("as_written", [None] * count)
    found = []
    for place in range(count):
        position = positions[place]
        known = isinstance(position, int) and 0 <= position < len(ids)
        entry: dict[str, Any] = {"id": ids[position] if known else f"x{position}", "reason": "because"}
        if place < len(words):
            entry["reason"] = words[place]
        for name, values in zip(judged, per_entry):
            entry[name] = in_our_words(values[place], fields[name], written[place])
        found.append(entry)
    return found


def in_our_words(value: Any, field: dict[str, Any], written: str | None) -> Any:
    """A value in the words of the library's form; `written` shows the case and spaces that the judge used."""
    words = field.get("enum")
    if words is None:
        return value
    if isinstance(value, bool):
        return _yes_or_no(value, words)
    if value == "invalid":
        return "maybe" if written is None else written
    if written is None:
        return value
    return written if written.strip().casefold() == value else value.join(written.split(value))


def _yes_or_no(value: bool, words: list[str]) -> str:
    pairs = {True: ("yes", "appropriate"), False: ("no", "inappropriate")}
    return next(word for word in pairs[value] if word in words)
