"""Live scoring: scores what an agent does while it serves, in the background.

Names are loaded when they are first used: the process that scores for this one needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from referee.live.counts import Counts, Drop
    from referee.live.live import Live
    from referee.live.requests import request

__all__ = ["Counts", "Drop", "Live", "request"]

#: Where each public name lives.
_HOME = {"Counts": "counts", "Drop": "counts", "Live": "live", "request": "requests"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'referee.live' has no attribute {name!r}")
    return getattr(import_module(f"referee.live.{_HOME[name]}"), name)
