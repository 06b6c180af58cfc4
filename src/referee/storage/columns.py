"""The columns of an experiment: one per scorer and turn, with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, select

from referee.errors import OptionError
from referee.statistics import Interval, mean_interval
from referee.storage import codec
from referee.storage.figures import CONFIDENCE, Figures, Gathering, Histogram, summed_rows
from referee.storage.schema import ALL_DAYS, WHOLE_RUN, experiments, rollups, runs, scorers, scores
from referee.storage.score_rows import turn_of


class ColumnKey(NamedTuple):
    """A scorer's id, and the turn that it scored; `None` for the whole run."""

    scorer: str
    turn: int | None = None


class GridColumn(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one scorer in one experiment.

    Attributes:
        scorer, turn: The scorer's id, and the turn; `None` for the whole run.
        versions: The versions that gave these scores. Items with scorers of their own may bring several.
        range, lower_is_better: As the scorer declares them.
        figures: Mean, interval and counts.
        histogram: How the values lie.
    """

    scorer: str
    turn: int | None
    versions: list[str]
    range: tuple[float, float]
    lower_is_better: bool
    figures: Figures
    histogram: Histogram

    @property
    def key(self) -> ColumnKey:
        """What names the column."""
        return ColumnKey(self.scorer, self.turn)


def read_columns(connection: Connection, experiment: int, *, has_repeats: bool) -> list[GridColumn]:
    """The columns of an experiment, in the order of its plan; those that are not in it in the order of their rows."""
    versions = {row.id: row for row in connection.execute(select(scorers).where(used_in(experiment)))}
    found: dict[ColumnKey, tuple[list[Any], Gathering]] = {}
    conditions = [rollups.c.experiment == experiment, rollups.c.day == ALL_DAYS]
    for version, turn, *sums in summed_rows(connection, (rollups.c.scorer, rollups.c.turn), conditions):
        row = versions[version]
        key = ColumnKey(row.scorer_id, turn_of(turn))
        if key not in found:
            found[key] = ([], Gathering((row.low, row.high)))
        if row not in found[key][0]:
            found[key][0].append(row)
        found[key][1].add(*sums)
    planned = _planned(connection, experiment)

    def place(key: ColumnKey) -> tuple[int, int, int]:
        return (-1 if key.turn is None else key.turn, planned.get(key.scorer, len(planned)), found[key][0][0].id)

    ordered = [(key, found[key]) for key in sorted(found, key=place)]
    columns = []
    for key, (rows, gathering) in ordered:
        figures = gathering.figures()
        if has_repeats:
            interval = _interval_by_item(connection, experiment, [row.id for row in rows], key.turn)
            figures = msgspec.structs.replace(figures, interval=interval)
        columns.append(
            GridColumn(
                scorer=key.scorer,
                turn=key.turn,
                versions=sorted({row.version for row in rows}),
                range=gathering.range,
                lower_is_better=bool(rows[0].lower_is_better),
                figures=figures,
                histogram=gathering.histogram(),
            )
        )
    return columns


def _planned(connection: Connection, experiment: int) -> dict[str, int]:
    """The scorers that the experiment's plan names, by their place in it."""
    plan = connection.execute(select(experiments.c.plan).where(experiments.c.id == experiment)).scalar()
    measures = codec.decode(plan, _Plan).measures if plan else []
    return {measure.id: number for number, measure in enumerate(measures)}


class _Measure(msgspec.Struct, frozen=True):
    id: str


class _Plan(msgspec.Struct, frozen=True):
    """Of an experiment's plan, what its columns are sorted by."""

    measures: list[_Measure] = []


def used_in(experiment: int) -> ColumnElement[bool]:
    """The rows of scorers that have scores in an experiment."""
    of_experiment = select(rollups.c.scorer).where(rollups.c.experiment == experiment, rollups.c.day == ALL_DAYS)
    return scorers.c.id.in_(of_experiment)


def has_repeats(connection: Connection, experiment: int) -> bool:
    """Whether an item of the experiment was run more than once."""
    query = select(runs.c.id).where(runs.c.experiment == experiment, runs.c.repeat > 0).limit(1)
    return connection.execute(query).scalar() is not None


def _interval_by_item(
    connection: Connection, experiment: int, versions: Sequence[int], turn: int | None
) -> Interval | None:
    """The interval of the mean with the repeats of an item taken together."""
    query = (
        select(scores.c.value, runs.c.item)
        .join(runs, runs.c.id == scores.c.run)
        .where(*in_column(experiment, versions, turn), scores.c.value.isnot(None))
    )
    found = connection.execute(query).all()
    return mean_interval([row.value for row in found], CONFIDENCE, groups=[row.item for row in found])


def stored_turn(turn: int | None) -> int:
    """A turn as it is stored."""
    return WHOLE_RUN if turn is None else turn


def in_column(experiment: int, versions: Sequence[int], turn: int | None) -> list[ColumnElement[bool]]:
    """What scores must be to stand in a column; `versions` are the rows of its scorer."""
    return [
        scores.c.experiment == experiment,
        scores.c.scorer.in_(versions),
        scores.c.turn == stored_turn(turn),
    ]


class ScorerVersion(NamedTuple):
    """A version of a scorer: its row, and how its scores are read."""

    number: int
    version: str
    low: float
    high: float
    lower_is_better: bool


def scorer_versions(connection: Connection, experiment: int, key: ColumnKey) -> list[ScorerVersion]:
    """The versions of the scorer of a column that gave scores in the experiment.

    Raises:
        OptionError: The experiment has no such column; names those that it has.
    """
    row = (scorers.c.scorer_id, scorers.c.id, scorers.c.version, scorers.c.low, scorers.c.high)
    query = select(*row, scorers.c.lower_is_better).where(used_in(experiment))
    found: dict[str, list[ScorerVersion]] = {}
    for name, number, version, low, high, is_lower in connection.execute(query):
        found.setdefault(name, []).append(ScorerVersion(number, version, low, high, bool(is_lower)))
    if key.scorer not in found:
        raise OptionError(f"there is no scorer {key.scorer!r} here; there are: {', '.join(sorted(found))}")
    return found[key.scorer]


def versions_of(connection: Connection, experiment: int, key: ColumnKey) -> list[int]:
    """The rows of the scorer of a column, one for each version; as `scorer_versions`."""
    return [version.number for version in scorer_versions(connection, experiment, key)]
