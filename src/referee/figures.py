"""Figures of a run: how long it took, and what it used. `None` where the run does not say."""

from __future__ import annotations

from referee.runs import Run


def duration_ms(run: Run) -> float | None:
    """Wall time in milliseconds: the run's own, else the recorded trajectory's."""
    if run.duration_ms is None and run.trajectory is not None:
        return run.trajectory.total_duration_ms
    return run.duration_ms


def total_tokens(run: Run) -> int | None:
    """Tokens of the agent's models: the stated total, else input plus output."""
    return None if run.usage is None else run.usage.total


def cost(run: Run) -> float | None:
    """US dollars."""
    return run.cost


def step_count(run: Run) -> int | None:
    """Steps: of the recorded trajectory, else the tool calls of the output; `None` for a run without output.

    Steps inside steps do not count.
    """
    if run.trajectory is not None:
        return len(run.trajectory.steps)
    return len(run.tool_calls) if run.output else None
