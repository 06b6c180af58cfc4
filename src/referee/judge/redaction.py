"""Keeps secrets out of everything that is shown or kept."""

from __future__ import annotations

from collections.abc import Iterable

_HIDDEN = "[hidden]"
#: Shorter ones are words that stand for "no key", such as EMPTY; hiding them would spoil texts.
_SHORTEST_SECRET = 8


def redacted(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets.

    Example:
        >>> redacted("wrong key sk-12345", ["sk-12345"])
        'wrong key [hidden]'
    """
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _HIDDEN)
    return text
