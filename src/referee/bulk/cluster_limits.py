"""The limits of a judge that is asked from many machines: one actor hands out the places and keeps the budget."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections import Counter, deque
from typing import Any

from referee.bulk.judging import JudgeSettings
from referee.bulk.ray_import import ray
from referee.errors import BudgetError
from referee.judge import Budget
from referee.judge.limits import Limits
from referee.scores import JudgeUsage

#: A process says so often that it is there; the places of one that is silent for so long are handed out again.
_RENEWED_SECONDS, _SILENT_SECONDS = 2.0, 30.0


class Limiter:
    """Hands out places to processes, in the order of asking, and keeps one budget. It runs as an actor.

    Args:
        judging: How many places there are, and the budget.
        clock: Tells the time in seconds.
    """

    def __init__(self, judging: JudgeSettings, clock: Any = time.monotonic) -> None:
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
        for silent in [name for name, heard in self._heard.items() if now - heard > _SILENT_SECONDS]:
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


def start_limiter(judging: JudgeSettings) -> Any:
    """The actor, on this machine: it lives as long as the command."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor: Any = ray.remote(Limiter)
    return actor.options(num_cpus=0, max_concurrency=10_000, scheduling_strategy=here).remote(judging)


class ClusterLimits(Limits):
    """The limits of all machines, for a judge of this process.

    Args:
        limiter: The actor.
    """

    def __init__(self, limiter: Any) -> None:
        super().__init__()
        self.places = _ClusterPlaces(limiter)  # type: ignore[assignment]


class _ClusterPlaces:
    """The places of all machines, asked for in the name of this process."""

    def __init__(self, limiter: Any) -> None:
        self._limiter = limiter
        self._holder = uuid.uuid4().hex
        threading.Thread(target=self._renew, name="referee-limits", daemon=True).start()

    async def __aenter__(self) -> None:
        turn = uuid.uuid4().hex
        try:
            await self._limiter.acquire.remote(self._holder, turn)
        except asyncio.CancelledError:
            self._limiter.abandon.remote(self._holder, turn)
            raise

    async def __aexit__(self, *_exception: object) -> None:
        self._limiter.release.remote(self._holder)

    def _renew(self) -> None:
        while True:
            try:
                ray.get(self._limiter.renew.remote(self._holder))
            except ray.exceptions.RayError:  # the command has ended
                return
            time.sleep(_RENEWED_SECONDS)


class ClusterBudget(Budget):
    """The budget of all machines, for a judge of this process.

    Args:
        limiter: The actor.
        judging: The budget's limits.
    """

    def __init__(self, limiter: Any, judging: JudgeSettings) -> None:
        super().__init__(calls=judging.calls, money=judging.money)
        self._limiter = limiter

    def reserve(self, estimate: JudgeUsage) -> None:
        """Count a request that is about to be sent.

        Raises:
            BudgetError: It does not fit.
        """
        problem = ray.get(self._limiter.reserve.remote(estimate))
        if problem is not None:
            raise BudgetError(problem)

    def settle(self, estimate: JudgeUsage, spent: JudgeUsage) -> None:
        """Put what a request really cost in place of its estimate."""
        self.spent += spent  # for the mean reply
        self._limiter.settle.remote(estimate, spent)
