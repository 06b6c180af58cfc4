"""Tool-call accuracy by code: did the agent call the right tool, or the right tools in the right order?"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from referee.errors import OptionError
from referee.jsonvalue import require_flag
from referee.messages import Message, ToolCall
from referee.pipeline import Finding, Scorer
from referee.runs import Run


class ToolCallInfo(msgspec.Struct, frozen=True, gc=False):
    """Where a call stands: its message in the output, and its place among all tool invocations of that message."""

    tool_name: str
    tool_call_id: str | None
    message_index: int
    invocation_index: int


class ToolCallAccuracy(msgspec.Struct, frozen=True, gc=False):
    """What was expected, what was called, and whether it fits.

    `correct_tool_called` is false without an expected tool; `correct_order_called` is `None` without an order.
    """

    expected_tool: str | None
    actual_tools: list[str]
    strict_mode: bool
    expected_tool_order: list[str] | None
    has_tool_calls: bool
    correct_tool_called: bool
    correct_order_called: bool | None
    tool_call_infos: list[ToolCallInfo]


def create_tool_call_accuracy_scorer_code(
    expected_tool: str | None = None,
    expected_tool_order: Sequence[str] | None = None,
    strict_mode: bool = False,
    *,
    id: str = "code-tool-call-accuracy-scorer",
) -> Scorer[ToolCallAccuracy, None]:
    """Whether the right tool was called, or the right tools in the right order. Gives 1 or 0.

    With a non-empty order, `expected_tool` is ignored: strictly the calls are exactly that list, else the list is a
    subsequence of the calls. Without one: strictly there is exactly one call and it is the tool, else the tool is
    among the calls. A run without calls scores 0.

    Args:
        expected_tool: The tool that must be called.
        expected_tool_order: The tools that must be called, in order.
        strict_mode: Allow no other call.
        id: Another id than the reference's.

    Raises:
        OptionError: Neither a tool nor a non-empty order is given, or an option is of another kind.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> call = create_tool_invocation(tool_name="weather-tool", args={"location": "New York"})
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=[call])])
        >>> create_tool_call_accuracy_scorer_code(expected_tool="weather-tool").run_sync(run).score
        1.0
    """
    if isinstance(expected_tool_order, str):
        raise OptionError("tool_call_accuracy_code: expected_tool_order must be a list of tool names, not a string")
    order = list(expected_tool_order) if expected_tool_order is not None else None
    if not all(isinstance(name, str) for name in [expected_tool or "", *(order or ())]):
        raise OptionError("tool_call_accuracy_code: the name of a tool is a text")
    if not expected_tool and not order:
        raise OptionError("tool_call_accuracy_code: give expected_tool or a non-empty expected_tool_order")
    require_flag(strict_mode, "tool_call_accuracy_code: strict_mode")

    wanted = f"the order {', '.join(order)}" if order else f"{expected_tool}"
    expectation = f"expected {wanted}{' and nothing else' if strict_mode else ''}; called "

    def judge_run(run: Run) -> Finding:
        names = list(run.tool_names)
        tool_fits = _tool_fits(expected_tool, names, strict_mode)
        order_fits = _order_fits(order, names, strict_mode) if order else None
        found = ToolCallAccuracy(
            expected_tool, names, strict_mode, order, bool(names), tool_fits, order_fits, call_infos(run.output)
        )
        fits = bool(names) and (tool_fits if order_fits is None else order_fits)
        return Finding(float(fits), expectation + (", ".join(names) or "no tool"), found)

    options = {"expected_tool": expected_tool, "expected_tool_order": order, "strict_mode": strict_mode}
    return Scorer(
        id=id,
        description="The expected tool, or the expected order of tools, was called.",
        kind="tool_call_accuracy_code",
        options={name: value for name, value in options.items() if value is not None},
        fast=judge_run,
    )


def _tool_fits(expected: str | None, names: list[str], strict: bool) -> bool:
    if expected is None:
        return False
    return names == [expected] if strict else expected in names


def _order_fits(order: list[str], names: list[str], strict: bool) -> bool:
    if strict:
        return names == order
    rest = iter(names)
    return all(name in rest for name in order)


def call_infos(output: Sequence[Message]) -> list[ToolCallInfo]:
    """Where each tool call of the output stands."""
    infos = []
    for message_index, message in enumerate(output):
        place = 0
        for part in message.parts:
            if type(part) is ToolCall:
                if part.called:
                    infos.append(ToolCallInfo(part.name, part.id, message_index, place))
                place += 1
    return infos
