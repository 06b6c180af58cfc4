"""CrewAI: the output of a crew or of one agent as JSON, and the JSON log of a crew's tasks.

Each task is a user's message with its description and what the agent said and called; the task's raw output is the
answer.
"""

from __future__ import annotations

from typing import Any

from referee.formats import openai_chat
from referee.formats.conversation import Conversation
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import mapping, objects, sequence, text, type_name
from referee.formats.record import run_fields, usage_of
from referee.messages import Text

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
    for message in messages:
        if isinstance(message, dict):
            openai_chat.add_message(talk, message, speaker=agent)
        else:
            talk.drop(type_name(message))
    said = talk.messages[-1].text if messages and talk.answering else ""
    if raw and raw not in said:  # the framework takes the answer out of what the model said, or out of a tool's result
        talk.message("assistant", [Text(raw)], name=agent, counted=not messages)


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
