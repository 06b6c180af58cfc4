"""What changed from one version of a data set to another, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from referee.datasets import FIELDS
from referee.jsonvalue import equal
from referee.storage.dataset_differences import ItemChanges, ItemContentChange
from referee.storage.dataset_rows import DatasetRow
from referee.storage.store import Store
from referee.studio.fields import HEAD, as_text
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.screen import WHOLE, Parameter, Screen
from referee.studio.word_diff import Segment, word_diff

_COLUMNS = ("item", "change", "fields")
#: Longer texts of a field are shown as their beginnings.
_LONGEST_FIELD = 20_000


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of an item in both versions; `words` is the difference, where both are texts that are not too long."""

    name: str
    before: str | None
    after: str | None
    words: list[Segment] | None


def changes_page(store: Store, query: Query) -> Page:
    """The changes between two versions."""
    name = query.needed("name").partition("@")[0]
    row = store.datasets.get(name)
    after = query.text("after_version") or str(row.version)
    before = query.text("before_version") or str(max(1, row.version - 1))
    offset = query.whole("offset") or 0
    found = store.datasets.changes(f"{name}@{before}", f"{name}@{after}", offset=offset, limit=query.limit)
    end = offset + len(found.changes)
    return Page(
        "dataset_changes.html",
        f"{name}: version {found.before} → {found.after}",
        {"dataset": row, "changes": found},
        Rows(_COLUMNS, [[one.item, one.change, ", ".join(_changed(one))] for one in found.changes]),
        {
            "shown": [(one, list(_fields(one))) for one in found.changes],
            "offset": offset,
            "versions": range(row.version, max(0, row.version - 200), -1),
        },
        next=query.set(offset=end) if end < found.total else None,
    )


def _changed(change: ItemContentChange) -> list[str]:
    before, after = change.before or {}, change.after or {}
    return [name for name in FIELDS if not equal(before.get(name), after.get(name))]


def _fields(change: ItemContentChange) -> Iterator[FieldChange]:
    for name in _changed(change):
        before, after = ((side or {}).get(name) for side in (change.before, change.after))
        texts = _text(before), _text(after)
        words = word_diff(texts[0], texts[1]) if texts[0] is not None and texts[1] is not None else None
        yield FieldChange(name, *texts, words)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = as_text(value)
    return text if len(text) <= _LONGEST_FIELD else f"{text[:HEAD]}… ({len(text):,} characters)"


SCREEN = Screen(
    "/dataset-changes",
    "What changed from one version of a data set to another.",
    changes_page,
    (
        Parameter("name", "The data set's name.", is_needed=True),
        Parameter("before_version", "The version before: a number or a pin; the last but one when it is not given."),
        Parameter("after_version", "The version after; the latest when it is not given."),
        Parameter("offset", "How many items are passed over.", WHOLE),
    ),
    {"dataset": DatasetRow, "changes": ItemChanges},
)
