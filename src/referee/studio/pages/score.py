"""One score on a page of its own."""

from __future__ import annotations

from referee.errors import OptionError
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.pages.scores import SCORE_COLUMNS, score_cells
from referee.studio.panel import panel_of
from referee.studio.query import Query


def score_page(store: Store, query: Query) -> Page:
    """A score with its steps, its run and its neighbours."""
    query.allow("number")
    number = query.whole("number")
    if number is None:
        raise OptionError("give number=, the score's number")
    stored = store.scores.get(number)
    panel = panel_of(store, stored)
    return Page(
        "score.html",
        f"{stored.row.scorer} of {stored.row.item}",
        {"row": stored.row, "score": stored.score, "run": stored.run, "elsewhere": panel.elsewhere},
        Rows(SCORE_COLUMNS, [score_cells(stored.row)]),
        {"panel": panel},
    )
