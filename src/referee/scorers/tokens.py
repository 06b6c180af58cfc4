"""How many tokens a run used, as a number."""

from __future__ import annotations

from referee import figures
from referee.pipeline import Scorer
from referee.scorers.measured import measured


def create_tokens_scorer(*, id: str = "tokens") -> Scorer[None, None]:
    """The tokens that the agent's models used, input and output together; lower is better.

    It is the total that the source states, else input plus output. A run without a count is not scorable. To demand a
    limit use `checks.max_tokens`.

    Args:
        id: Another id than `tokens`.

    Returns:
        A scorer that gives a number of tokens, from 0 without a practical limit.

    Example:
        >>> from referee import Usage
        >>> from referee.testing import create_agent_test_run
        >>> create_tokens_scorer().run_sync(create_agent_test_run(output="Done.", usage=Usage(700, 200))).score
        900.0
    """
    return measured("tokens", figures.total_tokens, "token count", "{:,} tokens", id)
