"""The places and the budget that many processes share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from referee.bulk.judging import JudgeSettings
from referee.bulk.limiter import SILENT_SECONDS, Limiter
from referee.scores import JudgeUsage


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def soon(asked: Awaitable[None]) -> asyncio.Task[None]:
    """The task, after all that can happen now has happened."""
    task = asyncio.ensure_future(asked)
    for _ in range(5):
        await asyncio.sleep(0)
    return task


def test_places_are_handed_out_in_the_order_of_asking() -> None:
    async def main() -> None:
        limiter = Limiter(JudgeSettings(concurrency=2))
        first, second, third, fourth = [await soon(limiter.acquire(name, name)) for name in "abcd"]
        assert [task.done() for task in (first, second, third, fourth)] == [True, True, False, False]
        await limiter.release("b")
        await soon(asyncio.sleep(0))
        assert (third.done(), fourth.done()) == (True, False)
        await limiter.release("b")  # it has none: nothing is handed on
        await soon(asyncio.sleep(0))
        assert not fourth.done()
        await limiter.release("a")
        await soon(asyncio.sleep(0))
        assert fourth.done()

    asyncio.run(main())


def test_who_waits_no_longer_takes_no_place() -> None:
    async def main() -> None:
        limiter = Limiter(JudgeSettings(concurrency=1))
        await limiter.acquire("a", "1")
        waiting = await soon(limiter.acquire("b", "2"))
        granted = await soon(limiter.acquire("c", "3"))
        await limiter.abandon("b", "2")
        await limiter.release("a")
        await limiter.abandon("c", "3")  # it was granted a moment before
        await asyncio.wait_for(limiter.acquire("d", "4"), 5)
        assert granted.done()
        waiting.cancel()

    asyncio.run(main())


def test_the_places_of_a_process_that_is_gone_are_handed_out_again() -> None:
    async def main() -> None:
        clock = Clock()
        limiter = Limiter(JudgeSettings(concurrency=2), clock)
        await limiter.acquire("gone", "1")
        await limiter.acquire("gone", "2")
        lost = await soon(limiter.acquire("gone", "3"))
        waiting = await soon(limiter.acquire("here", "4"))
        clock.now += SILENT_SECONDS
        await limiter.renew("here")
        assert not waiting.done()
        clock.now += 1
        await limiter.renew("here")
        await soon(asyncio.sleep(0))
        assert waiting.done()
        assert lost.cancelled()
        await asyncio.wait_for(limiter.acquire("here", "5"), 5)
        assert not (await soon(limiter.acquire("here", "6"))).done()

    asyncio.run(main())


def test_one_budget_is_kept_for_all() -> None:
    async def main() -> None:
        limiter = Limiter(JudgeSettings(calls=2))
        estimate = JudgeUsage(attempts=1)
        assert await limiter.reserve(estimate) is None
        await limiter.settle(estimate, JudgeUsage(calls=1, attempts=1))
        assert await limiter.reserve(estimate) is None
        assert await limiter.reserve(estimate) == "the budget of 2 calls is used up"

    asyncio.run(main())
