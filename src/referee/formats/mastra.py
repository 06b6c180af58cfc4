"""Mastra and AI SDK messages: Mastra format 2 and older, AI SDK UI messages v4 and v5, AI SDK model messages.

Also a run as a Mastra scorer sees it, which `encode` writes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from referee.formats.ai_sdk_parts import message_parts
from referee.formats.conversation import Conversation
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import mapping, number, objects, role_of, text, type_name
from referee.formats.mastra_lines import decode_line
from referee.formats.record import run_fields
from referee.items import snake_case
from referee.messages import File, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from referee.runs import Run
from referee.trajectory import Step, Trajectory

__all__ = ["NAME", "TITLE", "decode", "decode_line", "detect", "encode"]

NAME = "mastra"
TITLE = "Mastra and AI SDK messages"

_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool", "data": "user"}
#: Where a record keeps its messages, or its one message.
_MESSAGE_KEYS = ("messages", "data", "message")
_STEP_FIELDS = frozenset({"name", "stepType", "durationMs", "children"})


def detect(record: Any) -> bool:
    """Whether a record looks like Mastra or AI SDK messages."""
    if isinstance(record, list):
        return all(isinstance(message, dict) for message in record) and any(map(_is_message, record))
    if not isinstance(record, dict):
        return False
    if "inputMessages" in mapping(record.get("input")):
        return True
    messages = _messages_of(record)
    if messages is None:
        return _is_message(record)
    return all(isinstance(message, dict) for message in messages) and any(map(_is_message, messages))


def _messages_of(record: dict[str, Any]) -> list[Any] | None:
    for key in _MESSAGE_KEYS:
        value = record.get(key)
        if isinstance(value, list):
            return value
        if isinstance(value, dict):
            return [value]
    return None


def _is_message(message: dict[str, Any]) -> bool:
    """Whether a message has what only these formats have. Its role may be one that is not known."""
    if not isinstance(message.get("role"), str):
        return False
    parts = message.get("parts")
    if isinstance(parts, list):
        return all(isinstance(part, dict) and "type" in part for part in parts)
    content = message.get("content")
    if isinstance(content, dict):
        return "parts" in content or "toolInvocations" in content or "format" in content
    if isinstance(content, list):
        return any(part.get("type") in ("tool-call", "tool-result") for part in objects(content))
    return "toolInvocations" in message


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record: a list of messages, `{messages: [...]}`, one message, or a Mastra scorer's run."""
    talk = Conversation()
    if not isinstance(record, dict):
        _add_messages(talk, record)
        return talk.decoded(turns)
    if "inputMessages" in mapping(record.get("input")):
        return _decode_run(talk, record)
    messages = _messages_of(record)
    _add_messages(talk, [record] if messages is None else messages)
    return talk.decoded(turns, **({} if messages is None else run_fields(record)))


def _decode_run(talk: Conversation, record: dict[str, Any]) -> Decoded:
    """A run as a Mastra scorer sees it: `{input: {inputMessages, rememberedMessages, systemMessages}, output}`."""
    given = record["input"]
    fields = run_fields(record)

    def section(messages: Any, default_role: Role | None = None) -> list[Message]:
        start = len(talk.messages)
        _add_messages(talk, messages, default_role)
        return talk.messages[start:]

    system = section(given.get("systemMessages") or [], "system")
    fields["history"] = section(given.get("rememberedMessages") or [])
    fields["input"] = section(given.get("inputMessages") or [])
    for group in mapping(given.get("taggedSystemMessages")).values():
        system = [*system, *section(group if isinstance(group, list) else [group], "system")]
    output = record.get("output")
    if isinstance(output, dict) and "steps" in output:
        fields["trajectory"] = _trajectory(output)
        output = None
    return talk.assembled(**fields, system=system, output=section(_as_messages(output)))


def _as_messages(output: Any) -> list[Any]:
    if output is None:
        return []
    if isinstance(output, str):
        return [{"role": "assistant", "content": output}]
    return output if isinstance(output, list) else [output]


def _trajectory(value: dict[str, Any]) -> Trajectory:
    return Trajectory(
        steps=[_step(step) for step in objects(value.get("steps"))], total_duration_ms=number(value, "totalDurationMs")
    )


def _step(value: dict[str, Any]) -> Step:
    return Step(
        name=str(value.get("name") or ""),
        step_type=text(value, "stepType"),
        fields={snake_case(key): item for key, item in value.items() if key not in _STEP_FIELDS},
        duration_ms=number(value, "durationMs"),
        children=[_step(child) for child in objects(value.get("children"))],
    )


