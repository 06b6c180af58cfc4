"""What changed between two versions of a data set, found by the rows that begin or end between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from sqlalchemy import Connection, and_, not_, select

from referee.storage import codec
from referee.storage.dataset_rows import in_version
from referee.storage.schema import dataset_items

ItemChangeKind: TypeAlias = Literal["added", "changed", "removed"]
_KINDS: tuple[ItemChangeKind, ...] = ("added", "changed", "removed")


class ItemContentChange(msgspec.Struct, frozen=True, kw_only=True):
    """An item that is not the same in two versions. A content is `None` where there is none, or it was purged."""

    item: str
    change: ItemChangeKind
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class ItemChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one version to another: how many items in which way, and the asked part of them."""

    before: int
    after: int
    counts: dict[ItemChangeKind, int]
    total: int
    changes: list[ItemContentChange]


def read_changes(
    connection: Connection, dataset: int, before: int, after: int, *, offset: int, limit: int
) -> ItemChanges:
    """The changes from one version to another. See `Datasets.changes`."""
    old, new = _only_in(connection, dataset, before, after), _only_in(connection, dataset, after, before)
    kinds: dict[str, ItemChangeKind] = {}
    for item in sorted({*old, *new}, key=lambda item: (new.get(item) or old[item]).position):
        if item not in old:
            kinds[item] = "added"
        elif item not in new:
            kinds[item] = "removed"
        elif old[item].digest is None or old[item].digest != new[item].digest:
            kinds[item] = "changed"
    listed = list(kinds)[offset : offset + limit]
    numbers = [side[item].id for side in (old, new) for item in listed if item in side]
    bodies = _bodies(connection, numbers)
    return ItemChanges(
        before=before,
        after=after,
        counts={kind: list(kinds.values()).count(kind) for kind in _KINDS},
        total=len(kinds),
        changes=[
            ItemContentChange(
                item=item,
                change=kinds[item],
                before=bodies.get(old[item].id) if item in old else None,
                after=bodies.get(new[item].id) if item in new else None,
            )
            for item in listed
        ],
    )


def _only_in(connection: Connection, dataset: int, version: int, other: int) -> dict[str, Any]:
    """The contents that a version has and another one has not, by item."""
    columns = (dataset_items.c.id, dataset_items.c.item, dataset_items.c.position, dataset_items.c.digest)
    query = select(*columns).where(*in_version(dataset, version), not_(and_(*in_version(dataset, other))))
    return {row.item: row for row in connection.execute(query)}


def _bodies(connection: Connection, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    query = select(dataset_items.c.id, dataset_items.c.body).where(
        dataset_items.c.id.in_(numbers), dataset_items.c.body.isnot(None)
    )
    return {number: codec.decode(body, dict[str, Any]) for number, body in connection.execute(query)}
