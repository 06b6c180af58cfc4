"""Removal of runs with everything of them: of one experiment, or by age.

Runs go in batches, each in a transaction that takes them out of the rollups too, so other writers get their turn and a
removal that is interrupted leaves nothing half-removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, literal, select, update

from referee.errors import OptionError
from referee.storage.database import Database
from referee.storage.days import DAY_MS, day_number
from referee.storage.experiment_rows import find
from referee.storage.rollups import SUMMED, Changes, column_sums
from referee.storage.schema import (
    ALL_DAYS,
    datasets,
    experiment_events,
    experiments,
    labels,
    rollups,
    run_contents,
    run_tags,
    runs,
    score_details,
    scorers,
    scores,
)

#: So many runs go in one transaction.
_BATCH = 500


class Removed(msgspec.Struct, frozen=True):
    """How many experiments, runs and scores were removed, and the keys of those that were kept as a baseline."""

    experiments: int = 0
    runs: int = 0
    scores: int = 0
    kept: tuple[str, ...] = ()

    def __add__(self, other: Removed) -> Removed:
        return Removed(
            self.experiments + other.experiments,
            self.runs + other.runs,
            self.scores + other.scores,
            self.kept + other.kept,
        )


def remove_experiment(database: Database, name: str) -> Removed:
    """Remove an experiment with all runs and scores. See `Store.remove_experiment`."""
    with database.read() as connection:
        number = find(connection, name).number
    removed = _remove_runs(database, runs.c.experiment == number)
    with database.write() as connection:
        connection.execute(delete(rollups).where(rollups.c.experiment == number))
        connection.execute(delete(experiment_events).where(experiment_events.c.experiment == number))
        connection.execute(update(datasets).where(datasets.c.baseline == number).values(baseline=None))
        connection.execute(delete(experiments).where(experiments.c.id == number))
    return removed + Removed(experiments=1)


def remove_before(database: Database, day: date) -> Removed:
    """Remove what is older than a day. See `Store.remove_before`."""
    if day > date.today():
        raise OptionError(f"{day} has not come yet: give the first day that is to be kept")
    first_ms = day_number(day) * DAY_MS
    with database.read() as connection:
        is_baseline = experiments.c.id.in_(select(datasets.c.baseline).where(datasets.c.baseline.isnot(None)))
        old = select(experiments.c.key, is_baseline.label("is_baseline")).where(
            experiments.c.kind == "experiment", experiments.c.created_at < first_ms
        )
        found = connection.execute(old.order_by(experiments.c.id)).all()
        others = list(connection.scalars(select(experiments.c.id).where(experiments.c.kind != "experiment")))
    removed = Removed(kept=tuple(row.key for row in found if row.is_baseline))
    for row in found:
        if not row.is_baseline:
            removed += remove_experiment(database, row.key)
    removed += _remove_runs(database, runs.c.experiment.in_(others), runs.c.at < first_ms)
    with database.write() as connection:
        _close_days(connection, others, first_ms // DAY_MS)
    return removed


def _remove_runs(database: Database, *conditions: ColumnElement[bool]) -> Removed:
    removed = Removed()
    while True:
        with database.write() as connection:
            query = select(runs.c.id).where(*conditions).order_by(runs.c.id).limit(_BATCH).with_for_update()
            numbers = list(connection.scalars(query))
            if not numbers:
                return removed
            removed += Removed(runs=len(numbers), scores=_remove_scores(connection, numbers))
            _remove_rows(connection, numbers)


def _remove_scores(connection: Connection, numbers: Sequence[int]) -> int:
    """Remove the scores of runs, from the rollups too."""
    of_runs = scores.c.run.in_(numbers)
    columns = (scores.c.id, scores.c.experiment, scores.c.scorer, scores.c.turn, scores.c.at)
    query = select(*columns, scores.c.outcome, scores.c.value, scorers.c.low, scorers.c.high)
    found = connection.execute(query.join(scorers, scorers.c.id == scores.c.scorer).where(of_runs)).all()
    changes = Changes()
    for row in found:
        span = (row.low, row.high)
        changes.add(row.experiment, row.scorer, row.turn, row.at, row.outcome, row.value, span, sign=-1)
    connection.execute(delete(score_details).where(score_details.c.score.in_(select(scores.c.id).where(of_runs))))
    connection.execute(delete(scores).where(of_runs))
    changes.apply(connection)
    return len(found)


def _remove_rows(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove runs themselves, and the labels of content that is nowhere else."""
    for table in (run_contents, run_tags):
        connection.execute(delete(table).where(table.c.run.in_(numbers)))
    counts = select(runs.c.experiment, func.count(), func.count(runs.c.error)).where(runs.c.id.in_(numbers))
    for experiment, gone, failed in connection.execute(counts.group_by(runs.c.experiment)).all():
        fewer = {"results": experiments.c.results - gone, "failed_results": experiments.c.failed_results - failed}
        connection.execute(update(experiments).where(experiments.c.id == experiment).values(fewer))
    connection.execute(delete(runs).where(runs.c.id.in_(numbers)))
    same_content = select(func.min(runs.c.id)).where(runs.c.digest == labels.c.subject).scalar_subquery()
    left_over = labels.c.run.in_(numbers)
    is_elsewhere = exists(select(1).where(runs.c.digest == labels.c.subject))
    connection.execute(delete(labels).where(left_over, ~is_elsewhere))
    connection.execute(update(labels).where(left_over).values(run=same_content))


def _close_days(connection: Connection, numbers: Sequence[int], first_day: int) -> None:
    """Drop the rollups of days that are gone, with what judges took in them, and sum up those of all days anew."""
    of_experiments = rollups.c.experiment.in_(numbers)
    gone = (rollups.c.day > ALL_DAYS, rollups.c.day < first_day)
    connection.execute(delete(rollups).where(of_experiments, *gone))
    connection.execute(delete(rollups).where(of_experiments, rollups.c.day == ALL_DAYS))
    keys = (rollups.c.scorer, rollups.c.experiment, rollups.c.turn, rollups.c.bin)
    days = (
        select(literal(ALL_DAYS), *keys, *column_sums()).where(of_experiments, rollups.c.day > ALL_DAYS).group_by(*keys)
    )
    connection.execute(insert(rollups).from_select(["day", *(key.name for key in keys), *SUMMED], days))
