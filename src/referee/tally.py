"""A running summary of scores: means with their coverage, and the lowest runs. Its size does not grow with the runs.

Summaries of parts can be merged, and the result does not depend on how the runs were parted: sums are exact.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from referee.pipeline import Scorer
from referee.runs import Run
from referee.scores import UNIT_RANGE, Score

#: So many values of a scorer are gathered before they are added up.
_GATHERED = 1000


class FirstError(msgspec.Struct):
    """The first error of a scorer: the number of its run, from 1, the run's id, and what went wrong."""

    number: int
    run_id: str
    problem: str

    def __str__(self) -> str:
        return f"{self.run_id}: {self.problem}"


class ScorerTally(msgspec.Struct):
    """What one scorer gave so far. A mean is over the scored runs only; errors and unscorable runs are never in it.

    `sums` are numbers whose sum is exactly the sum of the scores.
    """

    scorer_id: str
    scored: int = 0
    errors: int = 0
    not_scorable: int = 0
    sums: list[float] = []
    lowest: float | None = None
    highest: float | None = None
    first_error: FirstError | None = None
    cost: float = 0.0
    calls: int = 0

    @property
    def mean(self) -> float | None:
        """The mean over the scored runs, or `None`."""
        return math.fsum(self.sums) / self.scored if self.scored else None

    @property
    def attempted(self) -> int:
        """Scored runs and errors."""
        return self.scored + self.errors

    @property
    def coverage(self) -> float | None:
        """Scored / attempted, or `None` when nothing could be attempted."""
        return self.scored / self.attempted if self.attempted else None

    def merge(self, later: ScorerTally, runs_before: int) -> None:
        """Add what the scorer gave on later runs."""
        self.scored += later.scored
        self.errors += later.errors
        self.not_scorable += later.not_scorable
        self.sums = exact_sums([*self.sums, *later.sums])
        self.lowest = min((value for value in (self.lowest, later.lowest) if value is not None), default=None)
        self.highest = max((value for value in (self.highest, later.highest) if value is not None), default=None)
        if self.first_error is None and later.first_error is not None:
            first = later.first_error
            self.first_error = FirstError(first.number + runs_before, first.run_id, first.problem)
        self.cost += later.cost
        self.calls += later.calls


class LowRun(msgspec.Struct, order=True):
    """A run among the lowest: its quality (0 worst, 1 best), its number, from 1, and what was wrong."""

    quality: float
    number: int
    run_id: str
    problems: list[str]


class TallyPart(msgspec.Struct):
    """The summary of some runs as plain data."""

    runs: int
    scorers: list[ScorerTally]
    lowest_runs: list[LowRun]

    def rename(self, ids: Sequence[str]) -> None:
        """Give the runs these ids, in their order."""
        for low in self.lowest_runs:
            low.run_id = ids[low.number - 1]
        for tally in self.scorers:
            if tally.first_error is not None:
                tally.first_error.run_id = ids[tally.first_error.number - 1]


