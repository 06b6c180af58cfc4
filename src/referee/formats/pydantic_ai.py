"""Pydantic AI: `ModelMessage` JSON (`all_messages_json`), and live results and messages.

A call of the output tool (`final_result`) is the structured answer and no tool call: its arguments become the text of
the answer, as JSON.
"""

from __future__ import annotations

from typing import Any

from referee.formats.conversation import Conversation, arguments
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import as_text, mapping, objects, sequence, text, total, type_name
from referee.formats.live import plain
from referee.formats.record import run_fields, usage_of
from referee.messages import File, Opaque, Part, Reasoning, Text, ToolCall
from referee.runs import Usage

NAME = "pydantic_ai"
TITLE = "Pydantic AI messages"

#: The name of the output tool, and of several, `final_result_Weather`.
_OUTPUT_TOOL = "final_result"
#: What the framework answers to an accepted call of an output tool, whatever its name.
_OUTPUT_ACCEPTED = "Final result processed."
_FAILURES = frozenset({"failed", "denied", "interrupted", "retried"})
_CALLS = ("tool-call", "builtin-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return", "retry-prompt")
_FILES = ("image-url", "video-url", "audio-url", "document-url", "binary", "uploaded-file")


def detect(record: Any) -> bool:
    """Whether a record looks like model messages, or holds them under `messages`."""
    if isinstance(record, dict):
        return _is_message(record) or (isinstance(record.get("messages"), list) and detect(record["messages"]))
    return isinstance(record, list) and bool(record) and all(map(_is_message, record))


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("kind") in ("request", "response")
        and isinstance(message.get("parts"), list)
        and all(isinstance(part, dict) and "part_kind" in part for part in message["parts"])
    )


def record_of(obj: Any) -> Any:
    """The record that a live result, run, message or list of messages is.

    A result knows which messages are new and what its output tool is called.
    """
    if not hasattr(obj, "all_messages"):
        return plain(obj)
    new = obj.new_messages()
    every = obj.all_messages()
    return {
        "history": plain(every[: len(every) - len(new)]),
        "messages": plain(new),
        "output_tool": getattr(obj, "_output_tool_name", None),
    }


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record: a list of messages, `{messages: [...], history: [...]}` or one message."""
    fields: dict[str, Any] = {}
    before: list[Any] = []
    if isinstance(record, dict) and isinstance(record.get("messages"), list):
        fields = run_fields(record)
        before = sequence(record.get("history"))
        messages = record["messages"]
    else:
        messages = record if isinstance(record, list) else [record]
    reader = _Reader([*before, *messages], mapping(record).get("output_tool"))
    for message in before:
        reader.add(message)
    reader.usages.clear()
    talk = reader.talk
    start = len(talk.messages)
    for message in messages:
        reader.add(message)
    if before and turns != "split":
        fields["history"] = talk.take_history(start)
    usage = total(reader.usages)
    if usage is not None and turns == "all":
        fields.setdefault("usage", usage)
    return talk.decoded(turns, **(_identity(objects(messages)) | fields))


def _identity(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What the messages say of their run: ids where all of them say the same, the model, the time."""
    fields: dict[str, Any] = {}
    for ours, theirs in (("id", "run_id"), ("thread_id", "conversation_id")):
        values = {text(message, theirs) for message in messages}
        value = values.pop() if len(values) == 1 else None
        if value:
            fields[ours] = value
    for message in messages:
        model, time = text(message, "model_name"), text(message, "timestamp")
        if model:
            fields["model"] = model
        if time:
            fields.setdefault("started_at", time)
    return fields


