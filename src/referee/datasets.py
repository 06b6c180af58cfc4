"""Data sets: items as plain data, their digest, the difference of two versions, and the files they are written to."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.items import Item, read_item, with_item_id
from referee.jsonvalue import canonical, digest, equal
from referee.messages import Message
from referee.runs import Run

#: An item's fields in the order of a file's columns.
FIELDS = Item.__struct_fields__
#: The columns of a CSV file whose cells are plain text; those of the others are JSON.
_TEXT_COLUMNS = ("id", "input", "ground_truth")
#: A cell that starts like this is a formula to spreadsheet programs; the apostrophes are what protects it.
_is_formula = re.compile(r"'*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]").match
_is_number = re.compile(r"[+-]?\d+(\.\d*)?", re.ASCII).fullmatch


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """A data set in one version.

    Attributes:
        name: Its name.
        version: The version, from 1; 0 before the first item.
        items: Its items, in their order.
        digest: The digest of the items' content: equal items give an equal digest, whatever their order.
        purged: The ids of items that were in this version and whose content was erased since.
    """

    name: str
    version: int
    items: list[Item]
    digest: str
    purged: list[str] = []


class ChangedItem(msgspec.Struct, frozen=True):
    """An item that is in both versions with another content, and the names of the fields that differ."""

    id: str
    fields: list[str]


class Difference(msgspec.Struct, frozen=True):
    """What changed from one version to another: ids, in the order of the items."""

    added: list[str]
    removed: list[str]
    changed: list[ChangedItem]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def plain_item(item: Item) -> dict[str, Any]:
    """An item as plain data, with its id and without empty fields; scorers as `load_scorer` takes them.

    Raises:
        OptionError: A scorer of one's own or a function stands in it: plain data cannot hold them.

    Example:
        >>> from referee import checks
        >>> plain_item(Item(id="a", input="Weather?", gates=[checks.includes("sunny")]))
        {'id': 'a', 'input': 'Weather?', 'gates': [{'checks.includes': {'expected': 'sunny', 'id': 'check-includes'}}]}
    """
    item = with_item_id(item)
    found = {}
    for name in FIELDS:
        value = _plain(getattr(item, name), f"item {item.id}: {name}")
        if value is not None and value != [] and (name, value) != ("id", ""):
            found[name] = value
    return found


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if _is_scorer(value):
        if value.spec is None:
            raise OptionError(f"{where}: the scorer {value.id} is your own: name it as 'module:function'")
        return _plain(value.spec, where)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry, where) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry, where) for entry in value]
    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.to_builtins(value, enc_hook=lambda entry: _plain(entry, where)), where)
    raise OptionError(f"{where}: a {type(value).__name__} is no plain data")


def _is_scorer(value: Any) -> bool:
    """Whether it is a scorer; without loading what makes them, as long as nobody has."""
    pipeline = sys.modules.get("referee.pipeline")
    return pipeline is not None and isinstance(value, pipeline.Scorer)


def item_digest(plain: Mapping[str, Any]) -> str:
    """The SHA-256 of an item's plain data."""
    return digest(plain)


def items_digest(digests: Iterable[tuple[str, str]]) -> str:
    """The digest of a version, from the ids and digests of its items in any order.

    Example:
        >>> items_digest([("b", "2"), ("a", "1")]) == items_digest([("a", "1"), ("b", "2")])
        True
    """
    return digest(sorted(list(pair) for pair in digests))


def difference(before: Iterable[Item], after: Iterable[Item]) -> Difference:
    """What changed between two lists of items.

    Example:
        >>> old, new = [Item(id="a", input="Hi"), Item(id="b", input="Ho")], [Item(id="a", input="Hi!")]
        >>> difference(old, new)
        Difference(added=[], removed=['b'], changed=[ChangedItem(id='a', fields=['input'])])
    """
    old = {item.id: plain_item(item) for item in before}
    new = {item.id: plain_item(item) for item in after}
    changed = []
    for name, item in new.items():
        if name in old:
            fields = [field for field in FIELDS if not equal(old[name].get(field), item.get(field))]
            if fields:
                changed.append(ChangedItem(name, fields))
    return Difference([name for name in new if name not in old], [name for name in old if name not in new], changed)


