"""The one place where synchronous callers meet the asynchronous core."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


class _Background:
    """One event loop in a daemon thread, started by the first synchronous call and shared by all later ones.

    It is shared so that connections and limits of a judge live on between calls. After a fork the child starts its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._pid = os.getpid()
                threading.Thread(target=_serve, args=(self._loop,), name="referee-loop", daemon=True).start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop for good. A task that raises `SystemExit` ends `run_forever`; who waits for that task gets it."""
    while not loop.is_closed():
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


_background = _Background()


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and return its result, inside or outside a running event loop.

    It runs on a loop of its own thread, so a caller's loop (a notebook's) is neither needed nor patched. The caller's
    context variables are seen; an interrupt cancels the coroutine.

    Example:
        >>> async def answer() -> int:
        ...     return 42
        >>> run_coroutine(answer())
        42
    """
    loop = _background.loop()
    if _in_thread_of(loop):
        coroutine.close()
        raise RuntimeError(
            "a synchronous call was made from inside an asynchronous scorer or target: await the asynchronous one there"
        )
    future = submit_coroutine(coroutine)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def submit_coroutine(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Start a coroutine on the background loop and return its future at once."""
    return asyncio.run_coroutine_threadsafe(_in_context(coroutine), _background.loop())


def _in_thread_of(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _in_context(coroutine: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
    context = copy_context()

    async def outer() -> T:
        return await asyncio.get_running_loop().create_task(coroutine, context=context)

    return outer()
