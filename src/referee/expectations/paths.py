"""Paths into the arguments of a call.

A path starts at the arguments object:

| path | means |
|---|---|
| `city` | the argument `city` |
| `filter.tags` | `tags` inside the object `filter` |
| `items[0].price` | `price` inside the first element of the list `items` |
| `items[*].price` | `price` inside every element of `items` |
| `["user.name"]` | a name that itself holds a dot, a bracket or a quotation mark, written as JSON text |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from referee.errors import OptionError


class _Every(Enum):
    EVERY = "[*]"


#: Stands for every element of a list.
EVERY: Final = _Every.EVERY

Segment: TypeAlias = str | int | Literal[_Every.EVERY]
Path: TypeAlias = tuple[Segment, ...]

_PLAIN = r'[^.\[\]"]+'
_SEGMENT = re.compile(rf'(?P<name>\.?{_PLAIN})|\[(?P<index>\d+)\]|(?P<every>\[\*\])|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]')
_is_plain = re.compile(_PLAIN).fullmatch


def parse_path(text: str) -> Path:
    """The segments of a path.

    Raises:
        OptionError: It is no path.

    Example:
        >>> parse_path('items[0]["odd.name"].price')
        ('items', 0, 'odd.name', 'price')
    """
    if not isinstance(text, str):
        raise OptionError(f"a path to an argument is a text, not {text!r}")
    segments: list[Segment] = []
    place = 0
    while place < len(text):
        found = _SEGMENT.match(text, place)
        if found is None or (found["name"] and found["name"].startswith(".") == (place == 0)):
            break
        segments.append(_segment(found))
        place = found.end()
    if not segments or place < len(text):
        raise OptionError(
            f"{text!r} is no path to an argument: write a path like filter.tags, items[0].price or items[*].price"
        )
    return tuple(segments)


def _segment(found: re.Match[str]) -> Segment:
    if found["name"]:
        return found["name"].removeprefix(".")
    if found["index"]:
        return int(found["index"])
    return EVERY if found["every"] else str(json.loads(found["quoted"]))


def below(path: str, segment: str | int) -> str:
    """The text of a path with one more segment.

    Example:
        >>> below("items", 0), below("filter", "tags"), below("", "odd.name")
        ('items[0]', 'filter.tags', '["odd.name"]')
    """
    if isinstance(segment, int):
        return f"{path}[{segment}]"
    if not _is_plain(segment):
        return f"{path}[{json.dumps(segment, ensure_ascii=False)}]"
    return f"{path}.{segment}" if path else segment


def find(value: Any, path: Path, at: str = "") -> Iterator[tuple[str, Any]]:
    """The places in a value that a path reaches: their own paths, and what stands there.

    Example:
        >>> list(find({"items": [{"price": 1}, {}, {"price": 3}]}, parse_path("items[*].price")))
        [('items[0].price', 1), ('items[2].price', 3)]
    """
    if not path:
        yield at, value
        return
    segment, rest = path[0], path[1:]
    if isinstance(segment, str):
        if isinstance(value, dict) and segment in value:
            yield from find(value[segment], rest, below(at, segment))
    elif isinstance(value, list):
        places = range(len(value)) if segment is EVERY else (segment,)
        for index in places:
            if index < len(value):
                yield from find(value[index], rest, below(at, index))
