"""Google ADK: sessions, and eval sets of both generations.

An eval case is a recorded conversation that later runs are held against. So it is read as a run, and what it did is
also what is expected: its tool calls as `expected_tool_calls`, its last answer as `ground_truth`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from referee.errors import ReadError
from referee.formats.conversation import Conversation
from referee.formats.decoded import Counts, Decoded, Turns
from referee.formats.fields import integer, mapping, objects, sequence, text, total, type_name
from referee.formats.span_messages import call_of, feed, feed_results, messages_of
from referee.formats.spans import iso_time, nanoseconds
from referee.messages import Part, ToolCall, ToolResult
from referee.runs import Run, Usage

NAME = "adk"
TITLE = "Google ADK sessions and eval sets"

#: The fields of a turn of the older generation.
_OLD_TURN = {"query", "reference", "expected_tool_use", "expected_intermediate_agent_responses"}


def detect(record: Any) -> bool:
    """Whether a record is a session, an eval set, an eval case, or an eval set of the older generation."""
    if isinstance(record, list):
        return bool(record) and all(_is_old_turn(item) or _is_old_case(item) for item in record)
    return isinstance(record, dict) and (
        _is_case(record)
        or _is_old_case(record)
        or _is_session(record)
        or (isinstance(_get(record, "eval_cases"), list) and all(map(_is_case, _get(record, "eval_cases"))))
    )


def _is_case(value: Any) -> bool:
    return isinstance(value, dict) and "conversation" in value and _get(value, "eval_id") is not None


def _is_old_turn(value: Any) -> bool:
    return isinstance(value, dict) and "query" in value and ("expected_tool_use" in value or set(value) <= _OLD_TURN)


def _is_old_case(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    turns = value.get("data")
    return isinstance(turns, list) and bool(turns) and all(map(_is_old_turn, turns))


def _is_session(value: dict[str, Any]) -> bool:
    events = value.get("events")
    if not isinstance(events, list) or "id" not in value:
        return False
    return all(isinstance(event, dict) and "author" in event for event in events) and (
        bool(events) or _get(value, "app_name") is not None
    )


def _get(record: dict[str, Any], name: str) -> Any:
    """A field by its name in snake_case, or the same in camelCase (as the web API writes it)."""
    if name in record:
        return record[name]
    head, *rest = name.split("_")
    return record.get(head + "".join(word.title() for word in rest))


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read a session, or the cases of an eval set; each case is one conversation.

    Raises:
        ReadError: It is neither.
    """
    if not detect(record):
        raise ReadError("is no session and no eval set of Google ADK")
    if isinstance(record, list) and not _is_old_case(record[0] if record else None):
        return _case([_invocation_of_old(turn) for turn in record], {}, turns)
    if isinstance(record, list):
        return _merged([_old_case(case, turns) for case in objects(record)])
    if isinstance(_get(record, "eval_cases"), list):
        return _merged([_new_case(case, turns) for case in objects(_get(record, "eval_cases"))])
    if _is_case(record):
        return _new_case(record, turns)
    return _old_case(record, turns) if _is_old_case(record) else _session(record, turns)


def _merged(cases: list[Decoded]) -> Decoded:
    whole = Decoded([], Counts())
    for case in cases:
        whole.runs += case.runs
        whole.counts.add(case.counts)
    return whole


def _new_case(case: dict[str, Any], turns: Turns) -> Decoded:
    fields: dict[str, Any] = {"id": str(_get(case, "eval_id"))}
    given = mapping(_get(case, "session_input"))
    return _case(objects(case.get("conversation")), fields | _owner(given), turns)


def _old_case(case: dict[str, Any], turns: Turns) -> Decoded:
    fields: dict[str, Any] = {"id": case["name"]} if text(case, "name") else {}
    given = mapping(case.get("initial_session"))
    return _case([_invocation_of_old(turn) for turn in objects(case["data"])], fields | _owner(given), turns)


def _owner(session: dict[str, Any]) -> dict[str, Any]:
    """What a session says of the run: whose it is, and its state."""
    metadata = {name: _get(session, name) for name in ("app_name", "user_id") if _get(session, name)}
    fields: dict[str, Any] = {"metadata": metadata} if metadata else {}
    if mapping(session.get("state")):
        fields["context"] = session["state"]
    return fields


def _invocation_of_old(turn: dict[str, Any]) -> dict[str, Any]:
    """A turn of the older generation as an invocation of the newer."""
    return {
        "user_content": {"role": "user", "parts": [{"text": turn.get("query")}]},
        "final_response": {"role": "model", "parts": [{"text": turn.get("reference")}]},
        "intermediate_data": {
            "tool_uses": [
                {"name": use.get("tool_name"), "args": use.get("tool_input")}
                for use in objects(turn.get("expected_tool_use"))
            ],
            "intermediate_responses": [
                [said.get("author"), [{"text": said.get("text")}]]
                for said in objects(turn.get("expected_intermediate_agent_responses"))
            ],
        },
    }


