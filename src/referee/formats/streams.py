"""Server-sent events: how providers send an answer piece by piece."""

from __future__ import annotations

import re
from typing import Any, TypeGuard

import msgspec

from referee.jsonvalue import decode

_STARTS = ("data:", "event:", "id:", ":")
_END_OF_EVENT = re.compile(r"\r?\n[ \t]*\r?\n")


def is_stream(value: Any) -> TypeGuard[str]:
    """Whether a value is the text of a stream of events."""
    return isinstance(value, str) and value.lstrip("\ufeff \t\r\n").startswith(_STARTS)


def stream_of(record: Any) -> str | None:
    """The stream's text of a record `{"stream": ...}`, which a recorded stream without its request is read as."""
    value = record.get("stream") if isinstance(record, dict) else None
    return value if is_stream(value) else None


def events(text: str) -> tuple[list[dict[str, Any]], bool]:
    """The events of a stream as JSON objects, and whether the stream was cut in the middle of one.

    Events that are no JSON object, like `[DONE]`, are left out.

    Example:
        >>> events('data: {"n": 1}\\n\\ndata: [DONE]\\n\\n'), events('data: {"n": 1}\\n\\ndata: {"n')
        (([{'n': 1}], False), ([{'n': 1}], True))
    """
    found: list[dict[str, Any]] = []
    cut = False
    for block in _END_OF_EVENT.split(text):
        data = [line[5:].lstrip(" ") for line in block.splitlines() if line.startswith("data:")]
        # Some recorders lose the blank lines between events; then each line of data is one.
        for piece in ["\n".join(data)] if _is_json(data) else data:
            if not piece.strip() or piece.strip() == "[DONE]":
                continue
            try:
                event = decode(piece)
            except (msgspec.MsgspecError, RecursionError, UnicodeError):
                cut = True
                continue
            if isinstance(event, dict):
                found.append(event)
    return found, cut


def _is_json(lines: list[str]) -> bool:
    """Whether several lines of data are one event, as the standard joins them."""
    if len(lines) < 2:
        return False
    try:
        decode("\n".join(lines))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return False
    return True
