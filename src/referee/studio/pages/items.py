"""One item of a data set: every content that it had, and a form to change it."""

from __future__ import annotations

from typing import Any

import msgspec

from referee.datasets import plain_item
from referee.storage.dataset_rows import DatasetRow, ItemVersion
from referee.storage.filters import ScoreFilter
from referee.storage.score_rows import ScoreRow
from referee.storage.store import Store
from referee.studio.fields import HEAD, LONGEST
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.screen import Parameter, Screen

_COLUMNS = ("since", "until", "item")
#: So many contents, and scores, are shown.
MOST_CONTENTS, MOST_SCORES = 50, 25


def item_page(store: Store, query: Query) -> Page:
    """An item, or an empty form for a new one."""
    name, item = query.needed("dataset").partition("@")[0], query.text("item")
    row = store.datasets.get(name)
    found = store.datasets.item(name, item) if item is not None else []
    texts = ["" if one.item is None else _json(one) for one in found]
    scored = store.scores.page(ScoreFilter(item=item), limit=MOST_SCORES) if item is not None else None
    return Page(
        "item.html",
        item if item is not None else f"A new item of {row.name}",
        {"dataset": row, "contents": found, "scores": scored.rows if scored else []},
        Rows(_COLUMNS, [[one.since, one.until, text] for one, text in zip(found, texts)]),
        {
            "item": item,
            "texts": [text if len(text) <= LONGEST else text[:HEAD] for text in texts[:MOST_CONTENTS]],
            "lengths": [len(text) for text in texts],
            "most": MOST_CONTENTS,
            "latest": texts[0] if texts and found[0].until is None else '{\n  "input": ""\n}',
            "is_current": bool(found) and found[0].until is None,
            "is_editable": not texts or len(texts[0]) <= LONGEST,
            "scores_total": scored.total if scored else 0,
        },
    )


def _json(version: ItemVersion) -> str:
    assert version.item is not None
    plain: dict[str, Any] = plain_item(version.item)
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()


SCREEN = Screen(
    "/item",
    "An item of a data set: every content that it had, and its scores.",
    item_page,
    (
        Parameter("dataset", "The data set's name.", is_needed=True),
        Parameter("item", "The item's id; none for a new one."),
    ),
    {"dataset": DatasetRow, "contents": list[ItemVersion], "scores": list[ScoreRow]},
)
