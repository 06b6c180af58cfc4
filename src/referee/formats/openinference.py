"""OpenInference spans: messages flattened to attributes (`llm.input_messages.0.message.role`), values as text."""

from __future__ import annotations

from itertools import islice
from typing import Any

from referee.errors import ReadError
from referee.formats import genai
from referee.formats.conversation import arguments
from referee.formats.decoded import Counts, Decoded, Turns
from referee.formats.fields import integer, mapping, number, objects, text
from referee.formats.flattened import flattened, nested
from referee.formats.message_reader import MessageReader
from referee.formats.span_messages import messages_of, structured
from referee.formats.span_records import SpanRecord, is_spans, pieces, read_traces
from referee.formats.spans import Kind, Span
from referee.formats.trace_run import add_trace
from referee.messages import Message, Role, Text, ToolCall
from referee.runs import Usage

NAME = "openinference"
TITLE = "OpenInference spans"

__all__ = ["NAME", "TITLE", "decode", "detect", "interpret", "pieces"]

_KIND = "openinference.span.kind"
_KINDS: dict[Any, Kind] = {
    "LLM": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "CHAIN": "workflow",
    "PROMPT": "workflow",
    "DECISION": "workflow",
    "RETRIEVER": "processor",
    "RERANKER": "processor",
    "EMBEDDING": "processor",
    "GUARDRAIL": "processor",
    "EVALUATOR": "processor",
}
_HANDOFF = "handoff to "
#: Fields by which applications name the question and the answer of the whole.
_QUESTIONS = ("input", "question", "query", "prompt", "task", "user_input", "new_message")
_ANSWERS = ("output", "answer", "response", "result", "content", "text", "final_output")


def detect(record: Any) -> bool:
    """Whether a record holds spans of which one of the first has an OpenInference kind."""
    if not is_spans(record):
        return False
    return any(
        isinstance(span, dict) and ("span_kind" in span or _has_kind(span.get("attributes")))
        for _, span in islice(pieces(record), 50)
    )


