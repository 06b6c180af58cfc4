"""The columns of an experiment: one per scorer and turn, with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, select

from referee.errors import OptionError
from referee.statistics import Interval, mean_interval
from referee.storage.figures import CONFIDENCE, Figures, Gathering, Histogram, summed_rows
from referee.storage.schema import ALL_DAYS, WHOLE_RUN, rollups, runs, scorers, scores
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
    """The columns of an experiment, in the order in which the scorers were first seen."""
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
    ordered = sorted(found.items(), key=lambda entry: (entry[0].turn or -1, min(row.id for row in entry[1][0])))
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
        .where(
            scores.c.experiment == experiment,
            scores.c.scorer.in_(versions),
            scores.c.turn == (WHOLE_RUN if turn is None else turn),
            scores.c.value.isnot(None),
        )
    )
    found = connection.execute(query).all()
    return mean_interval([row.value for row in found], CONFIDENCE, groups=[row.item for row in found])


def stored_turn(turn: int | None) -> int:
    """A turn as it is stored."""
    return WHOLE_RUN if turn is None else turn


def versions_of(connection: Connection, experiment: int, key: ColumnKey) -> list[int]:
    """The rows of the scorer of a column, one for each version that gave scores in the experiment.

    Raises:
        OptionError: The experiment has no such column; names those that it has.
    """
    of_experiment = select(scorers.c.scorer_id, scorers.c.id).where(used_in(experiment))
    numbers: dict[str, list[int]] = {}
    for scorer, number in connection.execute(of_experiment):
        numbers.setdefault(scorer, []).append(number)
    if key.scorer not in numbers:
        raise OptionError(f"there is no scorer {key.scorer!r} here; there are: {', '.join(sorted(numbers))}")
    return numbers[key.scorer]
