"""A run's conversation as a page shows it: messages in their order, tool calls with readable arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from referee.messages import File, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from referee.runs import Run
from referee.studio.fields import Field, Fields

#: A conversation shows so many messages of each section; the rest is in the run's raw JSON.
MOST_MESSAGES = 200
#: Arguments stand one a line up to so many; more of them are shown as one JSON text.
MOST_ARGUMENTS = 60

_SECTIONS = ("system", "history", "input", "output")


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of a message: `text`, or something to unfold under a title."""

    kind: str
    title: str = ""
    body: Field | None = None
    arguments: list[tuple[str, Field]] = field(default_factory=list)
    result: Field | None = None
    state: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message: who speaks, and its parts."""

    role: str
    name: str | None
    parts: list[PartView]


@dataclass(frozen=True, slots=True)
class Section:
    """The messages of a section, `total` in all; `raw` is the address of all of them."""

    name: str
    messages: list[MessageView]
    total: int
    raw: str


def sections_of(run: Run, fields: Fields) -> list[Section]:
    """The sections of a conversation that hold messages."""
    found = []
    for name in _SECTIONS:
        messages: Sequence[Message] = getattr(run, name)
        if messages:
            shown = [
                _message(message, f"run.{name}.{place}", fields)
                for place, message in enumerate(messages[:MOST_MESSAGES])
            ]
            found.append(Section(name, shown, len(messages), fields.raw(f"run.{name}")))
    return found


def _message(message: Message, path: str, fields: Fields) -> MessageView:
    parts = [_part(part, f"{path}.parts.{place}", fields) for place, part in enumerate(message.parts)]
    return MessageView(message.role, message.name, parts)


def _part(part: Part, path: str, fields: Fields) -> PartView:
    if isinstance(part, Text):
        return PartView("text", body=fields.of(part.text, f"{path}.text"))
    if isinstance(part, Reasoning):
        return PartView("folded", "reasoning", fields.of(part.text, f"{path}.text"))
    if isinstance(part, ToolCall):
        return _call(part, path, fields)
    if isinstance(part, ToolResult):
        return PartView("folded", f"result without a call: {part.name or ''}", fields.of(part.result, f"{path}.result"))
    if isinstance(part, File):
        return _file(part, path, fields)
    assert isinstance(part, Opaque)
    return PartView("folded", f"part of the kind {part.kind}", fields.of(part.value, f"{path}.value"))


def _call(call: ToolCall, path: str, fields: Fields) -> PartView:
    named = isinstance(call.args, dict) and 0 < len(call.args) <= MOST_ARGUMENTS
    whole = call.args is not None and call.args != {} and not named
    result: Any = call.error if call.failed and call.error else call.result
    where = "error" if call.failed and call.error else "result"
    return PartView(
        "call",
        " › ".join((*call.agent_path, call.name or "(no name)")),
        body=fields.of(call.args, f"{path}.args") if whole else None,
        arguments=[(name, fields.of(value, f"{path}.args")) for name, value in call.args.items()] if named else [],
        result=None if result is None else fields.of(result, f"{path}.{where}"),
        state="failed" if call.failed else call.state,
        failed=call.failed,
    )


def _file(part: File, path: str, fields: Fields) -> PartView:
    content, where = (part.url, "url") if part.url is not None else (part.data, "data")
    title = f"file {part.name or ''} {part.media_type or ''}".strip()
    return PartView("folded", title, None if content is None else fields.of(content, f"{path}.{where}"))
