"""What an engine is, and the error of work that breaks off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from referee.bulk.scoring import Part
from referee.bulk.shards import Shard
from referee.errors import RefereeError


class Engine(Protocol):
    """Scores shards, wherever that is.

    Attributes:
        sends_content: Whether lines can be sent to those who score; else they read the files themselves.
        processes: About how many score at once.
    """

    sends_content: bool
    processes: int

    def parts(self, shards: Iterator[Shard]) -> Iterator[tuple[Shard, Part]]:
        """Score the shards; give their parts, those of a shard in their order.

        Raises:
            OptionError: The shards can't be scored at all.
            BrokenOffError: They can't be scored now.
        """
        ...


class BrokenOffError(RefereeError):
    """Scoring broke off. What was written before is whole, and the rest may be done later."""
