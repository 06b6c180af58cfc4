"""Limits: how many requests are under way at once, and how many requests and tokens go out a minute.

One `Limits` is shared by everything that uses a judge, from any thread and any event loop. A request that has to wait
before it is sent again holds no place, so one slow-down never stops the others.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable

from referee.judge.exchange import Reply, Request, Transport
from referee.judge.numbers import require_number
from referee.judge.tokens import estimated_tokens


class Limits:
    """How many requests may be under way at once, and how many requests and tokens may go out a minute.

    Args:
        concurrency: Requests under way at once.
        requests_per_minute: Requests a minute, evenly spaced; `None` sets no limit.
        tokens_per_minute: Tokens a minute, of prompts and replies; `None` sets no limit.

    Raises:
        OptionError: A limit is no number above 0.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> shared = Limits(concurrency=4, requests_per_minute=600)
        >>> cheap, strict = (Judge(ScriptedModel(["yes"]), limits=shared) for _ in range(2))
    """

    def __init__(
        self,
        concurrency: int = 20,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        require_number("concurrency", concurrency, least=1, whole=True)
        require_number("requests_per_minute", requests_per_minute, above=0)
        require_number("tokens_per_minute", tokens_per_minute, above=0)
        self.places = Places(concurrency)
        self.requests = Pace(requests_per_minute) if requests_per_minute is not None else None
        self.tokens = Pace(tokens_per_minute) if tokens_per_minute is not None else None


class Limited:
    """Sends a request when the limits allow it."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits

    async def send(self, request: Request) -> Reply:
        """Wait for a free place and for the pace, then send.

        Raises:
            JudgeError: There is no reply.
        """
        limits = self._limits
        async with limits.places:
            if limits.requests is not None:
                await limits.requests.wait(1)
            if limits.tokens is None:
                return await self._transport.send(request)
            estimate = estimated_tokens(request.text)
            await limits.tokens.wait(estimate)
            reply = await self._transport.send(request)
            limits.tokens.add(reply.usage.input_tokens + reply.usage.output_tokens - estimate)
            return reply


class Places:
    """A number of places, handed out in the order of asking. Unlike `asyncio.Semaphore` it serves several event loops."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = threading.Lock()
        self._waiting: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def __aenter__(self) -> None:
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return
            loop = asyncio.get_running_loop()
            turn = (loop, loop.create_future())
            self._waiting.append(turn)
        try:
            await turn[1]
        except asyncio.CancelledError:
            with self._lock:
                waiting = turn in self._waiting
                if waiting:
                    self._waiting.remove(turn)
            if not waiting and not turn[1].cancelled():
                self._hand_on()
            raise

    async def __aexit__(self, *_exception: object) -> None:
        self._hand_on()

    def _hand_on(self) -> None:
        """Give the place to the next one who waits, else put it back."""
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            loop, future = self._waiting.popleft()
        if loop is _running_loop():
            self._grant(future)
            return
        try:
            loop.call_soon_threadsafe(self._grant, future)
        except RuntimeError:  # its loop is closed: nobody waits there any more
            self._hand_on()

    def _grant(self, future: asyncio.Future[None]) -> None:
        if future.cancelled():
            self._hand_on()
        else:
            future.set_result(None)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Pace:
    """Spaces things out to so many a minute.

    Args:
        per_minute: How many a minute.
        clock: Tells the time in seconds.

    Example:
        >>> pace = Pace(60, clock=lambda: 100.0)
        >>> pace.reserve(1), pace.reserve(1), pace.reserve(1)
        (0.0, 1.0, 2.0)
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds_each = 60.0 / per_minute
        self._clock = clock
        self._next = 0.0
        self._lock = threading.Lock()

    def reserve(self, count: float) -> float:
        """Take the next turn for so many; give the seconds until it comes."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + count * self._seconds_each
            return turn - now

    def add(self, count: float) -> None:
        """Count so many more (or fewer) than were reserved."""
        with self._lock:
            self._next += count * self._seconds_each

    async def wait(self, count: float) -> None:
        """Wait for the next turn for so many."""
        seconds = self.reserve(count)
        if seconds > 0:
            await asyncio.sleep(seconds)
