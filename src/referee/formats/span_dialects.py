"""What single frameworks do to the messages in their spans, undone.

Pydantic AI hands over a structured answer by a call that is no tool's; Google ADK makes up ids and retells to an agent
what others did.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from referee.formats.decoded import Counts, increase
from referee.formats.fields import as_text, mapping, sequence
from referee.formats.span_messages import messages_of, structured
from referee.messages import Message, Part, Text, ToolCall, ToolResult

#: Names that Pydantic AI gives the call by which an agent hands over its structured answer.
ANSWER_TOOL = re.compile(r"final_result(_\w+)?")
#: Attributes that only Pydantic AI writes.
_PYDANTIC = frozenset({"gen_ai.agent.call.id", "model_request_parameters", "logfire.msg"})
#: The span in which Google ADK repeats the results of parallel calls as one.
ADK_MERGED = "(merged tools)"
#: An id that Google ADK makes of a tool's name and the place of the part; a result's place is another than its call's.
_MADE_ID = re.compile(r"(.+)_\d+")
#: How a message begins that retells the work of another agent.
_RETOLD = "For context:"


def is_pydantic(attributes: dict[str, Any]) -> bool:
    """Whether a span was written by Pydantic AI."""
    return not _PYDANTIC.isdisjoint(attributes)


def answer_tools(attributes: dict[str, Any]) -> frozenset[str] | None:
    """The tools by which a Pydantic AI agent answers; `None` where the span is none of its."""
    if not is_pydantic(attributes):
        return None
    parameters = mapping(structured(attributes.get("model_request_parameters")))
    tools = [mapping(tool).get("name") for tool in sequence(parameters.get("output_tools"))]
    return frozenset(name for name in tools if isinstance(name, str))


def without_answer_tools(messages: list[Message], tools: frozenset[str] | None) -> list[Message]:
    """Messages in which a structured answer is the text that it stands for, and no call."""
    if tools is None:
        return messages
    kept = []
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, (ToolCall, ToolResult)) and _is_answer(part.name, tools):
                if isinstance(part, ToolCall):
                    parts.append(_answer(part))
            else:
                parts.append(part)
        if parts == message.parts:
            kept.append(message)
        elif parts:
            kept.append(msgspec.structs.replace(message, parts=parts))
    return kept


def _is_answer(name: str | None, tools: frozenset[str]) -> bool:
    return name is not None and (name in tools or ANSWER_TOOL.fullmatch(name) is not None)


def _answer(call: ToolCall) -> Text:
    return as_text(call.args)


def adk_asked(request: dict[str, Any]) -> list[Message]:
    """The messages of an ADK request: its instruction and its contents."""
    instruction = mapping(request.get("config")).get("system_instruction")
    system = messages_of({"role": "system", "content": instruction}) if isinstance(instruction, str) else []
    return system + messages_of(sequence(request.get("contents")))


def adk_messages(messages: list[Message], counts: Counts) -> list[Message]:
    """Messages of Google ADK without made ids, which do not tell which result is whose, and without retellings.

    A retelling is a message of the user that tells an agent what other agents said and called; their own spans tell it
    too.
    """
    kept = []
    for message in messages:
        if message.role == "user" and message.text.startswith(_RETOLD):
            increase(counts.problems, "what other agents did, retold to an agent, was left out")
        else:
            kept.append(msgspec.structs.replace(message, parts=[_without_made_id(part) for part in message.parts]))
    return kept


def _without_made_id(part: Part) -> Part:
    if not isinstance(part, (ToolCall, ToolResult)) or part.id is None:
        return part
    found = _MADE_ID.fullmatch(part.id)
    if found is None or part.name not in (None, found.group(1)):
        return part
    return msgspec.structs.replace(part, id=None, name=found.group(1))
