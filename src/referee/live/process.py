"""Scorers in a child process: work for the processor there leaves the agent's interpreter alone, and can be stopped."""

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

from referee.live import wire
from referee.live.lanes import start_thread, too_long
from referee.live.tasks import Desk, ScoringError, Task, TaskQueue
from referee.scores import Score, StepError

#: Seconds that a child may take to start, with the packages that scorers load.
_TO_START = 60.0
#: The child looks for modules where this process does, also where that was changed after the start.
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from referee.live.child import main; main()"


class ProcessLane:
    """Synchronous scorers that are known by their specification, in a child process that is started when it is needed.

    A child that takes too long for one task is killed, and a child that ended is started anew for the next task.

    Args:
        name: The lane's name.
        specs: The scorers' specifications, by the names of their bindings.
        desk: Takes the scores.
    """

    def __init__(self, name: str, specs: dict[str, Any], desk: Desk) -> None:
        self._specs = specs
        self._desk = desk
        self._tasks = TaskQueue()
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._deadline: float | None = None
        self._killed = False
        start_thread(name, self._loop)

    def put(self, task: Task) -> None:
        """Take a task."""
        self._tasks.put(task)

    def expire(self, now: float) -> None:
        """Kill a child that has worked on one task for too long."""
        with self._lock:
            if self._child is None or self._deadline is None or now < self._deadline:
                return
            self._killed = True
            self._child.kill()

    def stop(self) -> None:
        """End the thread and its child, in the middle of its work if need be."""
        self._tasks.end()
        with self._lock:
            if self._child is not None:
                self._child.kill()

    def forget(self) -> None:
        """Close the parent's ends of the pipes, so that its child still notices when the parent is gone."""
        child = self._child
        if child is not None:
            child.returncode = 0  # it is not ours to wait for
            _close_pipes(child)

    def _loop(self) -> None:
        for task in self._tasks:
            with self._desk.observed(task):
                score = self._score(task)
            self._desk.finish(task, score)
        self._end_child()

    def _score(self, task: Task) -> Score:
        run = task.submission.read()
        if isinstance(run, StepError):
            return task.failed(run)
        try:
            reply = self._ask(task.binding.name, task.submission.frame(run))
            return task.own(wire.decode(reply, Score))
        except Exception as error:
            return task.failed(error)

    def _ask(self, name: str, frame: bytes) -> bytes:
        try:
            requests, replies = self._pipes()
            with self._within(self._desk.timeout):
                wire.send(requests, name.encode())
                wire.send(requests, frame)
                reply = wire.receive(replies)
        except OSError:
            reply = None
        if reply is None:
            raise self._ended()
        return reply

    @contextmanager
    def _within(self, seconds: float) -> Iterator[None]:
        """Have the child killed when this takes longer."""
        self._deadline = time.monotonic() + seconds
        try:
            yield
        finally:
            with self._lock:
                self._deadline = None

    def _pipes(self) -> tuple[int, int]:
        """The pipes to and from a child that lives."""
        child = self._child
        if child is not None and (self._killed or child.poll() is not None):
            self._end_child()
            child = None
        if child is None:
            child = self._start_child()
        assert child.stdin is not None
        assert child.stdout is not None
        return child.stdin.fileno(), child.stdout.fileno()

    def _start_child(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(  # noqa: S603 - our own program, without a shell
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            **_APART,
        )
        with self._lock:
            self._child, self._killed = child, False
        assert child.stdin is not None
        assert child.stdout is not None
        with self._within(max(self._desk.timeout, _TO_START)):
            wire.send(child.stdin.fileno(), wire.encode(self._specs))
            wire.receive(child.stdout.fileno())  # it says that it has loaded the scorers
        return child

    def _ended(self) -> ScoringError:
        """Why there is no reply: the child was killed for taking too long, or it ended by itself."""
        killed = self._killed
        code = self._end_child()
        return too_long(self._desk.timeout) if killed else ScoringError(f"the scoring process ended with code {code}")

    def _end_child(self) -> int | None:
        with self._lock:
            child, self._child = self._child, None
        if child is None:
            return None
        _close_pipes(child)
        return child.wait()


def _close_pipes(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()


#: An interrupt at the terminal is for the program, which decides what becomes of its children.
_APART: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
