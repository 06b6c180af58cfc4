"""JSON values: equality, canonical text and digest.

Equality is structural: the order of object keys is irrelevant, numbers compare by
value (20 equals 20.0), a boolean never equals a number, a string never equals a number.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, TypeGuard

import msgspec

from referee.errors import OptionError

#: Decodes JSON text or bytes into plain Python values.
decode = msgspec.json.Decoder().decode

_canonical = msgspec.json.Encoder(order="sorted").encode
_encode = msgspec.json.Encoder().encode
#: Bytes that tell the kinds of values apart, faster than JSON's text.
_pack = msgspec.msgpack.Encoder().encode
#: What encoding raises for a value that is no JSON.
NOT_JSON = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)

_NESTING = (dict, list, tuple)
_SINGLE = frozenset({str, int, float, bool, type(None)})


def equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal.

    Raises:
        RecursionError: The values are nested deeper than Python's recursion limit.

    Example:
        >>> equal({"a": 20, "b": [True]}, {"b": [True], "a": 20.0}), equal(True, 1), equal("7", 7)
        (True, False, False)
    """
    # Python's own equality is coarser than JSON's only where a boolean meets a number, so it decides quickly
    # that two values differ.
    return bool(left == right) and same_kinds(left, right)


def same_kinds(left: Any, right: Any) -> bool:
    """Whether two values that Python calls equal are equal as JSON: no boolean stands where the other has a number.

    Raises:
        RecursionError: The values are nested deeper than Python's recursion limit.

    Example:
        >>> same_kinds([1, {"a": 2}], [1.0, {"a": 2.0}]), same_kinds([True], [1])
        (True, False)
    """
    if type(left) is type(right) and type(left) in _SINGLE:
        return True
    # Those with the same bytes have the same kinds; only the rest are walked.
    try:
        if _pack(left) == _pack(right):
            return True
    except NOT_JSON:
        pass
    return _same_kinds(left, right)


def is_finite_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a number that a float can hold: no boolean, no NaN, not infinite, no whole number beyond them.

    Example:
        >>> is_finite_number(1), is_finite_number(True), is_finite_number(float("nan")), is_finite_number(10**400)
        (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def require_flag(value: Any, where: str) -> bool:
    """The value, if it is true or false.

    Raises:
        OptionError: It is not; a text like "no" would count as true.
    """
    if not isinstance(value, bool):
        raise OptionError(f"{where} must be true or false, not {value!r}")
    return value


def plain_copy(value: Any, levels: int) -> Any:
    """A copy of a value that is pure JSON and surely not nested deeper than so many levels; else `None`.

    Example:
        >>> plain_copy({"a": [1]}, 9), plain_copy({"a": (1,)}, 9), plain_copy([[[]]], 2)
        ({'a': [1]}, None, None)
    """
    try:
        text = _encode(value)
        if text.count(b"{") + text.count(b"[") > levels:
            return None
        copy = decode(text)
    except NOT_JSON:
        return None
    return copy if copy == value else None


def _same_kinds(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return all(_same_kinds(value, right[key]) for key, value in left.items())
    if isinstance(left, (list, tuple)):
        return all(map(_same_kinds, left, right))
    return (left is True or left is False) == (right is True or right is False)


def key(value: Any) -> Any:
    """A hashable value for a JSON value: two keys are equal exactly when the values are (`equal`).

    Raises:
        RecursionError: The value is nested deeper than Python's recursion limit.

    Example:
        >>> key({"a": 20, "b": [1]}) == key({"b": [1.0], "a": 20}), key([True]) == key([1])
        (True, False)
    """
    if isinstance(value, dict):
        return "object", frozenset([(name, key(item)) for name, item in value.items()])
    if isinstance(value, (list, tuple)):
        return "list", tuple(map(key, value))
    if value is True or value is False:
        return "boolean", value
    return value if value.__hash__ else ("text", repr(value))  # the last only for values that are no JSON


def canonical(value: Any) -> bytes:
    """The value as JSON with sorted keys and no white space: equal values of one shape give equal bytes.

    Example:
        >>> canonical({"b": 1, "a": [True, None]})
        b'{"a":[true,null],"b":1}'
    """
    return _canonical(value)


def digest(value: Any) -> str:
    """SHA-256 of the canonical text, as 64 hexadecimal digits. Text may hold halves of surrogate pairs."""
    try:
        text = _canonical(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest()


def deeper_than(value: Any, levels: int) -> bool:
    """Whether objects and lists are nested inside each other more than so many times. Does not recurse.

    Example:
        >>> deeper_than([[1], {"a": 2}], 2), deeper_than([[1], {"a": 2}], 1), deeper_than("text", 0)
        (False, True, False)
    """
    if isinstance(value, str):
        return False
    try:
        text = _encode(value)
        if text.count(b"{") + text.count(b"[") <= levels:
            return False
    except NOT_JSON:
        pass
    level = [value] if isinstance(value, _NESTING) else []
    for _ in range(levels):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _NESTING)
        ]
    return bool(level)
