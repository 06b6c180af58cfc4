"""The limits of a judge that is asked from many machines: one actor hands out the places and keeps the budget."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from typing import Any

from referee.bulk.judging import JudgeSettings
from referee.bulk.limiter import Limiter
from referee.bulk.ray_import import ray
from referee.errors import BudgetError
from referee.judge import Budget
from referee.judge.limits import Limits
from referee.scores import JudgeUsage

#: A process says so often that it is there.
_RENEWED_SECONDS = 2.0


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
