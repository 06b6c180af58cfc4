"""Lanes: where scorers run in the background. Each lane has its own queue and threads, so that one that hangs holds up no other."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Protocol

from referee.evaluate.threads import DeadlineError, within
from referee.live.tasks import Desk, ScoringError, Task, TaskQueue
from referee.loops import submit_coroutine
from referee.runs import Run
from referee.scores import Score, StepError

#: How many threads of one lane may hang before it starts no other one.
MOST_HANGING = 4
#: Seconds to wait for the threads of the loop to start.
_TO_START = 1.0


class Lane(Protocol):
    """Where some scorers run."""

    def put(self, task: Task) -> None:
        """Take a task. Never waits."""
        ...

    def expire(self, now: float) -> None:
        """Give up what has taken too long. Called a few times a second."""
        ...

    def stop(self) -> None:
        """End the lane's threads and processes, and leave what was not begun. Does not wait."""
        ...

    def forget(self) -> None:
        """Let go of what belongs to the parent process: called in a forked child."""
        ...


def start_thread(name: str, target: Callable[..., None], *args: Any) -> None:
    """Start a daemon thread of the live scoring."""
    threading.Thread(target=target, args=args, name=f"referee-live-{name}", daemon=True).start()


def too_long(timeout: float) -> ScoringError:
    """The error of a score that took too long."""
    return ScoringError(f"took longer than {timeout:g} s")


class ThreadLane:
    """Synchronous scorers in a thread of this process.

    A thread cannot be stopped: one that hangs is left alone, and another takes its place, up to `MOST_HANGING`. Then the
    lane stands still until one of them comes back, its queue fills, and runs are dropped.
    """

    def __init__(self, name: str, desk: Desk) -> None:
        self._name = name
        self._desk = desk
        self._tasks = TaskQueue()
        self._lock = threading.Lock()
        self._hanging = 0
        self._working: _Work | None = None
        self._start()

    def put(self, task: Task) -> None:
        """Take a task."""
        self._tasks.put(task)

    def expire(self, now: float) -> None:
        """Leave a thread alone that has worked on one task for too long."""
        work = self._working
        if work is None or now < work.deadline or not self._abandon(work):
            return
        self._desk.finish(work.task, work.task.failed(too_long(self._desk.timeout)))
        if self._hanging < MOST_HANGING:
            self._start()

    def stop(self) -> None:
        """End the thread after the task at hand."""
        self._tasks.end()

    def forget(self) -> None:
        """Nothing of this lane outlives a fork."""

    def _start(self) -> None:
        start_thread(self._name, self._loop)

    def _abandon(self, work: _Work) -> bool:
        with self._lock:
            if self._working is not work:
                return False
            self._working = None
            self._hanging += 1
            return True

    def _loop(self) -> None:
        for task in self._tasks:
            work = _Work(task, time.monotonic() + self._desk.timeout)
            self._working = work
            with self._desk.observed(task):
                score = scored_here(task)
            with self._lock:
                abandoned = self._working is not work
                if not abandoned:
                    self._working = None
            if abandoned:
                if not self._returned():
                    return
            else:
                self._desk.finish(task, score)

    def _returned(self) -> bool:
        """A thread that was given up came back: whether it goes on working, because no other took its place."""
        with self._lock:
            self._hanging -= 1
            return self._hanging == MOST_HANGING - 1


class _Work:
    """A task at work, and until when."""

    __slots__ = ("deadline", "task")

    def __init__(self, task: Task, deadline: float) -> None:
        self.task = task
        self.deadline = deadline


def scored_here(task: Task) -> Score:
    """Score a task with a synchronous scorer, in this thread."""
    run = task.submission.read()
    if isinstance(run, StepError):
        return task.failed(run)
    try:
        return task.binding.scorer.run_sync(run)
    except BaseException as error:  # a scorer that calls sys.exit() must not end this thread
        return task.failed(error)


class LoopLane:
    """One asynchronous scorer on the library's event loop, with its judge's limits. Several runs are judged at once."""

    def __init__(self, name: str, desk: Desk, concurrency: int) -> None:
        self._desk = desk
        self._tasks = TaskQueue()
        self._slots = threading.Semaphore(concurrency)
        self._begun: set[Future[None]] = set()
        _prepare_loop(os.getpid())
        start_thread(name, self._loop)

    def put(self, task: Task) -> None:
        """Take a task."""
        self._tasks.put(task)

    def expire(self, now: float) -> None:
        """The loop keeps the time itself."""

    def stop(self) -> None:
        """End the thread, and cancel what has begun: nobody waits for it, and a judge costs money."""
        self._tasks.end()
        for begun in list(self._begun):
            begun.cancel()

    def forget(self) -> None:
        """Nothing of this lane outlives a fork."""

    def _loop(self) -> None:
        for task in self._tasks:
            run = task.submission.read()
            if isinstance(run, StepError):
                self._desk.finish(task, task.failed(run))
                continue
            self._slots.acquire()
            begun = submit_coroutine(self._score(task, run))
            self._begun.add(begun)
            begun.add_done_callback(self._ended)

    def _ended(self, begun: Future[None]) -> None:
        self._begun.discard(begun)
        self._slots.release()

    async def _score(self, task: Task, run: Run) -> None:
        timeout = self._desk.timeout
        try:
            with self._desk.observed(task):
                score = await within(_scored(task, run), asyncio.get_running_loop().time() + timeout)
        except DeadlineError:
            score = task.failed(too_long(timeout))
        except BaseException as error:  # a scorer that cancels itself; after `stop` the score is ignored
            score = task.failed(error)
        self._desk.finish(task, score)


async def _scored(task: Task, run: Run) -> Score:
    try:
        return await task.binding.scorer.run(run)
    except (SystemExit, KeyboardInterrupt) as error:  # either would end the loop that all scorers share
        return task.failed(error)


@cache
def _prepare_loop(pid: int) -> None:
    """Have the loop of this process start all the threads that clients find their hosts with.

    From Python 3.12 on no thread can be started once the program ends, and what is then still to be judged may need one.
    """

    async def prepare() -> None:
        size = min(32, (os.cpu_count() or 1) + 4)  # as many as the loop would allow by itself
        executor = ThreadPoolExecutor(size, "referee-loop")
        asyncio.get_running_loop().set_default_executor(executor)
        together = threading.Barrier(size)
        try:
            for _ in range(size):
                executor.submit(together.wait)
        except RuntimeError:  # the program ends already
            together.abort()

    started = submit_coroutine(prepare())
    if not _is_in_a_loop():  # which must not wait, and may be the very one
        wait([started], _TO_START)


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
