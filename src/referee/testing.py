"""Helpers that make messages and runs for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from referee.messages import CallState, Message, Part, Role, Text, ToolCall
from referee.runs import Run, with_id


def create_tool_invocation(
    *,
    tool_name: str,
    args: Any = None,
    result: Any = None,
    state: CallState = "result",
    tool_call_id: str | None = None,
    is_error: bool = False,
    error_text: str | None = None,
) -> ToolCall:
    """A tool call for a test message.

    Args:
        tool_name: The tool.
        args: Its arguments; an empty object when `None`.
        result: What it gave back.
        state: `result`, `error`, `call`, `partial` or `unknown`.
        tool_call_id: An id.
        is_error: The result is flagged as a failure.
        error_text: The message of the failure.

    Example:
        >>> create_tool_invocation(tool_name="search", is_error=True, error_text="timeout").failed
        True
    """
    return ToolCall(
        name=tool_name,
        args={} if args is None else args,
        id=tool_call_id,
        state=state,
        result=result,
        is_error=is_error,
        error=error_text,
    )


def create_test_message(
    *, content: str = "", role: Role = "user", id: str | None = None, tool_invocations: Sequence[ToolCall] = ()
) -> Message:
    """A message for a test: its tool calls, then its text.

    Args:
        content: The text.
        role: Who says it.
        id: An id.
        tool_invocations: Tool calls, made by `create_tool_invocation`.

    Example:
        >>> create_test_message(content="Hello", role="assistant").text
        'Hello'
    """
    parts: list[Part] = [*tool_invocations]
    if content:
        parts.append(Text(content))
    return Message(role, parts, id)


def create_agent_test_run(
    *,
    input_messages: Sequence[Message] | str = (),
    output: Sequence[Message] | str = (),
    system_messages: Sequence[Message] = (),
    remembered_messages: Sequence[Message] = (),
    run_id: str = "",
    **fields: Any,
) -> Run:
    """A run for a test. Plain text stands for one message.

    Args:
        input_messages: This turn's messages, or the user's text.
        output: What the agent produced, or its text.
        system_messages: System messages.
        remembered_messages: Earlier messages.
        run_id: An id; the content's hash when empty.
        fields: Further fields of `Run`, such as `ground_truth`.

    Example:
        >>> create_agent_test_run(input_messages="Weather?", output="Sunny.").output_text
        'Sunny.'
    """
    return with_id(
        Run(
            id=run_id,
            input=_messages(input_messages, "user"),
            output=_messages(output, "assistant"),
            system=list(system_messages),
            history=list(remembered_messages),
            **fields,
        )
    )


def _messages(given: Sequence[Message] | str, role: Role) -> list[Message]:
    return [Message(role, [Text(given)])] if isinstance(given, str) else list(given)