class _Reader:
    """Adds model messages to a conversation; knows which calls are the output and which of them were refused."""

    def __init__(self, messages: list[Any], output_tool: Any) -> None:
        self.talk = Conversation()
        self.usages: list[Usage] = []
        self._instructions: str | None = None
        self._output_tools = {_OUTPUT_TOOL} | ({output_tool} if isinstance(output_tool, str) else set())
        self._refused: set[tuple[str | None, str | None]] = set()
        for message in objects(messages):
            for part in objects(message.get("parts")):
                if part.get("part_kind") in _RETURNS:
                    if part.get("content") == _OUTPUT_ACCEPTED and text(part, "tool_name"):
                        self._output_tools.add(part["tool_name"])
                    if _failed(part):
                        self._refused.add((text(part, "tool_name"), text(part, "tool_call_id")))

    def _is_output(self, part: dict[str, Any]) -> bool:
        name = text(part, "tool_name")
        return name is not None and (name in self._output_tools or name.startswith(f"{_OUTPUT_TOOL}_"))

    def add(self, message: Any) -> None:
        if not isinstance(message, dict):
            self.talk.drop(type_name(message))
        elif message.get("kind") == "response":
            self._add_response(message)
        elif message.get("kind") == "request":
            self._add_request(message)
        else:
            self.talk.drop(f"message of kind {message.get('kind')!r}")

    def _add_response(self, message: dict[str, Any]) -> None:
        parts: list[Part] = []
        returns: list[dict[str, Any]] = []
        for part in sequence(message.get("parts")):
            if isinstance(part, dict) and part.get("part_kind") == "builtin-tool-return":
                returns.append(part)
            else:
                parts.append(self._answer_part(part))
        self.talk.message("assistant", parts, created_at=text(message, "timestamp"))
        for part in returns:
            self._add_return(part)
        usage = mapping(message.get("usage"))
        if usage:
            self.usages.append(usage_of(usage))

    def _answer_part(self, part: Any) -> Part:
        if not isinstance(part, dict):
            return Opaque(type_name(part), part)
        kind, content = part.get("part_kind"), part.get("content")
        if kind in _CALLS:
            args, invalid = arguments(part.get("args"))
            args = {} if args is None else args
            if kind == "tool-call" and self._is_output(part):
                refused = (text(part, "tool_name"), text(part, "tool_call_id")) in self._refused
                return Opaque("refused output", part) if refused else as_text(args)
            return ToolCall(text(part, "tool_name") or "", args, text(part, "tool_call_id"), args_invalid=invalid)
        if kind == "text" and isinstance(content, str):
            return Text(content)
        if kind == "thinking" and isinstance(content, str):
            return Reasoning(content)
        if kind == "speech":
            return Text(text(part, "transcript") or "")
        if kind == "file" and isinstance(content, dict):
            return _content_part(content)
        return Opaque(str(kind), part)

    def _add_request(self, message: dict[str, Any]) -> None:
        talk = self.talk
        instructions = text(message, "instructions")
        if instructions and instructions != self._instructions:
            self._instructions = instructions
            talk.message("system", [Text(instructions)], counted=False)
        talk.tool_message()  # the request, whatever it holds
        for part in sequence(message.get("parts")):
            if isinstance(part, dict):
                self._add_request_part(part)
            else:
                talk.message("user", [Opaque(type_name(part), part)], counted=False)

    def _add_request_part(self, part: dict[str, Any]) -> None:
        talk, kind, content = self.talk, part.get("part_kind"), part.get("content")
        time = text(part, "timestamp")
        if kind in _RETURNS and text(part, "tool_name"):
            self._add_return(part)
        elif kind in ("retry-prompt", "retry-feedback"):  # the framework speaks, no person
            talk.message("tool", [Text(_problem(content))], created_at=time, counted=False)
        elif kind == "system-prompt" and isinstance(content, str):
            talk.message("system", [Text(content)], created_at=time, counted=False)
        elif kind == "user-prompt":
            given = content if isinstance(content, list) else [content]
            talk.message("user", [_content_part(item) for item in given], created_at=time, counted=False)
        elif kind == "speech":
            talk.message("user", [Text(text(part, "transcript") or "")], created_at=time, counted=False)
        else:
            talk.message("system", [Opaque(str(kind), part)], counted=False)

    def _add_return(self, part: dict[str, Any]) -> None:
        if part.get("part_kind") != "builtin-tool-return" and self._is_output(part):
            return
        content = part.get("content")
        failed = _failed(part)
        self.talk.result(
            text(part, "tool_call_id"),
            content,
            name=text(part, "tool_name"),
            is_error=failed,
            error=_problem(content) if failed else None,
        )


def _failed(part: dict[str, Any]) -> bool:
    return part.get("part_kind") == "retry-prompt" or text(part, "outcome") in _FAILURES


def _problem(content: Any) -> str:
    """The feedback to the model as text: it is text, or a list of validation errors."""
    if isinstance(content, str):
        return content
    errors = objects(content)
    lines = [f"{'.'.join(str(key) for key in sequence(error.get('loc')))}: {error.get('msg')}" for error in errors]
    return "\n".join(lines)


def _content_part(item: Any) -> Part:
    if isinstance(item, str):
        return Text(item)
    kind = item.get("kind") if isinstance(item, dict) else None
    if kind in ("text-content", "structured-content"):
        return as_text(item.get("content"))
    if kind in _FILES:
        name = text(item, "identifier", "file_id")
        return File(text(item, "media_type", "_media_type"), name, text(item, "url"), text(item, "data"))
    return Opaque(str(kind) if kind else type_name(item), item)
