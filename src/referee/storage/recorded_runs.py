"""Questions about runs: lists under a filter, one run with its messages, and all that fit one after another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, func, literal, select, tuple_

from referee.errors import OptionError, StoreError
from referee.runs import Run
from referee.storage import codec
from referee.storage.database import Database
from referee.storage.days import DAY_MS, day_number
from referee.storage.experiment_rows import find
from referee.storage.schema import experiments, run_contents, run_tags, runs, scores
from referee.storage.score_rows import ScoreRow, read_rows
from referee.storage.scored_runs import Kind

#: A page has at most so many rows.
LONGEST_PAGE = 1000
#: Counting stops here, unless the experiments know how many results they have.
MOST_COUNTED = 10_000
#: So many scores of one run are given.
MOST_SCORES = 500


class RunFilter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which runs are asked for. All conditions must hold.

    Attributes:
        experiment: The key or name of an experiment, or `recorded`, or `live`.
        kind: `experiment`, `recorded` or `live`.
        run: A run's id.
        item: An item's id.
        thread, trace: Ids of a thread or a trace.
        tag: A tag of the item.
        model: The agent's model.
        failed: Runs in which the target failed, or did not.
        since, until: Days, UTC, both inclusive.
        numbers: Runs of these numbers in this store.
    """

    experiment: str | None = None
    kind: Kind | None = None
    run: str | None = None
    item: str | None = None
    thread: str | None = None
    trace: str | None = None
    tag: str | None = None
    model: str | None = None
    failed: bool | None = None
    since: date | None = None
    until: date | None = None
    numbers: tuple[int, ...] = ()


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a list: its number in this store, what it belongs to, its ids, what it took, and the ends of its talk."""

    number: int
    experiment: str
    kind: str
    item: str
    repeat: int
    run_id: str
    thread: str | None
    trace: str | None
    model: str | None
    duration_ms: float | None
    tokens: int | None
    cost: float | None
    error: str | None
    asked: str
    answered: str
    at: datetime


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some runs, the newest first; how many there are (`is_exact`: not more); positions for `after` and `before`."""

    rows: list[RunRow]
    total: int
    is_exact: bool
    next: str | None
    previous: str | None


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its messages, its item's tags, and its scores, up to 500 of them."""

    row: RunRow
    run: Run
    tags: list[str]
    scores: list[ScoreRow]


ALL_RUNS = RunFilter()
_LISTED = (
    runs.c.id,
    experiments.c.key,
    experiments.c.kind,
    *(runs.c[name] for name in ("item", "repeat", "run_id", "thread_id", "trace_id", "model", "duration_ms")),
    *(runs.c[name] for name in ("tokens", "cost", "error", "asked", "answered", "at")),
)
_FROM = runs.join(experiments, experiments.c.id == runs.c.experiment)


