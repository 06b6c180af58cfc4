"""The API for people: every address with its parameters. The same for programs is `/openapi.json`."""

from __future__ import annotations

from referee.storage.store import Store
from referee.studio import actions, pages
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.screen import Action, Screen

_COLUMNS = ("method", "path", "words", "parameters")


def api_page(_store: Store, _query: Query) -> Page:
    """All screens and actions."""
    listed: list[tuple[str, Screen | Action]] = [("GET", pages.screen(path)) for path in pages.PATHS]
    listed += [("POST", actions.action(path)) for path in actions.PATHS]
    rows = [
        [method, each.path, each.words, ", ".join(parameter.name for parameter in each.parameters)]
        for method, each in listed
    ]
    return Page(
        "api.html",
        "API",
        {"addresses": [dict(zip(_COLUMNS, row)) for row in rows]},
        Rows(_COLUMNS, rows),
        {"listed": listed},
    )


SCREEN = Screen("/api", "Every address with its parameters.", api_page, (), {"addresses": list[dict[str, str]]})
