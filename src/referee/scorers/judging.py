"""What the judged scorers share: verdicts on a list, reasons, the material of a run, options."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from referee.errors import OptionError
from referee.jsonvalue import canonical
from referee.judge.forms import one_for_each, one_of
from referee.messages import Message, Text, ToolCall, ToolResult
from referee.pipeline import Scorer
from referee.prompts import RULES, Listing, Prompt
from referee.runs import Run
from referee.scores import rounded
from referee.steps import Consultation, NotScorable

A = TypeVar("A")
P = TypeVar("P")

#: How verdicts are asked for: as JSON with reasons, or as one word each, read from its log-probabilities.
VerdictMode: TypeAlias = Literal["json", "logprobs"]

_EMPTY_ANSWER = "the answer is empty"


class Reason(msgspec.Struct, frozen=True):
    """The reply to a question for the reason of a score."""

    reason: str


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """The judge's verdict on one thing.

    Attributes:
        id: The short id under which it was asked about.
        reason: Why; empty for a verdict read from log-probabilities.
        verdict: One of the words of the question.
        confidence: Where verdicts are read from log-probabilities: the probability of the question's first word (of yes);
            of a question for one verdict alone, the probability of the word that was chosen.
    """

    id: str
    reason: str
    verdict: str
    confidence: float | None = None


class VerdictQuestion:
    """A question that gets one verdict for each entry of a list.

    Args:
        template: What is asked, with `{name}` for each material. It says what each word means.
        words: The words a verdict can be. The first counts towards the score.
        listing: The name of the material that is the list.
        alone: What is asked of one entry alone, for verdicts of one word, where `unsure` is left out: small models hide
            in it, and the probability says it better. `None` takes the template.
        opposite: Whether `alone` asks for the opposite, so that yes there is no here: small models stumble over questions
            such as "is it not in the text?".

    Example:
        >>> question = VerdictQuestion("Is each claim true? yes: it is. no: it is not.\\n{claims}", ("yes", "no"), "claims")
        >>> question.words
        ('yes', 'no')
    """

    def __init__(
        self,
        template: str,
        words: Sequence[str],
        listing: str,
        *,
        alone: str | None = None,
        opposite: bool = False,
    ) -> None:
        self.template = template
        self.words = tuple(words)
        self.listing = listing
        self.alone = alone or template
        chosen = [word for word in self.words if word != "unsure"]
        self._choice = one_of(*chosen)
        #: What each word of the single question stands for.
        self._meaning = dict(zip(chosen, reversed(chosen) if opposite else chosen))
        entry: Any = msgspec.defstruct(
            "Entry", [("id", str), ("reason", str), ("verdict", Literal[self.words])], frozen=True
        )
        self._reply = msgspec.defstruct("Verdicts", [("verdicts", list[entry])], frozen=True)

    async def ask(
        self, judge: Consultation, entries: Listing, *, mode: VerdictMode = "json", **material: str | Listing
    ) -> list[Verdict]:
        """Ask for the verdicts, in the order of the list. An empty list asks nothing.

        Args:
            judge: The step's judge.
            entries: What is judged.
            mode: `json` asks once for all, with reasons; `logprobs` asks for one word each.
            material: The other material by name.

        Raises:
            JudgeError: There is no usable answer.
        """
        if not entries.ids:
            return []
        if mode == "logprobs":
            return list(
                await asyncio.gather(
                    *(self._chosen(judge, entries, place, material) for place in range(len(entries.ids)))
                )
            )
        prompt = Prompt(self.template, **material, **{self.listing: entries})
        reply: Any = await judge.ask(prompt, one_for_each(self._reply, verdicts=entries.ids))
        return [Verdict(given.id.strip(), given.reason, given.verdict) for given in reply.verdicts]

    async def _chosen(
        self, judge: Consultation, entries: Listing, place: int, material: Mapping[str, str | Listing]
    ) -> Verdict:
        only = entries.only(place)
        choice = await judge.ask(Prompt(self.alone, **material, **{self.listing: only}), self._choice)
        first = self._meaning[self.words[0]]
        return Verdict(only.ids[0], "", self._meaning[choice.word], choice.probabilities[first])


async def ask_verdict(
    judge: Consultation, prompt: Prompt, words: Sequence[str], *, mode: VerdictMode = "json"
) -> Verdict:
    """Ask for one verdict on the whole material. It has no id; its confidence is that of the chosen word.

    Args:
        judge: The step's judge.
        prompt: What is asked. It says what each word means.
        words: The words the verdict can be.
        mode: `json` asks for the verdict with its reason, `logprobs` for one word.

    Raises:
        JudgeError: There is no usable answer.
    """
    if mode == "logprobs":
        choice = await judge.ask(prompt, one_of(*words))
        return Verdict("", "", choice.word, choice.probabilities[choice.word])
    given: Any = await judge.ask(prompt, _one_verdict(tuple(words)))
    return Verdict("", given.reason, given.verdict)


@lru_cache(maxsize=256)
def _one_verdict(words: tuple[str, ...]) -> Any:
    return msgspec.defstruct("Verdict", [("reason", str), ("verdict", Literal[words])], frozen=True)


def verdict_lines(verdicts: Iterable[Verdict], entries: Listing) -> str:
    """The verdicts with what they are about, for a question about the reason."""
    texts = dict(zip(entries.ids, entries.texts))
    return "\n".join(
        f"{verdict.verdict}: {' '.join(texts[verdict.id].split())}"
        + (f" ({' '.join(verdict.reason.split())})" if verdict.reason else "")
        for verdict in verdicts
    )


REASON = """\
The answer got {score} points of {scale} for {aspect}. The points were counted from the verdicts below.
Say in one or two sentences why, for a person who wants to improve the answer. Do not question the score.
{verdicts}
"""


async def ask_reason(
    judge: Consultation, aspect: str, score: float, scale: float, verdicts: str, **material: str
) -> str:
    """Ask why a score is what it is.

    Args:
        judge: The step's judge.
        aspect: What was scored, in our words.
        score: The score.
        scale: The best score.
        verdicts: What the score was counted from.
        material: Further material, shown before the verdicts.

    Raises:
        JudgeError: There is no usable answer.
    """
    words = REASON.replace("{score}", f"{score:g}").replace("{scale}", f"{scale:g}").replace("{aspect}", aspect)
    shown = "".join(f"{{{name}}}\n" for name in material)
    return (await judge.ask(Prompt(f"{shown}{words}", verdicts=verdicts, **material), Reason)).reason


def share(part: float, whole: int, scale: float) -> float:
    """`part / whole * scale`, rounded as every judged score is."""
    return rounded(part / whole * scale)


async def called(function: Callable[[Run], Any], run: Run) -> Any:
    """What a user's function of the run gives, sync or async."""
    found = function(run)
    return await found if inspect.isawaitable(found) else found


