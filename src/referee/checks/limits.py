"""Checks on what a run took: time, tokens, money. A run that does not say is not scorable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from referee import figures
from referee.checks.check import FAILED, PASSED, check, require_count
from referee.errors import OptionError, ReadError
from referee.jsonvalue import is_finite_number
from referee.pipeline import Scorer, Verdict
from referee.runs import Run
from referee.scores import TOLERANCE
from referee.steps import not_scorable


def max_duration(max_ms: float, *, id: str | None = None) -> Scorer[None, None]:
    """The run took at most so many milliseconds.

    Args:
        max_ms: The greatest duration in milliseconds.
        id: Another id than `check-max-duration`.

    Returns:
        A scorer that gives 1 or 0; a run without a duration is not scorable.

    Raises:
        OptionError: `max_ms` is no number of at least 0.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> max_duration(2000).run_sync(create_agent_test_run(output="Done.", duration_ms=2500)).reason
        '2,500 ms, at most 2,000 ms allowed'
    """
    _require_number("max_duration", "max_ms", max_ms)
    return _limit("max_duration", {"max_ms": max_ms}, max_ms, figures.duration_ms, "duration", "{:,.6g} ms", id)


def max_tokens(max: int, *, id: str | None = None) -> Scorer[None, None]:
    """The agent's models used at most `max` tokens, input and output together.

    Args:
        max: The greatest number of tokens.
        id: Another id than `check-max-tokens`.

    Returns:
        A scorer that gives 1 or 0; a run without a token count is not scorable.

    Raises:
        OptionError: `max` is no whole number of at least 0.

    Example:
        >>> from referee import Usage
        >>> from referee.testing import create_agent_test_run
        >>> max_tokens(1000).run_sync(create_agent_test_run(output="Done.", usage=Usage(700, 200))).reason
        '900 tokens, at most 1,000 tokens allowed'
    """
    require_count("max_tokens", "max", max)
    return _limit("max_tokens", {"max": max}, max, figures.total_tokens, "token count", "{:,} tokens", id)


def max_cost(max_usd: float, *, id: str | None = None) -> Scorer[None, None]:
    """The run cost at most so many US dollars.

    Args:
        max_usd: The greatest cost in US dollars.
        id: Another id than `check-max-cost`.

    Returns:
        A scorer that gives 1 or 0; a run without a cost is not scorable.

    Raises:
        OptionError: `max_usd` is no number of at least 0.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> max_cost(0.05).run_sync(create_agent_test_run(output="Done.")).not_scorable.reason
        'the run has no cost'
    """
    _require_number("max_cost", "max_usd", max_usd)
    return _limit("max_cost", {"max_usd": max_usd}, max_usd, figures.cost, "cost", "${:,.6g}", id)


def _limit(
    name: str,
    options: dict[str, Any],
    most: float,
    figure: Callable[[Run], float | None],
    noun: str,
    form: str,
    id: str | None,
) -> Scorer[None, None]:
    limit = form.format(most)

    def judge_run(run: Run) -> Verdict:
        value = figure(run)
        if value is None:
            return not_scorable(f"the run has no {noun}")
        if not is_finite_number(value):
            raise ReadError(f"the run's {noun} is {value}")
        passed = value <= most + TOLERANCE
        return PASSED if passed else FAILED, f"{form.format(value)}, at most {limit} allowed"

    return check(name, judge_run, options=options, id=id, description=f"The {noun} is at most {limit}.")


def _require_number(check_name: str, option: str, value: Any) -> None:
    if not is_finite_number(value) or value < 0:
        raise OptionError(f"checks.{check_name}: {option} must be a number of at least 0, not {value!r}")
