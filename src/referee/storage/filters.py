"""Filters of scores: what a person asks for, and the SQL that finds it."""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec
from sqlalchemy import ARRAY, BigInteger, ColumnElement, Connection, Select, any_, exists, literal, select

from referee.errors import OptionError
from referee.storage.bulk import is_sqlite
from referee.storage.days import DAY_MS, day_number
from referee.storage.experiment_rows import find
from referee.storage.outcomes import OUTCOMES, Outcome
from referee.storage.schema import ALL_DAYS, experiments, rollups, run_tags, runs, scorers, scores
from referee.storage.scored_runs import Kind

#: Up to so many runs are looked up one by one; above, their scores are searched through.
FEW_RUNS = 2000


class ScoreFilter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which scores are asked for. All conditions must hold; a field that is not given holds for every score.

    Attributes:
        experiment: The key or name of an experiment, or `recorded`, or `live`.
        kind: `experiment`, `recorded` or `live`.
        scorer: A scorer's id.
        version: A scorer's version.
        outcomes: Any of `error`, `not_scorable`, `failed`, `passed`, `unbounded`.
        at_least, at_most, above, below: Of the value.
        since, until: Days, UTC, both inclusive.
        run: A run's id.
        item: An item's id.
        thread, trace: Ids of a thread or a trace.
        tag: A tag of the item.
    """

    experiment: str | None = None
    kind: Kind | None = None
    scorer: str | None = None
    version: str | None = None
    outcomes: tuple[Outcome, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    since: date | None = None
    until: date | None = None
    run: str | None = None
    item: str | None = None
    thread: str | None = None
    trace: str | None = None
    tag: str | None = None

    def __post_init__(self) -> None:
        wrong = [outcome for outcome in self.outcomes if outcome not in OUTCOMES]
        if wrong:
            raise OptionError(f"there is no outcome {wrong[0]!r}; there are: {', '.join(OUTCOMES)}")

    @property
    def asks_value(self) -> bool:
        """Whether it asks for a range of values."""
        return any(bound is not None for bound in (self.at_least, self.at_most, self.above, self.below))

    @property
    def asks_run(self) -> bool:
        """Whether it asks for something of the run."""
        return any((self.run, self.item, self.thread, self.trace, self.tag))

    def admits(self, low: float, high: float) -> bool | None:
        """Whether all values from `low` up to, not including, `high` fit: true, false, or `None` for some of them.

        With `low == high` it is that one value.
        """
        if low == high:
            return self._fits(low)
        if (self.at_least is not None and high <= self.at_least) or (self.above is not None and high <= self.above):
            return False
        if (self.at_most is not None and low > self.at_most) or (self.below is not None and low >= self.below):
            return False
        whole = (
            (self.at_least is None or low >= self.at_least)
            and (self.above is None or low > self.above)
            and (self.at_most is None or high <= self.at_most)
            and (self.below is None or high <= self.below)
        )
        return True if whole else None

    def _fits(self, value: float) -> bool:
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )


class Selection:
    """A filter with its names looked up.

    Args:
        connection: A reading connection.
        given: The filter.

    Raises:
        StoreError: There is no such experiment.
    """

    def __init__(self, connection: Connection, given: ScoreFilter) -> None:
        self.filter = given
        self._is_sqlite = is_sqlite(connection)
        self.outcomes = [OUTCOMES.index(outcome) for outcome in given.outcomes]
        self.experiment = None if given.experiment is None else find(connection, given.experiment).number
        #: The runs asked for, where they are few.
        self.runs = _few_runs(connection, self) if given.asks_run else None

    @property
    def is_narrow(self) -> bool:
        """Whether experiment, scorer or outcome are asked for, so that an index of them leads to the scores."""
        given = self.filter
        return self.experiment is not None or bool(given.scorer or given.version or self.outcomes)

    def of_experiment(self, table: Any = scores, *, indexed: bool = True) -> list[ColumnElement[bool]]:
        """What the experiment must be, of scores or of rollups; with `indexed=False` no index of it is to be used."""
        given = self.filter
        found = []
        column = table.c.experiment if indexed else table.c.experiment + 0
        if self.experiment is not None:
            found.append(column == self.experiment)
        if given.kind is not None:
            found.append(column.in_(select(experiments.c.id).where(experiments.c.kind == given.kind)))
        return found

    def of_rows(self, table: Any, *, indexed: bool = True) -> list[ColumnElement[bool]]:
        """What experiment and scorer must be, of scores or of rollups; with `indexed=False` no index is to be used."""
        given = self.filter
        found = self.of_experiment(table, indexed=indexed)
        if given.scorer is not None or given.version is not None:
            column = table.c.scorer if indexed else table.c.scorer + 0
            found.append(column.in_(_scorer_numbers(given)))
        return found

    def of_scores(self) -> list[ColumnElement[bool]]:
        """Everything that a row of `scores` must be. Where runs were looked up, these lead to it and no other index."""
        return [
            *self.of_rows(scores, indexed=self.runs is None),
            *self.of_outcome(),
            *self.of_value(),
            *self.of_time(),
            *self.of_run(),
        ]

    def of_outcome(self) -> list[ColumnElement[bool]]:
        """The outcomes that are asked for."""
        return [scores.c.outcome.in_(self.outcomes)] if self.outcomes else []

    def of_value(self) -> list[ColumnElement[bool]]:
        """The range of values that is asked for."""
        given, value = self.filter, scores.c.value
        tests = (
            (given.at_least, value.__ge__),
            (given.at_most, value.__le__),
            (given.above, value.__gt__),
            (given.below, value.__lt__),
        )
        return [test(bound) for bound, test in tests if bound is not None]

    def of_time(self) -> list[ColumnElement[bool]]:
        """The days that are asked for."""
        first, last = self.days
        found = []
        if first is not None:
            found.append(scores.c.at >= first * DAY_MS)
        if last is not None:
            found.append(scores.c.at < (last + 1) * DAY_MS)
        return found

    def of_single_days(self) -> list[ColumnElement[bool]]:
        """The days that are asked for, of rollups of single days."""
        first, last = self.days
        found = [rollups.c.day > ALL_DAYS]
        if first is not None:
            found.append(rollups.c.day >= first)
        if last is not None:
            found.append(rollups.c.day <= last)
        return found

    @property
    def days(self) -> tuple[int | None, int | None]:
        """The first and last day that are asked for, as days since 1970."""
        return _day(self.filter.since), _day(self.filter.until)

    def of_run(self) -> list[ColumnElement[bool]]:
        """The runs that are asked for."""
        if not self.filter.asks_run:
            return []
        if self.runs is not None:
            return [self._is_among(self.runs)]
        wanted = _wanted_runs(self).subquery()
        return [exists(select(1).select_from(wanted).where(wanted.c.id == scores.c.run))]

    def _is_among(self, numbers: list[int]) -> ColumnElement[bool]:
        """A score of these runs. PostgreSQL takes a list as one value, which is quicker than a thousand."""
        if self._is_sqlite:
            return scores.c.run.in_(numbers)
        return scores.c.run == any_(literal(numbers, ARRAY(BigInteger)))

    def rows_of_runs(self, *columns: ColumnElement[Any]) -> Select[Any]:
        """Columns of the scores that fit, found by way of the runs that are asked for."""
        if self.runs is not None:
            return select(*columns).where(*self.of_scores())
        rest = [*self.of_rows(scores, indexed=False), *self.of_outcome(), *self.of_value(), *self.of_time()]
        wanted = _wanted_runs(self).subquery()
        return select(*columns).select_from(wanted.join(scores, scores.c.run == wanted.c.id)).where(*rest)


def _day(given: date | None) -> int | None:
    return None if given is None else day_number(given)


def _scorer_numbers(given: ScoreFilter) -> Select[tuple[int]]:
    query = select(scorers.c.id)
    if given.scorer is not None:
        query = query.where(scorers.c.scorer_id == given.scorer)
    if given.version is not None:
        query = query.where(scorers.c.version == given.version)
    return query


def _wanted_runs(selection: Selection) -> Select[tuple[int]]:
    """The numbers of the runs that are asked for."""
    given = selection.filter
    of_tag = select(run_tags.c.run.label("id")).where(run_tags.c.tag == given.tag)
    named = ((runs.c.run_id, given.run), (runs.c.item, given.item), (runs.c.thread_id, given.thread))
    conditions = [column == value for column, value in (*named, (runs.c.trace_id, given.trace)) if value is not None]
    if selection.experiment is not None:
        conditions.append(runs.c.experiment == selection.experiment)
    if given.tag is None:
        return select(runs.c.id).where(*conditions)
    if not conditions:
        return of_tag
    return of_tag.join(runs, runs.c.id == run_tags.c.run).where(*conditions)


def _few_runs(connection: Connection, selection: Selection) -> list[int] | None:
    found: list[int] = list(connection.scalars(_wanted_runs(selection).limit(FEW_RUNS + 1)))
    return found if len(found) <= FEW_RUNS else None
