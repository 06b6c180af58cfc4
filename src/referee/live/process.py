"""A child process of ours: does work for the processor that would hold up the agent, and can be ended at any time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from referee.errors import RefereeError
from referee.live import wire

#: Seconds that a child may take to start, with the packages that scorers load.
_TO_START = 60.0
#: Seconds from one start to the next: a child that keeps ending must not take a processor for its starts alone.
_BETWEEN_STARTS = 1.0
#: The child looks for modules where this process does, also where that was changed after the start.
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from referee.live.child import main; main()"
#: An interrupt at the terminal is for the program, which decides what becomes of its children.
_APART: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}


class ChildEndedError(RefereeError):
    """A child gave no answer: it ended by itself with this code, or it was ended, or it took too long."""

    def __init__(self, code: int | None, *, too_long: bool) -> None:
        super().__init__("was ended" if code is None else f"ended with code {code}")
        self.too_long = too_long


class ChildProcess:
    """A child process that answers requests. It is started when one comes, and anew when it has ended.

    Args:
        duty: What it does, as `referee.live.child.DUTIES` names it.
        settings: What it needs for that, as plain data.
    """

    def __init__(self, duty: str, settings: Any) -> None:
        self._duty = duty
        self._settings = settings
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._deadline: float | None = None
        self._killed = False
        self._closed = threading.Event()
        self._started = -_BETWEEN_STARTS

    def ask(self, frames: list[bytes], timeout: float) -> wire.Frame:
        """Send a request and wait for its answer. For one thread at a time.

        Raises:
            ChildEndedError: There is no answer.
        """
        try:
            requests, replies = self._pipes()
            with self._within(timeout):
                for frame in frames:
                    wire.send(requests, frame)
                reply = wire.receive(replies)
        except OSError:
            reply = None
        if reply is None:
            killed = self._killed
            raise ChildEndedError(self.end(), too_long=killed)
        return reply

    def expire(self, now: float) -> None:
        """End a child that takes longer for a request than it may."""
        with self._lock:
            if self._process is not None and self._deadline is not None and now >= self._deadline:
                self._killed = True
                self._process.kill()

    def kill(self) -> None:
        """End the child for good: from another thread, in the middle of its work."""
        self._closed.set()
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def end(self) -> int | None:
        """Close the pipes, which ends the child, and wait for that. Gives its exit code."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return None
        _close_pipes(process)
        return process.wait()

    def forget(self) -> None:
        """Close the parent's ends of the pipes in a fork of the parent: the child must notice when the parent is gone."""
        if self._process is not None:
            self._process.returncode = 0  # it is not ours to wait for
            _close_pipes(self._process)

    def _pipes(self) -> tuple[int, int]:
        """The pipes to and from a child that lives."""
        process = self._process
        if process is not None and (self._killed or process.poll() is not None):
            self.end()
            process = None
        return _descriptors(process or self._start())

    def _start(self) -> subprocess.Popen[bytes]:
        if self._closed.wait(max(0.0, self._started + _BETWEEN_STARTS - time.monotonic())):
            raise ChildEndedError(None, too_long=False)
        self._started = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - our own program, without a shell
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            **_APART,
        )
        with self._lock:
            self._process, self._killed = process, False
            if self._closed.is_set():
                process.kill()
        requests, replies = _descriptors(process)
        with self._within(_TO_START):
            wire.send(requests, wire.encode([self._duty, self._settings]))
            wire.receive(replies)  # it says that it is ready
        return process

    @contextmanager
    def _within(self, seconds: float) -> Iterator[None]:
        """Have the child ended when this takes longer."""
        self._deadline = time.monotonic() + seconds
        try:
            yield
        finally:
            with self._lock:
                self._deadline = None


def _descriptors(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin.fileno(), process.stdout.fileno()


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
