"""Mastra and AI SDK messages: Mastra format 2 and older, AI SDK UI messages v4 and v5, AI SDK model messages.

Read from real records: `content` may be text, a list of parts, an object with `parts` and legacy `toolInvocations`,
or missing; UI messages have `parts` at the top.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from referee.formats.conversation import Conversation, arguments
from referee.formats.decoded import Decoded, Turns
from referee.messages import CallState, File, Message, Opaque, Part, Reasoning, Role, Text, ToolCall
from referee.runs import Usage
from referee.trajectory import Step, Trajectory

NAME = "mastra"
TITLE = "Mastra and AI SDK messages"

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
_ROLES: dict[Any, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool", "data": "user"}
#: Parts that mark a place and carry nothing.
_MARKERS = frozenset({"step-start", "step-finish", "start", "finish"})


def detect(record: Any) -> bool:
    """Whether a record looks like Mastra or AI SDK messages."""
    if isinstance(record, dict):
        if isinstance(record.get("input"), dict) and "inputMessages" in record["input"]:
            return True
        for key in ("messages", "data", "message"):
            value = record.get(key)
            if isinstance(value, (list, dict)):
                return detect(value if isinstance(value, list) else [value])
        return _is_message(record)
    if isinstance(record, list):
        messages = [message for message in record if isinstance(message, dict)]
        return any(map(_is_message, messages))
    return False


def _is_message(message: dict[str, Any]) -> bool:
    if message.get("role") not in _ROLES:
        return False
    if isinstance(message.get("parts"), list) and all(
        isinstance(part, dict) and ("type" in part) for part in message["parts"]
    ):
        return True
    content = message.get("content")
    if isinstance(content, dict):
        return "parts" in content or "toolInvocations" in content or "format" in content
    if isinstance(content, list):
        return any(isinstance(part, dict) and part.get("type") in ("tool-call", "tool-result") for part in content)
    return "toolInvocations" in message


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record: a list of messages, `{messages: [...]}`, one message, or a Mastra scorer's run."""
    if isinstance(record, dict) and isinstance(record.get("input"), dict) and "inputMessages" in record["input"]:
        return _decode_run(record)
    fields: dict[str, Any] = {}
    messages = record
    if isinstance(record, dict):
        key = next((key for key in ("messages", "data", "message") if isinstance(record.get(key), (list, dict))), None)
        messages = record[key] if key else record
        if key:
            fields = _run_fields(record)
        if isinstance(messages, dict):
            messages = [messages]
    talk = Conversation()
    _add_messages(talk, messages)
    return talk.decoded(turns, **fields)


def _run_fields(record: dict[str, Any]) -> dict[str, Any]:
    """What a record says of its run beside the messages, in camelCase or snake_case."""
    fields: dict[str, Any] = {}
    for ours, names in {
        "id": ("runId", "run_id", "id"),
        "ground_truth": ("groundTruth", "ground_truth"),
        "expected_trajectory": ("expectedTrajectory", "expected_trajectory"),
        "expected_tool_calls": ("expectedToolCalls", "expected_tool_calls"),
        "context": ("requestContext", "request_context", "runtimeContext"),
        "thread_id": ("threadId", "thread_id"),
        "trace_id": ("traceId", "trace_id"),
        "metadata": ("metadata",),
    }.items():
        value = next((record[name] for name in names if record.get(name) is not None), None)
        if value is not None and (ours not in ("context", "metadata") or isinstance(value, dict)):
            fields[ours] = str(value) if ours in ("id", "thread_id", "trace_id") else value
    usage = record.get("usage") or record.get("totalUsage")
    if isinstance(usage, dict):
        fields["usage"] = _usage(usage)
    return fields


def _usage(usage: dict[str, Any]) -> Usage:
    def number(*names: str) -> int | None:
        return next((usage[name] for name in names if type(usage.get(name)) is int), None)

    return Usage(
        number("inputTokens", "promptTokens"), number("outputTokens", "completionTokens"), number("totalTokens")
    )


