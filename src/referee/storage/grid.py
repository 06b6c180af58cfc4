"""An experiment as a grid: a row per item and repeat, a column per scorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, case, exists, func, literal, select, tuple_

from referee.errors import OptionError
from referee.storage.columns import (
    ColumnKey,
    GridColumn,
    has_repeats,
    in_column,
    read_columns,
    stored_turn,
    used_in,
    versions_of,
)
from referee.storage.experiment_rows import find
from referee.storage.outcomes import OUTCOMES, Outcome
from referee.storage.pages import LARGEST
from referee.storage.schema import run_tags, runs, scorers, scores
from referee.storage.score_rows import turn_of

#: A page has at most so many rows.
LONGEST_PAGE = 1000
_ERROR, _NOT_SCORABLE = OUTCOMES.index("error"), OUTCOMES.index("not_scorable")


class GridCell(msgspec.Struct, frozen=True):
    """One score of a row: its number in this store, what became of it, and its value."""

    score: int
    outcome: Outcome
    value: float | None


class GridRow(msgspec.Struct, frozen=True, kw_only=True):
    """One result: an item, its repeat, and its cells in the order of the columns; `None` where there is no score."""

    run: int
    run_id: str
    item: str
    repeat: int
    asked: str
    answered: str
    error: str | None
    duration_ms: float | None
    cost: float | None
    cells: list[GridCell | None]


class GridPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows of a grid, how many there are, and the positions for `after` and `before`."""

    columns: list[GridColumn]
    rows: list[GridRow]
    total: int
    next: str | None
    previous: str | None


class GridFilter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rows of a grid are asked for.

    Attributes:
        outcomes: Rows with a score that came to one of these: `error`, `not_scorable`, `failed`, `passed`, `unbounded`.
        scorer: Of this scorer; of any when `None`.
        turn: Of this turn; of any when `None`.
        tag: Rows of items with this tag.
        item: Rows whose item's id begins so.
        target_failed: Rows where the target failed, or did not.
    """

    outcomes: tuple[Outcome, ...] = ()
    scorer: str | None = None
    turn: int | None = None
    tag: str | None = None
    item: str | None = None
    target_failed: bool | None = None


class _Sorting(NamedTuple):
    """What the rows are sorted by: the expressions in their order, and whether each one falls."""

    columns: list[ColumnElement[Any]]
    falling: list[bool]


#: Every row.
ALL_ROWS = GridFilter()


def read_grid(
    connection: Connection,
    name: str,
    where: GridFilter,
    sort: ColumnKey | None,
    *,
    descending: bool,
    limit: int,
    after: str | None,
    before: str | None,
) -> GridPage:
    """A page of an experiment's grid. See `Experiments.grid`."""
    if not 0 < limit <= LONGEST_PAGE:
        raise OptionError(f"a page has 1 to {LONGEST_PAGE} rows, not {limit}")
    experiment = find(connection, name).number
    columns = read_columns(connection, experiment, has_repeats=has_repeats(connection, experiment))
    wanted = [runs.c.experiment == experiment, *_conditions(connection, experiment, where)]
    total = connection.execute(select(func.count()).select_from(runs).where(*wanted)).scalar_one()
    query, sorting = _sorted_runs(connection, experiment, sort, descending)
    backward = before is not None
    falling = [fall != backward for fall in sorting.falling]
    start = before if before is not None else after
    if start is not None:
        query = query.where(_beyond(sorting.columns, falling, _read_position(start, len(falling))))
    order = [column.desc() if fall else column for column, fall in zip(sorting.columns, falling)]
    found = connection.execute(query.where(*wanted).order_by(*order).limit(limit + 1)).all()
    has_more = len(found) > limit
    found = found[:limit][::-1] if backward else found[:limit]
    positions = [_position(row, len(falling)) for row in found]
    has_next = backward or has_more
    has_previous = has_more if backward else after is not None
    return GridPage(
        columns=columns,
        rows=_grid_rows(connection, [row.id for row in found], columns),
        total=total,
        next=positions[-1] if positions and has_next else None,
        previous=positions[0] if positions and has_previous else None,
    )


