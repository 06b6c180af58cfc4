"""Data sets: all of them, and one with its items and versions."""

from __future__ import annotations

from typing import Any

import msgspec

from referee.datasets import plain_item
from referee.display import shown
from referee.items import Item
from referee.storage.dataset_rows import DatasetRow, DatasetVersion
from referee.storage.experiment_rows import ExperimentRow
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.screen import WHOLE, Parameter, Screen

_COLUMNS = ("name", "description", "version", "items", "baseline", "created_at")
_ITEM_COLUMNS = ("id", "input", "ground_truth", "tags")
#: So many versions, and experiments, are listed.
MOST_VERSIONS, MOST_EXPERIMENTS = 100, 20


def datasets_page(store: Store, query: Query) -> Page:
    """All data sets."""
    found = store.datasets.all()
    offset = query.whole("offset") or 0
    listed = found[offset : offset + query.limit]
    return Page(
        "datasets.html",
        "Data sets",
        {"datasets": listed, "total": len(found)},
        Rows(_COLUMNS, [[getattr(row, name) for name in _COLUMNS] for row in listed]),
        {"offset": offset},
        next=query.set(offset=offset + query.limit) if offset + query.limit < len(found) else None,
    )


def dataset_page(store: Store, query: Query) -> Page:
    """A data set in one version, with its history and its experiments."""
    name = query.needed("name")
    row = store.datasets.get(name)
    page = store.datasets.page(name, after=query.whole("after") or 0, limit=query.limit)
    items = [item_cells(item) for item in page.items]
    history = store.datasets.history(row.name) if row.version else []
    return Page(
        "dataset.html",
        row.name,
        {
            "dataset": row,
            "version": page.version,
            "items": [plain_item(item) for item in page.items],
            "total": page.total,
            "history": history[:MOST_VERSIONS],
            "experiments": store.experiments.latest(dataset=row.number, limit=MOST_EXPERIMENTS),
        },
        Rows(_ITEM_COLUMNS, items),
        {
            "rows": items,
            "versions_total": len(history),
            "is_latest": page.version == row.version,
            "pins": {version: pin for pin, version in row.pins.items()},
        },
        next=query.set(after=page.next) if page.next is not None else None,
    )


def item_cells(item: Item) -> list[Any]:
    """An item as a row: its id, and the beginnings of what it asks and expects."""
    asked = item.input if item.input is not None else item.inputs if item.inputs is not None else item.turns
    return [item.id, _text(asked), "" if item.ground_truth is None else _text(item.ground_truth), ", ".join(item.tags)]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value[:300]
    return shown(msgspec.to_builtins(value), 300)


SCREEN = Screen(
    "/datasets",
    "All data sets.",
    datasets_page,
    (Parameter("offset", "How many data sets are passed over.", WHOLE),),
    {"datasets": list[DatasetRow], "total": int},
)
ONE_SCREEN = Screen(
    "/dataset",
    "A data set in one version: its items, its history, its experiments.",
    dataset_page,
    (
        Parameter("name", "The data set, with or without a version: `weather`, `weather@3`.", is_needed=True),
        Parameter("after", "The place in the list to begin after: from `next_page`.", {**WHOLE, "maximum": 2**31 - 1}),
    ),
    {
        "dataset": DatasetRow,
        "version": int,
        "items": list[dict[str, Any]],
        "total": int,
        "history": list[DatasetVersion],
        "experiments": list[ExperimentRow],
    },
)
