"""Checks on the tool calls of the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

from referee.checks.check import FAILED, PASSED, check, require_count, require_text
from referee.display import cut, printable, shown
from referee.errors import OptionError
from referee.expectations.calls import ExpectedCall, read_expected_call
from referee.expectations.comparison import Comparison, require_shallow
from referee.messages import ToolCall
from referee.pipeline import Scorer, Verdict
from referee.runs import Run

_UNFINISHED = frozenset({"call", "partial"})
_LONGEST_ERROR = 200
_FEW_TIMES = ("never", "once", "twice")


def called_tool(
    name: str,
    times: int = 1,
    *,
    args: Any = None,
    match: Literal["exact", "subset"] = "exact",
    at_most: int | None = None,
    id: str | None = None,
) -> Scorer[None, None]:
    """The tool was called at least `times` times, and at most `at_most` times.

    Args:
        name: The tool.
        times: The least number of calls.
        args: Count only calls with these arguments; `None` counts all.
        match: `exact` the arguments equal `args`; `subset` they contain them, inside nested objects too.
        at_most: The greatest number of calls; `None` sets no limit.
        id: Another id than `check-called-tool`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `name` is no string, a number no whole number, or `at_most` is below `times`.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> call = create_tool_invocation(tool_name="search", args={"query": "ferries", "limit": 5})
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=[call])])
        >>> called_tool("search").run_sync(run).score
        1.0
        >>> called_tool("search", args={"query": "ferry"}, match="subset").run_sync(run).reason
        'search was never called with {"query": "ferry"}, expected at least 1; query: expected "ferry", got "ferries"'
    """
    require_text("called_tool", "name", name)
    require_count("called_tool", "times", times)
    if at_most is not None:
        require_count("called_tool", "at_most", at_most, least=times)
    if match not in ("exact", "subset"):
        raise OptionError(f"checks.called_tool: match must be 'exact' or 'subset', not {match!r}")
    options = {"name": name, "times": times, "args": args, "match": match, "at_most": at_most}
    defaults = {"times": 1, "args": None, "match": "exact", "at_most": None}
    bounds = f"at least {times}" + ("" if at_most is None else f" and at most {at_most}")
    if args is None:
        judge_run = _count_calls(name, times, at_most, bounds)
    else:
        wanted = read_expected_call({"name": name, "args": args}, "checks.called_tool")
        judge_run = _count_calls_with(wanted, match, times, at_most, bounds)
    given = "" if args is None else f" with {shown(args)}"
    often = f" {bounds} times" if times != 1 or at_most is not None else ""
    return check(
        "called_tool",
        judge_run,
        options=options,
        defaults=defaults,
        id=id,
        description=f"The tool {name} was called{given}{often}.",
    )


def _count_calls(name: str, times: int, at_most: int | None, bounds: str) -> Callable[[Run], Verdict]:
    most = sys.maxsize if at_most is None else at_most

    def judge_run(run: Run) -> Verdict:
        count = run.tool_names.count(name)
        if times <= count <= most:
            return PASSED, f"{name} was called {_times(count)}"
        return FAILED, f"{name} was called {_times(count)}, expected {bounds}; called: {_listed(run.tool_names)}"

    return judge_run


def _count_calls_with(
    wanted: ExpectedCall, match: Literal["exact", "subset"], times: int, at_most: int | None, bounds: str
) -> Callable[[Run], Verdict]:
    comparison = Comparison(match)
    name, most = wanted.name, sys.maxsize if at_most is None else at_most
    arguments = shown(wanted.args)

    def judge_run(run: Run) -> Verdict:
        calls = [call for call in run.tool_calls if call.name == name]
        require_shallow(calls)
        count = sum(comparison.fits(wanted, call) for call in calls)
        sentence = f"{name} was called {_times(count)} with {arguments}"
        if count == 0 and times:
            sentence = f"{name} was never called with {arguments}"
        if times <= count <= most:
            return PASSED, sentence
        return FAILED, f"{sentence}, expected {bounds}" + (
            _nearest_call(wanted, calls, comparison) if not count else ""
        )

    return judge_run


def _nearest_call(wanted: ExpectedCall, calls: Sequence[ToolCall], comparison: Comparison) -> str:
    """What differs in the call that differs least."""
    differences = [list(comparison.differences(wanted, call)) for call in calls]
    if not differences:
        return f"; {wanted.name} was not called at all"
    return "; " + "; ".join(argument.to_text() for argument in min(differences, key=len)[:5])


def did_not_call(name: str, *, id: str | None = None) -> Scorer[None, None]:
    """The tool was never called.

    Args:
        name: The tool.
        id: Another id than `check-did-not-call`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `name` is no string.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> did_not_call("delete_user").run_sync(create_agent_test_run(output="Done.")).score
        1.0
    """
    require_text("did_not_call", "name", name)
    passed: Verdict = (PASSED, f"{name} was not called")

    def judge_run(run: Run) -> Verdict:
        names = run.tool_names
        return passed if name not in names else (FAILED, f"{name} was called {_times(names.count(name))}")

    return check(
        "did_not_call", judge_run, options={"name": name}, id=id, description=f"The tool {name} was not called."
    )


def tool_order(expected: Sequence[str], *, id: str | None = None) -> Scorer[None, None]:
    """The tools were called in this order; other calls may stand between them. An empty order passes.

    Args:
        expected: Tool names.
        id: Another id than `check-tool-order`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `expected` is no list of strings.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> tool_order(["search", "summarize"]).run_sync(create_agent_test_run(output="No tools.")).reason
        'search was not called; expected: search, summarize; called: none'
    """
    wanted = require_names("tool_order", "expected", expected)
    passed: Verdict = (PASSED, f"called in order: {_listed(wanted)}")

    def judge_run(run: Run) -> Verdict:
        names = iter(run.tool_names)
        for place, name in enumerate(wanted):
            if name not in names:
                after = f" after {wanted[place - 1]}" if place else ""
                return (
                    FAILED,
                    f"{name} was not called{after}; expected: {_listed(wanted)}; called: {_listed(run.tool_names)}",
                )
        return passed

    return check(
        "tool_order",
        judge_run,
        options={"expected": list(wanted)},
        id=id,
        description=f"Tools were called in order: {_listed(wanted)}.",
    )


def max_tool_calls(max: int, *, id: str | None = None) -> Scorer[None, None]:
    """At most `max` tool calls were made.

    Args:
        max: The greatest number of calls.
        id: Another id than `check-max-tool-calls`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `max` is no whole number of at least 0.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> max_tool_calls(5).run_sync(create_agent_test_run(output="Done.")).score
        1.0
    """
    require_count("max_tool_calls", "max", max)

    def judge_run(run: Run) -> Verdict:
        count = len(run.tool_calls)
        if count <= max:
            return PASSED, f"{count} tool calls, at most {max} allowed"
        return FAILED, f"{count} tool calls, at most {max} allowed: {_listed(run.tool_names)}"

    return check(
        "max_tool_calls", judge_run, options={"max": max}, id=id, description=f"At most {max} tool calls were made."
    )


def used_no_tools(*, id: str | None = None) -> Scorer[None, None]:
    """No tool was called.

    Args:
        id: Another id than `check-used-no-tools`.

    Returns:
        A scorer that gives 1 or 0.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> used_no_tools().run_sync(create_agent_test_run(output="Hello.")).score
        1.0
    """

    def judge_run(run: Run) -> Verdict:
        if not run.tool_calls:
            return PASSED, "no tool was called"
        return FAILED, f"{len(run.tool_calls)} tool calls: {_listed(run.tool_names)}"

    return check("used_no_tools", judge_run, options={}, id=id, description="No tool was called.")


def no_tool_errors(*, id: str | None = None) -> Scorer[None, None]:
    """No tool invocation failed or stayed unfinished.

    An invocation fails in state `error`, with the error flag, or with a truthy `error` or `isError` in an object
    result; it is unfinished in state `call` or `partial`. A failure told only in a text result is not seen.

    Args:
        id: Another id than `check-no-tool-errors`.

    Returns:
        A scorer that gives 1 or 0.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> no_tool_errors().run_sync(create_agent_test_run(output="Hello.")).score
        1.0
    """
    passed: Verdict = (PASSED, "no tool call failed")

    def judge_run(run: Run) -> Verdict:
        for call in run.invocations:
            if call.state in _UNFINISHED or call.failed:
                bad = [call for call in run.invocations if call.state in _UNFINISHED or call.failed]
                return FAILED, "; ".join(_trouble(call) for call in bad[:5]) + (
                    f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
                )
        return passed

    return check(
        "no_tool_errors", judge_run, options={}, id=id, description="No tool call failed or stayed unfinished."
    )


def _trouble(call: ToolCall) -> str:
    name = call.name or "a tool without a name"
    if call.failed:
        return f"{name} failed" + (f": {cut(printable(str(call.error)), _LONGEST_ERROR)}" if call.error else "")
    return f"{name} has no result" if call.state == "call" else f"the arguments of {name} were never completed"


def require_names(check_name: str, option: str, value: Sequence[str]) -> tuple[str, ...]:
    """The value as a tuple, if it is a list of strings.

    Raises:
        OptionError: It is not; a single string is not taken for a list of letters.
    """
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise OptionError(f"checks.{check_name}: {option} must be a list of tool names, not {value!r}")
    return tuple(value)


def _times(count: int) -> str:
    return _FEW_TIMES[count] if count < len(_FEW_TIMES) else f"{count} times"


def _listed(names: Sequence[str], most: int = 12) -> str:
    if not names:
        return "none"
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
