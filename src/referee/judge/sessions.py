"""HTTP sessions, one for each event loop."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from referee.errors import MissingExtraError

if TYPE_CHECKING:
    from aiohttp import ClientSession

#: Seconds that closing may take at the end of the program.
_CLOSING = 1.0


class Sessions:
    """Gives the running event loop its own HTTP session, and closes it when the loop or this object ends.

    A session works on one loop only, but a judge is used from several: the caller's, and the one behind synchronous
    calls.

    Raises:
        MissingExtraError: aiohttp is not installed.
    """

    def __init__(self) -> None:
        try:
            import aiohttp  # noqa: F401
        except ImportError:
            raise MissingExtraError("a judge over HTTP", package="aiohttp", extra="judge") from None
        self._open: dict[asyncio.AbstractEventLoop, tuple[ClientSession, weakref.finalize[Any, Sessions]]] = {}

    async def session(self) -> ClientSession:
        """The running loop's session."""
        loop = asyncio.get_running_loop()
        known = self._open.get(loop)
        if known is not None and not known[0].closed:
            return known[0]
        self._forget_ended_loops()
        # A loop closes its asynchronous generators when it ends (`asyncio.run`), and with this one the session.
        generator = _session()
        session = await anext(generator)
        self._open[loop] = (session, weakref.finalize(self, _close, loop, generator))
        return session

    async def close(self) -> None:
        """Close the running loop's session."""
        known = self._open.pop(asyncio.get_running_loop(), None)
        if known is not None:
            known[1].detach()
            await known[0].close()

    def _forget_ended_loops(self) -> None:
        for loop in [loop for loop in self._open if loop.is_closed()]:
            self._open.pop(loop)[1].detach()


async def _session() -> AsyncGenerator[ClientSession]:
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    proxied = any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ)
    async with ClientSession(
        connector=TCPConnector(limit=0),
        timeout=ClientTimeout(total=None, connect=30),
        cookie_jar=DummyCookieJar(),
        trust_env=proxied,
    ) as session:
        yield session


def _close(loop: asyncio.AbstractEventLoop, generator: AsyncGenerator[ClientSession]) -> None:
    """Close a session from outside its loop: when its owner is gone, or when the program ends."""
    if not loop.is_running():
        return
    closing = asyncio.run_coroutine_threadsafe(_closed(generator), loop)
    if not threading.main_thread().is_alive():  # the program ends, and with it the loop's thread: wait
        with suppress(TimeoutError):
            closing.result(_CLOSING)


async def _closed(generator: AsyncGenerator[ClientSession]) -> None:
    await generator.aclose()
