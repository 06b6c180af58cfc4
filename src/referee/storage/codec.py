"""Values as they lie in the database: texts that every database takes, and JSON that keeps its meaning.

Content of runs is untrusted: it may hold NUL characters, lone surrogates, numbers beyond 64 bits and objects that are
no JSON. What a database cannot hold is replaced by U+FFFD in plain texts; JSON keeps NUL as an escape.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from referee.display import told
from referee.jsonvalue import is_finite_number

T = TypeVar("T")

#: A longer name or id is shortened and given the digest of the whole: an index of PostgreSQL takes 2,700 bytes.
LONGEST_NAME = 500
#: How many characters of an item's input and of an answer stand in a list.
PREVIEW = 200

#: A value that cannot be written as it is, is written down to so many levels.
DEEPEST = 100
#: Longer whole numbers have no text: Python refuses more than 4,300 digits.
_LONGEST_BITS = 14_000

_REPLACEMENT = "\ufffd"
#: Whole numbers of a database are smaller.
_WHOLE_LIMIT = 1 << 63


def _foreign(value: Any) -> Any:
    """A value that is no JSON as one: a NumPy number, a pydantic model, else its text."""
    with suppress(Exception):  # whatever the object's own code raises: its text is kept
        if hasattr(value, "item") and not callable(getattr(value, "keys", None)):
            return value.item()
        dump = getattr(value, "model_dump", None)
        if callable(dump) and not isinstance(value, type):
            return dump(mode="json")
    return told(value)


_encode = msgspec.json.Encoder(enc_hook=_foreign).encode


def clean(text: str) -> str:
    """The text without what a database refuses: NUL and lone surrogates become U+FFFD.

    Example:
        >>> clean("a\\x00b")
        'a\\ufffdb'
    """
    if text.isascii() and "\x00" not in text:
        return text
    return _without_surrogates(text.replace("\x00", _REPLACEMENT))


def name(text: str) -> str:
    """A name or id as it is stored: cleaned, and shortened to `LONGEST_NAME` characters with a digest of the whole.

    Example:
        >>> name("run-1"), len(name("x" * 10_000))
        ('run-1', 500)
    """
    text = clean(text)
    if len(text) <= LONGEST_NAME:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[: LONGEST_NAME - 17]}~{digest}"


def preview(text: str) -> str:
    """The first characters of a text on one line, for lists.

    Example:
        >>> preview("It is\\n  sunny.")
        'It is sunny.'
    """
    line = " ".join(clean(text[: PREVIEW * 4]).split())
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1] + "…"


def measure(value: float | None) -> float | None:
    """A figure that a run states as a column holds it; `None` for one that is no finite number.

    Example:
        >>> measure(2.5), measure(float("nan")), measure(10**400)
        (2.5, None, None)
    """
    return float(value) if is_finite_number(value) else None


def whole_number(value: float | None) -> int | None:
    """A count that a run states as a column holds it; `None` for one that is no whole number of 64 bits.

    Example:
        >>> whole_number(900), whole_number(10**30), whole_number(1.5)
        (900, None, None)
    """
    return int(value) if is_finite_number(value) and value == int(value) and abs(value) < _WHOLE_LIMIT else None


def encode(value: Any) -> str:
    """The value as JSON text; objects that are no JSON stand as their `repr`.

    Example:
        >>> encode({"a": (1, 2.5), "b": {3}})
        '{"a":[1,2.5],"b":[3]}'
    """
    try:
        return _encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, 0), ensure_ascii=False, separators=(",", ":"))


def _without_surrogates(text: str) -> str:
    """Halves of surrogate pairs joined to the character they mean, or replaced where the other half is missing."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _plain(value: Any, depth: int) -> Any:
    """A value as JSON holds it: what is no JSON as text, and what is nested too deep as a word about that."""
    if isinstance(value, str):
        return _without_surrogates(value)
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return f"not stored: a whole number of {value.bit_length():,} bits"
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if depth > DEEPEST:
        return f"not stored: nested deeper than {DEEPEST} levels"
    if isinstance(value, Mapping):
        named = ((key if isinstance(key, str) else told(key), item) for key, item in value.items())
        return {_without_surrogates(key): _plain(item, depth + 1) for key, item in named}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        fields = {field: _plain(getattr(value, field), depth + 1) for field in value.__struct_fields__}
        return fields if config.tag is None else {config.tag_field: config.tag, **fields}
    return _plain(_foreign(value), depth + 1)


def decode(text: str, type: type[T]) -> T:
    """The value that `encode` wrote.

    Raises:
        msgspec.ValidationError: The text is of another type; the store was changed by other means.
    """
    try:
        return msgspec.json.decode(text, type=type)
    except RecursionError:
        # It was written from a shallower stack than ours; a thread's own is the shallowest.
        with ThreadPoolExecutor(1) as executor:
            return executor.submit(msgspec.json.decode, text, type=type).result()


def digest(text: str) -> str:
    """The SHA-256 of a stored text, shortened to 32 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def now_ms() -> int:
    """The time in milliseconds since 1970, UTC."""
    return int(datetime.now(UTC).timestamp() * 1000)


def to_ms(time: datetime | str | None) -> int | None:
    """A time as milliseconds since 1970; a time without a zone is UTC; `None` for one that cannot be read.

    Example:
        >>> to_ms("2026-01-02T03:04:05Z")
        1767323045000
    """
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            return None
    if time is None:
        return None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return int(time.timestamp() * 1000)


def from_ms(milliseconds: int) -> datetime:
    """The time of so many milliseconds since 1970, UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
