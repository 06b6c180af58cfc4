"""Spans as they are written to files: OTLP/JSON, and flat lists of spans in the spellings of several exporters.

Here a record becomes a `SpanRecord`: ids, times, status, plain attributes and events. What the attributes mean is read
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from referee.formats.decoded import Counts, increase
from referee.formats.fields import mapping, objects, sequence, text, type_name
from referee.formats.spans import MADE_ID, Span, nanoseconds
from referee.jsonvalue import digest

_RESOURCES = ("resourceSpans", "resource_spans")
_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_FAILED = frozenset({2, "2", "ERROR", "STATUS_CODE_ERROR", "Error", "error"})


class SpanRecord(msgspec.Struct, gc=False):
    """A span as recorded: what its attributes and events mean is still to be read.

    Attributes:
        span: Its ids, times and status.
        attributes: Name and value of each attribute.
        events: Name and attributes of each event.
    """

    span: Span
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]


def is_spans(record: Any) -> bool:
    """Whether a record is a span, a list of spans, an OTLP export, or a set of GenAI attributes."""
    if isinstance(record, list):
        return any(is_span(item) or _is_export(item) for item in record[:20])
    return isinstance(record, dict) and (
        is_span(record)
        or _is_export(record)
        or _is_bare(record)
        or _are_named(record)
        or (isinstance(record.get("spans"), list) and is_spans(record["spans"]))
    )


def is_span(value: Any) -> bool:
    """Whether a value is one span with attributes."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("attributes"), (dict, list))
        and ("span_id" in value or "spanId" in value or "context" in value)
    )


def _is_export(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in _RESOURCES)


def _is_bare(value: Any) -> bool:
    """Whether a value is the attributes of a span, without the span."""
    return isinstance(value, dict) and any(isinstance(key, str) and key.startswith("gen_ai.") for key in value)


def _are_named(record: dict[str, Any]) -> bool:
    """Whether a record holds sets of attributes by name, as examples in documents do."""
    return bool(record) and all(map(_is_bare, record.values()))


def read_traces(record: Any, counts: Counts) -> Iterator[Iterator[SpanRecord]]:
    """The spans of a record, trace by trace, in the order in which the traces first show up.

    Args:
        record: A span, a list of spans, OTLP exports, or attributes alone.
        counts: Counts what is no span.
    """
    traces: dict[str, list[dict[str, Any]]] = {}
    for trace_id, raw in pieces(record):
        if not isinstance(raw, dict):
            increase(counts.dropped, type_name(raw))
        elif not isinstance(raw.get("attributes"), (dict, list)) and not trace_id:
            increase(counts.dropped, "object that is no span")
        else:
            traces.setdefault(trace_id, []).append(raw)
    while traces:
        trace_id = next(iter(traces))
        yield _read_all(traces.pop(trace_id), trace_id)


def _read_all(raws: list[dict[str, Any]], trace_id: str) -> Iterator[SpanRecord]:
    """The spans of a trace; what they are read from is let go on the way."""
    raws.reverse()
    number = 0
    while raws:
        yield _read(raws.pop(), trace_id, number)
        number += 1


def pieces(record: Any) -> Iterator[tuple[str, Any]]:
    """Each span of a record as it is, with the id of its trace: the spans of a trace may be spread over a file.

    Example:
        >>> list(pieces([{"trace_id": "t1", "span_id": "a", "attributes": {}}]))
        [('t1', {'trace_id': 't1', 'span_id': 'a', 'attributes': {}})]
    """
    if isinstance(record, list):
        for item in record:
            if is_span(item):
                yield _trace_id(item), item
            elif isinstance(item, dict):
                yield from pieces(item)
            else:
                yield "", item
    elif not isinstance(record, dict):
        yield "", record
    elif is_span(record):
        yield _trace_id(record), record
    elif _is_export(record):
        yield from _exported(record)
    elif isinstance(record.get("spans"), list):
        yield from pieces(record["spans"])
    elif _is_bare(record):
        made = MADE_ID + digest(record)
        yield made, {"trace_id": made, "name": record.get("span_name"), "attributes": record}
    elif _are_named(record):
        for name, attributes in record.items():
            yield name, {"trace_id": name, "name": attributes.get("span_name"), "attributes": attributes}
    else:
        yield _trace_id(record), record


