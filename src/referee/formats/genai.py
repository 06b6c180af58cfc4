"""The vocabulary `gen_ai.*` of OpenTelemetry spans: what the attributes and events of a span mean.

Read are the current conventions (messages as JSON in attributes, or in one event), the older ones (an event for each
message; numbered attributes), and what Pydantic AI, Google ADK and OpenLLMetry write beside them.
"""

from __future__ import annotations

import re
from typing import Any

from referee.formats.conversation import arguments
from referee.formats.decoded import Counts, increase
from referee.formats.fields import integer, mapping, number, sequence, text
from referee.formats.message_reader import MessageReader
from referee.formats.span_dialects import (
    ADK_MERGED,
    ANSWER_TOOL,
    adk_asked,
    adk_messages,
    answer_tools,
    is_pydantic,
    without_answer_tools,
)
from referee.formats.span_messages import messages_of, structured
from referee.formats.span_records import SpanRecord
from referee.formats.spans import Kind, Span
from referee.messages import Message, Role, ToolCall
from referee.runs import Usage

_OPERATIONS: dict[Any, Kind] = {
    "chat": "model",
    "text_completion": "model",
    "completion": "model",
    "generate_content": "model",
    "call_llm": "model",
    "embeddings": "processor",
    "retrieval": "processor",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "execute_tool": "tool",
    "invoke_workflow": "workflow",
}
_TRACELOOP: dict[Any, Kind] = {"workflow": "workflow", "task": "workflow", "agent": "agent", "tool": "tool"}
_EVENT_ROLES: dict[str, Role] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_DETAILS = "gen_ai.client.inference.operation.details"
#: Attributes that make a span one of an agent, whatever else it has.
_OURS = ("gen_ai.", "traceloop.", "gcp.vertex.agent.", "llm.request.type", "agent_name", "pydantic_ai.")
_NUMBERED_START = ("gen_ai.prompt.", "gen_ai.completion.")
_NUMBERED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,6})\.(.+)")
_NUMBERED_CALL = re.compile(r"tool_calls\.(\d{1,6})\.(\w+)")


def speaks_genai(attributes: dict[str, Any]) -> bool:
    """Whether attributes of this vocabulary are among those of a span."""
    return any(isinstance(name, str) and name.startswith(_OURS) for name in attributes)


def interpret(record: SpanRecord, reader: MessageReader) -> Span:
    """What a span stands for.

    Args:
        record: The span as recorded.
        reader: Reads its messages.
    """
    attributes = record.attributes
    span = record.span
    kind = span.kind = _kind(attributes)
    span.thread_id = text(attributes, "gen_ai.conversation.id", "session.id", "gcp.vertex.agent.session_id")
    if kind == "agent":
        span.actor = text(attributes, "gen_ai.agent.name", "agent_name", "traceloop.entity.name")
    if kind == "tool":
        span.tool = _tool(span, attributes)
        if span.tool.name == ADK_MERGED:
            span.kind, span.tool = "mark", None
            return span
        if text(attributes, "mcp.method.name", "mcp.session.id"):
            span.step_type = "mcp_tool_call"
        if is_pydantic(attributes) and ANSWER_TOOL.fullmatch(span.tool.name):
            span.kind, span.tool = "workflow", None
    elif kind != "other":
        _add_words(span, record, reader)
    return span


