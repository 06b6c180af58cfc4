"""What a record says of its run beside the messages, in our names and in the camelCase that others write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from referee.formats.conversation import arguments
from referee.formats.fields import integer, mapping, number, objects
from referee.runs import Usage


def _text(value: Any) -> Any:
    return value if isinstance(value, str) and value else None


def _identity(value: Any) -> Any:
    return str(value) if type(value) is int else _text(value)


def _any(value: Any) -> Any:
    return value


def _object(value: Any) -> Any:
    return value if isinstance(value, dict) else None


def _number(value: Any) -> Any:
    return number({"value": value}, "value")


def _usage(value: Any) -> Any:
    return usage_of(value) if isinstance(value, dict) and value else None


def _expected(value: Any) -> Any:
    calls = mapping(value).get("tool_calls")
    return expected_calls(calls) if isinstance(calls, list) else None


#: Every name in a record, with the run's field and how its value becomes the field's; of several the first counts.
_NAMES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "id": ("id", _identity),
    "run_id": ("id", _identity),
    "runId": ("id", _identity),
    "thread_id": ("thread_id", _text),
    "threadId": ("thread_id", _text),
    "trace_id": ("trace_id", _text),
    "traceId": ("trace_id", _text),
    "model": ("model", _text),
    "started_at": ("started_at", _text),
    "startedAt": ("started_at", _text),
    "ground_truth": ("ground_truth", _any),
    "groundTruth": ("ground_truth", _any),
    "expected_trajectory": ("expected_trajectory", _any),
    "expectedTrajectory": ("expected_trajectory", _any),
    "expected_tool_calls": ("expected_tool_calls", _any),
    "expectedToolCalls": ("expected_tool_calls", _any),
    "expected": ("expected_tool_calls", _expected),
    "context": ("context", _object),
    "request_context": ("context", _object),
    "requestContext": ("context", _object),
    "runtimeContext": ("context", _object),
    "metadata": ("metadata", _object),
    "duration_ms": ("duration_ms", _number),
    "durationMs": ("duration_ms", _number),
    "latency_ms": ("duration_ms", _number),
    "cost": ("cost", _number),
    "cost_usd": ("cost", _number),
    "usage": ("usage", _usage),
    "totalUsage": ("usage", _usage),
}


def run_fields(record: dict[str, Any]) -> dict[str, Any]:
    """The fields of the run that a record gives.

    Example:
        >>> run_fields({"runId": "r1", "groundTruth": "8", "usage": {"inputTokens": 3}, "messages": []})
        {'id': 'r1', 'ground_truth': '8', 'usage': Usage(input_tokens=3, output_tokens=None, total_tokens=None)}
    """
    present = _NAMES.keys() & record.keys()
    fields: dict[str, Any] = {}
    for name, (ours, convert) in _NAMES.items() if present else ():
        if name in present and ours not in fields:
            value = convert(record[name])
            if value is not None:
                fields[ours] = value
    return fields


def usage_of(usage: dict[str, Any]) -> Usage:
    """Tokens in any of the common spellings.

    Example:
        >>> usage_of({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}).total
        9
    """
    return Usage(
        integer(usage, "input_tokens", "prompt_tokens", "inputTokens", "promptTokens"),
        integer(usage, "output_tokens", "completion_tokens", "outputTokens", "completionTokens"),
        integer(usage, "total_tokens", "totalTokens"),
    )


def expected_calls(calls: list[Any]) -> list[Any]:
    """Expected calls as `{name, args}`, from entries that say `arguments` or `kwargs`; other entries as they are.

    Example:
        >>> expected_calls([{"name": "book", "arguments": '{"seat": 4}'}, "pay"])
        [{'name': 'book', 'args': {'seat': 4}}, 'pay']
    """
    entries = {id(call): call for call in objects(calls)}
    named = []
    for call in calls:
        key = next((name for name in ("args", "arguments", "kwargs") if name in entries.get(id(call), {})), None)
        named.append({"name": call.get("name"), "args": arguments(call[key])[0]} if key else call)
    return named
