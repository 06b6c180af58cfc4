"""Gates, thresholds and the verdict: does the agent pass?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from referee.bounds import Bounds
from referee.results import ItemResult, Measure
from referee.scores import TOLERANCE, Score
from referee.statistics import Interval, mean_interval

Verdict: TypeAlias = Literal["passed", "scored", "failed"]


@dataclass(frozen=True, slots=True)
class Sample:
    """A measure and its scores: of the whole evaluation, or of one item or turn alone."""

    measure: Measure
    entries: list[tuple[ItemResult, Score]]
    item_id: str | None = None
    turn: int | None = None

    @property
    def scored(self) -> list[tuple[ItemResult, float]]:
        """The results that have a number."""
        return [(result, score.score) for result, score in self.entries if score.score is not None]

    @property
    def errors(self) -> int:
        """How many scores are errors, those of items whose target failed included."""
        return sum(score.error is not None for _, score in self.entries)

    @property
    def attempted(self) -> int:
        """Scores and errors; what was not scorable is left out."""
        return len(self.scored) + self.errors

    @property
    def coverage(self) -> float | None:
        """Scored / attempted, or `None` when nothing could be attempted."""
        return len(self.scored) / self.attempted if self.attempted else None

    @property
    def mean(self) -> float | None:
        """The mean of the numbers, or `None` when there are none."""
        values = [value for _, value in self.scored]
        return math.fsum(values) / len(values) if values else None

    def interval(self, confidence: float) -> Interval | None:
        """The interval of the mean, repeats of one item taken together, within the measure's range."""
        low, high = self.measure.range
        found = mean_interval(
            [value for _, value in self.scored],
            confidence,
            groups=[result.item_id for result, _ in self.scored],
            method="auto" if (low, high) == (0, 1) else "t",  # on another scale 0 and 1 are no failures and passes
        )
        if found is None:
            return None
        return msgspec.structs.replace(found, low=max(low, found.low), high=min(high, found.high))


def top_samples(measures: Iterable[Measure], results: Sequence[ItemResult]) -> list[Sample]:
    """The scores of the evaluation's own measures."""
    return [
        Sample(measure, [(result, result.scores[measure.id]) for result in results if measure.id in result.scores])
        for measure in measures
    ]


def local_samples(results: Iterable[ItemResult]) -> list[Sample]:
    """The scores of measures that belong to single items and turns, repeats of an item together."""
    samples: dict[tuple[str, int | None, str], Sample] = {}
    for result in results:
        places = [(None, result.own), *((turn.turn, turn.judged) for turn in result.turns)]
        for turn, judged in places:
            for entry in judged:
                key = (result.item_id, turn, entry.measure.id)
                sample = samples.setdefault(key, Sample(entry.measure, [], result.item_id, turn))
                sample.entries.append((result, entry.score))
    return list(samples.values())


class GateOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a gate passed.

    Attributes:
        id: The gate.
        passed: Whether every item holds it.
        bounds: What each score has to hold.
        items: How many items it applied to.
        failed: The results that did not hold it, by their names.
        item_id, turn: The item and turn it belongs to; `None` for a gate of the whole evaluation.
    """

    id: str
    passed: bool
    bounds: Bounds
    items: int
    failed: list[str] = []
    item_id: str | None = None
    turn: int | None = None


class ThresholdOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a threshold was reached.

    Attributes:
        id: The scorer.
        passed: Whether it was reached.
        reason: Why, or why not.
        bounds: What the mean has to hold.
        mean: The mean over the scored results, or `None`.
        coverage: Scored / attempted.
        item_id, turn: The item and turn it belongs to; `None` for one of the whole evaluation.
    """

    id: str
    passed: bool
    reason: str
    bounds: Bounds
    mean: float | None = None
    coverage: float | None = None
    item_id: str | None = None
    turn: int | None = None


def holds(measure: Measure, score: Score) -> bool | None:
    """Whether one score is within its measure's bounds; `None` when it is not scorable or nothing is asked."""
    if measure.bounds is None or score.status == "not_scorable":
        return None
    return score.score is not None and measure.bounds.hold(score.score)


def gate_outcome(sample: Sample) -> GateOutcome | None:
    """The outcome of a gate; `None` when nothing was scorable.

    An item passes when the gate holds in all of its repeats, or in as many as the gate asks for.
    """
    measure = sample.measure
    assert measure.bounds is not None
    by_item: dict[str, list[tuple[ItemResult, bool]]] = {}
    for result, score in sample.entries:
        held = holds(measure, score)
        if held is not None:
            by_item.setdefault(result.item_id, []).append((result, held))
    if not by_item:
        return None
    failed: list[str] = []
    for repeats in by_item.values():
        needed = len(repeats) if measure.passes is None else min(measure.passes, len(repeats))
        if sum(held for _, held in repeats) < needed:
            failed += [result.name for result, held in repeats if not held]
    return GateOutcome(
        id=measure.id,
        passed=not failed,
        bounds=measure.bounds,
        items=len(by_item),
        failed=failed,
        item_id=sample.item_id,
        turn=sample.turn,
    )


def threshold_outcome(sample: Sample) -> ThresholdOutcome | None:
    """The outcome of a threshold; `None` when there is none or nothing was scorable."""
    measure = sample.measure
    if measure.bounds is None or not sample.attempted:
        return None
    passed, reason = _reached(sample, measure.bounds)
    return ThresholdOutcome(
        id=measure.id,
        passed=passed,
        reason=reason,
        bounds=measure.bounds,
        mean=sample.mean,
        coverage=sample.coverage,
        item_id=sample.item_id,
        turn=sample.turn,
    )


def _reached(sample: Sample, bounds: Bounds) -> tuple[bool, str]:
    mean, coverage, measure = sample.mean, sample.coverage, sample.measure
    if mean is None or coverage is None:
        return False, f"no scores: {sample.errors} errors"
    if coverage < measure.min_coverage - TOLERANCE:
        scored = f"{len(sample.scored)} of {sample.attempted} scored"
        return False, f"coverage {coverage:.1%} is below {measure.min_coverage:.1%} ({scored})"
    if not bounds.hold(mean):
        return False, f"mean {mean:.4g} is not {bounds}"
    if measure.confidence is None:
        return True, f"mean {mean:.4g} is {bounds}"
    interval = sample.interval(measure.confidence)
    if interval is None:
        return False, "one score says nothing about the confidence"
    shown = f"the {measure.confidence:.0%} interval {interval.low:.4g} to {interval.high:.4g}"
    sure = bounds.hold(interval.low) and bounds.hold(interval.high)
    return sure, f"{shown} {'is' if sure else 'is not'} {bounds}"


def verdict_of(gates: Iterable[GateOutcome], thresholds: Iterable[ThresholdOutcome]) -> Verdict | None:
    """`failed` if a gate failed; else `scored` if a threshold was missed; else `passed`; `None` when nothing gates.

    Example:
        >>> verdict_of([GateOutcome(id="g", passed=True, bounds=Bounds(min=1), items=1)], [])
        'passed'
    """
    gates, thresholds = list(gates), list(thresholds)
    if not all(gate.passed for gate in gates):
        return "failed"
    if not all(threshold.passed for threshold in thresholds):
        return "scored"
    return "passed" if gates or thresholds else None
