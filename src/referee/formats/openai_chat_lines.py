"""The plain record of OpenAI chat messages, which most files hold: decoded from its bytes straight into types.

Many times faster than looking at a record of any shape; a line that is not exactly of this form is left to `decode`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from referee.formats.conversation import Conversation, arguments, json_result
from referee.formats.decoded import Counts, Decoded, Turns
from referee.jsonvalue import decode as decode_json
from referee.messages import Message, Part, Role, Text, ToolCall
from referee.runs import Run, Usage, prime, with_id

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: str


class _Call(msgspec.Struct, gc=False):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    role: str
    content: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _ExpectedCall(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: Any


class _Expected(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    tool_calls: list[_ExpectedCall] | None = None


class _Tokens(msgspec.Struct, gc=False):
    """Tokens as this API spells them, and the spellings that go before."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    input_tokens: Any = msgspec.UNSET
    output_tokens: Any = msgspec.UNSET
    totalTokens: Any = msgspec.UNSET  # noqa: N815 - it is called so


class _Record(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The plain record, which most files hold: decoded straight into these types, many times faster than the rest."""

    messages: list[_Message]
    id: str | None = None
    model: str | None = None
    created: Any = None
    usage: _Tokens | None = None
    expected: _Expected | None = None
    ground_truth: Any = None
    expected_tool_calls: Any = None


_decode_record = msgspec.json.Decoder(_Record).decode


def decode_line(line: bytes, turns: Turns = "all") -> Decoded | None:
    """Read a line of the plain record form; `None` when it is not exactly that, for `decode` to look at."""
    try:
        record = _decode_record(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    talk = _read(record.messages)
    if talk is None:
        return None
    used = None if record.usage is None else _usage(record.usage)
    if used is None and record.usage is not None:
        return None
    if turns == "all":
        return Decoded([_whole_run(talk, record, used)], talk.counts)
    cut = Conversation()
    cut.messages = talk.system + talk.others
    cut.counts = talk.counts
    return cut.decoded(
        turns,
        id=record.id or "",
        model=record.model or None,
        ground_truth=record.ground_truth,
        expected_tool_calls=_expected_calls(record),
        usage=used,
    )


def _usage(tokens: _Tokens) -> Usage | None:
    """The tokens, or `None` when they are spelled in another way too."""
    if tokens.prompt_tokens is None or tokens.completion_tokens is None:
        return None
    if not (tokens.input_tokens is tokens.output_tokens is tokens.totalTokens is msgspec.UNSET):
        return None
    return Usage(tokens.prompt_tokens, tokens.completion_tokens, tokens.total_tokens)


def _expected_calls(record: _Record) -> Any:
    if record.expected_tool_calls is not None:
        return record.expected_tool_calls
    if record.expected is None or record.expected.tool_calls is None:
        return None
    return [
        {"name": call.name, "args": given if type(given := call.arguments) is dict else arguments(given)[0]}
        for call in record.expected.tool_calls
    ]


def _whole_run(talk: _Talk, record: _Record, usage: Usage | None) -> Run:
    run = Run(
        id=record.id or "",
        input=talk.others[: talk.start],
        output=talk.others[talk.start :],
        system=talk.system,
        model=record.model or None,
        ground_truth=record.ground_truth,
        expected_tool_calls=_expected_calls(record),
        usage=usage,
    )
    if not run.id:
        run = with_id(run)
    prime(run, "\n".join(talk.texts), tuple(talk.calls))
    return run


class _Talk(msgspec.Struct, gc=False):
    """The messages but the system's, where the first of the assistant stands, and what the assistant said and called."""

    system: list[Message]
    others: list[Message]
    start: int
    texts: list[str]
    calls: list[ToolCall]
    counts: Counts


def _read(messages: list[_Message]) -> _Talk | None:
    """The conversation of plain messages, or `None` when a result needs more than its id to be joined.

    It goes from the last message to the first, so that a call finds its result already there and is made once.
    """
    results: dict[str, str | None] = {}
    system: list[Message] = []
    others: list[Message] = []
    texts: list[str] = []
    calls: list[ToolCall] = []
    count = first = 0
    for message in reversed(messages):
        role = _ROLES.get(message.role)
        content = message.content
        if role == "tool":
            if not message.tool_call_id or message.tool_call_id in results:
                return None
            results[message.tool_call_id] = content
            count += 1
            continue
        if role is None:
            return None
        parts: list[Part] = [Text(content)] if content else []
        if message.tool_calls:
            made = _calls(message.tool_calls, results) if role == "assistant" else None
            if made is None:
                return None
            parts += made
            calls[:0] = made
        if role == "system":
            system.append(Message(role, parts))
            continue
        others.append(Message(role, parts))
        if role == "assistant":
            first = len(others)
            if content and not content.isspace():
                texts.append(content)
    if results:
        return None
    system.reverse()
    others.reverse()
    texts.reverse()
    sent, called = len(messages), len(calls)
    counts = Counts(sent, sent, called, called, count, count)
    return _Talk(system, others, len(others) - first, texts, calls, counts)


def _calls(calls: list[_Call], results: dict[str, str | None]) -> list[ToolCall] | None:
    """A message's calls with their results, or `None` when one is not plain."""
    made = []
    for call in reversed(calls):
        name = call.function.name
        try:
            args = decode_json(call.function.arguments)
        except (msgspec.DecodeError, RecursionError):
            return None
        if not name:
            return None
        key = call.id
        if key and key in results:
            made.append(ToolCall(name, args, key, "result", json_result(results.pop(key))))
        else:
            made.append(ToolCall(name, args, key or None))
    made.reverse()
    return made
