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

    A run arrives, is decided on by every scorer, and is settled by each that takes it.

    Args:
        names: The scorers' names.
        room: How many runs may wait to be decided on, and how many may be pending for one scorer.
    """

    def __init__(self, names: Iterable[str], room: int) -> None:
        # Re-entrant: a signal handler may submit a run while its own thread is in here.
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._counts = {name: Counts() for name in names}
        self._room = room
        self._received = 0
        self._undecided = 0
        # Runs that every scorer dropped are counted once, in the agent's time: all of them, and since they were last told.
        self._turned_away = 0
        self._untold: dict[DropReason, int] = {}
        self._drops: dict[tuple[str, DropReason], int] = {}
        #: How many callers wait until nothing is pending.
        self.awaited = 0
        self._closed = False
        self._over = False
        #: Whether something was still pending at the end.
        self.cut_short = False

    def arrive(self) -> bool:
        """Count a run that was received; whether there is room for it. If not, every scorer has dropped it."""
        with self._lock:
            self._received += 1
            if self._closed or self._undecided >= self._room:
                self._turn_away("closed" if self._closed else "queue_full")
                return False
            self._undecided += 1
            return True

    def withdraw(self) -> None:
        """Drop a run that has arrived and can't be passed on."""
        with self._lock:
            if self._over:
                return
            self._undecided -= 1
            self._turn_away("closed")
            self._settled.notify_all()

    def decide(self, decisions: Sequence[tuple[str, Outcome | None]]) -> list[str]:
        """Count what becomes of a run that has arrived.

        Args:
            decisions: For each scorer its name, and what became of the run already; `None` when it is to be scored.

        Returns:
            The names of the scorers that take it.
        """
        accepted = []
        with self._lock:
            if self._over:
                return []
            self._undecided -= 1
            for name, outcome in decisions:
                counts = self._counts[name]
                if outcome is not None:
                    _count(counts, outcome)
                elif counts.pending >= self._room:
                    self._drop(name, "queue_full")
                else:
                    counts.pending += 1
                    accepted.append(name)
            if self.awaited and not accepted:
                self._settled.notify_all()
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

    def close(self) -> None:
        """Take no more runs: from now on they are dropped."""
        with self._lock:
            self._closed = True

    def end(self) -> None:
        """Drop what is still pending: the time is up. Nothing is decided or settled any more."""
        with self._lock:
            if self._over:
                return
            self.cut_short = not self._is_idle()
            if self._undecided:
                self._turn_away("deadline", self._undecided)
            self._undecided = 0
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
            return {
                name: msgspec.structs.replace(
                    counts,
                    received=self._received,
                    pending=counts.pending + self._undecided,
                    dropped=counts.dropped + self._turned_away,
                )
                for name, counts in self._counts.items()
            }

    def take_drops(self) -> list[Drop]:
        """What was dropped since the last call."""
        with self._lock:
            for reason, count in self._untold.items():
                for name in self._counts:
                    self._drops[name, reason] = self._drops.get((name, reason), 0) + count
            self._untold = {}
            drops, self._drops = self._drops, {}
        return [Drop(name, reason, count) for (name, reason), count in drops.items()]

    def _is_idle(self) -> bool:
        return not self._undecided and not any(counts.pending for counts in self._counts.values())

    def _turn_away(self, reason: DropReason, count: int = 1) -> None:
        self._turned_away += count
        self._untold[reason] = self._untold.get(reason, 0) + count

    def _drop(self, name: str, reason: DropReason, count: int = 1) -> None:
        if count:
            self._counts[name].dropped += count
            self._drops[name, reason] = self._drops.get((name, reason), 0) + count


def _count(counts: Counts, outcome: Outcome) -> None:
    setattr(counts, outcome, getattr(counts, outcome) + 1)
