"""HTTP sessions, one for each event loop."""

from __future__ import annotations

import asyncio
import atexit
import os
import weakref
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from referee.errors import MissingExtraError

if TYPE_CHECKING:
    from aiohttp import ClientSession

#: Seconds that closing may take at the end of the program.
_CLOSING = 1.0


class Sessions:
    """Gives the running event loop its own HTTP session, and closes it when that loop ends.

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
        self._open: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession]]
        ] = weakref.WeakKeyDictionary()
        atexit.register(_close_at_exit, weakref.ref(self))

    async def session(self) -> ClientSession:
        """The running loop's session."""
        loop = asyncio.get_running_loop()
        known = self._open.get(loop)
        if known is None or known[0].closed:
            # A loop closes its asynchronous generators when it ends (`asyncio.run`), and with this one the session.
            generator = _session()
            known = self._open[loop] = (await anext(generator), generator)
        return known[0]

    async def close(self) -> None:
        """Close the running loop's session."""
        known = self._open.pop(asyncio.get_running_loop(), None)
        if known is not None:
            await known[1].aclose()

    def close_others(self) -> None:
        """Close the sessions of loops that run in other threads."""
        for loop, (_, generator) in list(self._open.items()):
            if loop.is_running():
                try:
                    asyncio.run_coroutine_threadsafe(generator.aclose(), loop).result(_CLOSING)
                except (TimeoutError, RuntimeError):
                    continue


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


def _close_at_exit(sessions: weakref.ref[Sessions]) -> None:
    alive = sessions()
    if alive is not None:
        alive.close_others()
