"""The form of a new job: which runs are meant, and which scorers."""

from __future__ import annotations

from referee.storage.recorded_runs import RunFilter
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.run_parameters import RUN_PARAMETERS, conditions_of, runs_wanted
from referee.studio.screen import Screen

_COLUMNS = ("parameter", "value")


def new_job_page(store: Store, query: Query) -> Page:
    """How many runs fit, and a form for the scorers."""
    from referee.loading import scorer_names  # takes its time to load, and only this page needs it

    where = runs_wanted(query)
    given = conditions_of(query)
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
    RUN_PARAMETERS,
    {"filter": RunFilter, "runs": int, "scorers": list[str]},
)
