"""How many steps a run took, as a number."""

from __future__ import annotations

from referee import figures
from referee.pipeline import Scorer
from referee.scorers.measured import measured


def create_steps_scorer(*, id: str = "steps") -> Scorer[None, None]:
    """How many steps the run took; lower is better.

    With a recorded trajectory they are its steps, without those inside other steps; else the tool calls of the output.
    A run with neither a trajectory nor an output is not scorable.

    Args:
        id: Another id than `steps`.

    Returns:
        A scorer that gives a number of steps, from 0 without a practical limit.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> calls = [create_tool_invocation(tool_name="search"), create_tool_invocation(tool_name="book")]
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=calls)])
        >>> create_steps_scorer().run_sync(run).score
        2.0
    """
    return measured("steps", figures.step_count, "steps", "{:,} steps", id)
