"""All scorers: every version with its figures over all its scores."""

from __future__ import annotations

from referee.storage.scorer_versions import ScorerVersion
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.screen import WHOLE, Parameter, Screen

_COLUMNS = (
    "scorer",
    "version",
    "kind",
    "mean",
    "scored",
    "passed",
    "failed",
    "errors",
    "not_scorable",
    "tokens",
    "cost",
)


def scorers_page(store: Store, query: Query) -> Page:
    """The scorers of the store."""
    found = store.scorers.all()
    offset = query.whole("offset") or 0
    shown = found[offset : offset + query.limit]
    return Page(
        "scorers.html",
        "Scorers",
        {"scorers": shown, "total": len(found)},
        Rows(_COLUMNS, [_cells(version) for version in shown]),
        {"offset": offset},
        next=query.set(offset=offset + query.limit) if offset + query.limit < len(found) else None,
    )


def _cells(version: ScorerVersion) -> list[object]:
    named = {"scorer": version.scorer, "version": version.version, "kind": version.kind}
    return [named[name] if name in named else getattr(version.figures, name) for name in _COLUMNS]


SCREEN = Screen(
    "/scorers",
    "Every version of every scorer, with the figures of all its scores.",
    scorers_page,
    (Parameter("offset", "How many versions are passed over.", WHOLE),),
    {"scorers": list[ScorerVersion], "total": int},
)
