"""Values on one line, for people: quoted, shortened, and without characters that a terminal obeys."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from referee.jsonvalue import NOT_JSON, decode

_encode_json = msgspec.json.Encoder().encode
_encode_text = json.encoder.encode_basestring
_WORDS = {None: "null", True: "true", False: "false"}


def told(value: Any) -> str:
    """An object's `repr`; one that has none is told by its type.

    Example:
        >>> told({1}), told(10**5000)
        ('{1}', '<int>')
    """
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


#: One encoder for all values: `json.dumps` with options makes a new one each time.
_encode = json.JSONEncoder(ensure_ascii=False, default=told).encode


def quoted(text: str, most: int = 80) -> str:
    """The text in double quotes on one line, shortened in the middle with its length when it is long.

    Example:
        >>> quoted("sunny"), quoted("x" * 200, 10)
        ('"sunny"', '"xxxxx…xxxxx" (200 characters)')
    """
    if len(text) <= most:
        return f'"{printable(text)}"'
    half = most // 2
    return f'"{printable(text[:half])}…{printable(text[-half:])}" ({len(text):,} characters)'


def printable(text: str) -> str:
    """The text with every character that is not printable (line ends, escapes, direction marks) written as an escape.

    Example:
        >>> printable("a\\n\\x1b[31mb")
        'a\\\\n\\\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def shown(value: Any, most: int = 80) -> str:
    """A JSON value as its text on one line, cut after `most` characters; any other Python value as its `repr`.

    Example:
        >>> shown({"city": "Ghent", "days": [1, 2]}), shown(list(range(100)), 10)
        ('{"city": "Ghent", "days": [1, 2]}', '[0, 1, 2,…')
    """
    return cut(json_text(value), most)


def shown_pair(left: Any, right: Any, most: int = 80) -> tuple[str, str]:
    """Two values as `shown`, but long ones are cut so that the place where they differ is seen.

    Example:
        >>> shown_pair("a" * 90 + "left", "a" * 90 + "right", 20)
        ('…aaaaaaaaaleft"', '…aaaaaaaaaright"')
    """
    texts = json_text(left), json_text(right)
    if max(map(len, texts)) <= most:
        return texts
    same = next((index for index, (one, other) in enumerate(zip(*texts)) if one != other), min(map(len, texts)))
    start = max(0, same - most // 2 + 1)
    lead = "…" if start else ""
    return lead + cut(texts[0][start:], most), lead + cut(texts[1][start:], most)


def cut(text: str, most: int) -> str:
    """The text, or its first characters and an ellipsis, `most` characters at most."""
    return text if len(text) <= most else text[: most - 1] + "…"


def json_text(value: Any) -> str:
    """The value as JSON on one line with only printable characters."""
    return printable(_json(value))


def _json(value: Any) -> str:
    if type(value) is str:
        return _encode_text(value)
    if type(value) is int:
        return told(value)
    if value is None or value is True or value is False:
        return _WORDS[value]
    try:
        text = _encode_json(value)
        if decode(text) == value:  # nothing in it that is no JSON, such as NaN
            return msgspec.json.format(text, indent=0).decode()
    except NOT_JSON:
        pass
    try:
        return _encode(value)
    except ValueError:  # a whole number of thousands of digits, or an object that holds itself
        return told(value)


def arguments_text(args: Any, most: int = 120) -> str:
    """The arguments of a call as they stand between its brackets, on one line with only printable characters.

    Example:
        >>> arguments_text({"seat": "4A", "count": 2}), arguments_text(None), arguments_text("ls -l")
        ('seat="4A", count=2', '', '"ls -l"')
        >>> arguments_text({"seat": "4A", "count": 2}, 12)
        'seat="4A", …'
    """
    if args is None:
        return ""
    if type(args) is not dict:
        return shown(args, most)
    pieces = []
    room = most + 2  # the last piece needs no comma
    for name, value in args.items():
        piece = f"{name}={_json(value)}"
        pieces.append(piece)
        room -= len(piece) + 2
        if room < 0:
            break
    return cut(printable(", ".join(pieces)), most)