def _kind(attributes: dict[str, Any]) -> Kind:
    kind = _OPERATIONS.get(_word(attributes.get("gen_ai.operation.name"))) or _TRACELOOP.get(
        _word(attributes.get("traceloop.span.kind"))
    )
    if kind:
        return kind
    if "gen_ai.tool.name" in attributes:
        return "tool"
    if any(name in attributes for name in ("pydantic_ai.all_messages", "all_messages_events", "final_result")):
        return "agent"
    if "gcp.vertex.agent.llm_request" in attributes or "llm.request.type" in attributes:
        return "model"
    if any(name in attributes for name in ("gen_ai.request.model", "gen_ai.input.messages", "gen_ai.output.messages")):
        return "model"
    return "workflow" if speaks_genai(attributes) else "other"


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _tool(span: Span, attributes: dict[str, Any]) -> ToolCall:
    """The call of a tool's span, with its result."""
    given = _first(
        attributes,
        "gen_ai.tool.call.arguments",
        "tool_arguments",
        "gcp.vertex.agent.tool_call_args",
        "traceloop.entity.input",
    )
    args, invalid = arguments(given)
    result = structured(
        _first(
            attributes,
            "gen_ai.tool.call.result",
            "tool_response",
            "gcp.vertex.agent.tool_response",
            "traceloop.entity.output",
        )
    )
    name = text(attributes, "gen_ai.tool.name", "traceloop.entity.name") or span.name.removeprefix("execute_tool ")
    return ToolCall(
        name,
        args,
        text(attributes, "gen_ai.tool.call.id"),
        "error" if span.failed else "call" if span.ended is None and result is None else "result",
        result,
        span.error,
        args_invalid=invalid,
    )


def _first(attributes: dict[str, Any], *names: str) -> Any:
    for name in names:
        if name in attributes and attributes[name] is not None:
            return attributes[name]
    return None


def _add_words(span: Span, record: SpanRecord, reader: MessageReader) -> None:
    """Messages, model, tokens: of a model's span, and of an agent's as far as it has them."""
    attributes = record.attributes
    asked, answered = _messages(record, reader)
    instructions = attributes.get("gen_ai.system_instructions")
    if instructions is not None:
        asked = [*_instructions(instructions, reader), *asked]
    if _is_adk(attributes):
        asked, answered = adk_messages(asked, reader.counts), adk_messages(answered, reader.counts)
    hidden = answer_tools(attributes)
    span.asked = without_answer_tools(asked, hidden)
    span.answered = without_answer_tools(answered, hidden)
    span.model = text(attributes, "gen_ai.response.model", "gen_ai.request.model", "model_name")
    span.usage = _usage(attributes)
    span.cost = number(attributes, "operation.cost", "gen_ai.usage.cost", "gen_ai.cost.amount")
    reasons = sequence(attributes.get("gen_ai.response.finish_reasons"))
    span.finish_reason = reasons[0] if reasons and isinstance(reasons[0], str) else None


def _instructions(value: Any, reader: MessageReader) -> list[Message]:
    """The system's message of instructions that stand beside the messages."""

    def make() -> list[Message]:
        parts = structured(value)
        return messages_of([{"role": "system", "parts": parts if isinstance(parts, list) else [parts]}])

    return reader.made_of(("instructions", value), make) if isinstance(value, str) else make()


def _messages(record: SpanRecord, reader: MessageReader) -> tuple[list[Message], list[Message]]:
    """What went in and what came out, from the first place that has either."""
    attributes = record.attributes
    details = next((event for name, event in record.events if name == _DETAILS), {})
    for place in (attributes, details):
        asked = place.get("gen_ai.input.messages")
        answered = place.get("gen_ai.output.messages")
        if asked is not None or answered is not None:
            return reader.from_json(asked), reader.from_json(answered, "assistant")
    if "pydantic_ai.all_messages" in attributes:
        return _divided(reader.from_json(attributes["pydantic_ai.all_messages"]))
    if "all_messages_events" in attributes:
        return _divided(_of_events(structured(attributes["all_messages_events"])))
    if "gcp.vertex.agent.llm_request" in attributes:
        return _adk_exchange(attributes)
    told = [*record.events, *_event_list(structured(attributes.get("events")))]
    asked_told, answered_told = _told_by_events(told, reader.counts)
    if asked_told or answered_told:
        return asked_told, answered_told
    numbered = {
        name: value for name, value in attributes.items() if isinstance(name, str) and name.startswith(_NUMBERED_START)
    }
    return (_numbered(numbered, "prompt"), _numbered(numbered, "completion")) if numbered else ([], [])


