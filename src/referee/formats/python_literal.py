"""Python's own text of plain values, which some instrumentations record in place of JSON."""

from __future__ import annotations

import re
from typing import Any

#: Deeper nested text stays text.
_DEEPEST = 60
#: Longer text stays text: such records are short, and text is what a scorer can always read.
_LONGEST = 1 << 20

_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"None\b|True\b|False\b|-?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)")
_TEXT = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0"}
_WORDS = {"None": None, "True": True, "False": False}


class _NoLiteralError(ValueError):
    """The text is no plain Python value."""


def python_literal(text: str) -> Any:
    """The value of a Python dictionary, list or tuple of plain values; any other text is given back as it is.

    Nothing is executed: names, calls and operators make it "any other text". Tuples become lists.

    Example:
        >>> python_literal("{'city': 'Ghent', 'days': (1, 2), 'rain': None}")
        {'city': 'Ghent', 'days': [1, 2], 'rain': None}
        >>> python_literal("{'run': open('x')}")
        "{'run': open('x')}"
    """
    if text[:1] not in ("{", "[", "(") or len(text) > _LONGEST:
        return text
    try:
        value, end = _value(text, 0, 0)
    except _NoLiteralError:
        return text
    return value if _skip(text, end) == len(text) else text


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    at = _skip(text, at)
    first = text[at : at + 1]
    if depth > _DEEPEST:
        raise _NoLiteralError
    if first == "{":
        return _dictionary(text, at + 1, depth + 1)
    if first == "[":
        return _items(text, at + 1, "]", depth + 1)
    if first == "(":
        return _items(text, at + 1, ")", depth + 1)
    if first in ("'", '"'):
        return _text(text, at)
    found = _WORD.match(text, at)
    if found is None:
        raise _NoLiteralError
    return _number(found.group()), found.end()


def _number(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    # A whole number that JSON readers keep exactly stays whole.
    return int(word) if word.lstrip("-").isdigit() and len(word) < 19 else float(word)


def _text(text: str, at: int) -> tuple[str, int]:
    found = _TEXT.match(text, at)
    if found is None:
        raise _NoLiteralError
    return _ESCAPE.sub(_unescaped, found.group()[1:-1]), found.end()


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return _ESCAPES.get(code, code)


def _items(text: str, at: int, close: str, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while True:
        at = _skip(text, at)
        if text[at : at + 1] == close:
            return items, at + 1
        item, at = _value(text, at, depth)
        items.append(item)
        at = _comma(text, at, close)


def _dictionary(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    fields: dict[str, Any] = {}
    while True:
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            return fields, at + 1
        key, at = _value(text, at, depth)
        at = _skip(text, at)
        if not isinstance(key, str) or text[at : at + 1] != ":":
            raise _NoLiteralError
        fields[key], at = _value(text, at + 1, depth)
        at = _comma(text, at, "}")


def _comma(text: str, at: int, close: str) -> int:
    """The place after a comma, or of the closing bracket."""
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return at + 1
    if text[at : at + 1] != close:
        raise _NoLiteralError
    return at