def _decode_run(record: dict[str, Any]) -> Decoded:
    """A run as a Mastra scorer sees it: `{input: {inputMessages, rememberedMessages, systemMessages}, output}`."""
    given = record["input"]
    fields = _run_fields(record)
    talk = Conversation()
    sections: dict[str, list[Message]] = {}
    for ours, name in (("system", "systemMessages"), ("history", "rememberedMessages"), ("input", "inputMessages")):
        start = len(talk.messages)
        _add_messages(talk, given.get(name) or [], default_role="system" if ours == "system" else None)
        sections[ours] = talk.messages[start:]
    for group in (given.get("taggedSystemMessages") or {}).values():
        start = len(talk.messages)
        _add_messages(talk, group if isinstance(group, list) else [group], default_role="system")
        sections["system"] = [*sections["system"], *talk.messages[start:]]
    output = record.get("output")
    start = len(talk.messages)
    if isinstance(output, dict) and "steps" in output:
        fields["trajectory"] = _trajectory(output)
    else:
        _add_messages(talk, _as_messages(output))
    produced = talk.messages[start:]
    return talk.assembled(**fields, **sections, output=produced)


def _as_messages(output: Any) -> list[Any]:
    if output is None:
        return []
    if isinstance(output, str):
        return [{"role": "assistant", "content": output}]
    return output if isinstance(output, list) else [output]


