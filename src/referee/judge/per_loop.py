"""Something that works on one event loop only, such as an open connection: one for each loop."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Seconds that closing may take at the end of the program.
_CLOSING = 1.0


class PerLoop(Generic[T]):
    """Gives the running event loop its own one of something; closes it when the loop or this object ends.

    A judge is used from several loops: the caller's, and the one behind synchronous calls.

    Args:
        open: An asynchronous generator that opens the thing, yields it, and closes it.
    """

    def __init__(self, open: Callable[[], AsyncGenerator[T]]) -> None:
        self._make = open
        self._open: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T], weakref.finalize[Any, Any]]] = {}

    async def get(self) -> T:
        """The running loop's own."""
        loop = asyncio.get_running_loop()
        known = self._open.get(loop)
        if known is not None:
            return known[0]
        self._forget_ended_loops()
        # A loop closes its asynchronous generators when it ends (`asyncio.run`), and with this one the thing in it.
        generator = self._make()
        thing = await anext(generator)
        self._open[loop] = (thing, generator, weakref.finalize(self, _close, loop, generator))
        return thing

    async def close(self) -> None:
        """Close the running loop's own."""
        known = self._open.pop(asyncio.get_running_loop(), None)
        if known is not None:
            _, generator, finalizer = known
            finalizer.detach()
            await generator.aclose()

    def _forget_ended_loops(self) -> None:
        for loop in [loop for loop in self._open if loop.is_closed()]:
            self._open.pop(loop)[2].detach()


def _close(loop: asyncio.AbstractEventLoop, generator: AsyncGenerator[Any]) -> None:
    """Close a thing from outside its loop: when its owner is gone, or when the program ends."""
    if not loop.is_running():
        return
    closing = asyncio.run_coroutine_threadsafe(_closed(generator), loop)
    if not threading.main_thread().is_alive():  # the program ends, and with it the loop's thread: wait
        with suppress(TimeoutError):
            closing.result(_CLOSING)


async def _closed(generator: AsyncGenerator[Any]) -> None:
    await generator.aclose()
