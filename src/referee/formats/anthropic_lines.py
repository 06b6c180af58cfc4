"""The plain record of Anthropic messages: decoded from its bytes straight into types.

Several times faster than looking at a record of any shape; a line that is not exactly of this form is left to `decode`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from referee.formats.conversation import Conversation, json_result
from referee.formats.decoded import Decoded, Turns
from referee.messages import Message, Part, Reasoning, Text, ToolCall


class _Thinking(msgspec.Struct, gc=False, tag="thinking"):
    thinking: str


class _ToolUse(msgspec.Struct, gc=False, tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any]


class _ToolResult(msgspec.Struct, gc=False, tag="tool_result"):
    tool_use_id: str
    content: str | list[Text] | None = None
    is_error: bool = False


class _Message(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    role: Literal["user", "assistant"]
    content: str | list[Text | _Thinking | _ToolUse | _ToolResult]


class _Request(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    messages: list[_Message]
    id: str = ""
    system: str = ""
    model: str = ""
    max_tokens: Any = None
    temperature: Any = None
    tools: msgspec.Raw = msgspec.Raw()
    tool_choice: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder(_Request | list[_Message]).decode


def decode_line(line: bytes, turns: Turns = "all") -> Decoded | None:
    """Read a line of the plain form, a request or a list; `None` when it is not exactly that, for `decode` to look at."""
    try:
        record = _decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    if isinstance(record, list):
        talk = _plain_talk(record)
        return None if talk is None else talk.decoded(turns)
    talk = _plain_talk(record.messages)
    if talk is None:
        return None
    if record.system:
        talk.messages.insert(0, Message("system", [Text(record.system)]))
    fields = {}
    if record.id:
        fields["id"] = record.id
    if record.model:
        fields["model"] = record.model
    return talk.decoded(turns, **fields)


def _plain_talk(messages: list[_Message]) -> Conversation | None:
    """The conversation of plain messages, or `None` when a result needs more than its id to be joined.

    It goes from the last message to the first, so that a call finds its result already there and is made once.
    """
    results: dict[str, _ToolResult] = {}
    kept: list[Message] = []
    calls = received = 0
    for message in reversed(messages):
        content = message.content
        if isinstance(content, str):
            kept.append(Message(message.role, [Text(content)] if content else []))
            continue
        parts: list[Part] = []
        before = received
        for block in reversed(content):
            if isinstance(block, Text):  # written as in our own messages
                parts.append(block)
            elif isinstance(block, _ToolUse):
                if not block.id or received != before:  # a message with calls and results at once is not plain
                    return None
                result = results.pop(block.id, None)
                parts.append(ToolCall(block.name, block.input, block.id) if result is None else _done(block, result))
                calls += 1
            elif isinstance(block, _ToolResult):
                if not block.tool_use_id or block.tool_use_id in results or message.role != "user":
                    return None
                results[block.tool_use_id] = block
                received += 1
            else:
                parts.append(Reasoning(block.thinking))
        parts.reverse()
        if parts or received == before:
            kept.append(Message(message.role, parts))
    if results:
        return None
    kept.reverse()
    talk = Conversation()
    talk.messages = kept
    counts = talk.counts
    counts.messages_received = counts.messages_kept = len(messages)
    counts.tool_calls_received = counts.tool_calls_kept = calls
    counts.results_received = counts.results_kept = received
    return talk


def _done(block: _ToolUse, result: _ToolResult) -> ToolCall:
    """A call with its result."""
    content = result.content
    if isinstance(content, list):
        content = "\n".join([part.text for part in content])
    value = json_result(content)
    if not result.is_error:
        return ToolCall(block.name, block.input, block.id, "result", value)
    error = value if isinstance(value, str) else None
    return ToolCall(block.name, block.input, block.id, "error", value, error, is_error=True)