def _has_kind(attributes: Any) -> bool:
    if isinstance(attributes, dict):
        return _KIND in attributes or "openinference" in attributes
    return any(item.get("key") == _KIND for item in objects(attributes))


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read a list of spans or OTLP exports; each trace becomes a run. Spans of other vocabularies may stand among them.

    Raises:
        ReadError: There is no span.
    """
    counts = Counts()
    decoded = Decoded([], counts)
    for records in read_traces(record, counts):
        reader = MessageReader(counts)
        add_trace(decoded, [interpret(span, reader) for span in records], turns)
    if not decoded.runs:
        raise ReadError("holds no spans")
    return decoded


def interpret(record: SpanRecord, reader: MessageReader) -> Span:
    """What a span stands for, in this vocabulary or in OpenTelemetry's own.

    Args:
        record: The span as recorded.
        reader: Reads its messages.
    """
    attributes = record.attributes
    named = attributes.get(_KIND) or nested(attributes, "openinference.span.kind")
    kind = _KINDS.get(named.upper()) if isinstance(named, str) else None
    if kind is None or (kind == "model" and _has_genai_messages(attributes)):
        return genai.interpret(record, reader)
    span = record.span
    span.kind = kind
    span.thread_id = _text(attributes, "session.id")
    span.metadata = _metadata(attributes)
    if kind == "tool":
        _add_tool(span, attributes)
    elif kind == "model":
        _add_model(span, attributes, reader)
    else:
        if kind == "agent":
            span.actor = _text(attributes, "agent.name", "graph.node.name")
        span.asked = _asked(attributes, reader)
        span.answered = _answered(attributes)
        span.usage = _usage(attributes)
    return span


def _has_genai_messages(attributes: dict[str, Any]) -> bool:
    """Whether the span speaks both vocabularies; then the one that keeps messages as they are is the better."""
    return "gen_ai.output.messages" in attributes and "llm.output_messages.0.message.role" not in attributes


def _text(attributes: dict[str, Any], *names: str) -> str | None:
    for name in names:
        value = nested(attributes, name)
        if value and isinstance(value, str):
            return value
    return None


def _metadata(attributes: dict[str, Any]) -> dict[str, Any]:
    metadata = structured(nested(attributes, "metadata"))
    kept = dict(metadata) if isinstance(metadata, dict) else {}
    user = _text(attributes, "user.id")
    if user:
        kept.setdefault("user_id", user)
    return kept


def _add_tool(span: Span, attributes: dict[str, Any]) -> None:
    given = nested(attributes, "input.value")
    returned = structured(nested(attributes, "output.value"))
    if span.name.startswith(_HANDOFF) and _text(attributes, "tool.name") is None:
        span.kind = "handoff"
        span.tool = handoff_call(span.name.removeprefix(_HANDOFF))
        return
    args, invalid = _tool_arguments(given, structured(nested(attributes, "tool.parameters")))
    message = tool_message(returned)
    result = returned
    failed = span.failed
    if message is not None:  # LangChain's own message around the result
        result = structured(message.get("content"))
        failed = failed or message.get("status") == "error"
    elif isinstance(returned, dict) and "response" in returned and set(returned) <= {"id", "name", "response"}:  # ADK
        message = returned
        result = returned["response"]
    span.tool = ToolCall(
        name=_text(attributes, "tool.name") or span.name,
        args=args,
        args_invalid=invalid,
        id=_text(attributes, "tool.id", "tool_call.id", "gen_ai.tool.call.id")
        or text(mapping(message), "tool_call_id", "id"),
        state="error" if failed else "call" if span.ended is None and returned is None else "result",
        result=result,
        error=span.error,
    )
    if _text(attributes, "mcp.method.name"):
        span.step_type = "mcp_tool_call"


def handoff_call(agent: str) -> ToolCall:
    """The call by which the OpenAI Agents SDK hands over to an agent, unless it was given another name.

    Example:
        >>> handoff_call("Refunds desk").name
        'transfer_to_refunds_desk'
    """
    slug = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in agent).lower()
    return ToolCall(name=f"transfer_to_{slug}", args={}, state="result")


def _tool_arguments(given: Any, parameters: Any) -> tuple[Any, bool]:
    """A tool's arguments as an object, and whether they are text only: one-argument tools may lose the argument's name."""
    if isinstance(given, str):
        given = structured(given)
        if isinstance(given, str):
            args, _ = arguments(given)
            return args, isinstance(args, str)
    if isinstance(given, dict) and isinstance(given.get("kwargs"), dict) and isinstance(given.get("args"), list):
        # smolagents: the values by place and those by name; the parameters say which places have which names.
        named = dict(zip(mapping(parameters), given["args"], strict=False))
        return {**named, **given["kwargs"]} if len(named) == len(given["args"]) else given, False
    return given, False


def tool_message(value: Any) -> dict[str, Any] | None:
    """The fields of a LangChain tool message, however it is wrapped; `None` for any other value.

    Example:
        >>> tool_message({"type": "tool", "data": {"content": "rain", "tool_call_id": "c1"}})
        {'content': 'rain', 'tool_call_id': 'c1'}
    """
    for key in ("data", "kwargs"):
        if isinstance(value, dict) and isinstance(value.get(key), dict):
            value = value[key]
    return value if isinstance(value, dict) and "content" in value and "tool_call_id" in value else None


def _add_model(span: Span, attributes: dict[str, Any], reader: MessageReader) -> None:
    span.asked = flattened(attributes, "llm.input_messages", "user", reader)
    span.answered = flattened(attributes, "llm.output_messages", "assistant", reader)
    span.model = _text(attributes, "llm.response.model_name", "llm.model_name", "llm.request.model_name")
    span.usage = _usage(attributes)
    span.cost = number({"cost": nested(attributes, "llm.cost.total")}, "cost")
    span.finish_reason = _text(attributes, "llm.finish_reason")


def _usage(attributes: dict[str, Any]) -> Usage | None:
    counted = {name: nested(attributes, f"llm.token_count.{name}") for name in ("prompt", "completion", "total")}
    usage = Usage(integer(counted, "prompt"), integer(counted, "completion"), integer(counted, "total"))
    return usage if usage != Usage() else None


def _asked(attributes: dict[str, Any], reader: MessageReader) -> list[Message]:
    value = structured(nested(attributes, "input.value"))
    return worded(value, "user") or flattened(attributes, "llm.input_messages", "user", reader)


def _answered(attributes: dict[str, Any]) -> list[Message]:
    return worded(structured(nested(attributes, "output.value")), "assistant")


def worded(value: Any, role: Role) -> list[Message]:
    """The messages in what a span was given or gave back: text, messages, or text in a field of a usual name.

    Args:
        value: The input or output.
        role: Whose words they are: `user` of an input, `assistant` of an output.

    Example:
        >>> worded({"task": "Weather?"}, "user")[0].text, worded({"rows": 7}, "assistant")
        ('Weather?', [])
    """
    if isinstance(value, str):
        return [Message(role, [Text(value)])] if value.strip() else []
    if isinstance(value, dict):
        if isinstance(value.get("messages"), list):
            return messages_of(value["messages"], role)
        if isinstance(value.get("content"), dict):  # an event of Google ADK
            return messages_of(value["content"], role)
        for name in _QUESTIONS if role == "user" else _ANSWERS:
            found = value.get(name)
            if isinstance(found, str) and found.strip():
                return [Message(role, [Text(found)])]
            if isinstance(found, dict) and "parts" in found:
                return messages_of(found, role)
    if isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value):
        return messages_of(value, role)
    return []
