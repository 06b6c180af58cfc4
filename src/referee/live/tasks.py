"""A task: one run that one scorer accepted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Any, Protocol

import msgspec

from referee.errors import RefereeError
from referee.execution import outcome, step_error
from referee.live.bindings import Binding
from referee.live.steps import SCORING
from referee.live.submission import Submission
from referee.runs import Run
from referee.scores import Score, StepError


class ScoringError(RefereeError):
    """A scorer took too long, or the process in which it ran ended."""


class Task:
    """One run that one scorer accepted. It is settled once: by its score, or by whoever gave up waiting for it."""

    __slots__ = ("_settled", "binding", "span", "submission")

    def __init__(self, submission: Submission, binding: Binding) -> None:
        self.submission = submission
        self.binding = binding
        self._settled = threading.Lock()
        #: The OpenTelemetry span of the scoring, once it has begun.
        self.span: Any = None

    def settle(self) -> bool:
        """Whether this is the first call."""
        return self._settled.acquire(blocking=False)

    def failed(self, error: StepError | BaseException) -> Score:
        """The score that says what went wrong."""
        problem = error if isinstance(error, StepError) else step_error(SCORING, error)
        return outcome(self.binding.scorer, self.submission.bare_run, error=problem)

    def own(self, score: Score) -> Score:
        """A score of this task that was made elsewhere, under the scorer's id and version here."""
        scorer = self.binding.scorer
        return msgspec.structs.replace(
            score, run_id=self.submission.id, scorer_id=scorer.id, scorer_version=scorer.version
        )


class TaskQueue:
    """The tasks of one lane, in order. `for task in queue` waits for them, until the queue is ended."""

    __slots__ = ("_ended", "_tasks")

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._ended = False

    def put(self, task: Task) -> None:
        """Add a task. Never waits."""
        self._tasks.put(task)

    def end(self) -> None:
        """End the waiting; tasks that are still there are left."""
        self._ended = True
        self._tasks.put(None)

    def __iter__(self) -> Iterator[Task]:
        while (task := self._tasks.get()) is not None and not self._ended:
            yield task


class Finished(msgspec.Struct, frozen=True):
    """A task with its score, and when the scoring ended, in nanoseconds since 1970."""

    task: Task
    score: Score
    ended: int

    @property
    def run(self) -> Run:
        """The run as it is stored."""
        read = self.task.submission.read()
        return self.task.submission.bare_run if isinstance(read, StepError) else read


class Desk(Protocol):
    """Where lanes get their time limit, and to whom they hand what they have done."""

    @property
    def timeout(self) -> float:
        """Seconds for one score."""
        ...

    def observed(self, task: Task) -> AbstractContextManager[None]:
        """Surrounds the scoring of a task."""
        ...

    def finish(self, task: Task, score: Score) -> None:
        """Take the score of a task. A later score of the same task is ignored."""
        ...