def _trajectory(value: dict[str, Any]) -> Trajectory:
    steps = value.get("steps")
    return Trajectory(
        steps=[_step(step) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else [],
        total_duration_ms=_number(value.get("totalDurationMs")),
    )


def _step(value: dict[str, Any]) -> Step:
    known = ("name", "stepType", "durationMs", "children")
    children = value.get("children")
    return Step(
        name=str(value.get("name") or ""),
        step_type=value.get("stepType"),
        fields={snake_case(key): item for key, item in value.items() if key not in known},
        duration_ms=_number(value.get("durationMs")),
        children=[_step(child) for child in children if isinstance(child, dict)] if isinstance(children, list) else [],
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def snake_case(name: str) -> str:
    """A camelCase name in snake_case.

    Example:
        >>> snake_case("toolArgs")
        'tool_args'
    """
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def _add_messages(talk: Conversation, messages: Any, default_role: Role | None = None) -> None:
    if not isinstance(messages, list):
        talk.drop(type(messages).__name__)
        return
    for message in messages:
        if isinstance(message, str) and default_role:
            talk.message(default_role, [Text(message)])
        elif not isinstance(message, dict):
            talk.drop("null" if message is None else type(message).__name__)
        else:
            _add_message(talk, message, default_role)


def _add_message(talk: Conversation, message: dict[str, Any], default_role: Role | None) -> None:
    role = _ROLES.get(message.get("role"), default_role)
    if role is None:
        talk.drop(f"message of role {message.get('role')!r}")
        return
    parts, results = message_parts(message)
    if role == "tool" and not parts and results:
        talk.tool_message()
    else:
        talk.message(role, parts, id=_text_or_none(message.get("id")), created_at=_time(message.get("createdAt")))
    for result in results:
        talk.result(**result)


def _text_or_none(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _time(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def message_parts(message: dict[str, Any]) -> tuple[list[Part], list[dict[str, Any]]]:
    """The parts of one message, and the tool results in it that belong to calls elsewhere."""
    content = message.get("content")
    parts: list[Part] = []
    results: list[dict[str, Any]] = []
    flat: Any = None
    legacy = message.get("toolInvocations")
    listed = message.get("parts")
    if isinstance(content, dict):
        listed = content.get("parts") if listed is None else listed
        legacy = content.get("toolInvocations") if legacy is None else legacy
        flat = content.get("content", content.get("text"))
    elif isinstance(content, list):
        listed = content if listed is None else listed
    else:
        flat = content
    for part in listed if isinstance(listed, list) else ():
        _add_part(part, parts, results)
    _join_results(parts, results)
    if isinstance(flat, str) and flat and not any(type(part) is Text for part in parts):
        parts.insert(0, Text(flat))
    if isinstance(legacy, list):
        parts = _merged(parts, [_invocation(entry) for entry in legacy if isinstance(entry, dict)])
    return parts, results


def _join_results(parts: list[Part], results: list[dict[str, Any]]) -> None:
    """Join results to calls of the same message (a model message may hold both)."""
    for result in list(results):
        for index in range(len(parts) - 1, -1, -1):
            call = parts[index]
            if isinstance(call, ToolCall) and call.state == "call" and call.id and call.id == result["call_id"]:
                failed = result["is_error"]
                parts[index] = msgspec.structs.replace(
                    call,
                    state="error" if failed else "result",
                    result=result["value"],
                    is_error=failed,
                    error=result["error"],
                )
                results.remove(result)
                break


def _add_part(part: Any, parts: list[Part], results: list[dict[str, Any]]) -> None:
    if isinstance(part, str):
        parts.append(Text(part))
        return
    if not isinstance(part, dict):
        parts.append(Opaque("null" if part is None else type(part).__name__, part))
        return
    kind = part.get("type")
    text = part.get("text")
    if kind == "text" and isinstance(text, str):
        parts.append(Text(text))
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
    elif kind not in _MARKERS:
        parts.append(Opaque(str(kind), part))


def _reasoning_text(part: dict[str, Any]) -> str:
    for key in ("text", "reasoning"):
        if isinstance(part.get(key), str) and part[key]:
            return str(part[key])
    details = part.get("details")
    texts = [detail.get("text") for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def _file(part: dict[str, Any]) -> File:
    def text(*names: str) -> str | None:
        return next((part[name] for name in names if isinstance(part.get(name), str)), None)

    return File(text("mediaType", "mimeType"), text("filename", "name"), text("url"), text("data", "image"))


def _ui_tool(part: dict[str, Any], kind: str) -> ToolCall:
    name = part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
    return _invocation(
        {**part, "toolName": name, "args": part.get("input", part.get("rawInput")), "result": part.get("output")}
    )


def _result(part: dict[str, Any]) -> dict[str, Any]:
    """A `tool-result` part. In v5 the output may be wrapped as `{type: "json" | "text" | "error-text" | ..., value}`."""
    value = part.get("output", part.get("result"))
    failed = bool(part.get("isError"))
    if (
        isinstance(value, dict)
        and set(value) <= {"type", "value", "providerOptions"}
        and isinstance(value.get("type"), str)
    ):
        failed = failed or value["type"].startswith("error")
        value = value.get("value")
    error = value if failed and isinstance(value, str) else None
    return {
        "call_id": part.get("toolCallId"),
        "value": value,
        "name": part.get("toolName"),
        "is_error": failed,
        "error": error,
    }


def _invocation(entry: dict[str, Any]) -> ToolCall:
    """One tool invocation of either generation."""
    state = _STATES.get(entry["state"], "unknown") if isinstance(entry.get("state"), str) else "unknown"
    is_error = bool(entry.get("isError"))
    if is_error and state == "result":
        state = "error"
    args, invalid = arguments(entry["args"] if "args" in entry else entry.get("input"))
    error = entry.get("errorText")
    return ToolCall(
        name=entry["toolName"] if isinstance(entry.get("toolName"), str) else "",
        args=args,
        id=_text_or_none(entry.get("toolCallId")),
        state=state,
        result=entry.get("result"),
        error=error if isinstance(error, str) else None,
        is_error=is_error,
        args_invalid=invalid,
    )


def _merged(parts: list[Part], legacy: Iterable[ToolCall]) -> list[Part]:
    """Parts and legacy invocations as one list: two forms of one call are one call, and the part wins.

    Forms pair by id, without ids by name, in order. The parts keep their order; a legacy entry without a part stands
    before the next legacy entry that has one, or at the end.
    """
    free = [index for index, part in enumerate(parts) if isinstance(part, ToolCall)]
    before: dict[int, list[Part]] = {}
    waiting: list[Part] = []
    for entry in legacy:
        place = next((index for index in free if _same_call(parts[index], entry)), None)
        if place is None:
            waiting.append(entry)
            continue
        free.remove(place)
        before[place] = waiting
        waiting = []
    merged: list[Part] = []
    for index, part in enumerate(parts):
        merged += before.get(index, ())
        merged.append(part)
    return merged + waiting


def _same_call(part: Part, entry: ToolCall) -> bool:
    assert isinstance(part, ToolCall)
    if part.id or entry.id:
        return part.id == entry.id
    return part.name == entry.name
