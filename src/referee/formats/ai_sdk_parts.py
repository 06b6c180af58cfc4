"""The parts of AI SDK and Mastra messages of all generations: what one message holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from referee.formats.conversation import arguments
from referee.formats.fields import joined_texts, mapping, objects, sequence, text, type_name
from referee.messages import CallState, File, Opaque, Part, Reasoning, Text, ToolCall

_STATES: dict[Any, CallState] = {
    "result": "result",
    "output-available": "result",
    "call": "call",
    "input-available": "call",
    "partial-call": "partial",
    "input-streaming": "partial",
    "output-error": "error",
    "error": "error",
}
#: Parts that mark a place and carry nothing.
_MARKERS = frozenset({"step-start", "step-finish", "start", "finish"})
#: The wrappers of a model message's tool output.
_OUTPUTS = frozenset({"text", "json", "content", "error-text", "error-json", "execution-denied"})


class Result(NamedTuple):
    """A tool's result in a message that does not hold its call."""

    call_id: str | None
    value: Any
    name: str | None
    is_error: bool
    error: str | None


def message_parts(message: dict[str, Any]) -> tuple[list[Part], list[Result]]:
    """The parts of one message, and the tool results in it that belong to calls elsewhere.

    `content` may be text, a list of parts, an object with `parts` and legacy fields, or missing; UI messages have
    `parts` at the top.
    """
    content = message.get("content")
    whole = content if isinstance(content, dict) else {}
    parts: list[Part] = []
    results: list[Result] = []
    listed = _given(message, whole, "parts")
    for part in sequence(content if listed is None else listed):
        _add_part(part, parts, results)
    if results:
        results = _joined(parts, results)
    flat = whole.get("content", whole.get("text")) if whole else content
    if isinstance(flat, str) and flat and not any(type(part) is Text for part in parts):
        parts.insert(0, Text(flat))
    legacy = _given(message, whole, "toolInvocations")
    if isinstance(legacy, list):
        parts = _merged(parts, map(_invocation, objects(legacy)))
    thought = _given(message, whole, "reasoning")
    if isinstance(thought, str) and thought and not any(type(part) is Reasoning for part in parts):
        parts.insert(0, Reasoning(thought))
    parts += map(_file, objects(_given(message, whole, "experimental_attachments")))
    return parts, results


def _given(message: dict[str, Any], content: dict[str, Any], name: str) -> Any:
    """A field of the message, or of its content where it has none."""
    value = message.get(name)
    return content.get(name) if value is None else value


def _joined(parts: list[Part], results: list[Result]) -> list[Result]:
    """Join results to calls of the same message, which may hold both; gives those that are left."""
    waiting: dict[str, list[int]] = {}
    for index, part in enumerate(parts):
        if isinstance(part, ToolCall) and part.state == "call" and part.id:
            waiting.setdefault(part.id, []).append(index)
    left = []
    for result in results:
        places = waiting.get(result.call_id or "")
        if not places:
            left.append(result)
            continue
        index = places.pop()
        parts[index] = msgspec.structs.replace(
            parts[index],
            state="error" if result.is_error else "result",
            result=result.value,
            is_error=result.is_error,
            error=result.error,
        )
    return left


def _add_part(part: Any, parts: list[Part], results: list[Result]) -> None:
    if isinstance(part, str):
        parts.append(Text(part))
        return
    if not isinstance(part, dict):
        parts.append(Opaque(type_name(part), part))
        return
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        parts.append(Text(part["text"]))
    elif kind == "reasoning":
        parts.append(Reasoning(_reasoning_text(part)))
    elif kind == "tool-invocation" and isinstance(part.get("toolInvocation"), dict):
        parts.append(_invocation(part["toolInvocation"]))
    elif kind == "tool-call":
        parts.append(_invocation({"state": "call", **part, "args": part.get("input", part.get("args"))}))
    elif kind == "tool-result":
        results.append(_result(part))
    elif kind == "dynamic-tool" or (
        isinstance(kind, str) and kind.startswith("tool-") and ("toolCallId" in part or "state" in part)
    ):
        parts.append(_ui_tool(part, kind))
    elif kind in ("file", "image"):
        parts.append(_file(part))
    elif not isinstance(kind, str) or kind not in _MARKERS:
        parts.append(Opaque(str(kind), part))


def _reasoning_text(part: dict[str, Any]) -> str:
    given = text(part, "text", "reasoning")
    if given is not None:
        return given
    return "\n".join(text(detail, "text") or "" for detail in objects(part.get("details")))


def _file(part: dict[str, Any]) -> File:
    return File(
        text(part, "mediaType", "mimeType", "contentType"),
        text(part, "filename", "name"),
        text(part, "url"),
        text(part, "data", "image"),
    )


def _ui_tool(part: dict[str, Any], kind: str) -> ToolCall:
    name = part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
    return _invocation(
        {**part, "toolName": name, "args": part.get("input", part.get("rawInput")), "result": part.get("output")}
    )


def _result(part: dict[str, Any]) -> Result:
    """A `tool-result` part. Since v5 the output may be wrapped as `{type: "json" | "text" | "error-text" | ..., value}`."""
    value = part.get("output", part.get("result"))
    failed = part.get("isError") is True
    kind = mapping(value).get("type")
    if (
        isinstance(value, dict)
        and isinstance(kind, str)
        and kind in _OUTPUTS
        and value.keys() <= {"type", "value", "reason", "providerOptions"}
    ):
        failed = failed or kind.startswith("error") or kind == "execution-denied"
        value = joined_texts(value.get("value")) if kind == "content" else value.get("value", value.get("reason"))
    error = value if failed and isinstance(value, str) else None
    return Result(_id(part), value, text(part, "toolName"), failed, error)


def _id(part: dict[str, Any]) -> str | None:
    value = part.get("toolCallId")
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _invocation(entry: dict[str, Any]) -> ToolCall:
    """One tool invocation of either generation."""
    state = _STATES.get(entry["state"], "unknown") if isinstance(entry.get("state"), str) else "unknown"
    is_error = bool(entry.get("isError"))
    if is_error and state == "result":
        state = "error"
    args, invalid = arguments(entry["args"] if "args" in entry else entry.get("input"))
    return ToolCall(
        name=text(entry, "toolName") or "",
        args=args,
        id=_id(entry),
        state=state,
        result=entry.get("result"),
        error=text(entry, "errorText"),
        is_error=is_error,
        args_invalid=invalid,
    )


def _merged(parts: list[Part], legacy: Iterable[ToolCall]) -> list[Part]:
    """Parts and legacy invocations as one list: two forms of one call are one call, and the part wins.

    Forms pair by id, without ids by name, in order. The parts keep their order; a legacy entry without a part stands
    before the next legacy entry that has one, or at the end.
    """
    free: dict[tuple[str | None, str], deque[int]] = {}
    for index, part in enumerate(parts):
        if isinstance(part, ToolCall):
            free.setdefault(_identity(part), deque()).append(index)
    before: dict[int, list[Part]] = {}
    waiting: list[Part] = []
    for entry in legacy:
        places = free.get(_identity(entry))
        if places:
            before[places.popleft()] = waiting
            waiting = []
        else:
            waiting.append(entry)
    merged: list[Part] = []
    for index, part in enumerate(parts):
        merged += before.get(index, ())
        merged.append(part)
    return merged + waiting


def _identity(call: ToolCall) -> tuple[str | None, str]:
    """What two forms of one call have in common."""
    return (call.id, "") if call.id else (None, call.name)