def _exported(record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for resource in _listed(record, _RESOURCES):
        for scope in _listed(resource, _SCOPES):
            source = mapping(scope.get("scope") or scope.get("instrumentationLibrary"))
            for span in sequence(scope.get("spans")):
                if isinstance(span, dict):
                    yield _trace_id(span), {**span, "scope": source}
                else:
                    yield "", span


def _listed(record: dict[str, Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return next((objects(record[name]) for name in names if isinstance(record.get(name), list)), [])


def _trace_id(span: dict[str, Any]) -> str:
    found = _id(span, "trace_id", "traceId")
    if found is None and "context" in span:
        found = _id(mapping(span["context"]), "trace_id", "traceId")
    return found or ""


def _id(record: dict[str, Any], *names: str) -> str | None:
    """An id; the `0x` that Python's exporter writes before it is no part of it."""
    for name in names:
        if name in record:
            value = record[name]
            if isinstance(value, str) and value:
                return value.removeprefix("0x")
    return None


def _read(raw: dict[str, Any], trace_id: str, number: int) -> SpanRecord:
    attributes = plain_attributes(raw.get("attributes"))
    if "span_kind" in raw:  # Phoenix writes it beside the attributes
        attributes = {"openinference.span.kind": raw["span_kind"], **attributes}
    events = [
        (text(event, "name", "event_name") or "", _event_attributes(event))
        for key in ("events", "span_events")
        if raw.get(key)
        for event in objects(raw[key])
    ]
    span_id = _id(raw, "span_id", "spanId")
    if span_id is None and "context" in raw:
        span_id = _id(mapping(raw["context"]), "span_id", "spanId")
    scope = raw.get("scope") or raw.get("instrumentation_scope")
    span = Span(
        span_id or f"{MADE_ID}{number}",
        trace_id,
        _id(raw, "parent_id", "parent_span_id", "parentSpanId"),
        text(raw, "name") or "",
        "other",
        _time(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"),
        _time(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"),
        source=(text(scope, "name") or "") if isinstance(scope, dict) else "",
    )
    failed, said = _status(raw)
    if failed:
        span.failed, span.error = True, _error(events, said, attributes)
    return SpanRecord(span, attributes, events)


def _event_attributes(event: dict[str, Any]) -> dict[str, Any]:
    return {**plain_attributes(event.get("attributes")), **mapping(event.get("body"))}


def _time(span: dict[str, Any], *names: str) -> int | None:
    for name in names:
        if name in span and (time := nanoseconds(span[name])) is not None:
            return time
    return None


def _status(span: dict[str, Any]) -> tuple[bool, str | None]:
    status = span.get("status")
    if status is None and "status_code" not in span:
        return False, None
    if not isinstance(status, dict):
        status = {"code": span.get("status_code") or status, "message": span.get("status_message")}
    code = status.get("code", status.get("status_code"))
    if code is None:
        return False, None
    return isinstance(code, (str, int)) and code in _FAILED, text(status, "message", "description")


def _error(events: list[tuple[str, dict[str, Any]]], said: str | None, attributes: dict[str, Any]) -> str | None:
    """What went wrong: the exception's message says it best, then the status, then the type of the error."""
    for name, event in reversed(events):
        if name == "exception":
            message = text(event, "exception.message", "exception.type")
            if message:
                return message
    return said or text(attributes, "error.message", "error.type")


def plain_attributes(attributes: Any) -> dict[str, Any]:
    """Attributes as an object, from an object or from OTLP's list of keys and typed values.

    Example:
        >>> plain_attributes([{"key": "tokens", "value": {"intValue": "30"}}])
        {'tokens': 30}
    """
    if isinstance(attributes, dict):
        return attributes
    return {item["key"]: _plain(item.get("value")) for item in objects(attributes) if isinstance(item.get("key"), str)}


def _plain(value: Any) -> Any:
    """An OTLP value without its type's name; 64-bit integers come as text."""
    if not isinstance(value, dict):
        return value
    for kind, inner in value.items():
        if kind == "stringValue":
            return inner
        if kind in ("intValue", "int_value"):
            return int(inner) if isinstance(inner, str) and _is_integer(inner) else inner
        if kind in ("arrayValue", "array_value"):
            return [_plain(item) for item in sequence(mapping(inner).get("values"))]
        if kind in ("kvlistValue", "kvlist_value"):
            return plain_attributes(mapping(inner).get("values"))
        return inner
    return None


def _is_integer(digits: str) -> bool:
    return len(digits) < 21 and digits.removeprefix("-").isdecimal()
