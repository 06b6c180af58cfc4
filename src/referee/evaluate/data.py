"""The items of an evaluation: from what users give to items that are checked and have unique ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.evaluate.naming import unique_name
from referee.items import Item, read_item, with_item_id
from referee.runs import Run, with_id

_INPUTS = ("input", "inputs", "turns")


def read_data(data: Iterable[Any]) -> list[Item]:
    """The items, checked, each with an id of its own.

    Args:
        data: Items, mappings with an item's fields, texts (an item's input), or recorded runs.

    Raises:
        OptionError: No item, an item that can't be read, or one with none or more than one of `input`, `inputs` and
            `turns`; tells which.

    Example:
        >>> [item.id for item in read_data([{"id": "a", "input": "Hi"}, {"id": "a", "input": "Hi"}])]
        ['a', 'a#2']
    """
    items: list[Item] = []
    taken: set[str] = set()
    for number, given in enumerate(listed_data(data), 1):
        try:
            item = with_item_id(_checked(_read(given)))
        except OptionError as error:
            raise OptionError(f"item {number}: {error}") from None
        unique = unique_name(item.id, taken)
        items.append(item if unique == item.id else msgspec.structs.replace(item, id=unique))
    if not items:
        raise OptionError("data has no items")
    return items


def listed_data(data: Iterable[Any]) -> list[Any]:
    """The data as a list.

    Raises:
        OptionError: It is no list of items but a text or a single mapping.
    """
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Iterable):
        hint = "; of a file of items make a list first, or name it in a suite" if isinstance(data, str) else ""
        raise OptionError(f"data is a list of items, not {type(data).__name__}{hint}")
    return list(data)


def _read(given: Any) -> Item:
    if isinstance(given, Item):
        fields = {name: getattr(given, name) for name in Item.__struct_fields__ if name != "id"}
        return msgspec.structs.replace(read_item(fields), id=given.id)
    if isinstance(given, str):
        return Item(input=given)
    if isinstance(given, Run):
        return item_of_run(given)
    if isinstance(given, Mapping):
        return read_item(given)
    raise OptionError(f"an item is an Item, a mapping, a text or a run, not {type(given).__name__}")


def item_of_run(run: Run, id: str | None = None) -> Item:
    """The item that a recorded run answers."""
    return Item(
        id=with_id(run).id if id is None else id,
        input=[*run.system, *run.history, *run.input],
        ground_truth=run.ground_truth,
        expected_trajectory=run.expected_trajectory,
        expected_tool_calls=run.expected_tool_calls,
        context=run.context,
        metadata=run.metadata,
        tags=_tags(run),
    )


def _tags(run: Run) -> list[str]:
    tags = (run.metadata or {}).get("tags")
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []


def _checked(item: Item) -> Item:
    given = [name for name in _INPUTS if getattr(item, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        raise OptionError(f"give exactly one of input, inputs and turns; it has {found}")
    if given[0] != "input" and not item.user_turns:
        raise OptionError(f"{given[0]} is empty")
    if None in item.user_turns:
        raise OptionError(f"{given[0]}: a turn has no input")
    for what, text in (("id", item.id), *(("a tag", tag) for tag in item.tags)):
        if not isinstance(text, str):
            raise OptionError(f"{what} is a text, not {text!r}")
    return item
