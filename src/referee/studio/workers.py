"""Workers: child processes that work at jobs, so that the pages stay quick whatever a scorer does. They end with us."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import IO

import msgspec

from referee.errors import OptionError

#: So many jobs run at once.
MOST_JOBS = 4
#: Seconds that a worker gets to write down where it stopped.
_TO_STOP = 10.0


class Order(msgspec.Struct, frozen=True):
    """What a worker is told: the store's address, the job's number, and the word that shows it is the one."""

    store: str
    job: int
    word: str


class Workers:
    """The workers of one Studio.

    Args:
        store: The store's address, with its password.
    """

    def __init__(self, store: str) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._children: list[subprocess.Popen[bytes]] = []

    def check_room(self) -> None:
        """Refuse a job when too many run.

        Raises:
            OptionError: There is no room.
        """
        with self._lock:
            self._children = [child for child in self._children if child.poll() is None]
            if len(self._children) >= MOST_JOBS:
                raise OptionError(f"{MOST_JOBS} jobs run already: wait for one of them, or cancel it")

    def start(self, job: int, word: str) -> None:
        """Let a new worker work at a job. It reads its order from a pipe, and ends when that is closed."""
        child = subprocess.Popen(
            [sys.executable, "-m", "referee.studio.worker"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        pipe = _pipe_of(child)
        pipe.write(msgspec.json.encode(Order(self._store, job, word)) + b"\n")
        pipe.flush()
        with self._lock:
            self._children.append(child)

    def close(self) -> None:
        """End all workers; each writes down where it stopped."""
        with self._lock:
            children, self._children = self._children, []
        for child in children:
            _pipe_of(child).close()
        for child in children:
            try:
                child.wait(_TO_STOP)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _pipe_of(child: subprocess.Popen[bytes]) -> IO[bytes]:
    assert child.stdin is not None
    return child.stdin
