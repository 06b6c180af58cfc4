"""All scores, under any filter: where every link of the kind "show me those" leads."""

from __future__ import annotations

from typing import Any

from referee.errors import OptionError
from referee.storage.filters import ScoreFilter
from referee.storage.outcomes import OUTCOMES
from referee.storage.pages import ORDERS
from referee.storage.score_rows import ScoreRow
from referee.storage.scores import ScorePage
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.panel import panel_of
from referee.studio.query import POSITIONS, Query

SCORE_COLUMNS = (
    "number",
    "experiment",
    "item",
    "repeat",
    "turn",
    "scorer",
    "version",
    "outcome",
    "value",
    "reason",
    "at",
    "run_id",
    "asked",
    "answered",
)
_RENAMED = {"outcome": "outcomes"}
_FILTERS = [name for name in ScoreFilter.__struct_fields__ if name != "outcomes"]


def scores_page(store: Store, query: Query) -> Page:
    """A page of scores with facets and a histogram, and one score opened beside it."""
    query.allow(*_FILTERS, *_RENAMED, "order", "score", *POSITIONS)
    where = _where(query)
    found = _found(store, query, where)
    facets = store.scores.facets(where)
    try:
        histogram = store.scores.histogram(where) if found.total else None
    except OptionError:  # scores of different ranges have no histogram together
        histogram = None
    number = query.whole("score")
    stored = store.scores.get(number) if number is not None else None
    return Page(
        "scores.html",
        "Scores",
        {"filter": where, "scores": found, "facets": facets, "histogram": histogram, "selected": stored},
        Rows(SCORE_COLUMNS, [score_cells(row) for row in found.rows]),
        {
            "panel": None if stored is None else panel_of(store, stored),
            "orders": ORDERS,
            "outcomes": OUTCOMES,
            "filters": _FILTERS,
            "is_filtered": where != ScoreFilter(),
        },
        next=query.set(after=found.next, before=None, score=None) if found.next else None,
    )


def score_cells(row: ScoreRow) -> list[Any]:
    """A score as cells of `SCORE_COLUMNS`."""
    return [getattr(row, name) for name in SCORE_COLUMNS]


def _where(query: Query) -> ScoreFilter:
    return query.struct(ScoreFilter, renamed=_RENAMED, lists=["outcome"])


def _found(store: Store, query: Query, where: ScoreFilter) -> ScorePage:
    """The page that is asked for. A link to a score alone leads to the page that it is on."""
    order: Any = query.text("order") or "newest"
    after, before, number = query.text("after"), query.text("before"), query.whole("score")
    page = store.scores.page(where, order=order, limit=query.limit, after=after, before=before)
    if number is None or after or before or any(row.number == number for row in page.rows):
        return page
    return store.scores.page(where, order=order, limit=query.limit, from_score=number)