def _add_messages(talk: Conversation, messages: Any, default_role: Role | None = None) -> None:
    if not isinstance(messages, list):
        talk.drop(type_name(messages))
        return
    for message in messages:
        if isinstance(message, str) and default_role:
            talk.message(default_role, [Text(message)])
        elif not isinstance(message, dict):
            talk.drop(type_name(message))
        else:
            _add_message(talk, message, default_role)


def _add_message(talk: Conversation, message: dict[str, Any], default_role: Role | None) -> None:
    role = role_of(message, _ROLES) or default_role
    if role is None:
        talk.drop(f"message of role {message.get('role')!r}")
        return
    parts, results = message_parts(message)
    if role == "tool" and not parts and results:
        talk.tool_message()
    else:
        number_or_text = message.get("id")
        known = isinstance(number_or_text, (str, int)) and number_or_text != ""
        talk.message(role, parts, id=str(number_or_text) if known else None, created_at=text(message, "createdAt"))
    for result in results:
        talk.result(result.call_id, result.value, name=result.name, is_error=result.is_error, error=result.error)


def encode(run: Run) -> bytes:
    """One run as a Mastra scorer sees it, as a JSON line without its end: messages of format 2 in their sections.

    The speakers' names, the agents' paths and how long tools took have no place in it.

    Example:
        >>> line = encode(Run(id="r1", output=[Message("assistant", [Text("Hi.")])]))
        >>> decode(msgspec.json.decode(line)).runs[0].output_text
        'Hi.'
    """
    whole: dict[str, Any] = {
        "runId": run.id or None,
        "input": {
            "inputMessages": [_encoded(message) for message in run.input],
            "rememberedMessages": [_encoded(message) for message in run.history],
            "systemMessages": [_encoded(message) for message in run.system],
            "taggedSystemMessages": {},
        },
        "output": [_encoded(message) for message in run.output],
        "groundTruth": run.ground_truth,
        "expectedTrajectory": run.expected_trajectory,
        "expectedToolCalls": run.expected_tool_calls,
        "requestContext": run.context,
        "metadata": run.metadata,
        "threadId": run.thread_id,
        "traceId": run.trace_id,
        "model": run.model,
        "startedAt": run.started_at,
        "durationMs": run.duration_ms,
        "cost": run.cost,
    }
    if run.usage is not None:
        used = zip(("inputTokens", "outputTokens", "totalTokens"), msgspec.structs.astuple(run.usage), strict=True)
        whole["usage"] = {name: value for name, value in used if value is not None}
    if run.trajectory is not None and not run.output:
        whole["output"] = _encoded_trajectory(run.trajectory)
    return msgspec.json.encode({name: value for name, value in whole.items() if value is not None})


def _encoded(message: Message) -> dict[str, Any]:
    parts = [_encoded_part(part) for part in message.parts]
    results = any(type(part) is ToolResult for part in message.parts)
    return _without_nothing(
        {
            "id": message.id,
            "role": message.role,
            "createdAt": message.created_at,
            "content": parts if results else {"format": 2, "parts": parts},
        }
    )


def _without_nothing(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}


def _encoded_part(part: Part) -> Any:
    match part:
        case Text(words):
            return {"type": "text", "text": words}
        case Reasoning(words):
            return {"type": "reasoning", "text": words}
        case ToolCall():
            return {"type": "tool-invocation", "toolInvocation": _encoded_call(part)}
        case ToolResult(result, id, name, is_error):
            fields = {"toolCallId": id, "toolName": name, "isError": is_error or None}
            return {"type": "tool-result", **_without_nothing(fields), "result": result}
        case File():
            fields = {"mediaType": part.media_type, "filename": part.name, "url": part.url, "data": part.data}
            return {"type": "file", **_without_nothing(fields)}
        case Opaque(_, value):
            return value


_STATES = {"result": "result", "error": "output-error", "call": "call", "partial": "partial-call"}


def _encoded_call(call: ToolCall) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "state": _STATES.get(call.state),
        "toolCallId": call.id,
        "toolName": call.name or None,
        "errorText": call.error,
        "isError": call.is_error or None,
    }
    if call.result is not None:
        fields["result"] = call.result
    return {**_without_nothing(fields), "args": call.args}


def _encoded_trajectory(trajectory: Trajectory) -> dict[str, Any]:
    steps = [_encoded_step(step) for step in trajectory.steps]
    return _without_nothing({"steps": steps, "totalDurationMs": trajectory.total_duration_ms})


def _encoded_step(step: Step) -> dict[str, Any]:
    known = {"name": step.name, "stepType": step.step_type, "durationMs": step.duration_ms}
    children = [_encoded_step(child) for child in step.children]
    fields = {_camel_case(name): value for name, value in step.fields.items()}
    return {**_without_nothing(known), **fields, **({"children": children} if children else {})}


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
