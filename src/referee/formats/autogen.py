"""AutoGen: task results, messages, streams, saved states; and runs of several agents told as one history.

In the history of several agents the role says nothing: the speaker stands in `name`, or in the role's place.
"""

from __future__ import annotations

from typing import Any

from referee.formats.conversation import Conversation, arguments
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import as_text, mapping, objects, text, total, type_name
from referee.formats.record import run_fields, usage_of
from referee.formats.span_messages import structured
from referee.messages import File, Opaque, Part, Reasoning, Text, ToolCall
from referee.runs import Usage

NAME = "autogen"
TITLE = "AutoGen messages and multi-agent histories"

#: Messages whose content is what the speaker says.
_SAID = frozenset(
    {"TextMessage", "StopMessage", "HandoffMessage", "ToolCallSummaryMessage", "MultiModalMessage", "UserMessage"}
)
_CALLS = frozenset({"ToolCallRequestEvent", "AssistantMessage"})
_RESULTS = frozenset({"ToolCallExecutionEvent", "FunctionExecutionResultMessage"})
_EVENTS = frozenset(
    {
        "CodeExecutionEvent",
        "CodeGenerationEvent",
        "MemoryQueryEvent",
        "ModelClientStreamingChunkEvent",
        "SelectSpeakerEvent",
        "SelectorEvent",
        "ThoughtEvent",
        "UserInputRequestedEvent",
    }
)
_TYPES = _SAID | _CALLS | _RESULTS | _EVENTS | {"SystemMessage"}
#: A message that comes again whole, after its pieces.
_PIECE = "ModelClientStreamingChunkEvent"
#: Speakers that are a person.
_PEOPLE = frozenset({"user", "human", "user_proxy"})
#: Roles that say nothing of who speaks; a history of several agents has other words, or names.
_PLAIN_ROLES = frozenset({"user", "assistant", "system", "human"})
#: What a labelled history says of its run, beside the question and the right answer.
_LABELS = ("is_correct", "is_corrected", "level", "mistake_agent", "mistake_step", "mistake_reason")


def detect(record: Any) -> bool:
    """Whether a record looks like AutoGen's messages, a state that keeps them, or a history of named agents."""
    if isinstance(record, list):
        told = record[:-1] if _is_streamed(record) else record
        return bool(told) and all(map(_is_message, told))
    if not isinstance(record, dict):
        return False
    if _is_message(record) or _is_history(record):
        return True
    messages = _kept_messages(record)
    return bool(messages) and all(map(_is_message, messages))


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or "content" not in message or "role" in message:
        return False
    kind = message.get("type")
    if not isinstance(kind, str):
        return False
    known = kind in _TYPES or kind.startswith("StructuredMessage")
    return known and ("source" in message or kind in ("SystemMessage", "FunctionExecutionResultMessage"))


def _is_streamed(record: list[Any]) -> bool:
    """Whether a list ends with the task's result, which has the messages before it again (`run_stream`)."""
    last = record[-1] if record else None
    return isinstance(last, dict) and "stop_reason" in last and isinstance(last.get("messages"), list)


def _is_history(record: dict[str, Any]) -> bool:
    history = record.get("history")
    if not isinstance(history, list) or not history or "question" not in record:
        return False
    entries = objects(history)
    return (
        len(entries) == len(history)
        and all(isinstance(entry.get("role"), str) and "content" in entry for entry in entries)
        and any("name" in entry or entry["role"] not in _PLAIN_ROLES for entry in entries)
    )


