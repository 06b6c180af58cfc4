"""Langfuse exports: a trace with its observations, the API's trace, or observations alone.

Inputs and outputs are JSON in text, and inside it may stand JSON in text again. Observations that came in through
OpenTelemetry keep the span's attributes in their metadata; these are read first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from referee.errors import ReadError
from referee.formats import openinference
from referee.formats.conversation import check_length
from referee.formats.decoded import Counts, Decoded, Turns, increase
from referee.formats.fields import integer, mapping, number, objects, text, type_name
from referee.formats.message_reader import MessageReader
from referee.formats.openinference import tool_message, worded
from referee.formats.span_dialects import adk_asked
from referee.formats.span_messages import call_of, messages_of, structured, unwrapped
from referee.formats.span_records import SpanRecord
from referee.formats.spans import MADE_ID, Kind, Span, nanoseconds
from referee.formats.trace_run import decode_spans
from referee.messages import Message, Part, Text, ToolCall, ToolResult
from referee.runs import Usage

NAME = "langfuse"
TITLE = "Langfuse traces"

_KINDS: dict[Any, Kind] = {
    "GENERATION": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "CHAIN": "workflow",
    "SPAN": "workflow",
    "RETRIEVER": "processor",
    "EMBEDDING": "processor",
    "GUARDRAIL": "processor",
    "EVALUATOR": "processor",
    "EVENT": "other",
}
#: Of a trace, kept as the run's metadata.
_KEPT = {"name": "name", "userId": "user_id", "tags": "tags", "release": "release", "version": "version"}


def detect(record: Any) -> bool:
    """Whether a record is a trace with observations, or one or several observations."""
    if isinstance(record, list):
        return bool(record) and all(map(detect, record[:5]))
    if not isinstance(record, dict):
        return False
    if isinstance(record.get("observations"), list) and ("trace" in record or "id" in record):
        return all(_is_observation(item) for item in objects(record["observations"])[:5])
    return _is_observation(record)


def _is_observation(value: Any) -> bool:
    return isinstance(value, dict) and "traceId" in value and value.get("type") in _KINDS and "startTime" in value


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read traces or observations; each trace becomes a run."""
    counts = Counts()
    reader = MessageReader(counts)
    spans: list[Span] = []
    loose: list[dict[str, Any]] = []
    for item in record if isinstance(record, list) else [record]:
        if not isinstance(item, dict):
            increase(counts.dropped, type_name(item))
        elif isinstance(item.get("observations"), list):
            spans += _trace_spans(item, reader)
        elif _is_observation(item):
            loose.append(item)
        else:
            increase(counts.dropped, "object that is no observation")
    spans += [_span(item, reader) for item in _once(loose)]
    if not spans:
        raise ReadError("holds no observations")
    return decode_spans(spans, turns, counts)


def pieces(record: Any) -> Iterator[tuple[str, Any]]:
    """Each trace or observation of a record, with the id of its trace."""
    for item in record if isinstance(record, list) else [record]:
        trace = mapping(item.get("trace")) if isinstance(item, dict) else {}
        yield text(mapping(item), "traceId", "id") or text(trace, "id") or "", item


def _trace_spans(record: dict[str, Any], reader: MessageReader) -> list[Span]:
    trace = mapping(record.get("trace")) or record
    listed = objects(record["observations"]) + (objects(trace.get("observations")) if trace is not record else [])
    check_length(listed, "a trace of more than {most:,} observations")
    spans = [_span(item, reader) for item in _once(listed)]
    ids = {span.id for span in spans}
    top = next((span for span in spans if span.parent_id not in ids), None)
    if top is None:
        top = Span(
            id=f"{MADE_ID}trace", trace_id=text(trace, "id") or "", kind="workflow", name=text(trace, "name") or ""
        )
        top.started = nanoseconds(trace.get("timestamp"))
        spans.append(top)
    top.asked = top.asked or worded(unwrapped(trace.get("input")), "user")
    top.answered = top.answered or worded(unwrapped(trace.get("output")), "assistant")
    top.thread_id = text(trace, "sessionId") or top.thread_id
    top.metadata = {**(top.metadata or {}), **_trace_metadata(trace)}
    return spans


def _trace_metadata(trace: dict[str, Any]) -> dict[str, Any]:
    metadata = {ours: trace[name] for name, ours in _KEPT.items() if trace.get(name)}
    scores = [
        {name: score[name] for name in ("name", "value", "stringValue", "comment") if score.get(name) is not None}
        for score in objects(trace.get("scores"))
    ]
    return {**metadata, "scores": scores} if scores else metadata


