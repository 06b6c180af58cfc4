"""Data sets in a store: every change makes a version, and every version can be read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import delete, func, select, update

from referee.datasets import Dataset, Difference, difference
from referee.errors import OptionError, StoreError
from referee.nearest import did_you_mean
from referee.storage import codec
from referee.storage.bulk import insert_for
from referee.storage.database import Database
from referee.storage.dataset_changes import change, contents, current_items, lock
from referee.storage.dataset_differences import ItemChanges, read_changes
from referee.storage.dataset_rows import (
    LATEST,
    DatasetRow,
    DatasetVersion,
    ItemPage,
    ItemVersion,
    in_version,
    item_of,
    read_rows,
    read_version,
    resolve,
)
from referee.storage.experiment_rows import find
from referee.storage.schema import dataset_items, dataset_pins, dataset_versions, datasets, experiments


class Datasets:
    """The data sets of a store. Made by `Store`.

    Where a data set is read, `name` may say a version: `weather` is the latest, `weather@3` the third,
    `weather@release` the one that is pinned under that name.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, description: str = "") -> DatasetRow:
        """Make an empty data set. One that is there stays as it is.

        Raises:
            OptionError: The name is empty or holds an `@`.
        """
        if not name.strip() or "@" in name:
            raise OptionError(f"a data set's name is not empty and has no @, unlike {name!r}")
        row = {
            "name": codec.name(name),
            "description": codec.clean(description),
            "version": 0,
            "created_at": codec.now_ms(),
        }
        with self._database.write() as connection:
            connection.execute(insert_for(connection, datasets).on_conflict_do_nothing(), row)
        return self.get(name)

    def all(self) -> list[DatasetRow]:
        """All data sets, by name."""
        with self._database.read() as connection:
            return read_rows(connection)

    def get(self, name: str) -> DatasetRow:
        """One data set.

        Raises:
            StoreError: There is none of this name.
        """
        with self._database.read() as connection:
            number, _ = resolve(connection, name)
            [row] = read_rows(connection, datasets.c.id == number)
        return row

    def put(self, name: str, items: Iterable[Any], *, note: str = "", replace: bool = False) -> int:
        """Add items, and change those whose id is there. Gives the version that holds them: a new one if anything changed.

        Args:
            name: The data set.
            items: Items, mappings of an item's fields, or texts.
            note: Why, for people.
            replace: Remove the items that are not among these.

        Raises:
            OptionError: Something is no item, or two different items have one id.
            StoreError: There is no such data set.
        """
        given = contents(items)
        with self._database.write() as connection:
            number, version = lock(connection, name)
            current = current_items(connection, number)
            removed = [item for item in current if item not in given] if replace else []
            return change(connection, number, version, current, given, removed, note)

    def remove(self, name: str, items: Sequence[str], *, note: str = "") -> int:
        """Remove items by their ids. Earlier versions keep them. Gives the version without them.

        Raises:
            StoreError: There is no such data set, or no such item in its latest version.
        """
        with self._database.write() as connection:
            number, version = lock(connection, name)
            current = current_items(connection, number)
            unknown = [item for item in items if item not in current]
            if unknown:
                raise StoreError(f"the data set {name!r} has no item {unknown[0]!r}{did_you_mean(unknown[0], current)}")
            return change(connection, number, version, current, {}, list(items), note)

    def read(self, name: str) -> Dataset:
        """A data set in one version, with all items.

        Raises:
            StoreError: There is no such data set or version.
        """
        with self._database.read() as connection:
            number, version = resolve(connection, name)
            return read_version(connection, number, version)

    def page(self, name: str, *, after: int = 0, limit: int = 50) -> ItemPage:
        """Some items of a version, in their order.

        Args:
            name: The data set, with or without a version.
            after: The `next` of a page.
            limit: How many.

        Raises:
            StoreError: There is no such data set or version.
        """
        with self._database.read() as connection:
            number, version = resolve(connection, name)
            of_version = [*in_version(number, version), dataset_items.c.body.isnot(None)]
            total = connection.scalar(select(func.count()).select_from(dataset_items).where(*of_version)) or 0
            query = select(dataset_items.c.position, dataset_items.c.body).where(
                *of_version, dataset_items.c.position > after
            )
            found = connection.execute(query.order_by(dataset_items.c.position).limit(limit + 1)).all()
        rows = found[:limit]
        return ItemPage(
            version=version,
            items=[item_of(row.body) for row in rows],
            total=total,
            next=rows[-1].position if len(found) > limit else None,
        )

    def item(self, name: str, item: str) -> list[ItemVersion]:
        """Every content that an item ever had, the latest first.

        Raises:
            StoreError: There is no such data set, or it never had this item.
        """
        with self._database.read() as connection:
            number, _ = resolve(connection, name)
            query = select(dataset_items).where(dataset_items.c.dataset == number, dataset_items.c.item == item)
            found = connection.execute(query.order_by(dataset_items.c.since.desc())).all()
        if not found:
            raise StoreError(f"the data set {name!r} never had an item {item!r}")
        return [
            ItemVersion(since=row.since, until=row.until, item=None if row.body is None else item_of(row.body))
            for row in found
        ]

    def history(self, name: str) -> list[DatasetVersion]:
        """The versions of a data set, the latest first.

        Raises:
            StoreError: There is no such data set.
        """
        with self._database.read() as connection:
            number, _ = resolve(connection, name)
            query = select(dataset_versions).where(dataset_versions.c.dataset == number)
            found = connection.execute(query.order_by(dataset_versions.c.version.desc())).all()
        return [
            DatasetVersion(
                version=row.version,
                at=codec.from_ms(row.at),
                note=row.note,
                added=row.added,
                changed=row.changed,
                removed=row.removed,
                items=row.items,
                digest=row.digest,
            )
            for row in found
        ]

    def diff(self, before: str, after: str) -> Difference:
        """What changed from one version to another: `diff("weather@2", "weather@3")`. Purged items are left out.

        Raises:
            StoreError: There is no such data set or version.
        """
        return difference(self.read(before).items, self.read(after).items)

    def changes(self, before: str, after: str, *, offset: int = 0, limit: int = 50) -> ItemChanges:
        """Some of what changed from one version to another, with both contents of each item.

        Args:
            before: The version before: `weather@2`.
            after: The one after.
            offset: How many items are passed over.
            limit: How many are given.

        Raises:
            OptionError: The versions are of two data sets.
            StoreError: There is no such data set or version.
        """
        with self._database.read() as connection:
            (dataset, first), (other, second) = resolve(connection, before), resolve(connection, after)
            if dataset != other:
                raise OptionError(f"{before!r} and {after!r} are two data sets: give two versions of one")
            return read_changes(connection, dataset, first, second, offset=offset, limit=limit)

    def pin(self, name: str, pin: str) -> None:
        """Give a version a name of its own: `pin("weather@3", "release")`. A pin that is there moves.

        Raises:
            OptionError: The pin is empty, a number, `latest`, or holds an `@`.
            StoreError: There is no such data set or version.
        """
        if not pin.strip() or pin.isdigit() or pin == LATEST or "@" in pin:
            raise OptionError(f"a pin is a word that is no number, not {LATEST!r} and has no @, unlike {pin!r}")
        with self._database.write() as connection:
            number, version = resolve(connection, name)
            row = {"dataset": number, "name": codec.name(pin), "version": version}
            upsert = insert_for(connection, dataset_pins).on_conflict_do_update(
                index_elements=["dataset", "name"], set_={"version": version}
            )
            connection.execute(upsert, row)

    def unpin(self, name: str, pin: str) -> None:
        """Take a version's name away. Without one of this name nothing happens.

        Raises:
            StoreError: There is no such data set.
        """
        with self._database.write() as connection:
            number, _ = resolve(connection, name)
            of_name = (dataset_pins.c.dataset == number, dataset_pins.c.name == pin)
            connection.execute(delete(dataset_pins).where(*of_name))

    def set_baseline(self, name: str, experiment: str | None) -> None:
        """Say which experiment others of this data set are measured against; `None`: the one before each.

        Raises:
            OptionError: The experiment used another data set.
            StoreError: There is no such data set or experiment.
        """
        with self._database.write() as connection:
            number, _ = resolve(connection, name)
            baseline = None if experiment is None else find(connection, experiment).number
            if baseline is not None:
                used = connection.scalar(select(experiments.c.dataset).where(experiments.c.id == baseline))
                if used != number:
                    raise OptionError(f"the experiment {experiment!r} did not use the data set {name!r}")
            connection.execute(update(datasets).where(datasets.c.id == number).values(baseline=baseline))
