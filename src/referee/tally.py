"""A running summary of scores: means with their coverage, and the lowest runs. Its size does not grow with the runs."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import msgspec

from referee.pipeline import Scorer
from referee.runs import Run
from referee.scores import Score


class ScorerTally(msgspec.Struct):
    """What one scorer gave so far. A mean is over the scored runs only; errors and unscorable runs are never in it."""

    scorer_id: str
    scored: int = 0
    errors: int = 0
    not_scorable: int = 0
    total: float = 0.0
    lowest: float | None = None
    highest: float | None = None
    first_error: str | None = None
    cost: float = 0.0
    calls: int = 0

    @property
    def mean(self) -> float | None:
        """The mean over the scored runs, or `None`."""
        return self.total / self.scored if self.scored else None

    @property
    def attempted(self) -> int:
        """Scored runs and errors."""
        return self.scored + self.errors

    @property
    def coverage(self) -> float | None:
        """Scored / attempted, or `None` when nothing could be attempted."""
        return self.scored / self.attempted if self.attempted else None


class LowRun(msgspec.Struct, order=True):
    """A run among the lowest: its quality (0 worst, 1 best) and what was wrong."""

    quality: float
    number: int
    run_id: str
    problems: list[str]


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
        self.scorers = [ScorerTally(scorer.id) for scorer in scorers]
        self.runs = 0
        self._keep = keep_lowest
        # A heap whose first entry is the best of the kept runs: (-quality, -number, problems, run id).
        self._low: list[tuple[float, int, list[str], str]] = []

    def add(self, run: Run, scores: Sequence[Score]) -> None:
        """Add one run's scores, in the order of the scorers."""
        self.runs += 1
        qualities = 0.0
        counted = 0
        for tally, score in zip(self.scorers, scores):
            value = score.score
            if value is None or score.error is not None:
                counted += _add_unscored(tally, score)
                continue
            tally.scored += 1
            tally.total += value
            if tally.lowest is None or value < tally.lowest:
                tally.lowest = value
            if tally.highest is None or value > tally.highest:
                tally.highest = value
            if score.judge:
                _add_usage(tally, score)
            qualities += quality(score)
            counted += 1
        if counted and self._keep:
            self._keep_if_low(run, scores, qualities / counted)

    def _keep_if_low(self, run: Run, scores: Sequence[Score], mean: float) -> None:
        if mean >= 1.0 or (len(self._low) >= self._keep and mean >= -self._low[0][0]):
            return
        problems = [problem for score in scores if (problem := _problem(score))]
        entry = (-mean, -self.runs, problems, run.id)
        if len(self._low) < self._keep:
            heapq.heappush(self._low, entry)
        else:
            heapq.heapreplace(self._low, entry)

    @property
    def lowest_runs(self) -> list[LowRun]:
        """The lowest runs, the worst first."""
        return sorted(LowRun(-low, -number, run_id, problems) for low, number, problems, run_id in self._low)

    @property
    def errors(self) -> int:
        """How many scores were errors."""
        return sum(tally.errors for tally in self.scorers)


def quality(score: Score) -> float:
    """A score on a common scale: 0 is the worst value the scorer can give, 1 the best."""
    low, high = score.range
    share = ((score.score or 0.0) - low) / (high - low)
    return 1.0 - share if score.lower_is_better else share


def _add_unscored(tally: ScorerTally, score: Score) -> int:
    """Count it; an error weighs in the run's quality (as 0), an unscorable run does not."""
    if score.judge:
        _add_usage(tally, score)
    if score.error is None:
        tally.not_scorable += 1
        return 0
    tally.errors += 1
    if tally.first_error is None:
        tally.first_error = f"{score.run_id}: {score.error.error_class}: {score.error.message}"
    return 1


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
