"""Declarative filters of a run, for `create_scorer(prepare_run=...)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.messages import Message, Opaque, ToolCall
from referee.runs import Run


def filter_run(
    *,
    part_types: list[str] | None = None,
    tool_names: list[str] | None = None,
    max_remembered_messages: int | None = None,
    max_output_messages: int | None = None,
    drop_request_context: bool = False,
    drop_expected_trajectory: bool = False,
    drop_ground_truth: bool = False,
) -> Callable[[Run], Run]:
    """Make a `prepare_run` function from plain options. System messages are never filtered.

    Args:
        part_types: Keep only parts of these types: `text`, `reasoning`, `tool_call`, `tool_result`, `file`, or the
            name of an opaque part. Compared as a prefix. A message left without parts goes.
        tool_names: Keep only tool calls of these tools, and messages without tool calls.
        max_remembered_messages: Keep the last so many messages of `history`.
        max_output_messages: Keep the last so many messages of `output`.
        drop_request_context: Remove `context`.
        drop_expected_trajectory: Remove `expected_trajectory`.
        drop_ground_truth: Remove `ground_truth`.

    Raises:
        OptionError: A maximum below 0.

    Example:
        >>> from referee.messages import Message, Text, ToolCall
        >>> run = Run(id="r", output=[Message("assistant", [Text("Hm."), ToolCall(name="search")])])
        >>> filter_run(part_types=["tool_call"])(run).output[0].parts
        [ToolCall(name='search', args=None, id=None, state='call', result=None, error=None, is_error=False, args_invalid=False, agent_path=(), duration_ms=None)]
    """
    for name, most in (
        ("max_remembered_messages", max_remembered_messages),
        ("max_output_messages", max_output_messages),
    ):
        if most is not None and most < 0:
            raise OptionError(f"{name} must be 0 or more, not {most}")
    dropped: dict[str, Any] = {}
    if drop_request_context:
        dropped["context"] = None
    if drop_expected_trajectory:
        dropped["expected_trajectory"] = None
    if drop_ground_truth:
        dropped["ground_truth"] = None

    def prepare(run: Run) -> Run:
        changes: dict[str, Any] = dict(dropped)
        for field in ("input", "history", "output"):
            changes[field] = [
                kept
                for message in getattr(run, field)
                if (kept := _filtered(message, part_types, tool_names)) is not None
            ]
        if max_remembered_messages is not None:
            changes["history"] = _last(changes["history"], max_remembered_messages)
        if max_output_messages is not None:
            changes["output"] = _last(changes["output"], max_output_messages)
        return msgspec.structs.replace(run, **changes)

    return prepare


def _last(messages: list[Message], most: int) -> list[Message]:
    return messages[len(messages) - most :] if most < len(messages) else messages


def _part_type(part: Any) -> str:
    return part.kind if isinstance(part, Opaque) else str(part.__struct_config__.tag)


def _filtered(message: Message, part_types: list[str] | None, tool_names: list[str] | None) -> Message | None:
    parts = message.parts
    if part_types is not None:
        parts = [part for part in parts if _part_type(part).startswith(tuple(part_types))]
    if tool_names is not None:
        had_calls = any(isinstance(part, ToolCall) for part in parts)
        parts = [part for part in parts if not isinstance(part, ToolCall) or part.name in tool_names]
        if had_calls and not any(isinstance(part, ToolCall) for part in parts):
            return None
    if not parts and message.parts:
        return None
    return message if parts is message.parts else msgspec.structs.replace(message, parts=parts)
