"""Reading of suite files and data files: YAML, TOML, JSON, JSON Lines and CSV."""

from __future__ import annotations

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Callable
from datetime import date, time
from pathlib import Path
from typing import Any

import msgspec

from referee.datasets import of_cell
from referee.errors import ReadError
from referee.items import snake_case
from referee.jsonvalue import decode
from referee.yaml_text import read_yaml

#: Columns of a CSV file whose cells are JSON.
_JSON_COLUMNS = frozenset(
    {
        "inputs",
        "turns",
        "expected_trajectory",
        "expected_tool_calls",
        "scorers",
        "gates",
        "context",
        "metadata",
        "tool_mocks",
    }
)


#: The csv module refuses longer cells than its limit, which is far below what an input may be.
_LONGEST_CELL = (1 << 31) - 1


def read_document(path: Path) -> Any:
    """The content of a YAML, TOML or JSON file.

    Raises:
        ReadError: It can't be read or parsed; tells the line where that is known.
    """
    text = _text(path)
    try:
        if path.suffix.lower() == ".toml":
            return _plain(tomllib.loads(text))
        if path.suffix.lower() == ".json":
            return decode(text)
        return _plain(read_yaml(text, str(path)))
    except tomllib.TOMLDecodeError as error:
        raise ReadError(str(error), source=str(path)) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReadError(str(error), source=str(path)) from None


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ReadError(error.strerror or "can't be read", source=str(path)) from None
    except UnicodeDecodeError:
        raise ReadError("not in UTF-8", source=str(path)) from None


def _plain(value: Any) -> Any:
    """The value with dates and times as ISO text, as JSON would have them."""
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def read_items(path: Path) -> list[Any]:
    """The items of a data file, as plain data.

    A CSV file has an item's fields as column names; `tags` are separated by `;`, lists and objects are written as
    JSON, and an empty cell is no value.

    Raises:
        ReadError: It can't be read, or is no list of items; tells the line where that is known.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise ReadError(f"a data file ends in {', '.join(_READERS)}", source=str(path))
    items = read(path)
    if not isinstance(items, list):
        raise ReadError(f"expected a list of items, not {type(items).__name__}", source=str(path))
    return items


def _json_lines(path: Path) -> list[Any]:
    items = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            try:
                items.append(decode(line))
            except (msgspec.DecodeError, RecursionError) as error:
                raise ReadError(str(error), source=str(path), line=number) from None
    return items


def _csv(path: Path) -> list[Any]:
    rows = csv.DictReader(io.StringIO(_text(path), newline=""), strict=True)
    items = []
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        twice = [name for name, count in Counter(rows.fieldnames or ()).items() if name and count > 1]
        if twice:
            raise ReadError(f"the column {twice[0]!r} is given twice", source=str(path), line=1)
        for row in rows:
            if None in row:
                raise ReadError("more cells than columns", source=str(path), line=rows.line_num)
            cells = {column: cell for column, cell in row.items() if cell}
            items.append({column: _cell(column, cell, path, rows.line_num) for column, cell in cells.items()})
    except csv.Error as error:
        raise ReadError(str(error), source=str(path), line=rows.line_num) from None
    finally:
        csv.field_size_limit(limit)
    return items


def _cell(column: str, cell: str, path: Path, line: int) -> Any:
    name = snake_case(column)
    if name == "tags":
        return [tag.strip() for tag in of_cell(cell).split(";") if tag.strip()]
    if name not in _JSON_COLUMNS:
        return of_cell(cell)
    try:
        return decode(cell)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReadError(f"the cell is no JSON: {error}", source=str(path), line=line, field=column) from None


_READERS: dict[str, Callable[[Path], Any]] = {
    ".jsonl": _json_lines,
    ".csv": _csv,
    ".json": read_document,
    ".yaml": read_document,
    ".yml": read_document,
}
