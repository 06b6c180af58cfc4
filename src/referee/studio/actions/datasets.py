"""Data sets: made, changed, pinned, and given a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from referee.datasets import item_from_run
from referee.errors import OptionError
from referee.items import Item, read_item
from referee.jsonvalue import decode
from referee.studio.query import Query, address
from referee.studio.screen import LONG_TEXT, WHOLE, Action, Desk, Done, Parameter

#: An item is not nested deeper.
MOST_LEVELS = 100
_NOTE = Parameter("note", "Why, for people.")
_DATASET = Parameter("name", "The data set's name.", is_needed=True)


def create_dataset(desk: Desk, query: Query) -> Done:
    """Make an empty data set."""
    row = desk.store.datasets.create(query.needed("name"), query.text("description") or "")
    return _dataset(row.name, row.version)


def put_item(desk: Desk, query: Query) -> Done:
    """Add an item to a data set, or change the one of its id."""
    name = query.needed("name")
    version = desk.store.datasets.put(name, [_item(query.needed("item"))], note=query.text("note") or "")
    return _dataset(name, version)


def remove_item(desk: Desk, query: Query) -> Done:
    """Remove an item from the latest version of a data set."""
    name = query.needed("name")
    version = desk.store.datasets.remove(name, [query.needed("id")], note=query.text("note") or "")
    return _dataset(name, version)


def add_run(desk: Desk, query: Query) -> Done:
    """Make an item of a run: what was asked, and what is expected of the answer."""
    name, number = query.needed("name"), query.needed_whole("run")
    stored = desk.store.runs.get(number)
    if not stored.run.input:
        raise OptionError("nothing is kept of what this run was asked, so it can't be an item")
    item = item_from_run(stored.run, keep_answer=query.text("keep_answer") is not None)
    item = msgspec.structs.replace(item, tags=stored.tags)
    note = query.text("note") or f"from the run {stored.row.run_id}"
    return _dataset(name, desk.store.datasets.put(name, [item], note=note))


def set_baseline(desk: Desk, query: Query) -> Done:
    """Say which experiment the others of a data set are measured against; without one: the one before each."""
    name, experiment = query.needed("name"), query.text("experiment")
    desk.store.datasets.set_baseline(name, experiment)
    return Done(address("/dataset", {"name": name}), {"baseline": experiment})


def pin_version(desk: Desk, query: Query) -> Done:
    """Give a version of a data set a name of its own."""
    name, pin = query.needed("name"), query.needed("pin")
    desk.store.datasets.pin(name, pin)
    return Done(address("/dataset", {"name": f"{name.partition('@')[0]}@{pin}"}), {"pin": pin})


def _item(text: str) -> Item:
    try:
        data = decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise OptionError(f"item: this is no JSON: {error}") from None
    if not isinstance(data, Mapping):
        raise OptionError("item: expected a JSON object with the fields of an item, such as id and input")
    _check_depth(data, MOST_LEVELS)
    return read_item(data)


def _check_depth(value: Any, left: int) -> None:
    """Refuse data that is nested so deep that some reader of it would fail."""
    if left < 0:
        raise OptionError(f"item: it is nested deeper than {MOST_LEVELS} levels")
    if isinstance(value, (Mapping, list)):
        for one in value.values() if isinstance(value, Mapping) else value:
            _check_depth(one, left - 1)


def _dataset(name: str, version: int) -> Done:
    return Done(address("/dataset", {"name": name}), {"dataset": name, "version": version})


CREATE = Action(
    "/datasets/create",
    "Make an empty data set. One that is there stays as it is.",
    create_dataset,
    (_DATASET, Parameter("description", "What it is for.")),
    {"dataset": str, "version": int},
)
PUT = Action(
    "/datasets/put",
    "Add an item, or change the one of its id. That makes a new version, if anything changes.",
    put_item,
    (_DATASET, Parameter("item", "The item as a JSON text.", LONG_TEXT, is_needed=True), _NOTE),
    {"dataset": str, "version": int},
)
REMOVE = Action(
    "/datasets/remove",
    "Remove an item. Earlier versions keep it.",
    remove_item,
    (_DATASET, Parameter("id", "The item's id.", is_needed=True), _NOTE),
    {"dataset": str, "version": int},
)
ADD_RUN = Action(
    "/datasets/add-run",
    "Make an item of a run.",
    add_run,
    (
        _DATASET,
        Parameter("run", "The run's number.", WHOLE, is_needed=True),
        Parameter("keep_answer", "1: the run's answer is the right one."),
        _NOTE,
    ),
    {"dataset": str, "version": int},
)
BASELINE = Action(
    "/datasets/baseline",
    "Say which experiment others of a data set are measured against.",
    set_baseline,
    (_DATASET, Parameter("experiment", "The experiment's key; none for the one before each.")),
    {"baseline": str | None},
)
PIN = Action(
    "/datasets/pin",
    "Give a version of a data set a name of its own.",
    pin_version,
    (
        Parameter("name", "The data set and the version: `weather@3`.", is_needed=True),
        Parameter("pin", "The name.", is_needed=True),
    ),
    {"pin": str},
)
