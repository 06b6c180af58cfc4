"""Sends a request again after an error that may pass."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec

from referee.errors import EndpointError
from referee.judge.exchange import Reply, Request, Transport
from referee.scores import JudgeUsage

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0


class Retrying:
    """Sends a request again after an error that may pass: overload, a lost connection, a time-out.

    It waits as long as the endpoint asks, else twice as long each time with a random part, so that requests that failed
    together do not come back together. An endpoint that asks to wait longer than `max_wait` is an error at once.

    Args:
        transport: Sends one attempt.
        retries: How often a request is sent again.
        max_wait: The longest wait, in seconds, that an endpoint can ask for.
        sleep: Waits so many seconds.
        jitter: A random number from 0 to 1.
    """

    def __init__(
        self,
        transport: Transport,
        retries: int = 4,
        max_wait: float = 60.0,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._transport = transport
        self._retries = retries
        self._max_wait = max_wait
        self._sleep = sleep
        self._jitter = jitter

    async def send(self, request: Request) -> Reply:
        """Send the request until there is a reply or a lasting error.

        Raises:
            EndpointError: A lasting error, or the last of too many passing ones. Its usage counts all attempts.
            JudgeError: There is no reply for another reason.
        """
        spent = JudgeUsage()
        for attempt in range(1, self._retries + 2):
            try:
                reply = await self._transport.send(request)
            except EndpointError as error:
                spent += error.usage or JudgeUsage(attempts=1)
                error.usage = spent
                wait = self._wait(error, attempt)
                if wait is None:
                    raise
                await self._sleep(wait)
            else:
                return msgspec.structs.replace(reply, usage=spent + reply.usage)
        raise AssertionError("unreachable")

    def _wait(self, error: EndpointError, attempt: int) -> float | None:
        """Seconds until the request is sent again; `None` if it is not."""
        if not error.passing or attempt > self._retries:
            return None
        asked: float | None = error.retry_after
        if asked is not None:
            return asked * (1 + 0.1 * self._jitter()) if asked <= self._max_wait else None
        longest: float = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (attempt - 1))
        return longest * (0.5 + 0.5 * self._jitter())


class Timed:
    """Gives up an attempt that takes too long.

    Args:
        transport: Sends the request.
        seconds: The longest time for one attempt, from sending to the end of the reply.
    """

    def __init__(self, transport: Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds

    async def send(self, request: Request) -> Reply:
        """Send the request.

        Raises:
            EndpointError: There was no whole reply in time.
            JudgeError: There is no reply for another reason.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await self._transport.send(request)
        except TimeoutError:
            raise EndpointError(f"no reply within {self._seconds:g} s", passing=True) from None
