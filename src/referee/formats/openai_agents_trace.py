"""The trace export of the OpenAI Agents SDK: spans with typed data, as its trace processors receive them.

Generations carry their messages; a response of the Responses API is named by its id alone, so such a trace tells the
tools and not the words. Results are Python text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from referee.errors import ReadError
from referee.formats.decoded import Counts, Decoded, Turns, increase
from referee.formats.fields import mapping, objects, text, type_name
from referee.formats.openinference import handoff_call
from referee.formats.record import usage_of
from referee.formats.span_messages import call_of, messages_of, structured
from referee.formats.spans import MADE_ID, Kind, Span, nanoseconds
from referee.formats.trace_run import decode_spans
from referee.messages import ToolCall

NAME = "openai_agents_trace"
TITLE = "OpenAI Agents SDK trace exports"

_SPAN = "trace.span"
_TRACE = "trace"
_KINDS: dict[Any, Kind] = {
    "agent": "agent",
    "function": "tool",
    "generation": "model",
    "response": "model",
    "handoff": "handoff",
    "guardrail": "processor",
    "custom": "workflow",
    "mcp_tools": "processor",
    "transcription": "processor",
    "speech": "processor",
    "speech_group": "workflow",
}


def detect(record: Any) -> bool:
    """Whether a record is an exported trace or span, a list of them, or `{traces, spans}`."""
    if isinstance(record, list):
        return bool(record) and all(map(_is_item, record[:5]))
    if not isinstance(record, dict):
        return False
    spans = record.get("spans")
    return _is_item(record) or (isinstance(spans, list) and bool(spans) and all(map(_is_item, spans[:5])))


def _is_item(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return (value.get("object") == _SPAN and "span_data" in value) or (
        value.get("object") == _TRACE and "workflow_name" in value
    )


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read exported traces and spans; each trace becomes a run."""
    counts = Counts()
    groups: dict[str, dict[str, Any]] = {}
    spans: list[Span] = []
    for trace_id, item in pieces(record):
        if not isinstance(item, dict):
            increase(counts.dropped, type_name(item))
        elif item.get("object") == _TRACE:
            groups[trace_id] = item
        elif not _is_item(item):
            increase(counts.dropped, "object that is no span")
        else:
            spans.append(_span(item, trace_id, len(spans), counts))
    for span in spans:
        trace = groups.get(span.trace_id)
        if trace is not None:
            span.thread_id = text(trace, "group_id")
            span.metadata = {"workflow_name": trace["workflow_name"], **mapping(trace.get("metadata"))}
    if not spans:
        raise ReadError("holds no spans")
    return decode_spans(spans, turns, counts)


def pieces(record: Any) -> Iterator[tuple[str, Any]]:
    """Each trace and span of a record, with the id of its trace."""
    if isinstance(record, dict) and not _is_item(record):
        record = [*objects(record.get("traces")), *objects(record.get("spans"))]
    for item in record if isinstance(record, list) else [record]:
        fields = mapping(item)
        yield text(fields, "id" if fields.get("object") == _TRACE else "trace_id") or "", item


def _span(item: dict[str, Any], trace_id: str, number: int, counts: Counts) -> Span:
    data = mapping(item.get("span_data"))
    error = mapping(item.get("error"))
    named = data.get("type")
    span = Span(
        id=text(item, "id") or f"{MADE_ID}{number}",
        trace_id=trace_id,
        parent_id=text(item, "parent_id"),
        name=text(mapping(data.get("data")), "name") or text(data, "name", "type") or "",
        kind=_KINDS.get(named, "other") if isinstance(named, str) else "other",
        started=nanoseconds(item.get("started_at")),
        ended=nanoseconds(item.get("ended_at")),
        failed=bool(error),
        error=_error(error),
        source=f"OpenAI Agents, type {named}",
    )
    if span.kind == "agent":
        span.actor = text(data, "name")
    elif span.kind == "handoff":
        span.name = f"handoff to {text(data, 'to_agent') or 'an agent'}"
        span.tool = handoff_call(text(data, "to_agent") or "")
    elif span.kind == "tool":
        span.tool = _tool(data, span)
        if data.get("mcp_data"):
            span.step_type = "mcp_tool_call"
    elif span.kind == "model":
        span.asked = messages_of(data.get("input"))
        span.answered = messages_of(data.get("output"), "assistant")
        span.model = text(data, "model")
        if isinstance(data.get("usage"), dict):
            span.usage = usage_of(data["usage"])
    return span


def _error(error: dict[str, Any]) -> str | None:
    """What went wrong: the SDK's sentence, and the exception where it is not redacted."""
    said = text(error, "message")
    detail = text(mapping(error.get("data")), "error")
    return f"{said}: {detail}" if said and detail else said or detail


def _tool(data: dict[str, Any], span: Span) -> ToolCall:
    call = call_of({"name": text(data, "name") or span.name, "arguments": data.get("input")})
    result = structured(data.get("output"))
    finished = span.ended is not None or result is not None
    return ToolCall(
        name=call.name,
        args=call.args,
        args_invalid=call.args_invalid,
        state="error" if span.failed else "result" if finished else "call",
        result=result,
        error=span.error,
    )
