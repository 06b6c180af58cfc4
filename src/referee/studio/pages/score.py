"""One score on a page of its own."""

from __future__ import annotations

from referee.runs import Run
from referee.scores import Score
from referee.storage.label_rows import Label
from referee.storage.score_rows import ScoreRow
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.pages.scores import SCORE_COLUMNS, score_cells
from referee.studio.panel import panel_of
from referee.studio.query import Query
from referee.studio.screen import WHOLE, Parameter, Screen


def score_page(store: Store, query: Query) -> Page:
    """A score with its steps, its run and its neighbours."""
    stored = store.scores.get(query.needed_whole("number"))
    panel = panel_of(store, stored)
    return Page(
        "score.html",
        f"{stored.row.scorer} of {stored.row.item}",
        {
            "row": stored.row,
            "score": stored.score,
            "run": stored.run,
            "elsewhere": panel.elsewhere,
            "labels": panel.labels,
        },
        Rows(SCORE_COLUMNS, [score_cells(stored.row)]),
        {"panel": panel},
    )


SCREEN = Screen(
    "/score",
    "One score with its steps, its run, people's labels, and the same item elsewhere.",
    score_page,
    (Parameter("number", "The score's number.", WHOLE, is_needed=True),),
    {"row": ScoreRow, "score": Score, "run": Run, "elsewhere": list[ScoreRow], "labels": list[Label]},
)
