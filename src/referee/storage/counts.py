"""Counts of scores by scorer, outcome and bin: from the rollups, exact whatever the filter.

A range of values that cuts through a bin is counted there row by row. Only a filter that asks for many runs stops
counting at `MOST_COUNTED`, and says so.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, case, func, literal, select

from referee.storage.filters import Selection
from referee.storage.outcomes import (
    ERROR_BIN,
    FIRST_INNER_BIN,
    HIGHEST_BIN,
    LOWEST_BIN,
    NOT_SCORABLE_BIN,
    OUTCOMES,
    bin_of,
    edges,
)
from referee.storage.rollups import column_sums
from referee.storage.schema import ALL_DAYS, experiments, rollups, scorers, scores

#: Where runs are asked for that are too many to look up, counting stops here.
MOST_COUNTED = 10_000
#: Counts by experiment look at so many of the latest experiments.
LATEST_EXPERIMENTS = 100

_ERROR, _NOT_SCORABLE, _FAILED, _PASSED, _UNBOUNDED = range(len(OUTCOMES))


class Total(msgspec.Struct, frozen=True):
    """How many scores fit; `is_exact` is false when there are more than that."""

    count: int
    is_exact: bool = True


class Place(NamedTuple):
    """Where a score is counted. `experiment` is 0 where experiments are not told apart."""

    experiment: int
    scorer: int
    bin: int
    outcome: int


class Counts:
    """The scores that fit a selection, counted.

    Args:
        connection: A reading connection.
        selection: What is asked for.
        by_experiment: Tell the latest experiments apart, and count no others.
        with_bins: Tell the bins apart. From the rollups they always are.
    """

    def __init__(
        self, connection: Connection, selection: Selection, *, by_experiment: bool = False, with_bins: bool = False
    ) -> None:
        self._connection = connection
        self._selection = selection
        self._by_experiment = by_experiment
        self._with_bins = with_bins
        self.ranges: dict[int, tuple[float, float]] = {}
        self.is_exact = True
        self.places: Counter[Place] = Counter()
        if selection.filter.asks_run:
            self._count_rows()
        else:
            self._count_rollups()

    @property
    def total(self) -> Total:
        """All of them."""
        return Total(
            min(self.places.total(), MOST_COUNTED) if not self.is_exact else self.places.total(), self.is_exact
        )

    def by(self, *names: str) -> Counter[Any]:
        """The counts by one or several fields of `Place`."""
        found: Counter[Any] = Counter()
        for place, number in self.places.items():
            values = [getattr(place, name) for name in names]
            found[values[0] if len(values) == 1 else tuple(values)] += number
        return found

    def _count_rows(self) -> None:
        """Count the scores of the runs that are asked for."""
        ranges = select(scorers.c.id, scorers.c.low, scorers.c.high)
        self.ranges = {number: (low, high) for number, low, high in self._connection.execute(ranges)}
        rows = self._selection.rows_of_runs(scores.c.experiment, scores.c.scorer, scores.c.outcome, scores.c.value)
        found = rows.limit(MOST_COUNTED + 1).subquery()
        columns: list[ColumnElement[Any]] = [
            found.c.experiment if self._by_experiment else literal(0),
            found.c.scorer,
            found.c.outcome,
            found.c.value if self._with_bins else case((found.c.value.isnot(None), 0.0)),
        ]
        query: Select[Any] = select(*columns, func.count()).group_by(*columns)
        inner = {span: edges(*span) for span in set(self.ranges.values())}
        for experiment, scorer, outcome, value, number in self._connection.execute(query):
            place = _bin(outcome) if value is None else bin_of(value, inner[self.ranges[scorer]])
            self.places[Place(experiment, scorer, place, outcome)] += number
        self.is_exact = self.places.total() <= MOST_COUNTED

    def _count_rollups(self) -> None:
        given = self._selection.filter
        wanted = self._selection.outcomes or range(len(OUTCOMES))
        partial: set[tuple[int, int]] = set()
        for experiment, scorer, place, low, high, *sums in self._connection.execute(self._rollup_query()):
            self.ranges[scorer] = (low, high)
            fits = _fits(given, place, low, high) if given.asks_value else True
            if fits is False:
                continue
            if fits is None:
                partial.add((scorer, place))
                continue
            for outcome, number in _by_outcome(place, *sums).items():
                if number and outcome in wanted:
                    self.places[Place(experiment, scorer, place, outcome)] += number
        for scorer, place in sorted(partial):
            self._count_bin(scorer, place)

    def _rollup_query(self) -> Any:
        keys = (rollups.c.scorer, rollups.c.bin, scorers.c.low, scorers.c.high)
        sums = column_sums(("scores", "failed", "passed"))
        conditions = [*self._selection.of_rows(rollups), *self._of_days()]
        if not self._by_experiment:
            query = select(literal(0), *keys, *sums).group_by(*keys)
        else:
            query = select(rollups.c.experiment, *keys, *sums).group_by(rollups.c.experiment, *keys)
            conditions.append(rollups.c.experiment.in_(_latest_experiments()))
        return query.join(scorers, scorers.c.id == rollups.c.scorer).where(*conditions)

    def _of_days(self) -> list[ColumnElement[bool]]:
        if self._selection.days == (None, None):
            return [rollups.c.day == ALL_DAYS]
        return self._selection.of_single_days()

    def _count_bin(self, scorer: int, place: int) -> None:
        """Count, row by row, the scores that fit in a bin that the range of values cuts through."""
        inner = edges(*self.ranges[scorer])
        low, high = inner[place - 1], inner[place]
        above = scores.c.value > low if place == FIRST_INNER_BIN else scores.c.value >= low
        rest = [*self._selection.of_experiment(), *self._selection.of_outcome(), *self._selection.of_time()]
        experiment: Any = literal(0)
        if self._by_experiment:
            experiment = scores.c.experiment
            rest.append(experiment.in_(_latest_experiments()))
        query = (
            select(experiment, scores.c.outcome, func.count())
            .where(scores.c.scorer == scorer, above, scores.c.value < high, *self._selection.of_value(), *rest)
            .group_by(scores.c.outcome, *([experiment] if self._by_experiment else []))
        )
        for number, outcome, count in self._connection.execute(query):
            self.places[Place(number, scorer, place, outcome)] += count


def _bin(outcome: int) -> int:
    return ERROR_BIN if outcome == _ERROR else NOT_SCORABLE_BIN


def _fits(given: Any, place: int, low: float, high: float) -> bool | None:
    """Whether all scores of a bin have a value that is asked for; `None` when only some may have."""
    if place < LOWEST_BIN:
        return False
    if place in (LOWEST_BIN, HIGHEST_BIN):
        end = low if place == LOWEST_BIN else high
        return bool(given.admits(end, end))
    inner = edges(low, high)
    return given.admits(inner[place - 1], inner[place])  # type: ignore[no-any-return]


def _by_outcome(place: int, number: int, failed: int, passed: int) -> dict[int, int]:
    if place < LOWEST_BIN:
        return {_ERROR if place == ERROR_BIN else _NOT_SCORABLE: number}
    return {_FAILED: failed, _PASSED: passed, _UNBOUNDED: number - failed - passed}


def _latest_experiments() -> Any:
    return select(experiments.c.id).order_by(experiments.c.id.desc()).limit(LATEST_EXPERIMENTS)
