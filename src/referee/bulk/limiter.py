"""Hands out a judge's places to processes, and keeps its budget, for all of them together."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable

from referee.bulk.judging import JudgeSettings
from referee.errors import BudgetError
from referee.scores import JudgeUsage

#: The places of a process that is silent for so many seconds are handed out again.
SILENT_SECONDS = 30.0


class Limiter:
    """Hands out places to processes, in the order of asking, and keeps one budget.

    Args:
        judging: How many places there are, and the budget.
        clock: Tells the time in seconds.
    """

    def __init__(self, judging: JudgeSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = judging.concurrency
        self._budget = judging.budget
        self._clock = clock
        self._held: Counter[str] = Counter()
        self._heard: dict[str, float] = {}
        self._waiting: deque[tuple[str, str, asyncio.Future[None]]] = deque()

    async def acquire(self, holder: str, turn: str) -> None:
        """Wait for a place.

        Args:
            holder: The process.
            turn: Its name for this waiting.
        """
        self._heard[holder] = self._clock()
        if self._free:
            self._free -= 1
            self._held[holder] += 1
        else:
            granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((holder, turn, granted))
            await granted

    async def release(self, holder: str) -> None:
        """Give a place back."""
        if self._held[holder]:
            self._held[holder] -= 1
            self._hand_on()

    async def abandon(self, holder: str, turn: str) -> None:
        """Wait no longer; a place that was granted meanwhile goes back."""
        for entry in self._waiting:
            if entry[1] == turn:
                self._waiting.remove(entry)
                return
        await self.release(holder)

    async def renew(self, holder: str) -> None:
        """Hear that a process is there, and take back what those hold that are not."""
        now = self._clock()
        self._heard[holder] = now
        for silent in [name for name, heard in self._heard.items() if now - heard > SILENT_SECONDS]:
            del self._heard[silent]
            for entry in [entry for entry in self._waiting if entry[0] == silent]:
                self._waiting.remove(entry)
                entry[2].cancel()
            for _ in range(self._held.pop(silent, 0)):
                self._hand_on()

    def _hand_on(self) -> None:
        if self._waiting:
            holder, _, granted = self._waiting.popleft()
            self._held[holder] += 1
            granted.set_result(None)
        else:
            self._free += 1

    async def reserve(self, estimate: JudgeUsage) -> str | None:
        """Count a request that is about to be sent; why it does not fit, or `None`."""
        assert self._budget is not None
        try:
            self._budget.reserve(estimate)
        except BudgetError as error:
            return str(error)
        return None

    async def settle(self, estimate: JudgeUsage, spent: JudgeUsage) -> None:
        """Put what a request really cost in place of its estimate."""
        assert self._budget is not None
        self._budget.settle(estimate, spent)
