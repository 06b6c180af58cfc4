"""What works in the background of one process: lanes, a writer and a clock."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import msgspec

from referee.live.bindings import Binding
from referee.live.counts import Drop
from referee.live.distant_store import DistantStore
from referee.live.intake import Intake
from referee.live.lanes import Lane, LoopLane, ThreadLane, start_thread
from referee.live.ledger import Ledger
from referee.live.process_lane import ProcessLane
from referee.live.submission import Submission
from referee.live.tasks import Finished, Task
from referee.live.writer import ScoreStore, Writer
from referee.scores import Score
from referee.telemetry import Telemetry, find_telemetry

_log = logging.getLogger("referee.live")

#: How often the clock looks for scorings that take too long, in seconds.
_TICK = 0.25


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `Live` that concern the background."""

    store: ScoreStore | str | None
    telemetry: Telemetry | None
    on_drop: Callable[[Drop], None] | None
    concurrency: int
    timeout: float


class Background:
    """The threads and processes that score for one process. Started when the first run is accepted."""

    def __init__(self, bindings: dict[str, Binding], ledger: Ledger, settings: Settings) -> None:
        self.timeout = settings.timeout
        self._telemetry = settings.telemetry or find_telemetry()
        store = settings.store
        self._distant = DistantStore(store) if isinstance(store, str) else None
        self._writer = Writer(
            ledger,
            bindings,
            store=self._distant or store,  # type: ignore[arg-type]
            telemetry=self._telemetry,
            on_drop=settings.on_drop,
        )
        self._bindings = bindings
        self._stopped = threading.Event()
        self._lanes = self._assign(settings.concurrency)
        self._intake = Intake(bindings, ledger, self._distribute)
        start_thread("intake", self._intake.run)
        start_thread("clock", self._watch)

    def put(self, submission: Submission) -> None:
        """Have a submission scored that the ledger has let in. Never waits."""
        self._intake.put(submission)

    def observed(self, task: Task) -> AbstractContextManager[None]:
        """Surrounds the scoring of a task with its span."""
        return nullcontext() if self._telemetry is None else self._spanned(self._telemetry, task)

    def finish(self, task: Task, score: Score) -> None:
        """Take the score of a task. A later score of the same task is ignored, and any after the end."""
        if not self._stopped.is_set() and task.settle():
            self._writer.put(Finished(task, score, time.time_ns()))

    def stop(self, timeout: float) -> None:
        """End the threads and processes, and wait so many seconds for what is scored to be saved.

        A write in another process that takes longer is ended, and what it was to save has failed. One of a store in this
        process can't be: what it saves later has been counted as dropped.
        """
        self._stopped.set()
        self._intake.stop()
        for lane in self._distinct_lanes():
            lane.stop()
        is_saved = self._writer.stop(timeout)
        if self._distant is not None:
            if not is_saved:
                self._distant.kill()
                self._writer.stop(timeout)
            self._distant.end()

    def forget(self) -> None:
        """Let go of what belongs to the parent process: called in a forked child."""
        for held in self._held():
            held.forget()

    def _distribute(self, submission: Submission, names: list[str]) -> None:
        for name in names:
            self._lanes[name].put(Task(submission, self._bindings[name]))

    def _assign(self, concurrency: int) -> dict[str, Lane]:
        """A lane for each scorer. Ready-made ones share lanes; one that a user wrote can only hold up itself."""
        lanes: dict[str, Lane] = {}
        shipped: dict[str, Any] = {}
        quick: Lane | None = None
        for name, binding in self._bindings.items():
            if not binding.scorer.is_synchronous:
                lanes[name] = LoopLane(name, self, concurrency)
            elif binding.is_check:
                lanes[name] = quick = quick or ThreadLane("checks", self)
            elif binding.spec is None:
                lanes[name] = ThreadLane(name, self)
            elif binding.is_own:
                lanes[name] = ProcessLane(name, {name: binding.spec}, self)
            else:
                shipped[name] = binding.spec
        if shipped:
            lanes.update(dict.fromkeys(shipped, ProcessLane("process", shipped, self)))
        return lanes

    def _distinct_lanes(self) -> list[Lane]:
        return list(dict.fromkeys(self._lanes.values()))

    def _held(self) -> list[Lane | DistantStore]:
        """What may hold a child process."""
        return [*self._distinct_lanes(), *([self._distant] if self._distant else [])]

    def _watch(self) -> None:
        while not self._stopped.wait(_TICK):
            now = time.monotonic()
            for held in self._held():
                try:
                    held.expire(now)
                except Exception:
                    _log.exception("what took too long could not be ended")

    @contextmanager
    def _spanned(self, telemetry: Telemetry, task: Task) -> Iterator[None]:
        submission = task.submission
        try:
            task.span = telemetry.start(task.binding.scorer, submission.id, submission.operation)
        except Exception:
            _log.exception("the span of a scoring could not be begun")
        with nullcontext() if task.span is None else telemetry.within(task.span):
            yield
