"""One run: what it did step by step, what was said, and how it was scored and labelled."""

from __future__ import annotations

from referee.runs import Run
from referee.storage.label_rows import Label
from referee.storage.recorded_runs import RunRow
from referee.storage.score_rows import ScoreRow
from referee.storage.store import Store
from referee.studio.conversation import sections_of
from referee.studio.fields import Fields
from referee.studio.page import Page, Rows
from referee.studio.pages.scores import SCORE_COLUMNS, score_cells
from referee.studio.panel import expectations_of
from referee.studio.query import Query
from referee.studio.screen import WHOLE, Parameter, Screen
from referee.studio.timeline import timeline_of

#: So many labels are shown.
MOST_LABELS = 200


def run_page(store: Store, query: Query) -> Page:
    """A run with its scores."""
    stored = store.runs.get(query.needed_whole("number"))
    row, run = stored.row, stored.run
    fields = Fields(run=row.number)
    labels = store.labels.latest(run=row.number, limit=MOST_LABELS)
    return Page(
        "run.html",
        f"Run {row.run_id}",
        {"row": row, "run": run, "tags": stored.tags, "scores": stored.scores, "labels": labels},
        Rows(SCORE_COLUMNS, [score_cells(score) for score in stored.scores]),
        {
            "timeline": timeline_of(run, fields),
            "sections": sections_of(run, fields),
            "expected": expectations_of(run, fields),
            "datasets": store.datasets.all(),
        },
    )


SCREEN = Screen(
    "/run",
    "One run: its steps, its conversation, its scores and labels.",
    run_page,
    (Parameter("number", "The run's number in this store.", WHOLE, is_needed=True),),
    {"row": RunRow, "run": Run, "tags": list[str], "scores": list[ScoreRow], "labels": list[Label]},
)