def _conditions(connection: Connection, experiment: int, where: GridFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if where.outcomes or where.scorer is not None:
        numbers = [OUTCOMES.index(outcome) for outcome in where.outcomes] or list(range(len(OUTCOMES)))
        of_score = [scores.c.experiment == experiment, scores.c.outcome.in_(numbers)]
        if where.scorer is not None:
            versions = versions_of(connection, experiment, ColumnKey(where.scorer))
        else:
            versions = list(connection.scalars(select(scorers.c.id).where(used_in(experiment))))
        of_score.append(scores.c.scorer.in_(versions))
        if where.turn is not None:
            of_score.append(scores.c.turn == where.turn)
        found.append(runs.c.id.in_(select(scores.c.run).where(*of_score)))
    if where.tag is not None:
        found.append(exists(select(1).where(run_tags.c.tag == where.tag, run_tags.c.run == runs.c.id)))
    if where.item is not None:
        found.append(runs.c.item.startswith(where.item, autoescape=True))
    if where.target_failed is not None:
        found.append(runs.c.error.isnot(None) if where.target_failed else runs.c.error.is_(None))
    return found


def _sorted_runs(
    connection: Connection, experiment: int, sort: ColumnKey | None, descending: bool
) -> tuple[Select[Any], _Sorting]:
    """Runs with what they are sorted by: the item, or a column's value, then what has no value."""
    by_item: list[ColumnElement[Any]] = [runs.c.item, runs.c.repeat]
    if sort is None:
        return _selected(by_item).select_from(runs), _Sorting(by_item, [descending, descending])
    versions = versions_of(connection, experiment, sort)
    wanted = in_column(experiment, versions, sort.turn)
    found = select(scores.c.id, scores.c.run, scores.c.outcome, scores.c.value).where(*wanted).subquery()
    of_run = found.c.run == runs.c.id
    if len(versions) > 1:  # a run may have a score of each; its cell shows the last one
        of_versions = scores.c.scorer.in_(versions), scores.c.turn == stored_turn(sort.turn)
        last = select(func.max(scores.c.id)).where(scores.c.run == runs.c.id, *of_versions)
        of_run = found.c.id == last.correlate(runs).scalar_subquery()
    rank = case(
        (found.c.value.isnot(None), 0),
        (found.c.outcome == _ERROR, 1),
        (found.c.outcome == _NOT_SCORABLE, 2),
        else_=3,
    )
    value = func.coalesce(found.c.value, literal(0.0))
    columns: list[ColumnElement[Any]] = [rank, value, *by_item]
    query = _selected(columns).select_from(runs.outerjoin(found, of_run))
    return query, _Sorting(columns, [False, descending, False, False])


def _selected(sorted_by: Sequence[ColumnElement[Any]]) -> Select[Any]:
    """The numbers of runs and what they are sorted by; nothing else, as all rows of an experiment are sorted."""
    return select(runs.c.id, *(column.label(f"sort_{place}") for place, column in enumerate(sorted_by)))


def _beyond(
    columns: Sequence[ColumnElement[Any]], falling: Sequence[bool], start: Sequence[Any]
) -> ColumnElement[bool]:
    """Rows that come after a position in an order whose parts may rise and fall."""
    if len(set(falling)) == 1:
        place, given = tuple_(*columns), tuple_(*(literal(value) for value in start))
        return place < given if falling[0] else place > given
    condition: ColumnElement[bool] | None = None
    for column, falls, value in reversed(list(zip(columns, falling, start))):
        further = column < value if falls else column > value
        condition = further if condition is None else further | and_(column == value, condition)
    assert condition is not None
    return condition


def _position(row: Any, length: int) -> str:
    return msgspec.json.encode([getattr(row, f"sort_{place}") for place in range(length)]).decode()


def _read_position(text: str, length: int) -> list[Any]:
    try:
        values = msgspec.json.decode(text)
    except msgspec.DecodeError:
        values = None
    is_position = isinstance(values, list) and len(values) == length and all(map(_is_place, values))
    if not is_position:
        raise OptionError(f"{text!r} is no position of this page: take it from a page's next or previous")
    return list(values)


def _is_place(value: Any) -> bool:
    """Whether a row can be sorted by this value."""
    return isinstance(value, (str, float)) or (isinstance(value, int) and abs(value) <= LARGEST)


def _grid_rows(connection: Connection, numbers: Sequence[int], columns: Sequence[GridColumn]) -> list[GridRow]:
    """The rows of these runs, in this order; without those that were removed meanwhile."""
    found = {row.id: row for row in connection.execute(select(runs).where(runs.c.id.in_(numbers)))}
    cells: dict[int, dict[ColumnKey, GridCell]] = {number: {} for number in numbers}
    query = (
        select(scores.c.run, scores.c.turn, scorers.c.scorer_id, scores.c.id, scores.c.outcome, scores.c.value)
        .join(scorers, scorers.c.id == scores.c.scorer)
        .where(scores.c.run.in_(numbers))
        .order_by(scores.c.id)
    )
    for run, turn, scorer, number, outcome, value in connection.execute(query):
        cells[run][ColumnKey(scorer, turn_of(turn))] = GridCell(number, OUTCOMES[outcome], value)
    return [
        GridRow(
            run=row.id,
            run_id=row.run_id,
            item=row.item,
            repeat=row.repeat,
            asked=row.asked,
            answered=row.answered,
            error=row.error,
            duration_ms=row.duration_ms,
            cost=row.cost,
            cells=[cells[row.id].get(column.key) for column in columns],
        )
        for row in (found[number] for number in numbers if number in found)
    ]
