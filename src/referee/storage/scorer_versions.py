"""Questions about scorers: their versions, how their values lie, one against another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import Connection, select

from referee.errors import StoreError
from referee.nearest import did_you_mean
from referee.storage import codec
from referee.storage.database import Database
from referee.storage.experiment_rows import find
from referee.storage.figures import Figures, Gathering, Histogram, summed_rows
from referee.storage.outcomes import OUTCOMES, bin_of, edges
from referee.storage.schema import ALL_DAYS, rollups, scorers, scores

#: The outcomes of scores that have a value.
_WITH_VALUE = [OUTCOMES.index(name) for name in ("failed", "passed", "unbounded")]
#: Two scorers are set against each other over so many of the latest runs, or of an experiment's.
MOST_LATEST, MOST_OF_EXPERIMENT = 2_000, 50_000
#: A run and a turn of it.
_Place: TypeAlias = tuple[int, int]


class ScorerVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A scorer in one version, and what all its scores came to.

    Attributes:
        scorer, version: Its id and version.
        kind: Its factory, where it is known.
        description: What it measures, where that is known.
        spec: How it was made, as plain data, where that is known.
        range, lower_is_better: As the scorer declares them.
        created_at: When the store first saw it.
        figures, histogram: Of all its scores.
    """

    scorer: str
    version: str
    kind: str | None
    description: str | None
    spec: Any
    range: tuple[float, float]
    lower_is_better: bool
    created_at: datetime
    figures: Figures
    histogram: Histogram


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """How the values of two scorers on the same runs lie against each other.

    Attributes:
        first, second: The scorers' ids.
        first_range, second_range: Their ranges.
        cells: How many runs have a value in a bin of the first (of 22) and a bin of the second.
        runs: How many runs have a value of both.
        is_exact: Whether every run was looked at; else the latest ones.
    """

    first: str
    second: str
    first_range: tuple[float, float]
    second_range: tuple[float, float]
    cells: list[tuple[int, int, int]]
    runs: int
    is_exact: bool


class ScorerVersions:
    """The scorers of a store. Made by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[ScorerVersion]:
        """Every version of every scorer, by id, the newest version of each first."""
        with self._database.read() as connection:
            return _read(connection, None)

    def names(self) -> list[str]:
        """The ids of all scorers."""
        with self._database.read() as connection:
            return list(connection.scalars(select(scorers.c.scorer_id).distinct().order_by(scorers.c.scorer_id)))

    def get(self, scorer: str) -> list[ScorerVersion]:
        """The versions of a scorer, the newest first.

        Raises:
            StoreError: There is no such scorer.
        """
        with self._database.read() as connection:
            found = _read(connection, scorer)
            if not found:
                names = list(connection.scalars(select(scorers.c.scorer_id).distinct()))
                raise StoreError(f"there is no scorer {scorer!r}{did_you_mean(scorer, names)}")
            return found

    def crossing(self, first: str, second: str, *, experiment: str | None = None) -> Crossing:
        """Two scorers on the same runs, value against value: of an experiment, else of the latest runs.

        Raises:
            StoreError: There is no such scorer or experiment.
        """
        sides = [self.get(name) for name in (first, second)]
        with self._database.read() as connection:
            return _crossing(connection, sides[0], sides[1], experiment)


def _read(connection: Connection, scorer: str | None) -> list[ScorerVersion]:
    query = select(scorers).order_by(scorers.c.scorer_id, scorers.c.id.desc())
    rows = connection.execute(query if scorer is None else query.where(scorers.c.scorer_id == scorer)).all()
    gathered = {row.id: Gathering((row.low, row.high)) for row in rows}
    conditions = [rollups.c.day == ALL_DAYS]
    if scorer is not None:
        conditions.append(rollups.c.scorer.in_(list(gathered)))
    for version, *sums in summed_rows(connection, (rollups.c.scorer,), conditions):
        if version in gathered:
            gathered[version].add(*sums)
    return [
        ScorerVersion(
            scorer=row.scorer_id,
            version=row.version,
            kind=row.kind,
            description=row.description,
            spec=None if row.spec is None else codec.decode(row.spec, Any),
            range=(row.low, row.high),
            lower_is_better=bool(row.lower_is_better),
            created_at=codec.from_ms(row.created_at),
            figures=gathered[row.id].figures(),
            histogram=gathered[row.id].histogram(),
        )
        for row in rows
    ]


def _crossing(
    connection: Connection, first: list[ScorerVersion], second: list[ScorerVersion], experiment: str | None
) -> Crossing:
    numbers = [
        list(connection.scalars(select(scorers.c.id).where(scorers.c.scorer_id == side[0].scorer)))
        for side in (first, second)
    ]
    if experiment is not None:
        belongs_to = find(connection, experiment).number
        sides = [_values(connection, versions, belongs_to) for versions in numbers]
        is_exact = len(sides[0]) < MOST_OF_EXPERIMENT
    else:
        newest = _newest(connection, numbers[0])
        sides = [newest, _values_of(connection, numbers[1], newest)]
        is_exact = len(newest) < MOST_LATEST
    found = [(value, sides[1][place]) for place, value in sides[0].items() if place in sides[1]]
    inner = edges(*first[0].range), edges(*second[0].range)
    cells = Counter((bin_of(one, inner[0]), bin_of(two, inner[1])) for one, two in found)
    return Crossing(
        first=first[0].scorer,
        second=second[0].scorer,
        first_range=first[0].range,
        second_range=second[0].range,
        cells=[(*place, count) for place, count in sorted(cells.items())],
        runs=len(found),
        is_exact=is_exact,
    )


def _values(connection: Connection, versions: list[int], experiment: int) -> dict[_Place, float]:
    """The values of a scorer in an experiment, from an index alone."""
    query = select(scores.c.run, scores.c.turn, scores.c.value).where(
        scores.c.experiment == experiment, scores.c.scorer.in_(versions), scores.c.outcome.in_(_WITH_VALUE)
    )
    return {(run, turn): value for run, turn, value in connection.execute(query.limit(MOST_OF_EXPERIMENT))}


def _newest(connection: Connection, versions: list[int]) -> dict[_Place, float]:
    """The newest values of a scorer, each version and outcome in the order of an index."""
    found: list[tuple[int, int, int, float]] = []
    for version in versions:
        for outcome in _WITH_VALUE:
            query = (
                select(scores.c.at, scores.c.run, scores.c.turn, scores.c.value)
                .where(scores.c.scorer == version, scores.c.outcome == outcome)
                .order_by(scores.c.at.desc(), scores.c.id.desc())
                .limit(MOST_LATEST)
            )
            found += [(at, run, turn, value) for at, run, turn, value in connection.execute(query)]
    return {(run, turn): value for _, run, turn, value in sorted(found, reverse=True)[:MOST_LATEST]}


def _values_of(connection: Connection, versions: list[int], places: Iterable[_Place]) -> dict[_Place, float]:
    """The values of a scorer on runs."""
    query = select(scores.c.run, scores.c.turn, scores.c.value).where(
        scores.c.run.in_({run for run, _ in places}), (scores.c.scorer + 0).in_(versions), scores.c.value.isnot(None)
    )
    return {(run, turn): value for run, turn, value in connection.execute(query)}
