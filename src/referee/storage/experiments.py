"""Questions about experiments, and their life from start to verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, select, update

from referee.errors import StoreError
from referee.results import Evaluation, ItemResult
from referee.storage import codec
from referee.storage.columns import ColumnKey, GridColumn, has_repeats, read_columns
from referee.storage.comparison import Change, ScorerComparison, ScorerInBoth, read_columns_of_both, read_comparison
from referee.storage.database import Database
from referee.storage.experiment_results import read_results
from referee.storage.experiment_rows import (
    LISTED,
    ExperimentEvent,
    ExperimentRow,
    Status,
    baseline_of,
    ensure_experiment,
    experiment_row,
    find,
    key_of,
    note,
)
from referee.storage.grid import ALL_ROWS, GridFilter, GridPage, read_grid
from referee.storage.schema import experiment_events, experiments
from referee.storage.scored_runs import Kind


class Experiments:
    """The experiments of a store. Made by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def latest(
        self, *, kind: Kind | None = None, dataset: int | None = None, limit: int = 50, before: str | None = None
    ) -> list[ExperimentRow]:
        """Experiments, the newest first.

        Args:
            kind: Only of this kind.
            dataset: Only of the data set of this number.
            limit: How many.
            before: Only those older than the experiment of this key.
        """
        with self._database.read() as connection:
            query = select(*LISTED).order_by(experiments.c.created_at.desc(), experiments.c.id.desc()).limit(limit)
            if kind is not None:
                query = query.where(experiments.c.kind == kind)
            if dataset is not None:
                query = query.where(experiments.c.dataset == dataset)
            if before is not None:
                query = query.where(experiments.c.id < find(connection, before).number)
            return [experiment_row(row) for row in connection.execute(query)]

    def get(self, name: str) -> ExperimentRow:
        """One experiment, by its key, by the beginning of its key, or by its name: then the newest of that name.

        Raises:
            StoreError: There is none, or several keys begin so.
        """
        with self._database.read() as connection:
            number = find(connection, name).number
            return experiment_row(connection.execute(select(*LISTED).where(experiments.c.id == number)).one())

    def begin(
        self,
        evaluation: Evaluation,
        *,
        target: str = "",
        dataset: int | None = None,
        dataset_version: int | None = None,
        event: str = "started",
    ) -> str:
        """Start an experiment, or go on with it, under its plan. Gives its key.

        Args:
            evaluation: The plan.
            target: The target, where the plan has several: each is an experiment of its own.
            dataset, dataset_version: The data set's number and version.
            event: What is noted.
        """
        key = key_of(evaluation, target)
        belongs_to = ensure_experiment(self._database, key, "experiment")
        row: dict[str, Any] = {
            "name": codec.clean(evaluation.name),
            "target": codec.clean(target),
            "status": "running",
            "verdict": None,
            "plan": codec.encode(evaluation),
            "planned": sum(evaluation.items.values()),
            "finished_at": None,
        }
        if dataset is not None:
            row |= {"dataset": dataset, "dataset_version": dataset_version}
        with self._database.write() as connection:
            connection.execute(update(experiments).where(experiments.c.id == belongs_to.number).values(row))
            note(connection, belongs_to.number, event, {})
        return key

    def end(self, key: str, *, status: Status, verdict: str | None = None) -> None:
        """Say how an experiment ended.

        Raises:
            StoreError: There is none of this key.
        """
        with self._database.write() as connection:
            number = find(connection, key).number
            row = {"status": status, "verdict": verdict, "finished_at": codec.now_ms()}
            connection.execute(update(experiments).where(experiments.c.id == number).values(row))
            note(connection, number, status, {"verdict": verdict})

    def note(self, name: str, event: str, details: dict[str, Any]) -> None:
        """Add to the events of an experiment.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.write() as connection:
            note(connection, find(connection, name).number, event, details)

    def events(self, name: str, *, after: int = 0, limit: int = 1000) -> list[ExperimentEvent]:
        """What happened to an experiment, in order.

        Args:
            name: Its key or name.
            after: Only events of a higher number: the last one that was seen.
            limit: How many.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            number = find(connection, name).number
            query = select(experiment_events).where(
                experiment_events.c.experiment == number, experiment_events.c.id > after
            )
            found = connection.execute(query.order_by(experiment_events.c.id).limit(limit)).all()
        return [
            ExperimentEvent(
                number=row.id,
                at=codec.from_ms(row.at),
                event=row.event,
                details=codec.decode(row.details, dict[str, Any]) if row.details else {},
            )
            for row in found
        ]

    def plan(self, name: str) -> Evaluation:
        """The plan of an experiment.

        Raises:
            StoreError: There is no such experiment, or its scores were saved without a plan.
        """
        with self._database.read() as connection:
            return _plan(connection, find(connection, name).number, name)

    def baseline(self, name: str) -> ExperimentRow | None:
        """What an experiment is measured against: its data set's baseline, else the finished one before it of its kind.

        Of the same data set and target; without a data set, of the same name.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            return baseline_of(connection, find(connection, name).number)

    def columns(self, name: str) -> list[GridColumn]:
        """The figures of an experiment, a column per scorer and turn.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            number = find(connection, name).number
            return read_columns(connection, number, has_repeats=has_repeats(connection, number))

    def grid(
        self,
        name: str,
        where: GridFilter = ALL_ROWS,
        *,
        sort: ColumnKey | None = None,
        descending: bool = False,
        limit: int = 50,
        after: str | None = None,
        before: str | None = None,
    ) -> GridPage:
        """An experiment as a grid, a row per item and repeat, a column per scorer and turn.

        Args:
            name: The experiment's key or name.
            where: Which rows.
            sort: By which column; by the items' ids when `None`. Rows without a value come last.
            descending: The highest first.
            limit: How many rows, at most 1,000.
            after: The `next` of a page.
            before: The `previous` of a page.

        Raises:
            OptionError: There is no such column, or the limit or position is none.
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            return read_grid(
                connection, name, where, sort, descending=descending, limit=limit, after=after, before=before
            )

    def columns_of_both(self, first: str, second: str) -> list[ScorerInBoth]:
        """The columns of two experiments side by side: their figures, without looking at single items.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            return read_columns_of_both(connection, first, second)

    def compare(
        self,
        first: str,
        second: str,
        scorer: str,
        *,
        turn: int | None = None,
        changes: Sequence[Change] = (),
        limit: int = 50,
        offset: int = 0,
    ) -> ScorerComparison:
        """One scorer in two experiments, item by item, the worst change first.

        Args:
            first: The experiment before the change, by key or name.
            second: The one after it.
            scorer: The scorer's id.
            turn: The turn; `None` for scores of whole runs.
            changes: Only items with one of these: `worse`, `better`, `same`, `only_first`, `only_second`, `no_score`.
            limit: How many items are listed.
            offset: How many are passed over.

        Raises:
            OptionError: An experiment has no such scorer, there is no such change, or a number is below 0.
            StoreError: There is no such experiment.
        """
        column = ColumnKey(scorer, turn)
        with self._database.read() as connection:
            return read_comparison(connection, first, second, column, changes, limit=limit, offset=offset)

    @contextmanager
    def results(self, name: str) -> Iterator[Iterator[ItemResult]]:
        """The results of an experiment, read bit by bit from one state of the store.

        Raises:
            StoreError: There is no such experiment, or its scores were saved without a plan.
        """
        with self._database.read() as connection:
            number = find(connection, name).number
            target = connection.execute(select(experiments.c.target).where(experiments.c.id == number)).scalar()
            yield read_results(connection, number, _plan(connection, number, name), target or "")


def _plan(connection: Connection, number: int, name: str) -> Evaluation:
    plan = connection.execute(select(experiments.c.plan).where(experiments.c.id == number)).scalar()
    if plan is None:
        raise StoreError(f"the scores of {name!r} were saved without the plan of an evaluation")
    return codec.decode(plan, Evaluation)
