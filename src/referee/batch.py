"""Scores a stream of runs with a list of scorers, in this process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, runtime_checkable

from referee.errors import OptionError
from referee.formats.sources import BATCH_RUNS
from referee.loops import submit_coroutine
from referee.pipeline import Scorer
from referee.runs import Run
from referee.scores import Score
from referee.steps import Asker


@runtime_checkable
class Batched(Protocol):
    """Runs that come in batches, like those of a reader of files."""

    def batches(self) -> Iterator[list[Run]]:
        """Runs that are there at once."""
        ...


def numbered(scorers: Sequence[Scorer[Any, Any]]) -> list[Scorer[Any, Any]]:
    """The scorers with `#2`, `#3` appended to ids that repeat, in order, so that nothing is pooled.

    Example:
        >>> from referee import checks
        >>> numbered([checks.includes("a"), checks.includes("b")])
        [<Scorer check-includes>, <Scorer check-includes#2>]
    """
    taken: set[str] = set()
    unique = []
    for scorer in scorers:
        name, count = scorer.id, 1
        while name in taken:
            count += 1
            name = f"{scorer.id}#{count}"
        taken.add(name)
        unique.append(scorer if name == scorer.id else scorer.with_id(name))
    return unique


def score_runs(
    runs: Iterable[Run], scorers: Sequence[Scorer[Any, Any]], *, judge: Asker | str | None = None, concurrency: int = 8
) -> Iterator[tuple[Run, list[Score]]]:
    """Score each run with every scorer; give them in the order of the runs.

    Args:
        runs: The runs, read as they are needed: a reader of files gives small batches, any other iterator one by one.
        scorers: The scorers; repeated ids get `#2`, `#3`.
        judge: The judge for scorers that have none of their own.
        concurrency: How many runs are judged at once. Without a judged scorer runs are scored one by one.

    Yields:
        A run and its scores, in the order of the scorers.

    Raises:
        OptionError: No scorer, a concurrency below 1, or a scorer asks a judge and none can be found.

    Example:
        >>> from referee import Run, checks
        >>> for run, scores in score_runs([Run(id="r1")], [checks.used_no_tools()]):
        ...     print(run.id, scores[0].score)
        r1 1.0
    """
    if not scorers:
        raise OptionError("give at least one scorer")
    if concurrency < 1:
        raise OptionError(f"concurrency must be at least 1, not {concurrency}")
    ready = [scorer.ready(judge) for scorer in numbered(scorers)]
    if all(scorer.is_quick for scorer in ready):
        return _scorer_by_scorer(_batches(runs), ready)
    if all(scorer.is_synchronous for scorer in ready):
        return _one_by_one(runs, [scorer.run_sync for scorer in ready])
    return _at_once(runs, ready, concurrency)


def _batches(runs: Iterable[Run]) -> Iterator[list[Run]]:
    """Runs that are there at once; an iterator may wait for its next run, so that each of its runs is alone."""
    if isinstance(runs, Batched):
        return runs.batches()
    if isinstance(runs, list):
        return (runs[start : start + BATCH_RUNS] for start in range(0, len(runs), BATCH_RUNS))
    return ([run] for run in runs)


def _scorer_by_scorer(
    batches: Iterable[list[Run]], scorers: Sequence[Scorer[Any, Any]]
) -> Iterator[tuple[Run, list[Score]]]:
    """A quick scorer finds its own code still in the processor's cache when it scores several runs in a row."""
    for batch in batches:
        columns = [scorer.run_batch(batch) for scorer in scorers]
        for run, scores in zip(batch, zip(*columns)):
            yield run, list(scores)


def _one_by_one(runs: Iterable[Run], score: Sequence[Callable[[Run], Score]]) -> Iterator[tuple[Run, list[Score]]]:
    for run in runs:
        yield run, [run_sync(run) for run_sync in score]


def _at_once(
    runs: Iterable[Run], scorers: Sequence[Scorer[Any, Any]], concurrency: int
) -> Iterator[tuple[Run, list[Score]]]:
    async def scored(run: Run) -> list[Score]:
        return list(await asyncio.gather(*(scorer.run(run) for scorer in scorers)))

    waiting: deque[tuple[Run, Future[list[Score]]]] = deque()
    try:
        for run in runs:
            if len(waiting) >= concurrency:
                first, future = waiting.popleft()
                yield first, future.result()
            waiting.append((run, submit_coroutine(scored(run))))
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()
    finally:
        for _, future in waiting:
            future.cancel()
