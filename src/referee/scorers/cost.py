"""What a run cost, as a number."""

from __future__ import annotations

from referee import figures
from referee.pipeline import Scorer
from referee.scorers.measured import measured


def create_cost_scorer(*, id: str = "cost") -> Scorer[None, None]:
    """What the run cost in US dollars, as its source says; lower is better.

    Nothing is estimated: a run without a cost is not scorable. To demand a limit use `checks.max_cost`.

    Args:
        id: Another id than `cost`.

    Returns:
        A scorer that gives US dollars, from 0 without a practical limit.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> create_cost_scorer().run_sync(create_agent_test_run(output="Done.", cost=0.0042)).reason
        '$0.0042'
    """
    return measured("cost", figures.cost, "cost", "${:,.6g}", id)
