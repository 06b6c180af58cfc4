"""The end of a process and the start of a forked one, for every `Live` in it."""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Protocol


class Lived(Protocol):
    """What has a part in the life of a process."""

    @property
    def exit_timeout(self) -> float:
        """Seconds that the end of the process may wait for it."""
        ...

    def flush(self, timeout: float) -> bool:
        """Wait until what was accepted is scored."""
        ...

    def close(self, timeout: float) -> bool:
        """Wait like `flush`, drop the rest, and end threads and processes."""
        ...

    def after_fork(self) -> None:
        """Start afresh: this is a forked child, and everything that runs belongs to its parent."""
        ...


_all: weakref.WeakSet[Lived] = weakref.WeakSet()
#: Those with work in the background. They are kept alive until they are closed, so that nothing is lost at the end.
_running: set[Lived] = set()


def born(lived: Lived) -> None:
    """Have it told of forks."""
    _register()
    _all.add(lived)


@cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    atexit.register(_close)
    # The interpreter ends its thread pools before it calls the functions of `atexit`, and a judge's client may need one
    # to find its host. So most of the waiting is done before that: the last that was registered is called first.
    import_module("concurrent.futures.thread")
    getattr(threading, "_register_atexit", lambda function: None)(_flush)


def started(lived: Lived) -> None:
    """It has work in the background."""
    _running.add(lived)


def ended(lived: Lived) -> None:
    """It has none any more."""
    _running.discard(lived)


class _Patience:
    """How long the end of the process has waited so far. All that run share it, and both times that they are waited for."""

    spent = 0.0

    def wait(self, wait: Callable[[Lived, float], bool]) -> None:
        for lived in list(_running):
            began = time.monotonic()
            try:
                wait(lived, max(0.0, lived.exit_timeout - self.spent))
            except KeyboardInterrupt:  # somebody is tired of waiting
                self.spent = math.inf
                wait(lived, 0.0)
            self.spent += time.monotonic() - began


_patience = _Patience()


def _flush() -> None:
    _patience.wait(lambda lived, timeout: lived.flush(timeout))


def _close() -> None:
    _patience.wait(lambda lived, timeout: lived.close(timeout))


def _after_fork() -> None:
    for lived in list(_all):
        lived.after_fork()
    _running.clear()
