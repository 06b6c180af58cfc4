"""Works at one job in a process of its own: `python -m referee.studio.worker`, with its order on standard input."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from referee.batch import numbered, score_runs
from referee.errors import RefereeError
from referee.loading import load_scorer
from referee.pipeline import Scorer
from referee.runs import Run
from referee.scores import Score
from referee.storage.jobs import BEAT_SECONDS, JobPlan, Progress
from referee.storage.recorded_runs import RunRow
from referee.storage.scored_runs import ScoredRun
from referee.storage.store import Store
from referee.studio.workers import Order

#: So many runs are scored and saved together; fewer where a judge is asked, which takes its time.
BATCH, JUDGED_BATCH = 50, 8
#: Pages come first.
_NICENESS = 5


def main() -> None:
    """Work until the job is done or cancelled, or the Studio that ordered it is gone."""
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    os.nice(_NICENESS)
    gone = threading.Event()
    threading.Thread(target=_watch, args=(gone,), daemon=True).start()
    with Store(order.store) as store:
        work(store, order.job, order.word, gone)


def _watch(gone: threading.Event) -> None:
    """Notice when the other end of the pipe is closed."""
    sys.stdin.buffer.read()
    gone.set()


def work(store: Store, number: int, word: str, gone: threading.Event) -> None:
    """Work at a job that was taken.

    Args:
        store: The store.
        number: The job's number.
        word: What `Jobs.take` gave.
        gone: Set when the work is to be interrupted.
    """
    stopped = threading.Event()
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(store, number, word, stopped, ended), daemon=True)
    beating.start()
    try:
        job = store.jobs.get(number)
        is_done = _score(store, job.plan, job.progress, _Report(store, number, word, stopped, gone))
        store.jobs.end(number, word, "finished" if is_done else "interrupted" if gone.is_set() else "cancelled")
    except RefereeError as error:
        store.jobs.end(number, word, "failed", str(error))
    except Exception as error:
        store.jobs.end(number, word, "failed", f"{type(error).__name__}: {error}")
        raise
    finally:
        ended.set()
        beating.join()


def _beat(store: Store, number: int, word: str, stopped: threading.Event, ended: threading.Event) -> None:
    while not ended.wait(BEAT_SECONDS):
        if not store.jobs.beat(number, word):
            stopped.set()


class _Report:
    """Says how far the work is; whether it goes on."""

    def __init__(self, store: Store, number: int, word: str, stopped: threading.Event, gone: threading.Event) -> None:
        self._store = store
        self._number = number
        self._word = word
        self._stopped = stopped
        self._gone = gone

    def __call__(self, progress: Progress) -> bool:
        if not self._store.jobs.beat(self._number, self._word, progress):
            self._stopped.set()
        return not (self._stopped.is_set() or self._gone.is_set())


def _score(store: Store, plan: JobPlan, progress: Progress, goes_on: Callable[[Progress], bool]) -> bool:
    """Score the runs of a plan from where it stands; whether it came to the end."""
    judge = _judge(plan)
    scorers = numbered([load_scorer(spec) for spec in plan.scorers])
    ready = [scorer.ready(judge) for scorer in scorers]
    size = BATCH if all(scorer.is_synchronous for scorer in ready) else JUDGED_BATCH
    while goes_on(progress):
        batch = store.runs.batch(plan.where, after=progress.last_run, limit=size)
        if not batch:
            return True
        rows = [row for row, _ in batch]
        found = [scores for _, scores in score_runs([run for _, run in batch], ready)]
        _save(store, zip(rows, found), scorers)
        progress = _further(progress, rows[-1].number, found)
    return False


def _judge(plan: JobPlan) -> Any:
    if plan.model is None and plan.max_cost is None:
        return None
    from referee.judge import Budget, Judge

    return Judge(plan.model, budget=None if plan.max_cost is None else Budget(money=plan.max_cost))


def _save(store: Store, scored: Iterable[tuple[RunRow, list[Score]]], scorers: Sequence[Scorer[Any, Any]]) -> None:
    """Save scores beside the runs that are stored: an id and a place is all that is said of each."""
    for (experiment, kind), group in groupby(scored, key=lambda pair: (pair[0].experiment, pair[0].kind)):
        records = [
            ScoredRun(run=Run(id=row.run_id), item=row.item, repeat=row.repeat, scores=scores) for row, scores in group
        ]
        store.save(records, experiment=experiment, kind=kind, scorers=scorers)


def _further(progress: Progress, last_run: int, found: Sequence[Sequence[Score]]) -> Progress:
    statuses = [score.status for scores in found for score in scores]
    return Progress(
        last_run=last_run,
        done=progress.done + len(found),
        scored=progress.scored + statuses.count("scored"),
        not_scorable=progress.not_scorable + statuses.count("not_scorable"),
        errors=progress.errors + statuses.count("error"),
    )


if __name__ == "__main__":
    main()
