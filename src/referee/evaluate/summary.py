"""The figures of an evaluation: means with coverage and interval, repeats, tags, and what agent and judge cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from referee.evaluate.verdict import Sample, holds, top_samples
from referee.results import Group, ItemResult, Measure, Role
from referee.scores import JudgeUsage
from referee.statistics import Interval, flakiness, mean_interval, pass_at_k, pass_hat_k

V = TypeVar("V")


class ByScorer(dict[str, V], Generic[V]):
    """A dictionary by scorer id that also takes the scorer object that the evaluation was given.

    Example:
        >>> from referee import checks
        >>> check = checks.includes("sunny")
        >>> ByScorer({"check-includes": 0.5}, [(check, "check-includes")])[check]
        0.5
    """

    def __init__(self, values: Mapping[str, V], objects: Sequence[tuple[Any, str]] = ()) -> None:
        super().__init__(values)
        self._objects = list(objects)

    def __getitem__(self, key: Any) -> V:
        name = key if isinstance(key, str) else self._id_of(key)
        if name not in self.keys():
            raise KeyError(f"{key!r} is none of the evaluation's; there are {', '.join(self)}")
        return super().__getitem__(name)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of an id or a scorer object, else the default."""
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: object) -> bool:
        return (key if isinstance(key, str) else self._id_of(key)) in self.keys()

    def _id_of(self, key: object) -> str | None:
        return next((name for given, name in self._objects if given is key and name in self.keys()), None)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What one gate or scorer gave over all items.

    Attributes:
        role: `gate` or `scorer`.
        mean: Over the scored results, or `None`. Of a gate of 0 and 1 it is the share that passes.
        scored: How many results have a score.
        attempted: Scored results and errors.
        coverage: Scored / attempted, or `None`.
        interval: Of the mean; repeats of one item are taken together. `None` for a single item.
        not_scorable: How many results had nothing to evaluate; they are in no other figure.
        errors: How many have an error: of the scorer, or of the target.
        lower_is_better: Whether a low score is the good one.
        range: Lowest and highest value of a score.
        group: What is scored.
        step: The workflow step, in the group `steps`.
    """

    role: Role
    mean: float | None
    scored: int
    attempted: int
    coverage: float | None
    interval: Interval | None
    not_scorable: int
    errors: int
    lower_is_better: bool
    range: tuple[float, float]
    group: Group
    step: str | None


def summary_of(sample: Sample, confidence: float) -> Summary:
    """The summary of one measure."""
    measure = sample.measure
    return Summary(
        role=measure.role,
        mean=sample.mean,
        scored=len(sample.scored),
        attempted=sample.attempted,
        coverage=sample.coverage,
        interval=sample.interval(confidence),
        not_scorable=len(sample.entries) - sample.attempted,
        errors=sample.errors,
        lower_is_better=measure.lower_is_better,
        range=measure.range,
        group=measure.group,
        step=measure.step,
    )


def succeeded(result: ItemResult, measures: Iterable[Measure]) -> bool | None:
    """Whether a result passes all its gates: the evaluation's, the item's and its turns'. `None` when none applies."""
    held = [
        holds(measure, result.scores[measure.id])
        for measure in measures
        if measure.role == "gate" and measure.id in result.scores
    ]
    held += [holds(entry.measure, entry.score) for entry in local_entries(result) if entry.measure.role == "gate"]
    known = [value for value in held if value is not None]
    return all(known) if known else None


def local_entries(result: ItemResult) -> list[Any]:
    """The measures of the item and of its turns, with their scores."""
    return [*result.own, *(entry for turn in result.turns for entry in turn.judged)]


class PassAt(msgspec.Struct, frozen=True):
    """One k of pass@k and pass^k.

    Attributes:
        k: How many trials.
        at_least_one: pass@k: the chance that at least one of k trials passes, the mean over the items.
        all: pass^k: the chance that all of k trials pass, the mean over the items.
        items: How many items were run at least k times.
    """

    k: int
    at_least_one: float
    all: float
    items: int


class Flaky(msgspec.Struct, frozen=True):
    """An item that passed sometimes: `flakiness` is the chance that two of its repeats disagree."""

    item_id: str
    repeats: int
    passed: int
    flakiness: float


