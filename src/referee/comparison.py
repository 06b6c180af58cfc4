"""Two reports on the same items: what changed, and is it more than noise?"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from math import fsum
from typing import Any, Literal, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.evaluate.report import Report, SideBySide, read_report
from referee.results import Measure
from referee.scores import TOLERANCE
from referee.statistics import Interval, paired_test

Outcome: TypeAlias = Literal["better", "worse", "no difference shown"]


class ItemChange(msgspec.Struct, frozen=True):
    """An item whose score is another one now; of a repeated item the means."""

    item_id: str
    first: float
    second: float


class ScoreComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One gate or scorer in two reports, over the items that have a score in both.

    Attributes:
        id: The gate or scorer.
        items: How many items have a score in both.
        unpaired: How many have one in only one of them; they are left out.
        first, second: The means over the paired items.
        difference: Second minus first.
        interval: Of the difference; `None` for fewer than two items.
        p_value: The chance of a difference this large if there were none.
        test: `mcnemar` (exact) for passes and failures, else `permutation`.
        detectable: The smallest difference that a sample like this one would find four times out of five.
        outcome: `better` or `worse` when the p-value is below 1 - confidence.
        lower_is_better: Whether a low score is the good one.
        same_scorer: Whether the scorer has the same version in both; if not, it may be the scorer that changed.
        changes: The items whose score changed, the largest losses first.
    """

    id: str
    items: int
    unpaired: int
    first: float
    second: float
    difference: float
    interval: Interval | None
    p_value: float
    test: Literal["mcnemar", "permutation"]
    detectable: float | None
    outcome: Outcome
    lower_is_better: bool
    same_scorer: bool
    changes: list[ItemChange]


class Comparison:
    """Two reports, compared score by score.

    Attributes:
        first, second: The reports.
        confidence: 1 minus the accepted chance to call noise a difference.
        scores: By id, the comparison of every gate and scorer that has scores in both.
        only_first, only_second: Items that are in one report alone.
    """

    def __init__(self, first: Report, second: Report, confidence: float) -> None:
        self.first = first
        self.second = second
        self.confidence = confidence
        items = [dict.fromkeys(result.item_id for result in report.results) for report in (first, second)]
        self.only_first = [item for item in items[0] if item not in items[1]]
        self.only_second = [item for item in items[1] if item not in items[0]]
        self.scores = {entry.id: entry for entry in _compared(first, second, confidence)}

    @property
    def worse(self) -> list[str]:
        """The ids of the scores that got worse by more than noise."""
        return [entry.id for entry in self.scores.values() if entry.outcome == "worse"]

    def __repr__(self) -> str:
        outcomes = ", ".join(f"{entry.id} {entry.outcome}" for entry in self.scores.values())
        return f"<Comparison {outcomes}>"

    def __str__(self) -> str:
        return str(self._shown("terminal:as_text"))

    def __rich__(self) -> Any:
        return self._shown("terminal:renderable")

    def _repr_html_(self) -> str:
        return str(self._shown("html:fragment"))

    def _shown(self, renderer: str) -> Any:
        # Looked up by name: reports are drawn in a layer above this one.
        module, _, function = renderer.partition(":")
        return getattr(import_module(f"referee.report.{module}"), function)(self)


def compare(
    first: Report | str | os.PathLike[str], second: Report | str | os.PathLike[str], *, confidence: float = 0.95
) -> Comparison:
    """Compare two reports, or the files of two evaluations, item by item.

    Items are paired by their id; of a repeated item the mean counts. Passes and failures are compared by McNemar's
    exact test, other scores by a permutation test.

    Args:
        first: The report, or a journal or JSON Lines report, before the change.
        second: The one after it.
        confidence: 1 minus the accepted chance to call noise a difference.

    Raises:
        OptionError: The reports have no item or no score in common, one of them holds several targets, or the confidence is wrong.
        ReadError: A file can't be read.

    Example:
        >>> from referee import checks
        >>> from referee.evaluate import run_evals_sync
        >>> def report(answer):
        ...     items = [{"id": str(n), "input": "Weather?"} for n in range(12)]
        ...     return run_evals_sync(target=lambda text: answer, data=items, gates=[checks.includes("sunny")])
        >>> compare(report("rainy"), report("sunny")).scores["check-includes"].outcome
        'better'
    """
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        raise OptionError(f"confidence must be a number between 0 and 1, not {confidence!r}")
    compared = Comparison(_report(first), _report(second), confidence)
    if len(compared.only_first) == len({result.item_id for result in compared.first.results}):
        raise OptionError("the two reports have no item in common: give items the same id in both")
    if not compared.scores:
        raise OptionError("the two reports have no score in common: no gate or scorer has a number for an item in both")
    return compared


def _report(given: Any) -> Report:
    if not isinstance(given, (Report, SideBySide, str, os.PathLike)):
        raise OptionError(f"give two reports, or the files of two evaluations, not {type(given).__name__}")
    found = read_report(given) if isinstance(given, (str, os.PathLike)) else given
    if isinstance(found, SideBySide) and len(found) == 1:
        return next(iter(found.values()))
    if isinstance(found, SideBySide):
        place = f"{given} holds" if found is not given else "there are"
        raise OptionError(f"{place} several targets ({', '.join(found)}): compare two of them, such as report[name]")
    return found


def _compared(first: Report, second: Report, confidence: float) -> Iterable[ScoreComparison]:
    later = {measure.id: measure for measure in second.evaluation.measures}
    for measure in first.evaluation.measures:
        if measure.id in later:
            values = [_means_by_item(report, measure.id) for report in (first, second)]
            paired = [item for item in values[0] if item in values[1]]
            if paired:
                yield _score_comparison(measure, later[measure.id], values[0], values[1], paired, confidence)


def _means_by_item(report: Report, measure_id: str) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for result in report.results:
        score = result.scores.get(measure_id)
        if score is not None and score.score is not None:
            values.setdefault(result.item_id, []).append(score.score)
    return {item: fsum(listed) / len(listed) for item, listed in values.items()}


def _score_comparison(
    measure: Measure,
    later: Measure,
    first: Mapping[str, float],
    second: Mapping[str, float],
    paired: list[str],
    confidence: float,
) -> ScoreComparison:
    low, high = measure.range
    found = paired_test([(first[item], second[item]) for item in paired], confidence, widest=high - low)
    changes = [
        ItemChange(item, first[item], second[item]) for item in paired if abs(second[item] - first[item]) > TOLERANCE
    ]
    sign = -1 if measure.lower_is_better else 1
    return ScoreComparison(
        id=measure.id,
        items=len(paired),
        unpaired=len(first.keys() ^ second.keys()),
        first=found.first,
        second=found.second,
        difference=found.difference,
        interval=found.interval,
        p_value=found.p_value,
        test=found.test,
        detectable=found.detectable,
        outcome=_outcome(found.p_value, found.difference * sign, confidence),
        lower_is_better=measure.lower_is_better,
        same_scorer=measure.version == later.version,
        changes=sorted(changes, key=lambda change: sign * (change.second - change.first)),
    )


def _outcome(p_value: float, gain: float, confidence: float) -> Outcome:
    if p_value >= round(1 - confidence, 12) or gain == 0:
        return "no difference shown"
    return "better" if gain > 0 else "worse"
