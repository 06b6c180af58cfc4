"""Live scoring: scores what an agent does while it serves, in the background."""

from __future__ import annotations

from referee.live.counts import Counts, Drop
from referee.live.live import Live
from referee.live.request import request

__all__ = ["Counts", "Drop", "Live", "request"]
