"""The trajectory scorer by code: the expected steps, efficiency, retries after failures, and forbidden steps in one."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import msgspec

from referee.display import shown
from referee.errors import OptionError
from referee.jsonvalue import is_finite_number
from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.scores import rounded
from referee.steps import NotScorable, Results, not_scorable
from referee.trajectories import extract_trajectory
from referee.trajectories.comparison import StepComparison, compare_steps, is_called
from referee.trajectories.conduct import (
    Blacklist,
    Efficiency,
    Taken,
    ToolFailures,
    judge_blacklist,
    judge_efficiency,
    judge_tool_failures,
    taken_duration,
    taken_tokens,
)
from referee.trajectories.expectation import ExpectedStep, TrajectoryExpectation, plain_expectation, read_expectation

#: What each dimension counts, of those that apply.
WEIGHTS = {"accuracy": 0.4, "efficiency": 0.3, "tool_failures": 0.2, "blacklist": 0.1}
#: What the nested expectations count together, beside the steps' own score.
_NESTED = 0.3


class NestedJudgement(msgspec.Struct, frozen=True):
    """The judgement of the steps inside one step; `None` when the step itself is missing, which scores 0."""

    name: str
    judgement: TrajectoryJudgement | None


class TrajectoryJudgement(msgspec.Struct, frozen=True):
    """A trajectory judged in the dimensions that apply; the others are `None`.

    `score` is the weighted mean of the dimensions, with the nested expectations, not yet rounded. A blacklist hit,
    nested ones too, makes it 0.
    """

    score: float
    accuracy: StepComparison | None
    efficiency: Efficiency | None
    tool_failures: ToolFailures | None
    blacklist: Blacklist | None
    nested: list[NestedJudgement]

    @property
    def dimensions(self) -> dict[str, float]:
        """The score of each dimension that applies."""
        return {name: getattr(self, name).score for name in WEIGHTS if getattr(self, name) is not None}

    @property
    def forbidden(self) -> bool:
        """Whether something forbidden happened, here or in a step."""
        return (self.blacklist is not None and bool(self.blacklist.hits)) or any(
            each.judgement is not None and each.judgement.forbidden for each in self.nested
        )


def create_trajectory_scorer_code(
    defaults: Any = None, weights: Mapping[str, float] | None = None, *, id: str = "code-trajectory-scorer"
) -> Scorer[TrajectoryJudgement, None]:
    """How well the run kept to its expected trajectory, 0 to 1, rounded to two decimals.

    The weighted mean of the dimensions that apply:

    - *accuracy* (0.4) when steps are expected: as `create_trajectory_accuracy_scorer_code`.
    - *efficiency* (0.3) when a budget or `no_redundant_calls` is given: the mean of one part for each budget (1 within
      it, else 1 minus the share by which it is exceeded) and, unless `no_redundant_calls` is false, 1 minus 0.2 for
      each tool step that repeats the step directly before it.
    - *tool failures* (0.2) when there are tool steps: 1 minus 0.2 for each retry of a failed tool above
      `max_retries_per_tool` (2).
    - *blacklist* (0.1) when forbidden names or sequences are given; steps inside steps are searched too. A hit makes
      the whole score 0.

    A step's `children` may hold an expectation of its own for the steps inside it; the score is then 0.7 of the own one
    and 0.3 of the mean of the nested ones. Without steps, budget or blacklist the run is not scorable, nor with a budget
    on a figure that the run does not carry.

    Args:
        defaults: An expectation as plain data: a list of steps, or an object with `steps`, `ordering`,
            `allow_repeated_steps`, `max_steps`, `max_total_tokens`, `max_total_duration_ms`, `no_redundant_calls`,
            `max_retries_per_tool`, `blacklisted_tools`, `blacklisted_sequences`. Each field that the run's own
            `expected_trajectory` gives beats it.
        weights: Other weights for single dimensions; a negative one counts as 0.
        id: Another id than the reference's.

    Raises:
        OptionError: A field or a weight is wrong, or the weights sum to 0.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> calls = [create_tool_invocation(tool_name=name) for name in ("search", "search")]
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=calls)])
        >>> score = create_trajectory_scorer_code({"steps": ["search", "book"], "max_steps": 2}).run_sync(run)
        >>> score.score, score.preprocess_step_result.dimensions
        (0.74, {'accuracy': 0.5, 'efficiency': 0.9, 'tool_failures': 1.0})
    """
    plain = plain_expectation(defaults, "defaults")
    own = read_expectation(plain, "defaults")
    weighted = _weights(weights)

    def preprocess(run: Run) -> TrajectoryJudgement | NotScorable:
        expected = read_expectation(run.expected_trajectory).over(own)
        if not expected.wants_anything:
            return not_scorable("no steps, budget or blacklist are given, neither to the scorer nor with the run")
        return _judge(expected, _taken(run), weighted)

    def generate_score(run: Run, results: Results[TrajectoryJudgement, None]) -> float:
        return rounded(results.preprocess_step_result.score)

    def generate_reason(run: Run, results: Results[TrajectoryJudgement, None]) -> str:
        return _reason(results.preprocess_step_result)

    scorer: Scorer[None, None] = create_scorer(id=id, description="The run kept to its expected trajectory.")
    built = scorer.preprocess(preprocess).generate_score(generate_score).generate_reason(generate_reason)
    return built.as_kind("trajectory_code", {"defaults": plain, "weights": weights and dict(weights)})


def _weights(given: Mapping[str, float] | None) -> dict[str, float]:
    if given is not None and not isinstance(given, Mapping):
        raise OptionError(f"weights must be {{dimension: number}}, not {shown(given)}")
    for name, weight in (given or {}).items():
        if name not in WEIGHTS:
            raise OptionError(f"weights has an unknown dimension {name!r}; the dimensions are {', '.join(WEIGHTS)}")
        if not is_finite_number(weight):
            raise OptionError(f"weights.{name} must be a number, not {shown(weight)}")
    weights = {name: max(0.0, weight) for name, weight in {**WEIGHTS, **(given or {})}.items()}
    if not sum(weights.values()):
        raise OptionError("weights sum to 0; give at least one dimension a positive weight")
    return weights


def _taken(run: Run) -> Taken:
    trajectory = extract_trajectory(run)
    tokens = taken_tokens(trajectory.steps)
    if tokens is None and run.usage is not None:
        tokens = run.usage.total
    duration = run.duration_ms if trajectory.total_duration_ms is None else trajectory.total_duration_ms
    if run.trajectory is not None:  # tool calls alone do not add up to the run
        duration = taken_duration(duration, trajectory.steps)
    return Taken(trajectory.steps, tokens, duration)


def _judge(expected: TrajectoryExpectation, taken: Taken, weights: Mapping[str, float]) -> TrajectoryJudgement:
    accuracy = None
    if expected.steps is not None:
        accuracy = compare_steps(
            expected.steps,
            taken.steps,
            expected.ordering or "relaxed",
            allow_repeated_steps=expected.allow_repeated_steps is not False,
        )
    judgement = TrajectoryJudgement(
        score=0.0,
        accuracy=accuracy,
        efficiency=judge_efficiency(expected, taken) if expected.wants_efficiency else None,
        tool_failures=judge_tool_failures(expected, taken),
        blacklist=judge_blacklist(expected, taken),
        nested=[
            _judge_nested(step, step.children, taken, weights)
            for step in expected.steps or ()
            if step.children is not None and step.children.wants_anything
        ],
    )
    return msgspec.structs.replace(judgement, score=_score(judgement, weights))


def _judge_nested(
    step: ExpectedStep, expected: TrajectoryExpectation, taken: Taken, weights: Mapping[str, float]
) -> NestedJudgement:
    found = next((each for each in taken.steps if is_called(step, each)), None)
    if found is None:
        return NestedJudgement(step.name, None)
    duration = taken_duration(found.duration_ms, found.children)
    inner = Taken(found.children, taken_tokens(found.children), duration)
    return NestedJudgement(step.name, _judge(expected, inner, weights))


def _score(judgement: TrajectoryJudgement, weights: Mapping[str, float]) -> float:
    if judgement.forbidden:
        return 0.0
    dimensions = judgement.dimensions
    total = sum(weights[name] for name in dimensions)
    if not total:
        raise not_scorable(f"the dimensions that apply ({', '.join(dimensions)}) have no weight")
    own = sum(weights[name] * score for name, score in dimensions.items()) / total
    if not judgement.nested:
        return own
    nested = fmean(0.0 if each.judgement is None else each.judgement.score for each in judgement.nested)
    return (1 - _NESTED) * own + _NESTED * nested


def _reason(judgement: TrajectoryJudgement) -> str:
    parts = [
        f"{name.replace('_', ' ')} {score:g} ({getattr(judgement, name).reason})"
        for name, score in judgement.dimensions.items()
    ]
    for each in judgement.nested:
        inside = "the step is missing" if each.judgement is None else _reason(each.judgement)
        parts.append(f"inside {each.name}: {inside}")
    return "; ".join(parts)