def _kept_messages(record: dict[str, Any]) -> list[Any]:
    """The messages of a task result, of an agent's state or of a team's."""
    for place in (
        record.get("messages"),
        mapping(record.get("llm_context")).get("messages"),
        mapping(mapping(record.get("agent_state")).get("llm_context")).get("messages"),
        record.get("message_thread"),
    ):
        if isinstance(place, list) and place:
            return place
    states = objects(list(mapping(record.get("agent_states")).values()))
    threads = [_kept_messages(state) for state in states]
    managed = [thread for state, thread in zip(states, threads, strict=True) if "message_thread" in state]
    return next((thread for thread in [*managed, *threads] if thread), [])


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above."""
    talk = Conversation()
    if isinstance(record, dict) and _is_history(record):
        fields = _add_history(talk, record)
        return talk.decoded(turns, **fields)
    fields = {}
    if isinstance(record, list) and _is_streamed(record):
        record = record[-1]
    messages: list[Any] = record if isinstance(record, list) else [record]
    if isinstance(record, dict) and not _is_message(record):
        messages = _kept_messages(record)
        fields = run_fields(record)
        if text(record, "stop_reason"):
            fields["metadata"] = {"stop_reason": record["stop_reason"], **fields.get("metadata", {})}
    usages: list[Usage] = []
    for message in messages:
        if isinstance(message, dict):
            _add_message(talk, message)
            if isinstance(message.get("models_usage"), dict):
                usages.append(usage_of(message["models_usage"]))
        else:
            talk.drop(type_name(message))
    usage = total(usages)
    if usage is not None and turns == "all":
        fields.setdefault("usage", usage)
    return talk.decoded(turns, **fields)


def _add_history(talk: Conversation, record: dict[str, Any]) -> dict[str, Any]:
    """A history of named agents. The question is the user's message where the history does not begin with one."""
    for agent, prompt in mapping(record.get("system_prompt")).items():
        if isinstance(prompt, str) and prompt:
            talk.message("system", [Text(prompt)], name=agent, counted=False)
    entries = record["history"]
    question = record.get("question")
    if isinstance(question, str) and not any(_is_person(entry) for entry in entries):
        talk.message("user", [Text(question)], counted=False)
    for entry in entries:
        content = entry["content"]
        parts: list[Part] = [Text(content)] if isinstance(content, str) else [Opaque(type_name(content), content)]
        if entry["role"] == "system":
            talk.message("system", parts)
        elif _is_person(entry):
            talk.message("user", parts)
        else:
            talk.message("assistant", parts, name=text(entry, "name", "role"))
    fields = run_fields(record)
    if text(record, "question_ID"):
        fields.setdefault("id", record["question_ID"])
    labels = {name: record[name] for name in _LABELS if name in record}
    return fields | ({"metadata": {**labels, **fields.get("metadata", {})}} if labels else {})


def _is_person(entry: dict[str, Any]) -> bool:
    return (text(entry, "name") or entry["role"]) in _PEOPLE


def _add_message(talk: Conversation, message: dict[str, Any]) -> None:
    kind, content = text(message, "type") or "", message.get("content")
    speaker, time = text(message, "source"), text(message, "created_at")
    if kind == "SystemMessage":
        talk.message("system", [_said(content)])
    elif kind in _RESULTS:
        talk.tool_message()
        for result in objects(content):
            _add_result(talk, result)
    elif kind == _PIECE:
        talk.tool_message()
    elif speaker in _PEOPLE or kind == "UserMessage":
        talk.message("user", [_said(item) for item in _items(content)], id=text(message, "id"), created_at=time)
    else:
        parts = _answer_parts(message, kind, content)
        talk.message("assistant", parts, id=text(message, "id"), name=speaker, created_at=time)


def _items(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]


def _answer_parts(message: dict[str, Any], kind: str, content: Any) -> list[Part]:
    if kind == "ThoughtEvent" and isinstance(content, str):
        return [Reasoning(content)]
    if kind in _SAID:
        return [_said(item) for item in _items(content)]
    if kind in _CALLS:
        thought = text(message, "thought")
        return [
            *([Reasoning(thought)] if thought else []),
            *(_call(item) if isinstance(item, dict) else _said(item) for item in _items(content)),
        ]
    if kind.startswith("StructuredMessage"):
        return [as_text(content)]
    return [Opaque(kind, content)]


def _said(item: Any) -> Part:
    if isinstance(item, str):
        return Text(item)
    if isinstance(item, dict) and isinstance(item.get("data"), str):
        return File("image", data=item["data"])
    return Opaque(type_name(item), item)


def _call(call: dict[str, Any]) -> ToolCall:
    args, invalid = arguments(call.get("arguments"))
    return ToolCall(text(call, "name") or "", args, text(call, "id"), args_invalid=invalid)


def _add_result(talk: Conversation, result: dict[str, Any]) -> None:
    value = structured(result.get("content"))  # the framework writes a tool's object as Python text
    failed = result.get("is_error") is True
    error = value if failed and isinstance(value, str) else None
    talk.result(text(result, "call_id"), value, name=text(result, "name"), is_error=failed, error=error)
