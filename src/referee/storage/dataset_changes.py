"""Changes of data sets: each makes a version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, func, insert, select, update

from referee.datasets import item_digest, items_digest, plain_item, read_plain_item
from referee.errors import OptionError
from referee.storage import codec
from referee.storage.bulk import insert_rows, take_numbers
from referee.storage.dataset_rows import resolve
from referee.storage.schema import dataset_items, dataset_versions, datasets

#: How many ids one query may name.
_CHUNK = 2000
_ITEM_COLUMNS = ("id", "dataset", "item", "position", "since", "until", "digest", "body")


def lock(connection: Connection, name: str) -> tuple[int, int]:
    """The number and latest version of a data set that is about to change; no other writer changes it meanwhile."""
    if "@" in name:
        raise OptionError(f"only the latest version changes: give the data set without {name[name.index('@') :]!r}")
    number, _ = resolve(connection, name)
    query = select(datasets.c.version).where(datasets.c.id == number).with_for_update()
    return number, connection.execute(query).scalar_one()


def contents(items: Iterable[Any]) -> dict[str, tuple[str, str]]:
    """The content of items and its digest, by id."""
    found: dict[str, tuple[str, str]] = {}
    for place, given in enumerate(items, 1):
        item = read_plain_item(given, f"item {place}")
        plain = {**plain_item(item), "id": codec.name(item.id)}
        body = codec.encode(plain)
        content = (body, item_digest(codec.decode(body, dict[str, Any])))
        if found.setdefault(plain["id"], content)[1] != content[1]:
            raise OptionError(f"item {place}: there is another item with the id {plain['id']!r}")
    return found


class CurrentItem(msgspec.Struct, frozen=True):
    """An item of the latest version."""

    number: int
    position: int
    digest: str | None


def current_items(connection: Connection, dataset: int) -> dict[str, CurrentItem]:
    """The items of the latest version, by id."""
    columns = (dataset_items.c.item, dataset_items.c.id, dataset_items.c.position, dataset_items.c.digest)
    query = select(*columns).where(dataset_items.c.dataset == dataset, dataset_items.c.until.is_(None))
    return {item: CurrentItem(*rest) for item, *rest in connection.execute(query)}


def change(
    connection: Connection,
    dataset: int,
    version: int,
    current: Mapping[str, CurrentItem],
    put: Mapping[str, tuple[str, str]],
    removed: Sequence[str],
    note: str,
) -> int:
    """Make a version with these items put and removed, if that changes anything. Gives the version that holds them.

    Args:
        connection: A writing connection that has locked the data set.
        dataset: The data set's number.
        version: Its latest version.
        current: The items of that.
        put: Contents and digests by item.
        removed: Items that go.
        note: Why, for people.
    """
    added = [item for item in put if item not in current]
    changed = [item for item in put if item in current and current[item].digest != put[item][1]]
    if not (added or changed or removed):
        return version
    version += 1
    gone = [current[item].number for item in (*changed, *removed)]
    for start in range(0, len(gone), _CHUNK):
        some = dataset_items.c.id.in_(gone[start : start + _CHUNK])
        connection.execute(update(dataset_items).where(some).values(until=version))
    last = connection.scalar(select(func.max(dataset_items.c.position)).where(dataset_items.c.dataset == dataset))
    places = {item: place for place, item in enumerate(added, (last or 0) + 1)}
    places |= {item: current[item].position for item in changed}
    numbers = take_numbers(connection, dataset_items, len(places))
    rows = [
        (number, dataset, item, place, version, None, put[item][1], put[item][0])
        for number, (item, place) in zip(numbers, places.items())
    ]
    insert_rows(connection, dataset_items, _ITEM_COLUMNS, rows)
    left = {item: row.digest or "" for item, row in current.items() if item not in removed}
    left |= {item: put[item][1] for item in (*added, *changed)}
    connection.execute(
        insert(dataset_versions),
        {
            "dataset": dataset,
            "version": version,
            "at": codec.now_ms(),
            "note": codec.clean(note),
            "added": len(added),
            "changed": len(changed),
            "removed": len(removed),
            "items": len(left),
            "digest": items_digest(left.items()),
        },
    )
    connection.execute(update(datasets).where(datasets.c.id == dataset).values(version=version))
    return version
