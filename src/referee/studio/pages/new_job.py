"""The form of a new job: which runs are meant, and which scorers."""

from __future__ import annotations

from referee.loading import scorer_names
from referee.storage.recorded_runs import RunFilter
from referee.storage.store import Store
from referee.studio.actions import RUN_FILTER
from referee.studio.page import Page, Rows
from referee.studio.pages.runs import FILTERS, runs_wanted
from referee.studio.query import Query
from referee.studio.screen import Screen, parameters_of

_COLUMNS = ("parameter", "value")


def new_job_page(store: Store, query: Query) -> Page:
    """How many runs fit, and a form for the scorers."""
    where = runs_wanted(query)
    given = [(name, value) for name, value in query.given if name in FILTERS or name == "number"]
    return Page(
        "new_job.html",
        "Score runs",
        {"filter": where, "runs": store.runs.count(where), "scorers": scorer_names()},
        Rows(_COLUMNS, given),
        {"given": given},
    )


SCREEN = Screen(
    "/new-job",
    "How many runs a new job would score.",
    new_job_page,
    parameters_of(RunFilter, RUN_FILTER),
    {"filter": RunFilter, "runs": int, "scorers": list[str]},
)
