"""The plain record of OpenAI chat messages, which most files hold: decoded from its bytes straight into types.

Many times faster than looking at a record of any shape; a line that is not exactly of this form is left to `decode`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from referee.formats.conversation import Conversation, json_result
from referee.formats.decoded import Decoded, Turns
from referee.jsonvalue import decode as decode_json
from referee.messages import Message, Part, Role, Text, ToolCall
from referee.runs import Usage

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
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None


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
    talk = _plain_talk(record.messages)
    if talk is None:
        return None
    fields: dict[str, Any] = {}
    if record.id is not None:
        fields["id"] = record.id
    if record.model:
        fields["model"] = record.model
    if record.ground_truth is not None:
        fields["ground_truth"] = record.ground_truth
    if record.expected_tool_calls is not None:
        fields["expected_tool_calls"] = record.expected_tool_calls
    elif record.expected is not None and record.expected.tool_calls is not None:
        fields["expected_tool_calls"] = [
            {"name": call.name, "args": call.arguments} for call in record.expected.tool_calls
        ]
    if record.usage is not None:
        fields["usage"] = Usage(record.usage.prompt_tokens, record.usage.completion_tokens, record.usage.total_tokens)
    return talk.decoded(turns, **fields)


def _plain_talk(messages: list[_Message]) -> Conversation | None:
    """The conversation of plain messages, or `None` when a result needs more than its id to be joined.

    It goes from the last message to the first, so that a call finds its result already there and is made once.
    """
    talk = Conversation()
    counts = talk.counts
    results: dict[str, str | None] = {}
    kept: list[Message] = []
    for message in reversed(messages):
        role = _ROLES.get(message.role)
        if role == "tool":
            if not message.tool_call_id or message.tool_call_id in results:
                return None
            results[message.tool_call_id] = message.content
            counts.results_received += 1
            continue
        if role is None:
            return None
        parts: list[Part] = []
        for call in reversed(message.tool_calls or ()):
            counts.tool_calls_received += 1
            try:
                args = decode_json(call.function.arguments)
            except (msgspec.DecodeError, RecursionError):
                return None
            if call.id and call.id in results:
                parts.append(ToolCall(call.function.name, args, call.id, "result", json_result(results.pop(call.id))))
            else:
                parts.append(ToolCall(call.function.name, args, call.id or None))
        if message.content:
            parts.append(Text(message.content))
        if len(parts) > 1:
            parts.reverse()
        kept.append(Message(role, parts))
    if results:
        return None
    kept.reverse()
    talk.messages = kept
    counts.messages_received = counts.messages_kept = len(messages)
    counts.tool_calls_kept = counts.tool_calls_received
    counts.results_kept = counts.results_received
    return talk