def _divided(whole: list[Message]) -> tuple[list[Message], list[Message]]:
    """All messages of an agent as what it was asked, up to the last question, and what it did."""
    last = max((index for index, message in enumerate(whole) if message.role in ("user", "system")), default=-1)
    return whole[: last + 1], whole[last + 1 :]


def _event_list(value: Any) -> list[tuple[str, dict[str, Any]]]:
    events = [mapping(event) for event in sequence(value)]
    return [(text(event, "event.name") or "", event) for event in events]


def _of_events(value: Any) -> list[Message]:
    asked, answered = _told_by_events(_event_list(value), Counts())
    return asked + answered


def _told_by_events(events: list[tuple[str, dict[str, Any]]], counts: Counts) -> tuple[list[Message], list[Message]]:
    """Messages of the conventions up to 1.36: an event for each, its content beside the event's own fields."""
    asked: list[Message] = []
    answered: list[Message] = []
    for name, event in events:
        if name in _EVENT_ROLES:
            asked += messages_of({"role": _EVENT_ROLES[name], **_event_message(event)})
        elif name == "gen_ai.choice":
            if event.get("index") not in (None, 0):
                increase(counts.problems, "another choice than the first one was left out")
                continue
            message = mapping(structured(event.get("message"))) or _event_message(event)
            answered += messages_of({**message, "role": "assistant"})
        elif name == "gen_ai.content.prompt":
            asked += messages_of(structured(event.get("gen_ai.prompt")))
        elif name == "gen_ai.content.completion":
            answered += messages_of(structured(event.get("gen_ai.completion")), "assistant")
    return asked, answered


def _event_message(event: dict[str, Any]) -> dict[str, Any]:
    """The message in an event's attributes, of which lists may be text."""
    message: dict[str, Any] = {
        name: event[name] for name in ("content", "role", "id", "name", "tool_call_id") if name in event
    }
    for name in ("tool_calls", "parts"):
        if name in event:
            message[name] = structured(event[name])
    if isinstance(message.get("content"), str) and message["content"][:2] == "[{":
        message["content"] = structured(message["content"])
    return message


def _numbered(attributes: dict[str, Any], section: str) -> list[Message]:
    """Messages flattened to attributes, `gen_ai.prompt.0.role` and so on (OpenLLMetry)."""
    messages: dict[int, dict[str, Any]] = {}
    calls: dict[int, dict[int, dict[str, Any]]] = {}
    for name, value in attributes.items():
        found = _NUMBERED.fullmatch(name)
        if found is None or found.group(1) != section:
            continue
        place, field = int(found.group(2)), found.group(3)
        called = _NUMBERED_CALL.fullmatch(field)
        message = messages.setdefault(place, {"role": "user" if section == "prompt" else "assistant"})
        if called:
            calls.setdefault(place, {}).setdefault(int(called.group(1)), {})[called.group(2)] = value
        elif field in ("role", "content", "tool_call_id"):
            message[field] = structured(value) if field == "content" and str(value)[:2] == "[{" else value
    for place, named in calls.items():
        messages[place]["tool_calls"] = [named[index] for index in sorted(named)]
    return messages_of([messages[place] for place in sorted(messages)])


def _adk_exchange(attributes: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """Request and response of Google ADK, as JSON of its own objects."""
    request = mapping(structured(attributes.get("gcp.vertex.agent.llm_request")))
    response = mapping(structured(attributes.get("gcp.vertex.agent.llm_response")))
    return adk_asked(request), messages_of(_content(response), "assistant")


def _content(response: dict[str, Any]) -> list[Any]:
    return [response["content"]] if isinstance(response.get("content"), dict) else []


def _usage(attributes: dict[str, Any]) -> Usage | None:
    usage = Usage(
        integer(
            attributes,
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "gen_ai.aggregated_usage.input_tokens",
        ),
        integer(
            attributes,
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "gen_ai.aggregated_usage.output_tokens",
        ),
        integer(attributes, "gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
    )
    return usage if usage != Usage() else None


def _is_adk(attributes: dict[str, Any]) -> bool:
    return any(isinstance(name, str) and name.startswith("gcp.vertex.agent.") for name in attributes)
