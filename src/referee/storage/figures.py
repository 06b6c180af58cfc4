"""Figures of a group of scores, worked out from rollups: mean, interval, and how many came to what."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, select

from referee.statistics import Interval, t_quantile, wilson_interval
from referee.storage.outcomes import ERROR_BIN, HIGHEST_BIN, LOWEST_BIN, NOT_SCORABLE_BIN, edges
from referee.storage.rollups import column_sums
from referee.storage.schema import rollups

CONFIDENCE = 0.95


class Bin(msgspec.Struct, frozen=True):
    """One bar of a histogram: the values from `low` up to, not including, `high`; at the ends of the range one value.

    The first bar between the ends does not hold the low end itself.
    """

    low: float
    high: float
    count: int


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """How values lie in their range.

    Attributes:
        range: The lowest and highest value there can be.
        bins: 22 bars: the low end itself, 20 of equal width, the high end itself.
        errors, not_scorable: How many scores have no value.
        is_exact: Whether every score that fits was counted.
    """

    range: tuple[float, float]
    bins: list[Bin]
    errors: int
    not_scorable: int
    is_exact: bool = True


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What the scores of one group came to.

    Attributes:
        scored: How many have a value.
        errors, not_scorable: How many have none, and why.
        passed, failed: How many of the scored hold, or miss, the bounds that were asked of them.
        mean: Of the scored; `None` when there are none.
        interval: Of the mean, 95 %: Wilson's when every value is 0 or 1, else Student's. `None` for a single value.
        tokens, cost: What the judges took.
    """

    scored: int
    errors: int
    not_scorable: int
    passed: int
    failed: int
    mean: float | None
    interval: Interval | None
    tokens: int
    cost: float

    @property
    def coverage(self) -> float | None:
        """Scored / (scored and errors); `None` when there are neither."""
        return self.scored / (self.scored + self.errors) if self.scored + self.errors else None


class Gathering:
    """Adds up rows of rollups of one group."""

    def __init__(self, range: tuple[float, float]) -> None:
        self.range = range
        self._counts: dict[int, int] = {}
        self._sums = dict.fromkeys(("failed", "passed", "total", "squares", "tokens", "cost"), 0.0)

    def add(self, bin: int, scores: int, *sums: float) -> None:
        """Add one row: the bin, its scores, and the sums of `SUMMED`."""
        self._counts[bin] = self._counts.get(bin, 0) + scores
        for name, value in zip(self._sums, sums):
            self._sums[name] += value

    def histogram(self) -> Histogram:
        """The histogram of what was added."""
        return histogram_of(self.range, self._counts)

    def figures(self) -> Figures:
        """The figures of what was added."""
        scored = sum(count for place, count in self._counts.items() if place >= LOWEST_BIN)
        total, squares = self._sums["total"], self._sums["squares"]
        ends = self._counts.get(LOWEST_BIN, 0) + self._counts.get(HIGHEST_BIN, 0)
        if scored and self.range == (0.0, 1.0) and ends == scored:
            interval: Interval | None = wilson_interval(self._counts.get(HIGHEST_BIN, 0), scored, CONFIDENCE)
        else:
            interval = _t_interval(scored, total, squares)
        return Figures(
            scored=scored,
            errors=self._counts.get(ERROR_BIN, 0),
            not_scorable=self._counts.get(NOT_SCORABLE_BIN, 0),
            passed=int(self._sums["passed"]),
            failed=int(self._sums["failed"]),
            mean=total / scored if scored else None,
            interval=interval,
            tokens=int(self._sums["tokens"]),
            cost=self._sums["cost"],
        )


def summed_rows(
    connection: Connection, keys: Sequence[ColumnElement[Any]], conditions: Iterable[ColumnElement[bool]]
) -> Iterable[Any]:
    """Rows of rollups summed by `keys` and bin: the keys, and what `Gathering.add` takes."""
    query = select(*keys, rollups.c.bin, *column_sums()).where(*conditions).group_by(*keys, rollups.c.bin)
    return connection.execute(query)


def histogram_of(range: tuple[float, float], counts: dict[int, int], *, is_exact: bool = True) -> Histogram:
    """The histogram of counts by bin."""
    inner = edges(*range)
    bins = [Bin(range[0], range[0], counts.get(LOWEST_BIN, 0))]
    bins += [Bin(low, high, counts.get(place, 0)) for place, (low, high) in enumerate(pairwise(inner), LOWEST_BIN + 1)]
    bins.append(Bin(range[1], range[1], counts.get(HIGHEST_BIN, 0)))
    return Histogram(
        range=range,
        bins=bins,
        errors=counts.get(ERROR_BIN, 0),
        not_scorable=counts.get(NOT_SCORABLE_BIN, 0),
        is_exact=is_exact,
    )


def _t_interval(count: int, total: float, squares: float) -> Interval | None:
    if count < 2:
        return None
    mean = total / count
    variance = max(0.0, (squares - total * mean) / (count - 1))
    half = t_quantile((1 + CONFIDENCE) / 2, count - 1) * math.sqrt(variance / count)
    return Interval(mean - half, mean + half, CONFIDENCE, "t")
