"""Texts and values of a run or a score, as much of them as a page should carry, and where the rest is."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from referee.errors import OptionError
from referee.storage.recorded_runs import StoredRun
from referee.storage.score_rows import StoredScore
from referee.studio.query import address

#: A longer text is shown as its head, with its size and a link to the whole.
LONGEST = 256 * 1024
#: When the texts of a page come to so much together, the rest is shown as heads, too.
ENOUGH = 512 * 1024
HEAD = 2_000
RAW_PATH = "/raw"


class Field(NamedTuple):
    """A text to show: the whole, or its head; the length of the whole, and the address of it when it was cut."""

    text: str
    length: int
    raw: str | None

    @property
    def is_cut(self) -> bool:
        """Whether there is more of it."""
        return self.raw is not None


class Fields:
    """Makes the fields of one score and its run, or of a run alone.

    Args:
        score: The score's number in the store.
        run: The run's number in the store.
    """

    def __init__(self, *, score: int | None = None, run: int | None = None) -> None:
        self._of = {"score": score} if score is not None else {"run": run}
        self._left = ENOUGH

    def raw(self, path: str) -> str:
        """The address of all of a text or value."""
        return address(RAW_PATH, {**self._of, "path": path})

    def of(self, value: Any, path: str) -> Field:
        """The field of a value.

        Args:
            value: A text, or data, which is shown as indented JSON.
            path: Where it stands: `run` or `score`, then names of fields and places in lists, joined by dots.
        """
        text = as_text(value)
        is_cut = len(text) > (LONGEST if self._left > 0 else HEAD)
        shown = text[:HEAD] if is_cut else text
        self._left -= len(shown)
        return Field(shown, len(text), self.raw(path) if is_cut else None)


def as_text(value: Any) -> str:
    """A text itself, and data as indented JSON.

    Example:
        >>> print(as_text({"city": "Ghent"}))
        {
          "city": "Ghent"
        }
    """
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def value_at(stored: StoredScore | StoredRun, path: str) -> Any:
    """The value at a path of `Fields.of`.

    Raises:
        OptionError: There is none.
    """
    root, *rest = path.split(".")
    value: Any = getattr(stored, root) if root in ("run", "score") and hasattr(stored, root) else None
    for name in rest:
        if isinstance(value, msgspec.Struct) and name in value.__struct_fields__:
            value = getattr(value, name)
        elif isinstance(value, (list, tuple)) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            value = None
    if value is None:
        raise OptionError("there is nothing at this path: take it from a link of a page")
    return value
