"""Rows of data sets: how they are found by name and version, and read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, or_, select

from referee.datasets import Dataset, items_digest
from referee.errors import StoreError
from referee.items import Item, read_item
from referee.nearest import did_you_mean
from referee.storage import codec
from referee.storage.schema import dataset_items, dataset_pins, dataset_versions, datasets, experiments

#: The word for the latest version.
LATEST = "latest"


class DatasetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A data set in a list.

    Attributes:
        number: Its number in this store.
        name, description: For people.
        version: The latest version, 0 before the first item.
        items: How many items that has.
        baseline: The key of the experiment that others of this data set are measured against.
        pins: Versions by the names that they were given.
        created_at: When it was made.
    """

    number: int
    name: str
    description: str
    version: int
    items: int
    baseline: str | None
    pins: dict[str, int]
    created_at: datetime


class DatasetVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version in a data set's history: when and why, how many items it changed, how many it has, its digest."""

    version: int
    at: datetime
    note: str
    added: int
    changed: int
    removed: int
    items: int
    digest: str


class ItemVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One content of an item: in the versions from `since` up to, not including, `until`. `None` when it was purged."""

    since: int
    until: int | None
    item: Item | None


class ItemPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some items of a version, how many there are, and the position for `after`; `None` at the end."""

    version: int
    items: list[Item]
    total: int
    next: int | None


def read_rows(connection: Connection, *conditions: ColumnElement[bool]) -> list[DatasetRow]:
    """The data sets that fit, by name."""
    latest = (dataset_versions.c.dataset == datasets.c.id) & (dataset_versions.c.version == datasets.c.version)
    query = (
        select(datasets, dataset_versions.c["items"], experiments.c.key.label("baseline_key"))
        .select_from(
            datasets.outerjoin(dataset_versions, latest).outerjoin(experiments, experiments.c.id == datasets.c.baseline)
        )
        .where(*conditions)
        .order_by(datasets.c.name)
    )
    found = connection.execute(query).all()
    pins: dict[int, dict[str, int]] = {row.id: {} for row in found}
    for dataset, name, version in connection.execute(select(dataset_pins).order_by(dataset_pins.c.name)):
        if dataset in pins:
            pins[dataset][name] = version
    return [
        DatasetRow(
            number=row.id,
            name=row.name,
            description=row.description,
            version=row.version,
            items=row.items or 0,
            baseline=row.baseline_key,
            pins=pins[row.id],
            created_at=codec.from_ms(row.created_at),
        )
        for row in found
    ]


def resolve(connection: Connection, given: str) -> tuple[int, int]:
    """The number of a data set and the version that a name like `weather@3` means."""
    name, wanted = (codec.name(part) for part in (given.partition("@")[::2]))
    row = connection.execute(select(datasets.c.id, datasets.c.version).where(datasets.c.name == name)).one_or_none()
    if row is None:
        names = list(connection.scalars(select(datasets.c.name)))
        raise StoreError(f"there is no data set {name!r}{did_you_mean(name, names)}")
    if wanted in ("", LATEST):
        return row.id, row.version
    if wanted.isdigit():
        if not 0 < int(wanted) <= row.version:
            raise StoreError(f"the data set {name!r} has the versions 1 to {row.version}, and no {wanted}")
        return row.id, int(wanted)
    query = select(dataset_pins.c.name, dataset_pins.c.version).where(dataset_pins.c.dataset == row.id)
    pins = {pin.name: pin.version for pin in connection.execute(query)}
    if wanted not in pins:
        known = ", ".join(sorted(pins)) or "none"
        raise StoreError(f"the data set {name!r} has no version pinned as {wanted!r}; there are: {known}")
    return row.id, pins[wanted]


def in_version(dataset: int, version: int) -> list[ColumnElement[bool]]:
    """What a row of `dataset_items` must be to stand in a version."""
    return [
        dataset_items.c.dataset == dataset,
        dataset_items.c.since <= version,
        or_(dataset_items.c.until.is_(None), dataset_items.c.until > version),
    ]


def read_version(connection: Connection, dataset: int, version: int) -> Dataset:
    """A version with all its items."""
    name = connection.scalar(select(datasets.c.name).where(datasets.c.id == dataset))
    of_version = (dataset_versions.c.dataset == dataset, dataset_versions.c.version == version)
    recorded = connection.scalar(select(dataset_versions.c.digest).where(*of_version))
    query = select(dataset_items.c.item, dataset_items.c.body).where(*in_version(dataset, version))
    found = connection.execute(query.order_by(dataset_items.c.position, dataset_items.c.id)).all()
    return Dataset(
        name=name or "",
        version=version,
        items=[item_of(row.body) for row in found if row.body is not None],
        digest=recorded or items_digest([]),
        purged=[row.item for row in found if row.body is None],
    )


def item_of(body: str) -> Item:
    """The item of a stored content."""
    return read_item(codec.decode(body, dict[str, Any]))
