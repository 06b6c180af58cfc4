"""Live objects of agent frameworks: results and messages in memory, which are read without being written first.

The frameworks are never imported here: an object is told by the package that its class comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import msgspec

from referee.errors import ReadError

#: The module whose `record_of` reads the objects of a package.
_READERS = {
    "agents": "referee.formats.openai_agents",
    "langchain_core": "referee.formats.langchain",
    "langgraph": "referee.formats.langchain",
    "pydantic_ai": "referee.formats.pydantic_ai",
}
_SCALARS: frozenset[type] = frozenset({str, int, float, bool, type(None)})
_PLAIN = _SCALARS | {dict, list, bytes}


def as_record(obj: Any) -> Any:
    """The record that an object is: a framework's own object as plain data, anything else as it is.

    A list of live messages and a state `{"messages": [...]}` are known by their first message.
    """
    reader = _READERS.get(_package(_sample(obj)) or "")
    return obj if reader is None else import_module(reader).record_of(obj)


def _sample(obj: Any) -> Any:
    if type(obj) is dict:
        obj = obj.get("messages")
    return obj[0] if type(obj) is list and obj else obj


def _package(obj: Any) -> str | None:
    """The package among those known that an object's class comes from."""
    if type(obj) in _PLAIN:
        return None
    roots = (base.__module__.partition(".")[0] for base in type(obj).__mro__)
    return next((root for root in roots if root in _READERS), None)


def plain(value: Any) -> Any:
    """A Python value as JSON values: objects of data classes and models by their fields, the rest as its text.

    Raises:
        ReadError: It holds itself, or is nested too deeply.

    Example:
        >>> from datetime import date
        >>> plain({"day": date(2026, 3, 5), "seats": (1, 2)})
        {'day': '2026-03-05', 'seats': [1, 2]}
    """
    if type(value) in _SCALARS:
        return value
    try:
        if isinstance(value, Mapping):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [plain(item) for item in value]
        if hasattr(type(value), "model_fields") and hasattr(value, "model_dump"):
            return {str(key): plain(item) for key, item in value}
        if is_dataclass(value) and not isinstance(value, type):
            return {field.name: plain(getattr(value, field.name, None)) for field in fields(value)}
    except RecursionError:
        raise ReadError("holds itself, or is nested too deeply") from None
    try:
        return msgspec.to_builtins(value)
    except (TypeError, ValueError):
        return str(value)
