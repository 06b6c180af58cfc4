"""What is wrong with single items: errors, gates that do not hold, and scores outside a threshold that was missed."""

from __future__ import annotations

from dataclasses import dataclass

from referee.evaluate.report import Report
from referee.evaluate.verdict import holds
from referee.report.document import ItemProblems, Problem, Problems, counted
from referee.results import ItemResult, Measure
from referee.scores import Score
from referee.terminal import one_line

_SHOWN_TEXT = 300


def item_problems(report: Report) -> Problems | None:
    """The items that failed, the worst first; `None` when there are none."""
    ranked = []
    asked = unmet(report)
    for place, result in enumerate(report.results):
        problems = result_problems(report, result, asked)
        if problems:
            ranked.append((_rank(result, problems), place, ItemProblems(result.name, *_talk(result), problems)))
    if not ranked:
        return None
    ranked.sort(key=lambda entry: entry[:2])
    return Problems(
        f"problems in {len(ranked)} of {counted(len(report.results), 'result')}", [entry for *_, entry in ranked]
    )


def result_problems(report: Report, result: ItemResult, asked: Unmet) -> list[Problem]:
    """What is wrong with one result, the worst first."""
    if result.error is not None:
        return [Problem(f"error in {result.error.step}", f"{result.error.error_class}: {result.error.message}")]
    found = [
        problem
        for turn, measure, score in measured(report, result)
        if (problem := _problem(result, turn, measure, score, asked)) is not None
    ]
    return sorted(found, key=lambda problem: problem.tone != "bad")


def measured(report: Report, result: ItemResult) -> list[tuple[int | None, Measure, Score]]:
    """Every score of a result with its measure and turn; -1 stands for the item's own."""
    top = [
        (None, measure, result.scores[measure.id])
        for measure in report.evaluation.measures
        if measure.id in result.scores
    ]
    own = [(-1, entry.measure, entry.score) for entry in result.own]
    turns = [(turn.turn, entry.measure, entry.score) for turn in result.turns for entry in turn.judged]
    return [*top, *own, *turns]


@dataclass(frozen=True, slots=True)
class Unmet:
    """What a report's results do not meet.

    Attributes:
        gates: Name of the result and id of the gate that it does not hold.
        thresholds: Id of the threshold that was missed, and its item where it belongs to one.
    """

    gates: set[tuple[str, str]]
    thresholds: set[tuple[str, str | None]]


def unmet(report: Report) -> Unmet:
    """The gates that do not hold and the thresholds that were missed."""
    thresholds = (*report.thresholds, *report.local_thresholds)
    return Unmet(
        {(name, gate.id) for gate in (*report.gates, *report.local_gates) for name in gate.failed},
        {(threshold.id, threshold.item_id) for threshold in thresholds if not threshold.passed},
    )


def _problem(result: ItemResult, turn: int | None, measure: Measure, score: Score, asked: Unmet) -> Problem | None:
    place = f"turn {turn + 1}: " if turn is not None and turn >= 0 else ""
    title = f"{place}{measure.id}"
    if score.error is not None:
        return Problem(f"{title}: error in {score.error.step}", f"{score.error.error_class}: {score.error.message}")
    if holds(measure, score) is not False:
        return None
    item = None if turn is None else result.item_id
    if measure.role == "gate" and (result.name, measure.id) in asked.gates:
        return Problem(f"{title} {score.score:g}, must be {measure.bounds}", score.reason or "")
    if measure.role == "scorer" and (measure.id, item) in asked.thresholds:
        return Problem(f"{title} {score.score:g}, threshold {measure.bounds}", score.reason or "", "warn")
    return None


def _rank(result: ItemResult, problems: list[Problem]) -> int:
    if result.error is not None:
        return 0
    return 1 if any(problem.tone == "bad" for problem in problems) else 2


def _talk(result: ItemResult) -> tuple[str, str]:
    if result.run is None:
        return "", ""
    return one_line(result.run.input_text, _SHOWN_TEXT), one_line(result.run.final_text, _SHOWN_TEXT)
