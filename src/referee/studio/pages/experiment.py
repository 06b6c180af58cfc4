"""An experiment: a row per item, a column per scorer, and what changed against the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from referee.storage.columns import ColumnKey, GridColumn
from referee.storage.experiment_rows import ExperimentRow
from referee.storage.grid import GridFilter, GridPage
from referee.storage.score_rows import StoredScore
from referee.storage.store import Store
from referee.studio.baseline import Against, against_baseline
from referee.studio.page import Page, Rows
from referee.studio.panel import panel_of
from referee.studio.query import Query
from referee.studio.screen import POSITION_PARAMETERS, WHOLE, Parameter, Screen, parameters_of

_RENAMED = {"outcome": "outcomes"}
_FILTERS = [name for name in GridFilter.__struct_fields__ if name != "outcomes"]
#: So many columns are drawn; the twins in JSON and CSV have all of them.
MOST_COLUMNS = 60


@dataclass(frozen=True, slots=True)
class Header:
    """A column's header."""

    place: int
    column: GridColumn
    against: Against | None
    is_sorted: bool
    sort_address: str


def experiment_page(store: Store, query: Query) -> Page:
    """An experiment's grid, with one score opened beside it."""
    experiment = store.experiments.get(query.needed("key"))
    sort = _sort(query)
    descending = query.text("descending") is not None
    grid = store.experiments.grid(
        experiment.key,
        query.struct(GridFilter, renamed=_RENAMED, lists=["outcome"]),
        sort=sort,
        descending=descending,
        limit=query.limit,
        after=query.text("after"),
        before=query.text("before"),
    )
    baseline = _baseline(store, query, experiment)
    against = against_baseline(grid.columns, store.experiments.columns(baseline.key)) if baseline else {}
    number = query.whole("score")
    stored = store.scores.get(number) if number is not None else None
    return Page(
        "experiment.html",
        experiment.name or experiment.key,
        {"experiment": experiment, "baseline": baseline, "grid": grid, "selected": stored},
        Rows(_csv_columns(grid), _csv_rows(grid)),
        {
            "panel": None if stored is None else panel_of(store, stored),
            "headers": [
                Header(
                    place, column, against.get(column.key), column.key == sort, _sorted(query, column, sort, descending)
                )
                for place, column in enumerate(grid.columns[:MOST_COLUMNS])
            ],
            "descending": descending,
            "sort": sort,
            "outcome_counts": _outcome_counts(grid),
            "others": [other for other in store.experiments.latest(kind="experiment") if other.key != experiment.key],
            "is_filtered": any(query.texts(name) for name in (*_FILTERS, *_RENAMED)),
        },
        next=query.set(after=grid.next, before=None, score=None) if grid.next else None,
    )


def _sort(query: Query) -> ColumnKey | None:
    scorer = query.text("sort")
    return None if scorer is None else ColumnKey(scorer, query.whole("sort_turn"))


def _sorted(query: Query, column: GridColumn, sort: ColumnKey | None, descending: bool) -> str:
    """The address of the page sorted by a column: the worst first; once more, the best first."""
    worst_first = column.lower_is_better
    turned = column.key == sort and descending == worst_first
    falls = worst_first != turned
    return query.first_page(sort=column.scorer, sort_turn=column.turn, descending=1 if falls else None)


def _baseline(store: Store, query: Query, experiment: ExperimentRow) -> ExperimentRow | None:
    given = query.text("baseline")
    return store.experiments.get(given) if given is not None else store.experiments.baseline(experiment.key)


def _outcome_counts(grid: GridPage) -> list[tuple[str, int]]:
    figures = [column.figures for column in grid.columns]
    return [
        ("failed", sum(each.failed for each in figures)),
        ("error", sum(each.errors for each in figures)),
        ("not_scorable", sum(each.not_scorable for each in figures)),
    ]


def _column_name(column: GridColumn) -> str:
    return column.scorer if column.turn is None else f"{column.scorer} (turn {column.turn + 1})"


def _csv_columns(grid: GridPage) -> list[str]:
    names = [_column_name(column) for column in grid.columns]
    return [
        "item",
        "repeat",
        "run_id",
        "asked",
        "answered",
        "error",
        *(part for name in names for part in (name, f"{name}: outcome")),
    ]


def _csv_rows(grid: GridPage) -> Iterator[list[Any]]:
    for row in grid.rows:
        cells = [(None, None) if cell is None else (cell.value, cell.outcome) for cell in row.cells]
        yield [
            row.item,
            row.repeat,
            row.run_id,
            row.asked,
            row.answered,
            row.error,
            *(part for cell in cells for part in cell),
        ]


SCREEN = Screen(
    "/experiment",
    "An experiment: a row per item, a column per scorer, and the changes against a baseline.",
    experiment_page,
    (
        Parameter("key", "The experiment's key, its beginning, or its name.", is_needed=True),
        Parameter("baseline", "The experiment that it is measured against."),
        Parameter("sort", "The scorer whose column the rows are sorted by."),
        Parameter("sort_turn", "The turn of that column.", {**WHOLE, "maximum": 2**31 - 1}),
        Parameter("descending", "1: the highest first."),
        Parameter("score", "The score that is opened beside the list.", WHOLE),
        *parameters_of(GridFilter, {"outcomes": "outcome"}),
        *POSITION_PARAMETERS,
    ),
    {
        "experiment": ExperimentRow,
        "baseline": ExperimentRow | None,
        "grid": GridPage,
        "selected": StoredScore | None,
    },
)
