"""How long a run took, as a number."""

from __future__ import annotations

from referee import figures
from referee.pipeline import Scorer
from referee.scorers.measured import measured


def create_duration_scorer(*, id: str = "duration") -> Scorer[None, None]:
    """The run's duration in milliseconds; lower is better.

    It is the run's own duration, or that of its recorded trajectory. A run without one is not scorable. To demand a
    limit use `checks.max_duration`.

    Args:
        id: Another id than `duration`.

    Returns:
        A scorer that gives milliseconds, from 0 without a practical limit.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> create_duration_scorer().run_sync(create_agent_test_run(output="Done.", duration_ms=1250)).score
        1250.0
    """
    return measured("duration", figures.duration_ms, "duration", "{:,.6g} ms", id)
