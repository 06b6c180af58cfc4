"""What a record says of its run beside the messages, in our names and in the camelCase that others write."""

from __future__ import annotations

from typing import Any

from referee.formats.conversation import arguments
from referee.formats.fields import integer, mapping, number, objects
from referee.runs import Usage

_TEXTS = {
    "id": ("id", "run_id", "runId"),
    "thread_id": ("thread_id", "threadId"),
    "trace_id": ("trace_id", "traceId"),
    "model": ("model",),
    "started_at": ("started_at", "startedAt"),
}
_VALUES = {
    "ground_truth": ("ground_truth", "groundTruth"),
    "expected_trajectory": ("expected_trajectory", "expectedTrajectory"),
    "expected_tool_calls": ("expected_tool_calls", "expectedToolCalls"),
}
_OBJECTS = {
    "context": ("context", "request_context", "requestContext", "runtimeContext"),
    "metadata": ("metadata",),
}
_NUMBERS = {"duration_ms": ("duration_ms", "durationMs", "latency_ms"), "cost": ("cost", "cost_usd")}


def run_fields(record: dict[str, Any]) -> dict[str, Any]:
    """The fields of the run that a record gives.

    Example:
        >>> run_fields({"runId": "r1", "groundTruth": "8", "usage": {"inputTokens": 3}, "messages": []})
        {'id': 'r1', 'ground_truth': '8', 'usage': Usage(input_tokens=3, output_tokens=None, total_tokens=None)}
    """
    fields: dict[str, Any] = {}
    for ours, names in _TEXTS.items():
        value = next((record[name] for name in names if record.get(name) not in (None, "")), None)
        if isinstance(value, str) or (ours == "id" and type(value) is int):
            fields[ours] = str(value)
    for ours, names in _VALUES.items():
        value = next((record[name] for name in names if record.get(name) is not None), None)
        if value is not None:
            fields[ours] = value
    expected = mapping(record.get("expected")).get("tool_calls")
    if isinstance(expected, list):
        fields.setdefault("expected_tool_calls", expected_calls(expected))
    for ours, names in _OBJECTS.items():
        value = next((record[name] for name in names if isinstance(record.get(name), dict)), None)
        if value is not None:
            fields[ours] = value
    for ours, names in _NUMBERS.items():
        value = number(record, *names)
        if value is not None:
            fields[ours] = value
    usage = mapping(record.get("usage") or record.get("totalUsage"))
    if usage:
        fields["usage"] = usage_of(usage)
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