class Tally:
    """Adds up scores, run by run.

    Example:
        >>> from referee import Run, checks
        >>> check = checks.used_no_tools()
        >>> tally = Tally([check])
        >>> tally.add(Run(id="r"), [check.run_sync(Run(id="r"))])
        >>> tally.scorers[0].mean, tally.scorers[0].coverage
        (1.0, 1.0)
    """

    def __init__(self, scorers: Sequence[Scorer[Any, Any]], *, keep_lowest: int = 5) -> None:
        self._scorers = [ScorerTally(scorer.id) for scorer in scorers]
        self._gathered: list[list[float]] = [[] for _ in scorers]
        self.runs = 0
        self._keep = keep_lowest
        # A heap whose first entry is the best of the kept runs: (-quality, -number, problems, run id).
        self._low: list[tuple[float, int, list[str], str]] = []

    def add(self, run: Run, scores: Sequence[Score]) -> None:
        """Add one run's scores, in the order of the scorers."""
        self.runs += 1
        qualities = 0.0
        counted = 0
        for place, score in enumerate(scores):
            value = score.score
            if value is None or score.error is not None:
                counted += self._add_unscored(self._scorers[place], score)
                continue
            self._gathered[place].append(value)
            if score.judge:
                _add_usage(self._scorers[place], score)
            qualities += value if score.range is UNIT_RANGE and not score.lower_is_better else quality(score)
            counted += 1
        if self.runs % _GATHERED == 0:
            self._sum_up()
        if counted and self._keep:
            mean = qualities / counted
            if mean < 1.0 and self._is_low(mean):
                self._keep_low(mean, self.runs, [problem for score in scores if (problem := _problem(score))], run.id)

    def merge(self, part: TallyPart) -> None:
        """Add the summary of the runs that come next."""
        for tally, later in zip(self.scorers, part.scorers):
            tally.merge(later, self.runs)
        for low in part.lowest_runs:
            if self._is_low(low.quality):
                self._keep_low(low.quality, low.number + self.runs, low.problems, low.run_id)
        self.runs += part.runs

    def _is_low(self, mean: float) -> bool:
        return len(self._low) < self._keep or mean < -self._low[0][0]

    def _keep_low(self, mean: float, number: int, problems: list[str], run_id: str) -> None:
        entry = (-mean, -number, problems, run_id)
        if len(self._low) < self._keep:
            heapq.heappush(self._low, entry)
        else:
            heapq.heapreplace(self._low, entry)

    def _sum_up(self) -> None:
        for tally, values in zip(self._scorers, self._gathered):
            if values:
                tally.scored += len(values)
                tally.sums = exact_sums([*tally.sums, *values])
                tally.lowest = min(values) if tally.lowest is None else min(tally.lowest, *values)
                tally.highest = max(values) if tally.highest is None else max(tally.highest, *values)
                values.clear()

    def _add_unscored(self, tally: ScorerTally, score: Score) -> int:
        """Count it; an error weighs in the run's quality (as 0), an unscorable run does not."""
        if score.judge:
            _add_usage(tally, score)
        if score.error is None:
            tally.not_scorable += 1
            return 0
        tally.errors += 1
        if tally.first_error is None:
            problem = f"{score.error.error_class}: {score.error.message}"
            tally.first_error = FirstError(self.runs, score.run_id, problem)
        return 1

    @property
    def scorers(self) -> list[ScorerTally]:
        """What each scorer gave."""
        self._sum_up()
        return self._scorers

    @property
    def lowest_runs(self) -> list[LowRun]:
        """The lowest runs, the worst first."""
        return sorted(LowRun(-low, -number, run_id, problems) for low, number, problems, run_id in self._low)

    @property
    def part(self) -> TallyPart:
        """This summary as plain data, for another one to merge."""
        return TallyPart(self.runs, self.scorers, self.lowest_runs)

    @property
    def errors(self) -> int:
        """How many scores were errors."""
        return sum(tally.errors for tally in self._scorers)


def exact_sums(values: list[float]) -> list[float]:
    """A few numbers whose sum is exactly the sum of the values, the largest first.

    Example:
        >>> exact_sums([1.0, 1e-20, 1e-20])
        [1.0, 2e-20]
    """
    sums: list[float] = []
    try:
        while total := math.fsum([*values, *(-part for part in sums)]):
            sums.append(total)
    except OverflowError:
        return [math.inf]
    return sums


def quality(score: Score) -> float:
    """A score on a common scale: 0 is the worst value the scorer can give, 1 the best."""
    low, high = score.range
    share = ((score.score or 0.0) - low) / (high - low)
    return 1.0 - share if score.lower_is_better else share


def _add_usage(tally: ScorerTally, score: Score) -> None:
    for usage in (score.judge or {}).values():
        tally.calls += usage.calls
        tally.cost += usage.cost or 0.0


def _problem(score: Score) -> str | None:
    if score.error is not None:
        return f"{score.scorer_id}: error: {score.error.message}"
    if score.score is None or quality(score) >= 1.0:
        return None
    return f"{score.scorer_id} {score.score:g}" + (f": {score.reason}" if score.reason else "")
