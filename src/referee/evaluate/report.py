"""The report of an evaluation: a function of its plan and its results. It shows itself on a terminal and in a notebook."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import msgspec

from referee.errors import ReadError
from referee.evaluate.summary import (
    AgentFigures,
    ByScorer,
    Repeats,
    Summary,
    agent_figures,
    judge_usage,
    means_by_tag,
    repeats_of,
    summary_of,
)
from referee.evaluate.verdict import (
    GateOutcome,
    Sample,
    ThresholdOutcome,
    Verdict,
    gate_outcome,
    local_samples,
    threshold_outcome,
    top_samples,
    verdict_of,
)
from referee.journal import read_records
from referee.results import Evaluation, ItemResult
from referee.scores import JudgeUsage, Score, StepError


class TurnScores(msgspec.Struct, frozen=True):
    """The outcomes of one turn: by id a number, `not_scorable` or `error`."""

    item_id: str
    repeat: int
    turn: int
    gates: dict[str, float | str]
    scores: dict[str, float | str]


class Report:
    """What an evaluation of one target found.

    Args:
        evaluation: The plan.
        results: The results that there are.
        objects: The scorer objects that the user gave, with the ids they are reported under.
        hook_errors: Failures of `after_run` and of the journal.
        target: The name of the target.

    Attributes:
        evaluation: The plan.
        results: One result per item and repeat, in the order of the data.
        hook_errors: Failures of hooks and of the journal; every one of a single item stands in its result too.
        target: The name of the target; empty when there is only one.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        results: Iterable[ItemResult],
        *,
        objects: Sequence[tuple[Any, str]] = (),
        hook_errors: Sequence[StepError] = (),
        target: str = "",
    ) -> None:
        by_key = {result.key: result for result in results}
        keys = [key for key in evaluation.keys() if key[0] == target]  # noqa: SIM118 - a method of the plan, no mapping
        self.evaluation = evaluation
        self.results = [by_key[key] for key in keys if key in by_key]
        self.missing = len(keys) - len(self.results)
        self.hook_errors = [*(error for result in self.results for error in result.hook_errors), *hook_errors]
        self.target = target
        self._objects = objects

    @property
    def name(self) -> str:
        """The evaluation's name, with the target's where there are several."""
        return " · ".join(part for part in (self.evaluation.name, self.target) if part)

    @cached_property
    def _samples(self) -> list[Sample]:
        return top_samples(self.evaluation.measures, self.results)

    @cached_property
    def _local_samples(self) -> list[Sample]:
        return local_samples(self.results)

    @cached_property
    def summary(self) -> ByScorer[Summary]:
        """The figures of every gate and scorer, by id or by the scorer object."""
        found = {sample.measure.id: summary_of(sample, self.evaluation.confidence) for sample in self._samples}
        return ByScorer(found, self._objects)

    @cached_property
    def scores(self) -> ByScorer[float | None]:
        """The mean of every scorer, by id or by the scorer object; `None` where nothing was scored."""
        found = {name: summary.mean for name, summary in self.summary.items() if summary.role == "scorer"}
        return ByScorer(found, self._objects)

    @cached_property
    def gates(self) -> list[GateOutcome]:
        """The outcomes of the evaluation's gates. A gate with nothing scorable is not listed."""
        return _present(gate_outcome(sample) for sample in self._samples if sample.measure.role == "gate")

    @cached_property
    def thresholds(self) -> list[ThresholdOutcome]:
        """The outcomes of the evaluation's thresholds. One with nothing scorable is not listed."""
        return _present(threshold_outcome(sample) for sample in self._samples if sample.measure.role == "scorer")

    @cached_property
    def local_gates(self) -> list[GateOutcome]:
        """The outcomes of the gates of single items and turns."""
        return _present(gate_outcome(sample) for sample in self._local_samples if sample.measure.role == "gate")

    @cached_property
    def local_thresholds(self) -> list[ThresholdOutcome]:
        """The outcomes of the thresholds of single items and turns."""
        return _present(threshold_outcome(sample) for sample in self._local_samples if sample.measure.role == "scorer")

    @cached_property
    def turns(self) -> list[TurnScores]:
        """The outcomes of the turns that have gates or scorers of their own, by item and turn."""
        return [_turn_scores(result, index) for result in self.results for index in range(len(result.turns))]

    @cached_property
    def verdict(self) -> Verdict | None:
        """`failed` if a gate failed; else `scored` if a threshold was missed; else `passed`; `None` when nothing gates."""
        return verdict_of([*self.gates, *self.local_gates], [*self.thresholds, *self.local_thresholds])

    @property
    def errors(self) -> int:
        """How many results have no scores because the target failed."""
        return sum(result.error is not None for result in self.results)

    @property
    def complete(self) -> bool:
        """Whether every planned result is there and none of them has an error."""
        return not self.missing and not self.hook_errors and not any(result.has_errors for result in self.results)

    @cached_property
    def repeats(self) -> Repeats | None:
        """pass@k, pass^k and flaky items; `None` when no item was run twice or there are no gates."""
        return repeats_of(self.results, self.evaluation.measures, self.evaluation.confidence)

    @cached_property
    def tags(self) -> dict[str, dict[str, float | None]]:
        """The means over the items of each tag."""
        return means_by_tag(self.results, self.evaluation.measures)

    @cached_property
    def agent(self) -> AgentFigures:
        """The agent's own time, cost and tokens."""
        return agent_figures(self.results)

    @cached_property
    def judge(self) -> JudgeUsage | None:
        """What the judges took; `None` when none was asked."""
        return judge_usage(self.results)

    def __repr__(self) -> str:
        return f"<Report {self.name or self.evaluation.id}: {self.verdict}, {len(self.results)} results>"

    def __str__(self) -> str:
        return _text("terminal:as_text", self)

    def __rich__(self) -> Any:
        return _shown("terminal:renderable", self)

    def _repr_html_(self) -> str:
        return _text("html:fragment", self)


