"""Trajectory accuracy by code: were the expected steps taken?"""

from __future__ import annotations

from typing import Any

from referee.jsonvalue import require_flag
from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.steps import NotScorable, Results, not_scorable
from referee.trajectories import extract_trajectory
from referee.trajectories.comparison import StepComparison, compare_steps
from referee.trajectories.expectation import (
    Ordering,
    plain_expectation,
    read_expectation,
    require_ordering,
)


def create_trajectory_accuracy_scorer_code(
    expected_trajectory: Any = None,
    ordering: Ordering = "relaxed",
    allow_repeated_steps: bool = True,
    *,
    id: str = "code-trajectory-accuracy-scorer",
) -> Scorer[StepComparison, None]:
    """The share of the expected steps that the run took, 0 to 1, rounded to two decimals.

    An expected step matches a step with its name, with its `step_type` if given, and with every typed field that it
    gives (`tool_args`, `tool_result`, `success`, `model_id` and so on; JSON values, the order of keys does not count).
    The steps are those that the source recorded, else the tool calls. A list that is empty expects no steps; without
    any expectation the run is not scorable.

    The expected steps given here beat the item's; the item's `ordering` and `allow_repeated_steps` beat those given
    here.

    Args:
        expected_trajectory: A list of steps, or `{"steps": [...]}`; a step is a name or an object like
            `{"name": "search", "step_type": "tool_call", "tool_args": {"q": "tide"}}`. Else the run's own
            `expected_trajectory` is taken.
        ordering: `strict` compares position by position, and each surplus step costs half an expected one; `relaxed`
            allows other steps between (longest common subsequence); `unordered` pairs in any order (maximum matching).
        allow_repeated_steps: `False` subtracts 0.1 for each name that occurs more than once and more often than
            expected.
        id: Another id than the reference's.

    Raises:
        OptionError: A step, the ordering or another option is wrong.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> calls = [create_tool_invocation(tool_name=name) for name in ("search", "book")]
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=calls)])
        >>> score = create_trajectory_accuracy_scorer_code(["search", "pay"]).run_sync(run)
        >>> score.score, score.reason
        (0.5, '1 of 2 expected steps in order; missing: pay; extra: book')
    """
    plain = plain_expectation(expected_trajectory, "expected_trajectory")
    own = read_expectation(plain)
    require_ordering(ordering, "ordering")
    require_flag(allow_repeated_steps, "allow_repeated_steps")

    def preprocess(run: Run) -> StepComparison | NotScorable:
        items = read_expectation(run.expected_trajectory)
        steps = items.steps if own.steps is None else own.steps
        if steps is None:
            return not_scorable("no expected steps are given, neither to the scorer nor with the run")
        repeated = items.allow_repeated_steps
        return compare_steps(
            steps,
            extract_trajectory(run).steps,
            items.ordering or own.ordering or ordering,
            allow_repeated_steps=allow_repeated_steps if repeated is None else repeated,
        )

    def generate_score(run: Run, results: Results[StepComparison, None]) -> float:
        return results.preprocess_step_result.score

    def generate_reason(run: Run, results: Results[StepComparison, None]) -> str:
        return results.preprocess_step_result.reason

    scorer: Scorer[None, None] = create_scorer(id=id, description="The expected steps were taken.")
    built = scorer.preprocess(preprocess).generate_score(generate_score).generate_reason(generate_reason)
    options = {
        "expected_trajectory": plain,
        "ordering": ordering,
        "allow_repeated_steps": allow_repeated_steps,
    }
    return built.as_kind("trajectory_accuracy_code", options)
