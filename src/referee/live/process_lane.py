"""Scorers in a child process."""

from __future__ import annotations

from typing import Any

from referee.live import wire
from referee.live.lanes import start_thread, too_long
from referee.live.process import ChildEndedError, ChildProcess
from referee.live.tasks import Desk, ScoringError, Task, TaskQueue
from referee.scores import Score, StepError


class ProcessLane:
    """Synchronous scorers that are known by their specification, in a child process.

    A child that takes too long for one task is ended, and a new one is started for the next.

    Args:
        name: The lane's name.
        specs: The scorers' specifications, by the names of their bindings.
        desk: Takes the scores.
    """

    def __init__(self, name: str, specs: dict[str, Any], desk: Desk) -> None:
        self._child = ChildProcess("score", specs)
        self._desk = desk
        self._tasks = TaskQueue()
        start_thread(name, self._loop)

    def put(self, task: Task) -> None:
        """Take a task."""
        self._tasks.put(task)

    def expire(self, now: float) -> None:
        """End a child that has worked on one task for too long."""
        self._child.expire(now)

    def stop(self) -> None:
        """End the thread and its child, in the middle of its work if need be."""
        self._tasks.end()
        self._child.kill()

    def forget(self) -> None:
        """Let go of the parent's child."""
        self._child.forget()

    def _loop(self) -> None:
        for task in self._tasks:
            with self._desk.observed(task):
                score = self._score(task)
            self._desk.finish(task, score)
        self._child.end()

    def _score(self, task: Task) -> Score:
        run = task.submission.read()
        if isinstance(run, StepError):
            return task.failed(run)
        try:
            reply = self._child.ask([task.binding.name.encode(), task.submission.frame(run)], self._desk.timeout)
            return task.own(wire.decode(reply, Score))
        except ChildEndedError as ended:
            slow = too_long(self._desk.timeout)
            return task.failed(slow if ended.too_long else ScoringError(f"the scoring process {ended}"))
        except Exception as error:
            return task.failed(error)