def _case(invocations: list[dict[str, Any]], fields: dict[str, Any], turns: Turns) -> Decoded:
    talk = Conversation()
    expected: list[list[dict[str, Any]]] = []
    truths: list[str] = []
    for invocation in invocations:
        start = len(talk.messages)
        _add_invocation(talk, invocation)
        answered = talk.messages[start:]
        expected.append([{"name": call.name, "args": call.args} for message in answered for call in message.tool_calls])
        truths.append(next((message.text for message in reversed(answered) if message.role == "assistant"), ""))
    decoded = talk.decoded(turns, **fields)
    if turns == "split" and len(decoded.runs) == len(invocations):
        each = zip(decoded.runs, expected, truths, strict=True)
        decoded.runs = [_expecting(run, calls, truth) for run, calls, truth in each]
    elif turns != "split":
        wanted = [call for turn in (expected[-1:] if turns == "last" else expected) for call in turn]
        decoded.runs = [_expecting(run, wanted, truths[-1] if truths else "") for run in decoded.runs]
    return decoded


def _expecting(run: Run, calls: list[dict[str, Any]], truth: str) -> Run:
    return msgspec.structs.replace(run, expected_tool_calls=calls, ground_truth=truth or None)


def _add_invocation(talk: Conversation, invocation: dict[str, Any]) -> None:
    """One turn: the question, what went on between, and the answer.

    The newer data tells of tools and agents by events. In the older, calls stand apart from the words, so they come
    before the answer in its own message.
    """
    for message in messages_of(_get(invocation, "user_content")):
        feed(talk, message)
    between = mapping(_get(invocation, "intermediate_data"))
    for event in objects(_get(between, "invocation_events")):
        _add_content(talk, event)
    calls: list[Part] = [call_of(use) for use in objects(_get(between, "tool_uses"))]
    for said in sequence(_get(between, "intermediate_responses")):
        _add_said(talk, said)
    answers = messages_of(_get(invocation, "final_response"), "assistant")
    first = answers[0].parts if answers else []
    if calls or first:
        talk.message("assistant", [*calls, *first])
    feed_results(talk, [_result(response) for response in objects(_get(between, "tool_responses"))])


def _add_said(talk: Conversation, said: Any) -> None:
    """An answer of a sub-agent on the way: its author and its parts."""
    pair = sequence(said)
    if len(pair) != 2:
        talk.drop(f"intermediate response that is a {type_name(said)}")
        return
    for message in messages_of({"role": "model", "parts": pair[1]}):
        if message.parts:
            talk.message("assistant", message.parts, name=pair[0] if isinstance(pair[0], str) else None)


def _result(response: dict[str, Any]) -> ToolResult:
    return ToolResult(response.get("response"), text(response, "id"), text(response, "name"))


def _session(session: dict[str, Any], turns: Turns) -> Decoded:
    talk = Conversation()
    usages = []
    for event in objects(session.get("events")):
        if event.get("partial") is True:
            continue  # a piece of an answer that comes whole in a later event
        _add_content(talk, event)
        usage = mapping(_get(event, "usage_metadata"))
        if usage:
            usages.append(_usage(usage))
        problem = text(event, "error_message", "errorMessage", "error_code", "errorCode")
        if problem:
            talk.warn("event with an error", f"{text(event, 'author') or 'the agent'} failed: {problem}")
    fields = {"id": str(session["id"]), "thread_id": str(session["id"]), "usage": total(usages), **_owner(session)}
    events = objects(session.get("events"))
    times = [time for event in events if (time := nanoseconds(event.get("timestamp")))]
    if times:
        fields["started_at"] = iso_time(min(times))
        if (
            len({text(event, "invocation_id", "invocationId") for event in events}) == 1
        ):  # else people's pauses count too
            fields["duration_ms"] = (max(times) - min(times)) / 1e6
    return talk.decoded(turns, **{name: value for name, value in fields.items() if value is not None})


def _usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        integer(usage, "prompt_token_count", "promptTokenCount"),
        integer(usage, "candidates_token_count", "candidatesTokenCount"),
        integer(usage, "total_token_count", "totalTokenCount"),
    )


def _add_content(talk: Conversation, event: dict[str, Any]) -> None:
    """The message of an event, by its author."""
    content = event.get("content")
    if not isinstance(content, dict):
        return
    author = text(event, "author")
    branch = (text(event, "branch") or "").split(".")
    path = tuple(branch) if len(branch) > 1 else ()
    for message in messages_of(content, "user" if author == "user" else "assistant"):
        parts = [
            msgspec.structs.replace(part, agent_path=path) if path and isinstance(part, ToolCall) else part
            for part in message.parts
        ]
        made = msgspec.structs.replace(
            message, parts=parts, id=text(event, "id"), created_at=iso_time(nanoseconds(event.get("timestamp")))
        )
        if parts:
            feed(talk, made, None if author == "user" else author)