def item_from_run(run: Run, *, keep_answer: bool = False) -> Item:
    """An item that asks what a recorded run was asked.

    Args:
        run: The run.
        keep_answer: Take the run's answer for the right one, where the run has none.

    Example:
        >>> from referee import to_run
        >>> run = to_run([{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Sunny."}])
        >>> item = item_from_run(run, keep_answer=True)
        >>> item.input, item.ground_truth
        ('Weather?', 'Sunny.')
    """
    asked: list[Message] = [*run.system, *run.history, *run.input]
    is_plain = len(asked) == 1 and asked[0].role == "user" and asked[0].text and len(asked[0].parts) == 1
    truth = run.ground_truth
    if truth is None and keep_answer:
        truth = run.final_text or None
    return with_item_id(
        Item(
            input=asked[0].text if is_plain else msgspec.to_builtins(asked),
            ground_truth=truth,
            expected_trajectory=run.expected_trajectory,
            expected_tool_calls=run.expected_tool_calls,
            context=run.context,
            metadata={"run_id": run.id} if run.id else None,
        )
    )


def to_jsonl(items: Iterable[Item]) -> Iterator[bytes]:
    """The items as lines of JSON; `read_item` of each gives the item again.

    Example:
        >>> next(to_jsonl([Item(id="a", input="Hi", tags=["short"])]))
        b'{"id":"a","input":"Hi","tags":["short"]}\\n'
    """
    for item in items:
        yield msgspec.json.encode(plain_item(item)) + b"\n"


def to_csv(items: Sequence[Item]) -> str:
    """The items as a CSV file: a column per field that is used, tags separated by `;`, lists and objects as JSON.

    Raises:
        OptionError: An input or a ground truth is no text, or a tag holds a `;`: write JSON Lines instead.

    Example:
        >>> print(to_csv([Item(id="a", input="Hi", tags=["short", "polite"])]), end="")
        id,input,tags
        a,Hi,short;polite
    """
    plain = [plain_item(item) for item in items]
    columns = [field for field in FIELDS if any(field in item for item in plain)]
    return "".join(map(_csv_line, [columns, *([_cell(item, column) for column in columns] for item in plain)]))


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)  # with a shorter end of line it would not quote a carriage return
    return line.getvalue().removesuffix("\r\n") + "\n"


def _cell(item: Mapping[str, Any], column: str) -> str:
    value = item.get(column)
    if value is None:
        return ""
    if column == "tags":
        if any(";" in tag or tag != tag.strip() or not tag for tag in value):
            raise OptionError(
                f"item {item['id']}: a tag with ';' or with spaces around it cannot stand in CSV: write JSON Lines"
            )
        return as_cell(";".join(value))
    if column not in _TEXT_COLUMNS:
        return canonical(value).decode()
    if not isinstance(value, str) or not value:
        what = "an empty text" if value == "" else "no text"
        raise OptionError(f"item {item['id']}: {column} is {what} and cannot stand in CSV: write JSON Lines")
    return as_cell(value)


def as_cell(text: str) -> str:
    """A text as a cell of CSV: one that a spreadsheet would take for a formula gets an apostrophe in front.

    A number stays as it is. `of_cell` gives the text again.

    Example:
        >>> as_cell("=1+2"), as_cell("-5"), as_cell("'-x"), as_cell("it's")
        ("'=1+2", '-5', "''-x", "it's")
    """
    return f"'{text}" if _is_formula(text) and not _is_number(text) else text


def of_cell(cell: str) -> str:
    """The text of a cell: without the apostrophe of `as_cell`.

    Example:
        >>> of_cell("'=1+2"), of_cell("'twas")
        ('=1+2', "'twas")
    """
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def read_plain_item(plain: Any, where: str) -> Item:
    """An item from plain data or text, with an id.

    Args:
        plain: A mapping of an item's fields, an `Item`, or a text: the input.
        where: What it is, for the error.

    Raises:
        OptionError: It is no item, or has none or more than one of `input`, `inputs` and `turns`.
    """
    if isinstance(plain, str):
        plain = {"input": plain}
    if not isinstance(plain, (Mapping, Item)):
        raise OptionError(f"{where}: an item is an object or a text, not {type(plain).__name__}")
    try:
        item = plain if isinstance(plain, Item) else read_item(plain)
    except OptionError as error:
        raise OptionError(f"{where}: {error}") from None
    given = [name for name in ("input", "inputs", "turns") if getattr(item, name) is not None]
    if len(given) != 1:
        raise OptionError(
            f"{where}: give exactly one of input, inputs and turns; it has {' and '.join(given) or 'none'}"
        )
    return with_item_id(item)
