"""The plain record of Mastra messages of format 2: decoded from its bytes straight into types.

Several times faster than looking at a record of any shape; a line that is not exactly of this form is left to `decode`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from referee.formats.conversation import Conversation
from referee.formats.decoded import Decoded, Turns
from referee.messages import CallState, Message, Part, Reasoning, Text, ToolCall


class _Text(msgspec.Struct, gc=False, tag="text"):
    text: str


class _Reasoning(msgspec.Struct, gc=False, tag="reasoning"):
    text: str


class _StepStart(msgspec.Struct, gc=False, tag="step-start"):
    pass


class _Invocation(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    state: Literal["result", "call", "partial-call"]
    toolCallId: str  # noqa: N815 - the format's own name
    toolName: str  # noqa: N815
    args: dict[str, Any] | list[Any] | None = None
    result: Any = None
    step: Any = None


class _ToolInvocation(msgspec.Struct, gc=False, tag="tool-invocation"):
    toolInvocation: _Invocation  # noqa: N815


class _Content(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    parts: list[_Text | _Reasoning | _StepStart | _ToolInvocation]
    format: int = 2
    metadata: msgspec.Raw = msgspec.Raw()


class _Message(msgspec.Struct, gc=False):
    role: Literal["system", "user", "assistant"]
    content: _Content
    id: str = ""
    createdAt: str = ""  # noqa: N815
    parts: None = None
    toolInvocations: None = None  # noqa: N815
    reasoning: None = None
    experimental_attachments: None = None


class _Given(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    inputMessages: list[_Message]  # noqa: N815
    rememberedMessages: list[_Message] = []  # noqa: N815
    systemMessages: list[_Message] = []  # noqa: N815
    taggedSystemMessages: dict[str, None] = {}  # noqa: N815


class _Record(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    messages: list[_Message] = []
    input: _Given | None = None
    output: list[_Message] = []
    id: str = ""
    runId: str = ""  # noqa: N815
    threadId: str = ""  # noqa: N815


_decode = msgspec.json.Decoder(_Record | list[_Message]).decode
_STATES: dict[str, CallState] = {"result": "result", "call": "call", "partial-call": "partial"}


def decode_line(line: bytes, turns: Turns = "all") -> Decoded | None:
    """Read a line of the plain form: a run, `{messages}` or a list. `None` when it is not exactly that."""
    try:
        record = _decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    talk = Conversation()
    if isinstance(record, list):
        talk.messages = _messages(talk, record)
        return talk.decoded(turns) if record else None
    fields: dict[str, Any] = {}
    if record.id or record.runId:
        fields["id"] = record.id or record.runId
    if record.threadId:
        fields["thread_id"] = record.threadId
    given = record.input
    if given is None:
        if record.output or not record.messages:
            return None
        talk.messages = _messages(talk, record.messages)
        return talk.decoded(turns, **fields)
    if record.messages or given.taggedSystemMessages:
        return None
    return talk.assembled(
        **fields,
        system=_messages(talk, given.systemMessages),
        history=_messages(talk, given.rememberedMessages),
        input=_messages(talk, given.inputMessages),
        output=_messages(talk, record.output),
    )


def _messages(talk: Conversation, messages: list[_Message]) -> list[Message]:
    """Make the messages and count them. In this form no result stands apart from its call."""
    made = []
    calls = 0
    for message in messages:
        parts: list[Part] = []
        for part in message.content.parts:
            if isinstance(part, _Text):
                parts.append(Text(part.text))
            elif isinstance(part, _ToolInvocation):
                call = part.toolInvocation
                state = _STATES[call.state]
                parts.append(ToolCall(call.toolName, call.args, call.toolCallId or None, state, call.result))
                calls += 1
            elif isinstance(part, _Reasoning):
                parts.append(Reasoning(part.text))
        made.append(Message(message.role, parts, message.id or None, None, message.createdAt or None))
    counts = talk.counts
    counts.messages_received += len(messages)
    counts.messages_kept += len(messages)
    counts.tool_calls_received += calls
    counts.tool_calls_kept += calls
    return made
