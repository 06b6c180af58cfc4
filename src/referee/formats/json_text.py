"""JSON from bytes that other programs wrote: what is wrong with them is said in one line."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from referee.errors import ReadError
from referee.jsonvalue import decode

#: Every escape of JSON text; of `\\u` escapes the halves of a pair, together or alone.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?P<pair>\\u[dD][c-fC-F][0-9a-fA-F]{2})?|(?P<low>u[dD][c-fC-F][0-9a-fA-F]{2})|(?P<other>.))",
    re.DOTALL,
)


#: What decoded values, and what a reader makes of them, take at most beside their text, in bytes: an object, the first
#: field of one, a list, an item. All are measured; most values take less.
_OBJECT, _FIELD, _LIST, _ITEM = 112, 120, 72, 76
#: Only content of this size can take much memory.
_LARGE = 1 << 20
#: Content may take so many times its size, and so much beside it.
MOST_TIMES = 20
FREE_BYTES = 24 * 1024 * 1024


def check_density(content: bytes) -> None:
    """Refuse content that is nearly nothing but brackets and commas: millions of empty values take far more memory.

    Raises:
        ReadError: It would take more than 20 times its size.
    """
    objects = content.count(b"{")
    needed = _OBJECT * objects + _FIELD * min(objects, content.count(b":"))
    needed += _LIST * content.count(b"[") + _ITEM * content.count(b",")
    if needed > MOST_TIMES * len(content) + FREE_BYTES:
        raise ReadError(
            f"is {len(content):,} bytes of next to nothing but empty values, which would take "
            f"{needed // len(content)} times that in memory; runs have words: write one run a line"
        )


def parse_json(content: bytes, *, nan_is_null: bool = False) -> Any:
    """Decode JSON bytes.

    A lone surrogate escape, which a cut emoji leaves behind, becomes U+FFFD; everything else that is no JSON is
    an error that says what is wrong.

    Args:
        content: The bytes, in UTF-8.
        nan_is_null: Take NaN and the infinities, which Python writes, as null. Otherwise they are an error.

    Raises:
        ReadError: It is no JSON, or far too large when decoded.

    Example:
        >>> parse_json(b'{"mean": NaN}', nan_is_null=True)
        {'mean': None}
    """
    if len(content) > _LARGE:
        check_density(content)
    try:
        return decode(content)
    except RecursionError:
        raise ReadError("is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        problem = str(error)
    repaired = _ESCAPE.sub(_whole_characters, content) if b"\\u" in content else content
    try:
        text = repaired.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReadError(f"is not UTF-8 (byte {error.start + 1} is 0x{repaired[error.start]:02x})") from None
    try:
        if repaired != content:
            return decode(repaired)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    return _explained(text, problem, nan_is_null)


def _whole_characters(match: re.Match[bytes]) -> bytes:
    return match.group() if match.group("pair") or match.group("other") else b"\\ufffd"


def _explained(text: str, problem: str, nan_is_null: bool) -> Any:
    """What Python's own reader, which says where the mistake is, finds; its value where only NaN was in the way."""
    try:
        value = json.loads(text, parse_constant=_null if nan_is_null else _no_constant)
    except RecursionError:
        raise ReadError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        place = f"(line {error.lineno}, column {error.colno})"
        if not rest or error.msg.startswith("Unterminated string"):
            raise ReadError(f"is cut: the JSON ends in the middle of a value {place}") from None
        raise ReadError(f"is no JSON: {error.msg[0].lower()}{error.msg[1:]} {place}") from None
    except ValueError as error:
        raise ReadError(f"is no JSON: {error if isinstance(error, _ConstantError) else problem}") from None
    if nan_is_null:
        return value
    raise ReadError(f"is no JSON: {problem}")


class _ConstantError(ValueError):
    """JSON has no NaN and no Infinity."""


def _no_constant(name: str) -> Any:
    raise _ConstantError(f"{name} is no JSON value; write null")


def _null(_name: str) -> None:
    return None