class Repeats(msgspec.Struct, frozen=True):
    """What repeats show. A repeat passes when all its gates do.

    Attributes:
        passes: pass@k and pass^k by k, from 1 on.
        rate: The share of all repeats that pass.
        interval: Of the rate, repeats of one item taken together.
        flaky: The items that passed in some repeats and failed in others, the most unsteady first.
        items: How many items were run more than once.
    """

    passes: list[PassAt]
    rate: float
    interval: Interval | None
    flaky: list[Flaky]
    items: int


def repeats_of(results: Iterable[ItemResult], measures: Sequence[Measure], confidence: float) -> Repeats | None:
    """What repeats show; `None` when no item was run twice, or no gate says what passing is."""
    trials: dict[str, list[bool]] = {}
    for result in results:
        passed = succeeded(result, measures)
        if passed is not None:
            trials.setdefault(result.item_id, []).append(passed)
    most = max(map(len, trials.values()), default=0)
    if most < 2:
        return None
    counted = [(item, len(passed), sum(passed)) for item, passed in trials.items()]
    flaky = [Flaky(item, n, c, flakiness(n, c) or 0.0) for item, n, c in counted if 0 < c < n]
    values = [(item, float(passed)) for item, listed in trials.items() for passed in listed]
    return Repeats(
        passes=[_pass_at(counted, k) for k in range(1, most + 1)],
        rate=sum(value for _, value in values) / len(values),
        interval=mean_interval([value for _, value in values], confidence, groups=[item for item, _ in values]),
        flaky=sorted(flaky, key=lambda entry: (-entry.flakiness, entry.item_id)),
        items=sum(n > 1 for _, n, _ in counted),
    )


def _pass_at(counted: Sequence[tuple[str, int, int]], k: int) -> PassAt:
    enough = [(n, c) for _, n, c in counted if n >= k]
    return PassAt(
        k,
        sum(pass_at_k(n, c, k) for n, c in enough) / len(enough),
        sum(pass_hat_k(n, c, k) for n, c in enough) / len(enough),
        len(enough),
    )


class AgentFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent itself took, over the results that say so.

    Attributes:
        runs: How many results have a run.
        duration_ms: Mean wall time of a run.
        slowest_ms: The longest one.
        cost: Sum in US dollars, and over how many runs it is known.
        tokens: Sum of tokens, and over how many runs it is known.
    """

    runs: int
    duration_ms: float | None
    slowest_ms: float | None
    cost: tuple[float, int] | None
    tokens: tuple[int, int] | None


def agent_figures(results: Iterable[ItemResult]) -> AgentFigures:
    """What the agent took."""
    runs = [result.run for result in results if result.run is not None]
    durations = [run.duration_ms for run in runs if run.duration_ms is not None]
    costs = [run.cost for run in runs if run.cost is not None]
    tokens = [run.usage.total for run in runs if run.usage is not None and run.usage.total is not None]
    return AgentFigures(
        runs=len(runs),
        duration_ms=sum(durations) / len(durations) if durations else None,
        slowest_ms=max(durations, default=None),
        cost=(sum(costs), len(costs)) if costs else None,
        tokens=(sum(tokens), len(tokens)) if tokens else None,
    )


def judge_usage(results: Iterable[ItemResult]) -> JudgeUsage | None:
    """What the judges took, all steps of all scores together; `None` when none was asked."""
    total: JudgeUsage | None = None
    for result in results:
        for score in result.all_scores:
            for usage in (score.judge or {}).values():
                total = usage if total is None else total + usage
    return total


def means_by_tag(results: Sequence[ItemResult], measures: Sequence[Measure]) -> dict[str, dict[str, float | None]]:
    """The means of every measure over the items of each tag, tags in their order of appearance."""
    tagged: dict[str, list[ItemResult]] = {}
    for result in results:
        for tag in dict.fromkeys(result.tags):
            tagged.setdefault(tag, []).append(result)
    return {
        tag: {sample.measure.id: sample.mean for sample in top_samples(measures, of_tag)}
        for tag, of_tag in tagged.items()
    }


def failed(result: ItemResult, measures: Iterable[Measure]) -> bool:
    """Whether a result has an error, does not hold a gate, or has a score outside its scorer's threshold."""
    pairs = [(measure, result.scores[measure.id]) for measure in measures if measure.id in result.scores]
    pairs += [(entry.measure, entry.score) for entry in local_entries(result)]
    return result.has_errors or any(holds(measure, score) is False for measure, score in pairs)
