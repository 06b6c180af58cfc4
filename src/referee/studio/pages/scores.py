"""All scores, under any filter: where every link of the kind "show me those" leads."""

from __future__ import annotations

from typing import Any

from referee.storage.figures import Histogram
from referee.storage.filters import ScoreFilter
from referee.storage.outcomes import OUTCOMES
from referee.storage.pages import ORDERS
from referee.storage.score_rows import ScoreRow, StoredScore
from referee.storage.scores import Facets, ScorePage, Survey
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.panel import panel_of
from referee.studio.query import Query
from referee.studio.screen import POSITION_PARAMETERS, WHOLE, Parameter, Screen, parameters_of

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
    where = _where(query)
    survey = _survey(store, query, where)
    found = survey.page
    number = query.whole("score")
    stored = store.scores.get(number) if number is not None else None
    return Page(
        "scores.html",
        "Scores",
        {
            "filter": where,
            "scores": found,
            "facets": survey.facets,
            "histogram": survey.histogram,
            "selected": stored,
        },
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


def _survey(store: Store, query: Query, where: ScoreFilter) -> Survey:
    """What is asked for. A link to a score alone leads to the page that it is on."""
    order: Any = query.text("order") or "newest"
    after, before, number = query.text("after"), query.text("before"), query.whole("score")
    if number is None or after or before:
        return store.scores.survey(where, order=order, limit=query.limit, after=after, before=before)
    first = store.scores.page(where, order=order, limit=query.limit)
    begins_there = all(row.number != number for row in first.rows)
    return store.scores.survey(where, order=order, limit=query.limit, from_score=number if begins_there else None)


SCREEN = Screen(
    "/scores",
    "All scores under any filter, with counts by what they are made of.",
    scores_page,
    (
        *parameters_of(ScoreFilter, {"outcomes": "outcome"}),
        Parameter("order", "How the list is sorted.", {"type": "string", "enum": list(ORDERS)}),
        Parameter("score", "The score that is opened beside the list.", WHOLE),
        *POSITION_PARAMETERS,
    ),
    {
        "filter": ScoreFilter,
        "scores": ScorePage,
        "facets": Facets,
        "histogram": Histogram | None,
        "selected": StoredScore | None,
    },
)
