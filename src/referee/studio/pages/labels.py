"""Labels: a queue of scores to label, worked by keyboard, and how far the scorer agrees so far."""

from __future__ import annotations

from typing import Any

from referee.agreement import Agreement
from referee.errors import OptionError
from referee.storage.label_rows import Label
from referee.storage.score_rows import ScoreRow
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.panel import Panel, panel_of
from referee.studio.query import Query
from referee.studio.screen import NUMBER, WHOLE, Parameter, Screen

_COLUMNS = Label.__struct_fields__
#: So many scores can be skipped.
MOST_SKIPPED = 500


def labels_page(store: Store, query: Query) -> Page:
    """The next score to label, and the latest labels."""
    scorer, author = query.text("scorer"), query.text("author")
    found = store.labels.latest(
        scorer=scorer, author=author, limit=query.limit + 1, before=query.whole("before") or None
    )
    listed = found[: query.limit]
    skipped = query.whole("skip", most=MOST_SKIPPED) or 0
    panel, waiting = None, []
    if scorer is not None and author is not None:
        waiting = store.labels.queue(
            scorer, author=author, version=query.text("version"), experiment=query.text("experiment"), limit=skipped + 2
        )[skipped:]
        panel = panel_of(store, store.scores.get(waiting[0].number)) if waiting else None
    agreement, problem = _agreement(store, query, scorer)
    return Page(
        "labels.html",
        "Labels",
        {"next_score": waiting[0] if waiting else None, "labels": listed, "agreement": agreement, "problem": problem},
        Rows(_COLUMNS, [[getattr(label, name) for name in _COLUMNS] for label in listed]),
        {
            "panel": panel,
            "keys": _keys(panel),
            "scorers": store.scorers.names(),
            "skipped": skipped,
            "has_more": len(waiting) > 1,
        },
        next=query.set(before=listed[-1].number) if len(found) > query.limit else None,
    )


def _keys(panel: Panel | None) -> list[tuple[str, float]]:
    """The values to choose from, each with its key: a digit as it is, else its place from 1."""
    if panel is None:
        return []
    values = panel.label_values
    if all(value.is_integer() and 0 <= value <= 9 for value in values):
        return [(f"{value:.0f}", value) for value in values]
    if panel.row.range == (0.0, 1.0):
        return list(zip("051", values))
    return [(str(place), value) for place, value in enumerate(values, 1)]


def _agreement(store: Store, query: Query, scorer: str | None) -> tuple[Agreement | None, str | None]:
    """The scorer's agreement with people so far, or why it can't be told."""
    if scorer is None:
        return None, None
    cuts = [Query("", [("cut", text)]).number("cut") for text in query.texts("cut")]
    given: Any = [cut for cut in cuts if cut is not None] or None
    try:
        found = store.labels.agreement(
            scorer, version=query.text("version"), experiment=query.text("experiment"), cuts=given
        )
    except OptionError as error:
        return None, str(error)
    return found, None


SCREEN = Screen(
    "/labels",
    "The next score that a person has not labelled, the agreement so far, and the latest labels.",
    labels_page,
    (
        Parameter("scorer", "The scorer's id."),
        Parameter("author", "Who labels."),
        Parameter("version", "Only scores of this version."),
        Parameter("experiment", "Only scores of this experiment."),
        Parameter("skip", "How many scores of the queue are passed over.", {**WHOLE, "maximum": MOST_SKIPPED}),
        Parameter("cut", "Where one category ends and the next begins, for the agreement.", NUMBER, is_list=True),
        Parameter("before", "The number of the label before which the list begins.", WHOLE),
    ),
    {
        "next_score": ScoreRow | None,
        "labels": list[Label],
        "agreement": Agreement | None,
        "problem": str | None,
    },
)
