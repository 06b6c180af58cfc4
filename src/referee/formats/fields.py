"""Fields of records whose shape is not certain: each function gives a value of its type, or nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from referee.messages import Role, Text
from referee.runs import Usage

#: A whole number from here on has no float.
_TOO_LARGE = 1 << 1000


def text(record: dict[str, Any], *names: str) -> str | None:
    """The first of the named fields that is text and not empty.

    Example:
        >>> text({"id": "", "call_id": "c1"}, "id", "call_id")
        'c1'
    """
    for name in names:
        if name in record:
            value = record[name]
            if isinstance(value, str) and value:
                return value
    return None


def role_of(message: dict[str, Any], roles: dict[str, Role]) -> Role | None:
    """The role of a message by the format's own word for it; `None` of a word that the format does not have."""
    word = message.get("role")
    return roles.get(word) if isinstance(word, str) else None


def integer(record: dict[str, Any], *names: str) -> int | None:
    """The first of the named fields that is a whole number."""
    for name in names:
        if name in record and type(record[name]) is int:
            found: int = record[name]
            return found
    return None


def number(record: dict[str, Any], *names: str) -> float | None:
    """The first of the named fields that is a number, as a float."""
    for name in names:
        value = record.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _TOO_LARGE:
            return float(value)
    return None


def mapping(value: Any) -> dict[str, Any]:
    """The value, if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value, if it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; nothing else of it, and nothing of any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def type_name(value: Any) -> str:
    """What a report calls a value that is no object.

    Example:
        >>> type_name(None), type_name([1])
        ('null', 'list')
    """
    return "null" if value is None else type(value).__name__


def joined_texts(content: Any) -> Any:
    """The text of a list of text parts, joined by newlines; the content as it is when some of it is no text.

    Example:
        >>> joined_texts([{"type": "text", "text": "rain"}, "later sun"]), joined_texts([{"type": "image"}])
        ('rain\\nlater sun', [{'type': 'image'}])
    """
    if not isinstance(content, list):
        return content
    texts = [
        part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None for part in content
    ]
    return "\n".join(texts) if all(isinstance(part, str) for part in texts) else content  # type: ignore[arg-type]


def total(usages: list[Usage]) -> Usage | None:
    """The sum of what several model calls used; `None` of none."""
    if not usages:
        return None

    def added(name: str) -> int | None:
        values = [getattr(usage, name) for usage in usages]
        return None if all(value is None for value in values) else sum(value or 0 for value in values)

    return Usage(*(added(name) for name in Usage.__struct_fields__))


def as_text(value: Any) -> Text:
    """A structured answer as the text that a scorer reads: its JSON.

    Example:
        >>> as_text({"city": "Ghent"}).text
        '{"city":"Ghent"}'
    """
    return Text(value if isinstance(value, str) else msgspec.json.encode(value).decode())
