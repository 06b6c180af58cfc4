"""Fingerprints: plain data that changes whenever the meaning of a value changes."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

import msgspec


def fingerprint(value: Any) -> Any:
    """Plain data that changes when the value's meaning changes.

    Plain data stands for itself, a function for its source, a struct for its fields; anything else (a scorer, a
    step, a judge) has an attribute `fingerprint` of its own, or its class's source is taken.

    Example:
        >>> fingerprint({"b": (1, 2.0), "a": None})
        {'b': [1, 2.0], 'a': None}
    """
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): fingerprint(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, map(fingerprint, value)))
    if isinstance(value, (list, tuple)):
        return [fingerprint(item) for item in value]
    own = None if isinstance(value, type) else getattr(value, "fingerprint", None)
    if own is not None:
        return own
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    return _code_fingerprint(value)


def _code_fingerprint(value: Any) -> str:
    target = value if inspect.isroutine(value) or isinstance(value, type) else type(value)
    try:
        text = inspect.getsource(target)
    except (OSError, TypeError):
        text = _code_text(target)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _code_text(target: Any) -> str:
    code = getattr(target, "__code__", None)
    if code is None:
        return f"{getattr(target, '__module__', '')}.{getattr(target, '__qualname__', '')}"
    return f"{code.co_code.hex()} {code.co_names} {[const for const in code.co_consts if not inspect.iscode(const)]}"
