"""Synchronous functions beside an event loop, and deadlines that hold even when what they stop does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")


class DeadlineError(Exception):
    """The time was up."""


async def in_thread(function: Callable[[], T]) -> T:
    """Call a synchronous function in a thread of its own and wait for it. It sees the caller's context variables.

    The thread is a daemon and belongs to no pool: a function that never returns blocks neither others nor the end of
    the program.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = copy_context()

    def deliver(value: Any, error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result((value, error))

    def work() -> None:
        try:
            result: tuple[Any, BaseException | None] = (context.run(function), None)
        except BaseException as error:  # passed on to the waiting task
            result = (None, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, *result)

    threading.Thread(target=work, name="referee-call", daemon=True).start()
    value, error = await outcome
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]


async def within(coroutine: Coroutine[Any, Any, T], deadline: float | None) -> T:
    """Await a coroutine until a point in the loop's time; then cancel it, and do not wait for it to obey.

    When the caller itself is cancelled the coroutine is too, and here as well it may swallow that: it holds up nobody.

    Raises:
        DeadlineError: The time was up.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(_settled(coroutine))
    try:
        timeout = None if deadline is None else max(0.0, deadline - loop.time())
        done, _ = await asyncio.wait({task}, timeout=timeout)
    finally:
        if not task.done():
            task.cancel()
            task.add_done_callback(_forget)
    if not done:
        raise DeadlineError
    value, error = task.result()
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]


async def _settled(coroutine: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """What the coroutine gave or raised. A task that raised `SystemExit` itself would end the loop of all others."""
    try:
        return await coroutine, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # passed on to the waiting task
        return None, error


def _forget(task: asyncio.Task[Any]) -> None:
    """Take the exception of a task that nobody waits for, so that asyncio does not report it as lost."""
    if not task.cancelled():
        task.exception()


def is_failure(error: BaseException) -> bool:
    """Whether the user's code failed, and not somebody ended this task or the program from outside.

    `sys.exit`, `pytest.fail` and a task that cancels itself are failures too: nothing else is to end with them.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or not task.cancelling()
    return not isinstance(error, KeyboardInterrupt)