class SideBySide(Mapping[str, Report]):
    """The reports of several targets on the same items, by the target's name."""

    def __init__(self, reports: Mapping[str, Report]) -> None:
        self._reports = dict(reports)

    def __getitem__(self, target: str) -> Report:
        return self._reports[target]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def verdict(self) -> Verdict | None:
        """The worst verdict of all targets; `None` when nothing gates."""
        found = {report.verdict for report in self._reports.values()}
        order: tuple[Verdict, ...] = ("failed", "scored", "passed")
        return next((verdict for verdict in order if verdict in found), None)

    @property
    def complete(self) -> bool:
        """Whether every report is complete."""
        return all(report.complete for report in self._reports.values())

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{name}: {report.verdict}" for name, report in self._reports.items())
        return f"<SideBySide {verdicts}>"

    def __str__(self) -> str:
        return _text("terminal:as_text", self)

    def __rich__(self) -> Any:
        return _shown("terminal:renderable", self)

    def _repr_html_(self) -> str:
        return _text("html:fragment", self)


def read_report(path: str | os.PathLike[str]) -> Report | SideBySide:
    """The report of a journal, or of a JSON Lines report; of several targets side by side.

    Raises:
        ReadError: The file can't be read or holds no evaluation.
    """
    evaluation, results = read_records(path)
    if evaluation is None:
        raise ReadError("no evaluation's plan in it", source=str(path))
    reports = {target: Report(evaluation, results.values(), target=target) for target in evaluation.targets}
    return reports[""] if list(reports) == [""] else SideBySide(reports)


def _shown(renderer: str, report: Report | SideBySide) -> Any:
    """What a function of `referee.report` makes of it. Looked up by name: reports are drawn in a layer above this one."""
    module, _, function = renderer.partition(":")
    return getattr(import_module(f"referee.report.{module}"), function)(report)


def _text(renderer: str, report: Report | SideBySide) -> str:
    return str(_shown(renderer, report))


def _present(outcomes: Iterable[Any]) -> list[Any]:
    return [outcome for outcome in outcomes if outcome is not None]


def _turn_scores(result: ItemResult, index: int) -> TurnScores:
    turn = result.turns[index]
    by_role: dict[str, dict[str, float | str]] = {"gate": {}, "scorer": {}}
    for entry in turn.judged:
        by_role[entry.measure.role][entry.measure.id] = _outcome(entry.score)
    return TurnScores(result.item_id, result.repeat, turn.turn, by_role["gate"], by_role["scorer"])


def _outcome(score: Score) -> float | str:
    return score.status if score.score is None else score.score