def require_answer(run: Run) -> str:
    """The final answer.

    Raises:
        NotScorable: It is empty.
    """
    if not run.final_text.strip():
        raise NotScorable(_EMPTY_ANSWER)
    return run.final_text


def require_ground_truth(run: Run) -> str:
    """The right answer, as text.

    Raises:
        NotScorable: There is none.
    """
    text = "" if run.ground_truth is None else as_text(run.ground_truth)
    if not text.strip():
        raise NotScorable("there is no ground truth")
    return text


def require_scale(scale: float) -> float:
    """The scale, if it is a positive number.

    Raises:
        OptionError: It is not.
    """
    return _number("scale", scale, above=0.0)


def require_share(option: str, value: float) -> float:
    """The value, if it is a number from 0 to 1.

    Raises:
        OptionError: It is not.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise OptionError(f"{option} must be a number from 0 to 1, not {value!r}")
    return value


def _number(option: str, value: float, *, above: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not above < value < float("inf"):
        raise OptionError(f"{option} must be a number above {above:g}, not {value!r}")
    return value


def require_texts(option: str, value: Sequence[str] | None) -> list[str] | None:
    """The value as a list, if it is one of strings, or `None`.

    Raises:
        OptionError: It is neither.
    """
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(text, str) for text in value):
        raise OptionError(f"{option} must be a list of texts, not {value!r}")
    return list(value)


def require_fields(option: str, value: Mapping[str, Any] | None, fields: type[A]) -> A:
    """The value as a struct of these fields; those that are not given have their defaults.

    Raises:
        OptionError: A field is unknown, or its value is out of its range.
    """
    try:
        return msgspec.convert({} if value is None else value, fields)
    except msgspec.ValidationError as error:
        raise OptionError(f"{option}: {error}") from None


def require_mode(mode: str) -> VerdictMode:
    """The way of asking for verdicts, if it is one.

    Raises:
        OptionError: It is neither `json` nor `logprobs`.
    """
    if mode not in ("json", "logprobs"):
        raise OptionError(f"verdicts must be 'json' or 'logprobs', not {mode!r}")
    return mode  # type: ignore[return-value]


def judged(
    scorer: Scorer[P, A],
    kind: str,
    options: Mapping[str, Any],
    *,
    questions: Sequence[str | VerdictQuestion],
    repeats: int,
) -> Scorer[P, A]:
    """The last step of every judged factory: the scorer with its name, options, prompts and repeats.

    Args:
        scorer: The scorer with its steps and its judge.
        kind: The factory's short name.
        options: The factory's arguments without the model, as plain data.
        questions: The templates of its questions.
        repeats: How often a run is scored.
    """
    texts = [
        text
        for question in questions
        for text in ([question] if isinstance(question, str) else dict.fromkeys((question.template, question.alone)))
    ]
    # A judge that is an object can't be written down; a model's name can.
    model = scorer.judge if isinstance(scorer.judge, str) else None
    named = scorer.as_kind(kind, {**options, "model": model}, prompts=[RULES, *texts])
    return named.with_repeats(repeats)


def given_or_tool_results(context: Sequence[str] | None, run: Run) -> list[str]:
    """The context that was given (an empty one too), else all tool results of the run, in any form.

    Raises:
        NotScorable: There is none.
    """
    pieces = [piece for piece in (tool_results(run) if context is None else context) if piece.strip()]
    if not pieces:
        raise NotScorable(
            "there is no context: none was given, and the run has no tool results"
            if context is None
            else "the context is empty"
        )
    return pieces


def tool_results(run: Run) -> list[str]:
    """What the tools of a run gave back, in order, as text: results beside their call or alone, remembered ones too."""
    parts = [part for message in (*run.history, *run.input, *run.output) for part in message.parts]
    found = [part.result for part in parts if isinstance(part, (ToolCall, ToolResult)) and part.result is not None]
    return [as_text(result) for result in found]


def as_text(value: Any) -> str:
    """A JSON value as text: a string as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return canonical(value).decode()
    except (UnicodeEncodeError, TypeError):  # a lone surrogate, or a value that is no JSON
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def transcript(messages: Iterable[Message], call_ids: Iterable[str] = (), *, most_result: int = 600) -> str:
    """A conversation as text: one line for each text, tool call and result, further lines indented.

    Args:
        messages: The messages.
        call_ids: Ids for the tool calls (those that count as calls), in order.
        most_result: The most characters that are shown of one tool result.

    Example:
        >>> call = ToolCall(name="weather", args={"city": "Ghent"}, state="result", result="rain")
        >>> print(transcript([Message("user", [Text("Rain?")]), Message("assistant", [call, Text("Yes.")])], ["c1"]))
        user: Rain?
        assistant calls c1: weather {"city":"Ghent"}
        result of c1: rain
        assistant: Yes.
    """
    ids = iter(call_ids)
    lines = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                lines.append(f"{message.role}: {part.text}")
            elif isinstance(part, ToolCall) and part.called:
                lines += _call_lines(part, next(ids, ""), most_result)
    return "\n".join("\n    ".join(line.splitlines()) for line in lines)


def _call_lines(call: ToolCall, call_id: str, most_result: int) -> list[str]:
    name = f"{call_id}: {call.name}" if call_id else call.name
    lines = [f"assistant calls {name} {as_text({} if call.args is None else call.args)}"]
    outcome = "failure" if call.failed else "result"
    given = call.error if call.result is None else call.result
    if given is not None:
        text = as_text(given)
        cut = f" … ({len(text):,} characters in all)" if len(text) > most_result else ""
        lines.append(f"{outcome} of {call_id or call.name}: {text[:most_result]}{cut}")
    return lines
