"""The list of runs, under any filter; from here runs are chosen to be scored."""

from __future__ import annotations

from typing import Any

from referee.storage.recorded_runs import RunFilter, RunPage, RunRow
from referee.storage.store import Store
from referee.studio.actions import PARAMETERS_OF_RUNS, RUN_FILTER
from referee.studio.page import Page, Rows
from referee.studio.query import Query, address
from referee.studio.screen import POSITION_PARAMETERS, Screen, parameters_of

_COLUMNS = RunRow.__struct_fields__
FILTERS = [name for name in RunFilter.__struct_fields__ if name != "numbers"]


def runs_page(store: Store, query: Query) -> Page:
    """A page of runs."""
    where = runs_wanted(query)
    found = store.runs.page(where, limit=query.limit, after=query.text("after"), before=query.text("before"))
    given = [(name, value) for name, value in query.given if name in FILTERS or name == "number"]
    return Page(
        "runs.html",
        "Runs",
        {"filter": where, "runs": found},
        Rows(_COLUMNS, [[getattr(row, name) for name in _COLUMNS] for row in found.rows]),
        {"filters": FILTERS, "given": given, "score_address": address("/new-job", given), "is_filtered": bool(given)},
        next=query.set(after=found.next, before=None) if found.next else None,
    )


def runs_wanted(query: Query) -> RunFilter:
    """The runs that an address asks for."""
    found: Any = query.struct(RunFilter, renamed=PARAMETERS_OF_RUNS, lists=["number"])
    return found  # type: ignore[no-any-return]


SCREEN = Screen(
    "/runs",
    "Runs under any filter, the newest first.",
    runs_page,
    (*parameters_of(RunFilter, RUN_FILTER), *POSITION_PARAMETERS),
    {"filter": RunFilter, "runs": RunPage},
)
