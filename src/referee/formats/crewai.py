"""CrewAI: the output of a crew or of one agent as JSON, and the JSON log of a crew's tasks.

Each task is a user's message with its description and what the agent said and called; the task's raw output is the
answer. A model that CrewAI asks in plain words calls tools in its text. Which calls failed stands beside the messages.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from referee.formats import openai_chat
from referee.formats.conversation import Conversation, arguments, json_result
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import mapping, objects, sequence, text, type_name
from referee.formats.react_text import Told, read_react
from referee.formats.record import run_fields, usage_of
from referee.jsonvalue import digest
from referee.messages import Part, Reasoning, Text, ToolCall

NAME = "crewai"
TITLE = "CrewAI outputs and task logs"


def detect(record: Any) -> bool:
    """Whether a record looks like a crew's output, an agent's output, or a log of tasks."""
    if isinstance(record, list):
        return bool(record) and all(map(_is_log_entry, record))
    if not isinstance(record, dict) or not isinstance(record.get("raw"), str):
        return False
    return isinstance(record.get("tasks_output"), list) or "agent_role" in record or _is_task(record)


def _is_log_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and {"timestamp", "task", "agent", "status"} <= entry.keys()


def _is_task(record: dict[str, Any]) -> bool:
    return {"description", "agent", "raw"} <= record.keys()


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above."""
    talk = Conversation()
    fields: dict[str, Any] = {}
    if isinstance(record, list):
        _add_log(talk, record)
        return talk.decoded(turns)
    output = mapping(record)
    tasks = output.get("tasks_output")
    for task in tasks if isinstance(tasks, list) else [record]:
        if isinstance(task, dict):
            _add_task(talk, task)
        else:
            talk.drop(type_name(task))
    fields = run_fields(output)
    usage = mapping(output.get("token_usage") or output.get("usage_metrics"))
    if usage:
        fields["usage"] = usage_of(usage)
    return talk.decoded(turns, **fields)


def _add_task(talk: Conversation, task: dict[str, Any]) -> None:
    agent = text(task, "agent", "agent_role")
    messages = sequence(task.get("messages"))
    description, raw = text(task, "description"), text(task, "raw")
    if not messages and description:
        talk.message("user", [Text(description)], counted=False)
    start = len(talk.messages)
    for message in messages:
        if isinstance(message, dict):
            _add_message(talk, message, agent)
        else:
            talk.drop(type_name(message))
    _mark_failures(talk, start, objects(task.get("tool_failures")))
    said = talk.messages[-1].text if messages and talk.answering else ""
    if raw and raw not in said:  # the framework takes the answer out of what the model said, or out of a tool's result
        talk.message("assistant", [Text(raw)], name=agent, counted=not messages)


def _add_message(talk: Conversation, message: dict[str, Any], agent: str | None) -> None:
    content = message.get("content")
    told = read_react(content) if message.get("role") == "assistant" and isinstance(content, str) else None
    if told is None or message.get("tool_calls"):
        openai_chat.add_message(talk, message, speaker=agent)
        return
    talk.message("assistant", _parts_of(told), name=agent)
    if told.observed is not None:
        talk.result(None, json_result(told.observed), name=told.name)


def _parts_of(told: Told) -> list[Part]:
    parts: list[Part] = [Reasoning(told.thought)] if told.thought else []
    if told.name:
        parts.append(ToolCall(told.name, told.args, args_invalid=told.args_invalid))
    if told.answer:
        parts.append(Text(told.answer))
    return parts


def _mark_failures(talk: Conversation, start: int, failures: list[dict[str, Any]]) -> None:
    """Mark the calls of a task's messages that its list of failures names, each the first that it fits."""
    if not failures:
        return
    places: dict[tuple[str, str], deque[tuple[list[Part], int]]] = {}
    for message in talk.messages[start:]:
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                places.setdefault((part.name, digest(part.args)), deque()).append((message.parts, index))
    for failure in failures:
        name, args = text(failure, "tool_name") or "", arguments(failure.get("tool_args"))[0]
        found = places.get((name, digest(args)))
        if not found:
            talk.warn("failure without a call", f"the failure of {name or 'a tool'} has no call")
            continue
        parts, index = found.popleft()
        error = text(mapping(failure.get("failure")), "message", "reason")
        parts[index] = msgspec.structs.replace(parts[index], state="error", error=error)


def _add_log(talk: Conversation, entries: list[Any]) -> None:
    """A log of tasks: an entry when one starts and one when it ends."""
    for entry in objects(entries):
        task, output = text(entry, "task"), text(entry, "output")
        if output is not None:
            talk.message("assistant", [Text(output)], name=text(entry, "agent"), created_at=text(entry, "timestamp"))
        elif task is not None and entry.get("status") == "started":
            talk.message("user", [Text(task)], created_at=text(entry, "timestamp"))
        else:
            talk.drop(f"entry of status {entry.get('status')!r}")
