"""The writer: saves what was scored in batches, tells it to OpenTelemetry, and settles it in the ledger.

At its end it settles the ledger itself: only then is it known what was saved, and what has to count as dropped.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from referee.live.bindings import Binding
from referee.live.counts import Drop
from referee.live.ledger import Ledger, Outcome
from referee.live.tasks import Finished
from referee.pipeline import Scorer
from referee.telemetry import Telemetry

#: What live scores belong to in a store.
EXPERIMENT = "live"

_log = logging.getLogger("referee.live")

#: How many scores go into one write, and how often dropped runs are told, in seconds.
_BATCH = 200
_TICK = 0.25
#: Seconds between the counts of dropped runs in a store: there are most of them when there is least time.
_COUNT_AFTER = 5.0
#: How long more scores are waited for once there is one, in seconds: many are saved at the cost of one.
_TO_COLLECT = 0.05
#: Seconds between the attempts of a write.
_RETRY_AFTER = (0.2, 1.0)
#: For so many seconds a batch that can't be stored is tried in parts; then the store is taken to be out of order.
_TO_DIVIDE = 5.0


class ScoreStore(Protocol):
    """What live scoring needs of a store. `referee.storage.Store` has it."""

    def save(self, records: Iterable[Any], *, experiment: str, scorers: Sequence[Scorer[Any, Any]]) -> Any:
        """Save runs with their scores (`referee.storage.ScoredRun`). Saving the same again changes nothing."""
        ...


class Writer:
    """Takes finished tasks in its own thread.

    Args:
        ledger: Where outcomes are counted.
        bindings: The scorers by their names.
        store: Where scores are saved; `None` saves them nowhere.
        telemetry: Where spans, events and metrics go.
        on_drop: Told of dropped runs.
    """

    def __init__(
        self,
        ledger: Ledger,
        bindings: dict[str, Binding],
        *,
        store: ScoreStore | None,
        telemetry: Telemetry | None,
        on_drop: Callable[[Drop], None] | None,
    ) -> None:
        self._ledger = ledger
        self._bindings = bindings
        self._store = store
        self._telemetry = telemetry
        self._on_drop = on_drop
        # Runs that were dropped, by the scorer's id and why, and not yet counted in the store.
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._finished: SimpleQueue[Finished | None] = SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="referee-live-writer", daemon=True)
        self._thread.start()

    def put(self, finished: Finished) -> None:
        """Take a finished task. Never waits."""
        self._finished.put(finished)

    def stop(self, timeout: float) -> bool:
        """End the thread and the ledger once what was put is saved; whether that came about in so many seconds."""
        self._stopping.set()
        self._finished.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        stopped, told = False, time.monotonic()
        counted = told
        while not stopped:
            batch, stopped = self._next_batch()
            if batch:
                self._settle(batch)
            if stopped:
                self._ledger.end()
            if stopped or time.monotonic() >= told + _TICK:
                told = time.monotonic()
                self._tell_drops()
            if stopped or time.monotonic() >= counted + _COUNT_AFTER:
                counted = time.monotonic()
                self._count_drops()

    def _next_batch(self) -> tuple[list[Finished], bool]:
        """What is there, at most a batch; and whether it is the end. Waits one tick for the first."""
        batch: list[Finished] = []
        try:
            while len(batch) < _BATCH:
                finished = self._finished.get_nowait() if batch else self._finished.get(timeout=_TICK)
                if finished is None:
                    return batch, True
                if not batch and not self._ledger.awaited:
                    self._stopping.wait(_TO_COLLECT)
                batch.append(finished)
        except Empty:
            pass
        return batch, False

    def _settle(self, batch: list[Finished]) -> None:
        saved = self._save(batch)
        outcomes: list[tuple[str, Outcome]] = []
        for finished, is_saved in zip(batch, saved, strict=True):
            self._report(finished)
            outcomes.append((finished.task.binding.name, _outcome(finished) if is_saved else "failed"))
        self._ledger.settle(outcomes)

    def _report(self, finished: Finished) -> None:
        if self._telemetry is None:
            return
        task = finished.task
        try:
            self._telemetry.finish(
                task.span, task.binding.scorer, finished.score, task.submission.operation, finished.ended
            )
        except Exception:
            _log.exception("the telemetry of a score failed")

    def _tell_drops(self) -> None:
        for drop in self._ledger.take_drops():
            self._dropped[self._bindings[drop.scorer].scorer.id, drop.reason] += drop.count
            try:
                if self._telemetry is not None:
                    self._telemetry.dropped(self._bindings[drop.scorer].scorer, drop.reason, drop.count)
                if self._on_drop is not None:
                    self._on_drop(drop)
            except BaseException:  # one that calls sys.exit() must not end this thread
                _log.exception("on_drop failed")

    def _count_drops(self) -> None:
        """Add dropped runs to those of the day, in a store that counts them."""
        add = getattr(self._store, "add_drops", None)
        if add is None or not self._dropped:
            return
        try:
            add(dict(self._dropped))
        except BaseException as error:  # a store that calls sys.exit() must not end this thread
            _log.warning("dropped runs could not be counted: %s: %s", type(error).__name__, error)
        else:
            self._dropped.clear()

    def _save(self, batch: list[Finished]) -> list[bool]:
        """Save the scores; for each of them whether it is saved."""
        store = self._store
        if store is None:
            return [True] * len(batch)
        for wait in (*_RETRY_AFTER, None):
            problem = self._problem(store, batch)
            if problem is None:
                return [True] * len(batch)
            _log.warning("scores could not be stored: %s: %s", type(problem).__name__, problem)
            if wait is not None:
                self._stopping.wait(wait)
        return self._save_in_parts(store, batch)

    def _save_in_parts(self, store: ScoreStore, batch: list[Finished]) -> list[bool]:
        """Save halves, and halves of those that fail: a score that can't be stored must not take the others with it."""
        saved = [False] * len(batch)
        until = time.monotonic() + _TO_DIVIDE
        failed = [(0, len(batch))]
        while failed and time.monotonic() < until:
            start, end = failed.pop()
            middle = (start + end) // 2
            for first, last in ((start, middle), (middle, end)) if end - start > 1 else ():
                if self._problem(store, batch[first:last]) is None:
                    saved[first:last] = [True] * (last - first)
                else:
                    failed.append((first, last))
        _log.error("%d of %d scores could not be stored", saved.count(False), len(saved))
        return saved

    def _problem(self, store: ScoreStore, batch: list[Finished]) -> BaseException | None:
        """Save the scores; gives why they can't be saved, or `None`."""
        from referee.storage.scored_runs import ScoredRun

        by_run: dict[int, list[Finished]] = {}
        for finished in batch:
            by_run.setdefault(id(finished.task.submission), []).append(finished)
        try:
            records = [ScoredRun(run=group[0].run, scores=[each.score for each in group]) for group in by_run.values()]
            store.save(records, experiment=EXPERIMENT, scorers=[binding.scorer for binding in self._bindings.values()])
        except BaseException as error:  # a store that calls sys.exit() must not end this thread
            return error
        return None


def _outcome(finished: Finished) -> Outcome:
    status = finished.score.status
    return "failed" if status == "error" else status
