"""The address of a page: everything that it shows is said there. Reads it, and makes addresses of other pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from referee.errors import OptionError
from referee.storage.codec import clean

T = TypeVar("T")

#: Parameters that every page takes.
EVERYWHERE = ("format", "limit")
#: Where a page of a list begins.
POSITIONS = ("after", "before")
#: Rows on a page, and at most.
LIMIT, MOST_ROWS = 50, 1000
#: Longer values are asked for by nobody.
LONGEST_VALUE = 2000


class Query:
    """The path and the parameters of a request. Empty parameters, as a form sends them, count as not given.

    Args:
        path: The page's path.
        given: Names and values, in order; a name may come more than once.
        longest: How long a value may be.

    Example:
        >>> query = Query("/scores", [("scorer", "tone"), ("item", ""), ("outcome", "error")])
        >>> query.text("scorer"), query.text("item"), query.set(scorer=None, order="lowest")
        ('tone', None, '/scores?outcome=error&order=lowest')
    """

    def __init__(self, path: str, given: Iterable[tuple[str, str]] = (), *, longest: int = LONGEST_VALUE) -> None:
        self.path = path
        self.given = [(clean(name), clean(value)) for name, value in given if value]
        too_long = next((name for name, value in self.given if len(value) > longest), None)
        if too_long is not None:
            raise OptionError(f"{too_long[:50]}: a value has at most {longest:,} characters")

    def allow(self, *names: str) -> None:
        """Refuse parameters that the page does not know: a filter must not be left out in silence.

        Raises:
            OptionError: There are some.
        """
        known = {*names, *EVERYWHERE}
        unknown = next((name for name, _ in self.given if name not in known), None)
        if unknown is not None:
            raise OptionError(f"there is no parameter {unknown[:50]!r} here; there are: {', '.join(sorted(known))}")

    def text(self, name: str) -> str | None:
        """The value of a parameter, `None` when it is not given.

        Raises:
            OptionError: It is given more than once.
        """
        values = self.texts(name)
        if len(values) > 1:
            raise OptionError(f"{name} is given {len(values)} times: give it once")
        return values[0] if values else None

    def needed(self, name: str) -> str:
        """The value of a parameter that must be given.

        Raises:
            OptionError: It is not.
        """
        value = self.text(name)
        if value is None:
            raise OptionError(f"give {name}=, which says what is meant")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of a parameter, in order."""
        return tuple(value for given, value in self.given if given == name)

    def whole(self, name: str, *, least: int = 0, most: int = 2**62) -> int | None:
        """A whole number.

        Raises:
            OptionError: It is none, or out of bounds.
        """
        text = self.text(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 20) or not least <= int(text) <= most:
            raise OptionError(f"{name}: expected a whole number from {least} to {most:,}, not {text!r}")
        return int(text)

    def needed_whole(self, name: str) -> int:
        """A whole number that must be given.

        Raises:
            OptionError: It is not, or it is none.
        """
        self.needed(name)
        return self.whole(name) or 0

    def number(self, name: str) -> float | None:
        """A finite number.

        Raises:
            OptionError: It is none.
        """
        text = self.text(name)
        if text is None:
            return None
        try:
            value = float(text) if len(text) < 50 and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise OptionError(f"{name}: expected a number, not {text[:50]!r}")
        return value

    @property
    def limit(self) -> int:
        """How many rows are asked for."""
        return self.whole("limit", least=1, most=MOST_ROWS) or LIMIT

    def struct(self, type: type[T], *, renamed: Mapping[str, str] | None = None, lists: Sequence[str] = ()) -> T:
        """The parameters that are fields of a type of filter.

        Args:
            type: The type.
            renamed: By the name of a parameter, the field.
            lists: Parameters that may come more than once.

        Raises:
            OptionError: A value does not fit its field.
        """
        renamed = renamed or {}
        fields = {renamed.get(name, name): name for name, _ in self.given}
        wanted: dict[str, Any] = {}
        for field, name in fields.items():
            if field in type.__struct_fields__:  # type: ignore[attr-defined]
                wanted[field] = self.texts(name) if name in lists else self.text(name)
        for field, value in wanted.items():
            if isinstance(value, str) and value.strip().lower().lstrip("+-") in ("nan", "inf", "infinity"):
                raise OptionError(f"{fields[field]}: expected a number, not {value!r}")
        try:
            found = msgspec.convert(wanted, type, strict=False)
        except msgspec.ValidationError as error:
            raise OptionError(f"this filter can't be read: {error}") from None
        for field, name in fields.items():
            value = getattr(found, field, None)
            if any(isinstance(one, int) and not 0 <= one <= most for one, most in _whole_numbers(value)):
                raise OptionError(f"{name}: expected a whole number that is not so large")
        return found

    def set(self, **changes: object) -> str:
        """The address of the same page with other parameters; `None` leaves one out."""
        kept = [(name, value) for name, value in self.given if name not in changes]
        return address(self.path, [*kept, *_pairs(changes)])

    def without(self, name: str, value: str) -> str:
        """The address of the first page without one condition."""
        return self.first_page(**{name: [other for other in self.texts(name) if other != value]})

    def first_page(self, **changes: object) -> str:
        """As `set`, from the beginning of the list and with nothing opened."""
        return self.set(**{**dict.fromkeys((*POSITIONS, "offset", "score"), None), **changes})


def address(path: str, given: Iterable[tuple[str, str]] | Mapping[str, object] = ()) -> str:
    """The address of a page.

    Example:
        >>> address("/scores", {"item": "a b", "turn": None})
        '/scores?item=a+b'
    """
    pairs = _pairs(given) if isinstance(given, Mapping) else list(given)
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _whole_numbers(value: Any) -> list[tuple[Any, int]]:
    """The values of a filter's field with the largest that there can be: rows have larger numbers than turns."""
    return [(one, 2**62) for one in value] if isinstance(value, tuple) else [(value, 2**31 - 1)]


def _pairs(changes: Mapping[str, object]) -> list[tuple[str, str]]:
    found = []
    for name, value in changes.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        found += [(name, str(one)) for one in values if one is not None]
    return found
