"""The intake: takes runs from agents at next to no cost, and passes them on at a pace that leaves the interpreter to them."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from referee.live.ledger import Ledger
from referee.live.submission import Submission

#: The share of the interpreter's time that reading runs may take while agents work. What is more waits, or is dropped.
_SHARE = 0.1
#: The longest rest after one run, in seconds.
_LONGEST_REST = 0.05


class Intake:
    """A queue that wakes its thread only when that one sleeps: waking threads costs an agent more than all the rest.

    Args:
        ledger: Says whether somebody waits for the end; then there is no rest.
        distribute: Reads a submission and hands it to the scorers of these names.
    """

    def __init__(self, ledger: Ledger, distribute: Callable[[Submission, list[str]], None]) -> None:
        self._ledger = ledger
        self._distribute = distribute
        self._waiting: deque[tuple[Submission, list[str]]] = deque()
        self._arrived = threading.Event()
        self._asleep = False
        self._stopped = False

    def put(self, submission: Submission, names: list[str]) -> None:
        """Take a submission. Never waits."""
        self._waiting.append((submission, names))
        if self._asleep:
            self._asleep = False
            self._arrived.set()

    def stop(self) -> None:
        """End the thread; what still waits is left."""
        self._stopped = True
        self._arrived.set()

    def run(self) -> None:
        """Pass on what arrives, until it is stopped: the work of the intake's thread."""
        while not self._stopped:
            if not self._waiting:
                self._sleep()
                continue
            began = time.thread_time()
            self._distribute(*self._waiting.popleft())
            if not self._ledger.awaited:
                time.sleep(min(_LONGEST_REST, (time.thread_time() - began) * (1 / _SHARE - 1)))

    def _sleep(self) -> None:
        self._asleep = True
        if not self._waiting:  # it may have arrived before the agent could see that this thread sleeps
            self._arrived.wait()
        self._asleep = False
        self._arrived.clear()
