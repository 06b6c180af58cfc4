"""The list of runs, under any filter; from here runs are chosen to be scored."""

from __future__ import annotations

from referee.storage.recorded_runs import RunFilter, RunPage, RunRow
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.query import Query, address
from referee.studio.run_parameters import FILTERS, RUN_PARAMETERS, conditions_of, runs_wanted
from referee.studio.screen import POSITION_PARAMETERS, Screen

_COLUMNS = RunRow.__struct_fields__


def runs_page(store: Store, query: Query) -> Page:
    """A page of runs."""
    where = runs_wanted(query)
    found = store.runs.page(where, limit=query.limit, after=query.text("after"), before=query.text("before"))
    given = conditions_of(query)
    return Page(
        "runs.html",
        "Runs",
        {"filter": where, "runs": found},
        Rows(_COLUMNS, [[getattr(row, name) for name in _COLUMNS] for row in found.rows]),
        {"filters": FILTERS, "given": given, "score_address": address("/new-job", given), "is_filtered": bool(given)},
        next=query.set(after=found.next, before=None) if found.next else None,
    )


SCREEN = Screen(
    "/runs",
    "Runs under any filter, the newest first.",
    runs_page,
    (*RUN_PARAMETERS, *POSITION_PARAMETERS),
    {"filter": RunFilter, "runs": RunPage},
)
