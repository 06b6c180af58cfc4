"""The ledger: counts every run of every scorer once, and lets in only as many as there is room for."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from referee.live.counts import Counts, Drop, DropReason

#: What became of one run before or after it was scored.
Outcome: TypeAlias = Literal["filtered", "sampled_out", "scored", "not_scorable", "failed"]


class Ledger:
    """Counts of all scorers under one lock, which is held for a few instructions and never while anything is done.

    Args:
        names: The scorers' names.
        room: How many runs of one scorer may be pending.
    """

    def __init__(self, names: Iterable[str], room: int) -> None:
        # Re-entrant: a signal handler may submit a run while its own thread is in here.
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._counts = {name: Counts() for name in names}
        self._room = room
        self._drops: dict[tuple[str, DropReason], int] = {}
        #: How many callers wait until nothing is pending.
        self.awaited = 0
        self._closed = False
        self._over = False

    def enter(self, decisions: Sequence[tuple[str, Outcome | None]]) -> list[str]:
        """Count a run that was received.

        Args:
            decisions: For each scorer its name, and what became of the run already; `None` when it is to be scored.

        Returns:
            The names of the scorers that take it.
        """
        accepted = []
        with self._lock:
            for name, outcome in decisions:
                counts = self._counts[name]
                counts.received += 1
                if outcome is not None:
                    _count(counts, outcome)
                elif self._closed:
                    self._drop(name, "closed")
                elif counts.pending >= self._room:
                    self._drop(name, "queue_full")
                else:
                    counts.pending += 1
                    accepted.append(name)
        return accepted

    def settle(self, outcomes: Iterable[tuple[str, Outcome]]) -> None:
        """Count runs that were pending by what became of them."""
        with self._lock:
            if self._over:
                return
            for name, outcome in outcomes:
                self._counts[name].pending -= 1
                _count(self._counts[name], outcome)
            self._settled.notify_all()

    def withdraw(self, names: Iterable[str], reason: DropReason) -> None:
        """Count runs that were accepted, and after all can't be scored, as dropped."""
        with self._lock:
            for name in names:
                self._counts[name].pending -= 1
                self._drop(name, reason)
            self._settled.notify_all()

    def close(self) -> None:
        """Take no more runs: from now on they are dropped."""
        with self._lock:
            self._closed = True

    def end(self) -> None:
        """Drop what is still pending: the time is up. Nothing is settled any more."""
        with self._lock:
            for name, counts in self._counts.items():
                self._drop(name, "deadline", counts.pending)
                counts.pending = 0
            self._over = True
            self._settled.notify_all()

    def wait(self, timeout: float | None) -> bool:
        """Wait until nothing is pending; whether that came about in so many seconds."""
        with self._settled:
            self.awaited += 1
            try:
                return self._settled.wait_for(self._is_idle, timeout)
            finally:
                self.awaited -= 1

    def counts(self) -> dict[str, Counts]:
        """A copy of the counts, by the scorers' names."""
        with self._lock:
            return {name: msgspec.structs.replace(counts) for name, counts in self._counts.items()}

    def take_drops(self) -> list[Drop]:
        """What was dropped since the last call."""
        with self._lock:
            drops, self._drops = self._drops, {}
        return [Drop(name, reason, count) for (name, reason), count in drops.items()]

    def _is_idle(self) -> bool:
        return not any(counts.pending for counts in self._counts.values())

    def _drop(self, name: str, reason: DropReason, count: int = 1) -> None:
        if count:
            self._counts[name].dropped += count
            self._drops[name, reason] = self._drops.get((name, reason), 0) + count


def _count(counts: Counts, outcome: Outcome) -> None:
    setattr(counts, outcome, getattr(counts, outcome) + 1)
