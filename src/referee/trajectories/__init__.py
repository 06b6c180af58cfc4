"""Trajectories of runs: the steps that were taken, what is expected of them, and how the two compare."""

from __future__ import annotations

from typing import Any

from referee.messages import ToolCall
from referee.runs import Run
from referee.trajectory import Step, Trajectory


def extract_trajectory(run: Run) -> Trajectory:
    """The steps of a run: those that the source recorded, else its tool calls in order.

    A tool call becomes a step of the type `tool_call` with `tool_args`, `tool_result` where there is one, and
    `success` where the call came to an end.

    Args:
        run: The run.

    Returns:
        The trajectory; its duration is the run's, where the source has one.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> call = create_tool_invocation(tool_name="search", args={"q": "tide"}, result="high")
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=[call])])
        >>> extract_trajectory(run).steps[0].fields
        {'tool_args': {'q': 'tide'}, 'tool_result': 'high', 'success': True}
    """
    if run.trajectory is not None:
        return run.trajectory
    return Trajectory(steps=[_step(call) for call in run.tool_calls], total_duration_ms=run.duration_ms)


def _step(call: ToolCall) -> Step:
    fields: dict[str, Any] = {"tool_args": call.args}
    if call.state != "call":
        fields["tool_result"] = call.result
        fields["success"] = not call.failed
    elif call.failed:
        fields["success"] = False
    return Step(name=call.name, step_type="tool_call", fields=fields, duration_ms=call.duration_ms)