class RecordedRuns:
    """The runs of a store. Made by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(
        self, where: RunFilter = ALL_RUNS, *, limit: int = 50, after: str | None = None, before: str | None = None
    ) -> RunPage:
        """A page of runs, the newest first.

        Args:
            where: Which runs.
            limit: How many, at most 1,000.
            after: The `next` of a page.
            before: The `previous` of a page.

        Raises:
            OptionError: The limit or a position is none.
            StoreError: There is no such experiment.
        """
        if not 0 < limit <= LONGEST_PAGE:
            raise OptionError(f"a page has 1 to {LONGEST_PAGE} rows, not {limit}")
        backward = before is not None
        start = before if before is not None else after
        with self._database.read() as connection:
            conditions = _conditions(connection, where)
            total = _total(connection, where, conditions)
            place = tuple_(runs.c.at, runs.c.id)
            query = select(runs.c.id, runs.c.at).where(*conditions)
            if start is not None:
                given = tuple_(*map(literal, _read_position(start)))
                query = query.where(place > given if backward else place < given)
            order = (runs.c.at, runs.c.id) if backward else (runs.c.at.desc(), runs.c.id.desc())
            found = connection.execute(query.order_by(*order).limit(limit + 1)).all()
            has_more = len(found) > limit
            found = found[:limit][::-1] if backward else found[:limit]
            rows = _read_listed(connection, [row.id for row in found])
        positions = [f"{row.at}~{row.id}" for row in found]
        return RunPage(
            rows=rows,
            total=min(total, MOST_COUNTED) if total > MOST_COUNTED and not _is_counted(where) else total,
            is_exact=_is_counted(where) or total <= MOST_COUNTED,
            next=positions[-1] if positions and (has_more or backward) else None,
            previous=positions[0] if positions and (has_more if backward else after is not None) else None,
        )

    def get(self, number: int) -> StoredRun:
        """One run with its messages and scores.

        Raises:
            StoreError: There is none of this number.
        """
        with self._database.read() as connection:
            rows = _read_listed(connection, [number])
            if not rows:
                raise StoreError(f"there is no run {number}")
            of_run = select(scores.c.id).where(scores.c.run == number).order_by(scores.c.turn, scores.c.id)
            tags = select(run_tags.c.tag).where(run_tags.c.run == number).order_by(run_tags.c.tag)
            return StoredRun(
                row=rows[0],
                run=_bodies(connection, [number]).get(number) or Run(id=rows[0].run_id),
                tags=list(connection.scalars(tags)),
                scores=read_rows(connection, list(connection.scalars(of_run.limit(MOST_SCORES)))),
            )

    def count(self, where: RunFilter = ALL_RUNS) -> int:
        """How many runs fit, exactly.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            query = select(func.count()).select_from(runs).where(*_conditions(connection, where))
            return connection.execute(query).scalar_one()

    def batch(self, where: RunFilter, *, after: int, limit: int) -> list[tuple[RunRow, Run]]:
        """The next runs that fit and have content, by their number. Runs without content have nothing to score.

        Args:
            where: Which runs.
            after: The number of the last one before.
            limit: How many.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            query = select(runs.c.id).where(*_conditions(connection, where), runs.c.id > after)
            numbers = list(connection.scalars(query.order_by(runs.c.id).limit(limit)))
            bodies = _bodies(connection, numbers)
            rows = _read_listed(connection, numbers)
        return [(row, bodies.get(row.number) or Run(id=row.run_id)) for row in rows]


def _conditions(connection: Connection, where: RunFilter) -> list[ColumnElement[bool]]:
    named = (
        (runs.c.run_id, where.run),
        (runs.c.item, where.item),
        (runs.c.thread_id, where.thread),
        (runs.c.trace_id, where.trace),
        (runs.c.model, where.model),
    )
    found = [column == codec.name(value) for column, value in named if value is not None]
    if where.experiment is not None:
        found.append(runs.c.experiment == find(connection, where.experiment).number)
    if where.kind is not None:
        found.append(runs.c.experiment.in_(select(experiments.c.id).where(experiments.c.kind == where.kind)))
    if where.tag is not None:
        found.append(runs.c.id.in_(select(run_tags.c.run).where(run_tags.c.tag == where.tag)))
    if where.failed is not None:
        found.append(runs.c.error.isnot(None) if where.failed else runs.c.error.is_(None))
    if where.since is not None:
        found.append(runs.c.at >= day_number(where.since) * DAY_MS)
    if where.until is not None:
        found.append(runs.c.at < (day_number(where.until) + 1) * DAY_MS)
    if where.numbers:
        found.append(runs.c.id.in_(where.numbers))
    return found


def _is_counted(where: RunFilter) -> bool:
    """Whether the experiments know how many runs fit."""
    return all(getattr(where, name) in (None, ()) for name in where.__struct_fields__ if name not in _COUNTED)


_COUNTED = ("experiment", "kind", "failed")


def _total(connection: Connection, where: RunFilter, conditions: Sequence[ColumnElement[bool]]) -> int:
    if not _is_counted(where):
        found = select(runs.c.id).where(*conditions).limit(MOST_COUNTED + 1).subquery()
        return connection.execute(select(func.count()).select_from(found)).scalar_one()
    counted: ColumnElement[Any] = experiments.c.results
    if where.failed is not None:
        counted = experiments.c.failed_results if where.failed else counted - experiments.c.failed_results
    query: Select[Any] = select(func.coalesce(func.sum(counted), 0))
    if where.experiment is not None:
        query = query.where(experiments.c.id == find(connection, where.experiment).number)
    if where.kind is not None:
        query = query.where(experiments.c.kind == where.kind)
    return int(connection.execute(query).scalar_one())


def _read_position(text: str) -> tuple[int, int]:
    at, _, number = text.partition("~")
    try:
        found = int(at), int(number)
        if max(map(abs, found)) < 2**63:
            return found
    except ValueError:
        pass
    raise OptionError(f"{text!r} is no position of this page: take it from a page's next or previous")


def _read_listed(connection: Connection, numbers: Sequence[int]) -> list[RunRow]:
    found = {
        row.id: row for row in connection.execute(select(*_LISTED).select_from(_FROM).where(runs.c.id.in_(numbers)))
    }
    return [_row(found[number]) for number in numbers if number in found]


def _row(row: Any) -> RunRow:
    return RunRow(
        number=row.id,
        experiment=row.key,
        kind=row.kind,
        item=row.item,
        repeat=row.repeat,
        run_id=row.run_id,
        thread=row.thread_id,
        trace=row.trace_id,
        model=row.model,
        duration_ms=row.duration_ms,
        tokens=row.tokens,
        cost=row.cost,
        error=row.error,
        asked=row.asked,
        answered=row.answered,
        at=codec.from_ms(row.at),
    )


def _bodies(connection: Connection, numbers: Sequence[int]) -> dict[int, Run]:
    query = select(run_contents.c.run, run_contents.c.body).where(run_contents.c.run.in_(numbers))
    return {run: codec.decode(body, Run) for run, body in connection.execute(query)}
