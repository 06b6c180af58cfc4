"""Outcomes of scores, and the bins of their histogram."""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal, TypeAlias

from referee.bounds import Bounds
from referee.scores import Score

#: What became of a score. `unbounded` is a number that nothing was demanded of.
Outcome: TypeAlias = Literal["error", "not_scorable", "failed", "passed", "unbounded"]

#: The outcomes by their number in the database, worst first.
OUTCOMES: tuple[Outcome, ...] = ("error", "not_scorable", "failed", "passed", "unbounded")

#: A histogram has this many bins between the ends of the range, and one for each end.
INNER_BINS = 20
LOWEST_BIN, FIRST_INNER_BIN, HIGHEST_BIN = 0, 1, INNER_BINS + 1
ERROR_BIN, NOT_SCORABLE_BIN = -2, -1


def outcome_of(score: Score, bounds: Bounds | None) -> Outcome:
    """What became of a score under the bounds that its scorer was given, if any.

    Example:
        >>> outcome_of(Score("r", "s", 0.7), Bounds(min=0.8)), outcome_of(Score("r", "s", 0.7), None)
        ('failed', 'unbounded')
    """
    if score.error is not None:
        return "error"
    if score.score is None:
        return "not_scorable"
    if bounds is None:
        return "unbounded"
    return "passed" if bounds.hold(score.score) else "failed"


def edges(low: float, high: float) -> list[float]:
    """The inner edges of a histogram, from `low` to `high` in equal steps.

    Example:
        >>> edges(0.0, 1.0)[:3]
        [0.0, 0.05, 0.1]
    """
    return [low + (high - low) * step / INNER_BINS for step in range(INNER_BINS)] + [high]


def bin_of(value: float, inner_edges: list[float]) -> int:
    """The bin of a value: 0 for the low end itself, 21 for the high end, 1 to 20 for what lies between.

    An inner bin holds its left edge and not its right one; the first does not hold the low end.

    Example:
        >>> [bin_of(value, edges(0.0, 1.0)) for value in (0.0, 0.01, 0.05, 0.99, 1.0)]
        [0, 1, 2, 20, 21]
    """
    if value <= inner_edges[0]:
        return LOWEST_BIN
    if value >= inner_edges[-1]:
        return HIGHEST_BIN
    return bisect_right(inner_edges, value)
