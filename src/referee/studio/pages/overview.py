"""The first page: the latest experiments with their verdicts, and what got worse."""

from __future__ import annotations

from typing import Any, NamedTuple

from referee.storage.columns import GridColumn
from referee.storage.experiment_rows import ExperimentRow
from referee.storage.scores import Facets
from referee.storage.store import Store
from referee.studio.baseline import Against, against_baseline
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.screen import Parameter, Screen

#: For so many of the experiments on the page it is looked up what got worse.
MOST_COMPARED = 5


class Change(NamedTuple):
    """A scorer that is worse in an experiment than in its baseline."""

    experiment: ExperimentRow
    baseline: ExperimentRow
    column: GridColumn
    against: Against


def overview_page(store: Store, query: Query) -> Page:
    """The latest experiments and what got worse since their baselines."""
    limit = query.limit if query.text("limit") else 20
    found = store.experiments.latest(limit=limit + 1, before=query.text("before"))
    shown = found[:limit]
    worse = [change for row in _compared(shown) for change in _worse(store, row)]
    facets = store.scores.facets()
    return Page(
        "overview.html",
        "Overview",
        {"experiments": shown, "worse": [_plain(change) for change in worse], "scores": _total(facets)},
        Rows(
            ExperimentRow.__struct_fields__, [[getattr(row, name) for name in row.__struct_fields__] for row in shown]
        ),
        {"changes": worse, "facets": facets, "store": store.database.shown},
        next=query.set(before=shown[-1].key) if len(found) > limit else None,
    )


def _compared(shown: list[ExperimentRow]) -> list[ExperimentRow]:
    return [row for row in shown if row.kind == "experiment" and row.status != "running"][:MOST_COMPARED]


def _worse(store: Store, row: ExperimentRow) -> list[Change]:
    """The scorers that are worse than in the baseline, the clear losses first."""
    baseline = store.experiments.baseline(row.key)
    if baseline is None:
        return []
    columns = {column.key: column for column in store.experiments.columns(row.key)}
    against = against_baseline(list(columns.values()), store.experiments.columns(baseline.key))
    changes = [Change(row, baseline, columns[key], found) for key, found in against.items() if found.is_worse]
    return sorted(changes, key=lambda change: (not change.against.is_clear, -abs(change.against.difference)))


def _plain(change: Change) -> dict[str, Any]:
    return {
        "experiment": change.experiment.key,
        "baseline": change.baseline.key,
        "scorer": change.column.scorer,
        "turn": change.column.turn,
        "mean": change.column.figures.mean,
        "difference": change.against.difference,
        "is_clear": change.against.is_clear,
        "same_version": change.against.same_version,
    }


def _total(facets: Facets) -> int:
    return sum(facet.count for facet in facets.outcomes)


SCREEN = Screen(
    "/",
    "The latest experiments with their verdicts, and what got worse since their baselines.",
    overview_page,
    (Parameter("before", "The key of the experiment before which the list begins."),),
    {"experiments": list[ExperimentRow], "worse": list[dict[str, Any]], "scores": int},
)
