"""What became of the runs that a scorer received."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

#: Why a run was dropped: its scorer's queue was full; the scoring was closed; the time to finish at the end was up.
DropReason: TypeAlias = Literal["queue_full", "closed", "deadline"]


class Counts(msgspec.Struct):
    """What became of the runs that one scorer received. Every run is in exactly one of the other numbers.

    Attributes:
        received: Runs that were submitted.
        filtered: Left out by the filter.
        sampled_out: Left out by the sampling.
        dropped: Not scored for want of room or time.
        pending: Accepted, and not finished yet.
        scored: With a score; stored, where there is a store.
        not_scorable: There was nothing to evaluate.
        failed: The run could not be read, the scorer failed, or its score could not be stored.

    Example:
        >>> Counts(received=3, scored=2, failed=1).balanced
        True
    """

    received: int = 0
    filtered: int = 0
    sampled_out: int = 0
    dropped: int = 0
    pending: int = 0
    scored: int = 0
    not_scorable: int = 0
    failed: int = 0

    @property
    def balanced(self) -> bool:
        """Whether every run that was received is accounted for."""
        left_out = self.filtered + self.sampled_out + self.dropped
        return self.received == left_out + self.pending + self.scored + self.not_scorable + self.failed


class Drop(msgspec.Struct, frozen=True):
    """Runs that one scorer had to drop. Given to `on_drop`.

    Attributes:
        scorer: The scorer's name in `Live(scorers=...)`.
        reason: `queue_full`, `closed` or `deadline`.
        count: How many runs, since it was last told.
    """

    scorer: str
    reason: DropReason
    count: int