def _once(observations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each observation once: a trace lists them without their contents too, and the fuller one is kept."""
    kept: dict[Any, dict[str, Any]] = {}
    for number_, item in enumerate(observations):
        key = text(item, "id") or number_
        if key not in kept or (kept[key].get("input") is None and kept[key].get("output") is None):
            kept[key] = item
    return list(kept.values())


def _span(item: dict[str, Any], reader: MessageReader) -> Span:
    metadata = mapping(unwrapped(item.get("metadata")))
    attributes = mapping(metadata.get("attributes"))
    span = _recorded(item)
    if attributes:
        openinference.interpret(SpanRecord(span, attributes, []), reader)
    kind = _KINDS.get(item.get("type"), "workflow") if isinstance(item.get("type"), str) else "workflow"
    returned = unwrapped(item.get("output"))
    if span.kind in ("other", "workflow"):
        message = tool_message(returned)
        span.kind = "tool" if message is not None and kind == "workflow" else kind
    if span.kind == "tool" and span.tool is None:
        span.tool = _tool(span, unwrapped(item.get("input")), returned, attributes)
    elif span.kind == "model" and not span.asked and not span.answered:
        span.asked = _asked(item.get("input"), reader)
        span.answered = _answered(item.get("output"), returned, reader)
    elif span.kind in ("agent", "workflow"):
        span.asked = span.asked or worded(unwrapped(item.get("input")), "user")
        span.answered = span.answered or worded(returned, "assistant")
    span.model = span.model or text(item, "model")
    span.usage = _usage(item) or span.usage
    cost = number(item, "totalCost", "calculatedTotalCost")
    span.cost = cost if cost else span.cost
    span.finish_reason = span.finish_reason or text(mapping(item.get("modelParameters")), "finishReason")
    span.thread_id = span.thread_id or text(metadata, "thread_id", "langfuse_session_id")
    return span


def _recorded(item: dict[str, Any]) -> Span:
    failed = item.get("level") == "ERROR"
    return Span(
        text(item, "id") or MADE_ID,
        text(item, "traceId") or "",
        text(item, "parentObservationId"),
        text(item, "name") or "",
        started=nanoseconds(item.get("startTime")),
        ended=nanoseconds(item.get("endTime")),
        failed=failed,
        error=text(item, "statusMessage") if failed else None,
        source="Langfuse",
    )


def _tool(span: Span, given: Any, returned: Any, attributes: dict[str, Any]) -> ToolCall:
    message = tool_message(returned)
    failed = span.failed or (message is not None and message.get("status") == "error")
    call = call_of({"arguments": given})
    return ToolCall(
        name=text(attributes, "ai.toolCall.name") or span.name,
        args=call.args,
        args_invalid=call.args_invalid,
        id=text(attributes, "ai.toolCall.id") or text(mapping(message), "tool_call_id"),
        state="error" if failed else "call" if span.ended is None and returned is None else "result",
        result=structured(message.get("content")) if message is not None else returned,
        error=span.error,
    )


def _asked(given: Any, reader: MessageReader) -> list[Message]:
    if not isinstance(given, str) or given[:1] != "[":  # a list is read from its text, in which much is repeated
        given = unwrapped(given)
    if isinstance(given, dict):
        if isinstance(given.get("contents"), list):
            return adk_asked(given)
        given = next((given[name] for name in ("messages", "prompt", "input") if name in given), given)
    if not isinstance(given, (str, list)) and "role" not in mapping(given):
        return []
    asked = reader.from_json(given, or_words=True)
    talk = [message for message in asked if not _is_definition(message)]
    if len(talk) < len(asked):
        increase(reader.counts.dropped, "tool definition among the messages", len(asked) - len(talk))
    return talk


def _is_definition(message: Message) -> bool:
    """Whether a message is none: the definition of a tool, which Langfuse logs with role `tool`."""
    part = message.parts[0] if message.role == "tool" and len(message.parts) == 1 else None
    if not isinstance(part, ToolResult) or part.id or not isinstance(part.result, dict):
        return False
    return "function" in part.result and part.result.get("type") == "function"


def _answered(value: Any, returned: Any, reader: MessageReader) -> list[Message]:
    """The messages of an output, from its value as recorded and what is inside."""
    if isinstance(returned, list) and objects(returned) and all("toolName" in call for call in objects(returned)):
        return [Message("assistant", _calls(returned))]
    if isinstance(returned, dict):
        if isinstance(returned.get("content"), dict):  # Gemini
            return messages_of(returned["content"], "assistant")
        if "toolCalls" in returned or isinstance(returned.get("text"), str):  # AI SDK
            words: list[Part] = [Text(returned["text"])] if text(returned, "text") else []
            return [Message("assistant", words + _calls(unwrapped(returned.get("toolCalls"))))]
        if "role" not in returned and "content" not in returned:
            return worded(returned, "assistant")
        return reader.from_message(value, returned, "assistant")
    return messages_of(returned, "assistant") if isinstance(returned, (str, list)) else []


def _calls(calls: Any) -> list[Part]:
    return [call_of(call) for call in objects(calls)]


def _usage(item: dict[str, Any]) -> Usage | None:
    details = mapping(item.get("usageDetails")) or mapping(item.get("usage"))
    usage = Usage(
        integer(details, "input", "promptTokens", "input_tokens"),
        integer(details, "output", "completionTokens", "output_tokens"),
        integer(details, "total", "totalTokens", "total_tokens"),
    )
    return usage if usage != Usage() else None
