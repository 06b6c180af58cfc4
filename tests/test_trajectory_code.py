"""Trajectories by code: the conformance vectors, what expectations may be, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import Run, Score, Step, Trajectory, Usage, load_scorer, scorers
from referee.errors import OptionError
from referee.scorers import create_trajectory_accuracy_scorer_code, create_trajectory_scorer_code
from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
from referee.trajectories import extract_trajectory
from referee.trajectories.expectation import read_expectation
from support import assert_as_expected, build, cases, run_of

FACTORIES = ("create_trajectory_accuracy_scorer_code", "create_trajectory_scorer_code")


@pytest.mark.parametrize("case", cases("trajectory_code", "field_cases", factory=FACTORIES))
def test_vector(case: dict[str, Any]) -> None:
    score = build(scorers, case["call"]).run_sync(run_of(case))
    assert_as_expected(score, case)
    if "dimensions" in case["expected"]:
        assert score.preprocess_step_result.dimensions == case["expected"]["dimensions"]


def tool(name: str, success: bool | None = None, **args: Any) -> Step:
    fields: dict[str, Any] = {"tool_args": args}
    return Step(name=name, step_type="tool_call", fields=fields if success is None else {**fields, "success": success})


def run_with(*steps: Step, expected: Any = None, **fields: Any) -> Run:
    return Run(id="r", trajectory=Trajectory(steps=list(steps)), expected_trajectory=expected, **fields)


def accuracy(run: Run, *args: Any, **options: Any) -> Score:
    return create_trajectory_accuracy_scorer_code(*args, **options).run_sync(run)


def judged(run: Run, defaults: Any = None, **options: Any) -> Score:
    return create_trajectory_scorer_code(defaults, **options).run_sync(run)


def test_steps_of_messages_are_their_tool_calls() -> None:
    calls = [
        create_tool_invocation(tool_name="search", args={"q": "tide"}, result=[1]),
        create_tool_invocation(tool_name="pay", state="error", error_text="no card"),
        create_tool_invocation(tool_name="book", state="call"),
        create_tool_invocation(tool_name="never", state="partial"),
        create_tool_invocation(tool_name="mail", result={"error": "bounced"}),
    ]
    message = create_test_message(role="assistant", tool_invocations=calls)
    run = create_agent_test_run(output=[message], duration_ms=40.0)
    trajectory = extract_trajectory(run)
    assert [(step.name, step.fields.get("success")) for step in trajectory.steps] == [
        ("search", True),
        ("pay", False),
        ("book", None),
        ("mail", False),
    ]
    assert {step.step_type for step in trajectory.steps} == {"tool_call"}
    assert trajectory.total_duration_ms == 40
    assert "tool_result" not in trajectory.steps[2].fields


def test_a_recorded_trajectory_beats_the_messages() -> None:
    run = run_with(tool("recorded"))
    assert extract_trajectory(run) is run.trajectory


@pytest.mark.parametrize(
    "expected",
    [
        ["a", "b"],
        [{"name": "a"}, {"name": "b", "toolArgs": {"x": 1, "y": 2}}],
        {"steps": [{"name": "a", "stepType": "tool_call"}, {"name": "b", "tool_args": {"y": 2, "x": 1.0}}]},
        [tool("a"), tool("b", x=1, y=2)],
        Trajectory(steps=[tool("a"), Step(name="b", duration_ms=3.0)], total_duration_ms=5.0),
        [{"name": "a", "step_type": None, "tool_result": None}, "b"],
        [Step(name="a", children=[Step(name="inner")]), "b"],
    ],
)
def test_expectations_are_plain_data(expected: Any) -> None:
    run = run_with(tool("a"), tool("b", x=1, y=2))
    scorer = create_trajectory_accuracy_scorer_code(expected)
    assert scorer.run_sync(run).score == 1
    assert accuracy(run_with(tool("a"), tool("b", x=1, y=2), expected=expected)).score == 1
    again = load_scorer(scorer.spec)
    assert again.run_sync(run).score == 1
    assert again.version == scorer.version


def test_reason_names_what_is_missing_extra_and_repeated() -> None:
    run = run_with(tool("b"), tool("b"), tool("a"))
    score = accuracy(run, ["a", "b"], allow_repeated_steps=False)
    assert score.score == 0.4
    assert score.reason == "1 of 2 expected steps in order; missing: a; extra: b, a; repeated: b"


def test_the_item_beats_the_factory_in_ordering_only() -> None:
    run = run_with(tool("b"), tool("a"), expected={"steps": ["other"], "ordering": "unordered"})
    assert accuracy(run, ["a", "b"], ordering="strict").score == 1


def test_without_an_expectation_nothing_is_scorable() -> None:
    for score in (
        accuracy(run_with(tool("a"))),
        judged(run_with(tool("a"))),
        judged(run_with(), {"ordering": "strict"}),
    ):
        assert score.status == "not_scorable"
        assert "given, neither to the scorer nor with the run" in (score.reason or score.not_scorable.reason)  # type: ignore[union-attr]


def test_a_budget_on_a_figure_that_the_run_lacks_is_not_scorable() -> None:
    model = Step(name="m", step_type="model_generation", fields={"prompt_tokens": 60, "completion_tokens": 40})
    tokens, duration = {"max_total_tokens": 100}, {"max_total_duration_ms": 100}
    missing = judged(run_with(tool("a")), tokens).not_scorable
    assert missing is not None
    assert missing.reason == "there is a budget of 100 tokens, and the run does not carry tokens"
    assert judged(run_with(tool("a")), duration).status == "not_scorable"
    assert judged(run_with(Step(name="outer", children=[model])), tokens).score == 1
    assert judged(run_with(tool("a"), usage=Usage(60, 40)), tokens).score == 1
    assert judged(run_with(tool("a"), duration_ms=100.0), duration).score == 1
    timed, untimed = Step(name="a", duration_ms=150.0), Step(name="b")
    assert judged(run_with(timed), duration).preprocess_step_result.efficiency.budgets[0].score == 0.5
    assert judged(run_with(timed, untimed), duration).status == "not_scorable"


def test_a_blacklisted_tool_is_found_inside_a_step() -> None:
    run = run_with(Step(name="helper", step_type="agent_run", children=[tool("search"), tool("delete_all")]))
    score = judged(run, {"blacklisted_tools": ["delete_all"]})
    assert score.score == 0
    assert score.reason == "blacklist 0 (forbidden: delete_all)"
    assert judged(run, {"blacklisted_sequences": [["search", "delete_all"]]}).score == 0
    assert judged(run, {"blacklisted_sequences": [["helper", "search"]]}).score == 1
    assert judged(run, {"blacklisted_sequences": [[]]}).status == "not_scorable"


def test_nested_expectations() -> None:
    expected = {"steps": [{"name": "helper", "children": {"steps": ["search"], "blacklistedTools": ["pay"]}}]}
    inside = [tool("search", False), tool("search", True)]
    assert judged(run_with(Step(name="helper", children=inside)), expected).score == 1
    missing = judged(run_with(tool("other")), expected)
    assert missing.score == 0.23  # 0.7 of the own score, which is 0.2 / 0.6: nothing but no tool failures
    assert judged(run_with(Step(name="helper", children=[*inside, tool("pay")])), expected).score == 0
    assert judged(run_with(Step(name="helper")), [{"name": "helper", "children": {}}]).score == 1


def test_retries_are_counted_per_tool() -> None:
    steps = [tool("a", False), tool("a", False), Step(name="m"), tool("a", True), tool("b", False), tool("b", True)]
    score = judged(run_with(*steps), {"no_redundant_calls": False, "max_retries_per_tool": 1})
    failures = score.preprocess_step_result.tool_failures
    assert failures.retries == {"a": 2, "b": 1}
    assert failures.score == 0.8


def test_weights() -> None:
    run = run_with(tool("a"))
    assert judged(run, ["a", "b"], weights={"tool_failures": 0}).score == 0.5
    assert judged(run, ["a", "b"], weights={"tool_failures": -3, "accuracy": 7}).score == 0.5
    unweighted = judged(run_with(Step(name="a")), ["a", "b"], weights={"accuracy": 0})
    assert unweighted.status == "not_scorable"


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("search", r"expected_trajectory must be a list of steps or an object"),
        (["a", 3], r"expected_trajectory\[1\] must be the name of a step or an object"),
        ([{"tool_args": {}}], r"expected_trajectory\[0\]\.name must be the name of a step"),
        ([{"name": "a", "args": {}}], r"field 'args' that no step has; did you mean 'tool_args'"),
        ([{"name": "a", "step_type": 3}], r"step_type must be a text"),
        ({"step": []}, r"unknown field 'step'; its fields are steps, ordering"),
        ({"steps": {}}, r"expected_trajectory\.steps must be a list of steps"),
        ({"ordering": "sorted"}, r"ordering must be one of strict, relaxed, unordered, not \"sorted\""),
        ({"maxSteps": -1}, r"maxSteps must be a number of at least 0, not -1"),
        ({"max_total_tokens": float("inf")}, r"max_total_tokens must be a number of at least 0"),
        ({"max_total_duration_ms": float("nan")}, r"max_total_duration_ms must be a number of at least 0"),
        ({"max_steps": True}, r"max_steps must be a number"),
        ({"no_redundant_calls": 1}, r"no_redundant_calls must be true or false"),
        ({"blacklisted_tools": "delete"}, r"blacklisted_tools must be a list of names"),
        ({"blacklisted_sequences": ["delete"]}, r"blacklisted_sequences\[0\] must be a list of names"),
        ([{"name": "a", "children": {"maxStep": 1}}], r"\[0\]\.children has an unknown field 'maxStep'"),
        ([{"name": object()}], r"expected_trajectory holds something that is no JSON value"),
    ],
)
def test_a_wrong_expectation_is_one_clear_line(expected: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_expectation(expected)
    error = accuracy(run_with(tool("a"), expected=expected)).error
    assert error is not None
    assert error.error_class == "OptionError"


def test_wrong_options_are_found_before_anything_runs() -> None:
    for wrong in (
        lambda: create_trajectory_accuracy_scorer_code(ordering="any"),  # type: ignore[arg-type]
        lambda: create_trajectory_accuracy_scorer_code(allow_repeated_steps="no"),  # type: ignore[arg-type]
        lambda: create_trajectory_scorer_code({"max_steps": -1}),
        lambda: create_trajectory_scorer_code(weights={"speed": 1}),
        lambda: create_trajectory_scorer_code(weights={"accuracy": float("nan")}),
        lambda: create_trajectory_scorer_code(
            weights={"accuracy": 0, "efficiency": 0, "tool_failures": -1, "blacklist": 0}
        ),
    ):
        with pytest.raises(OptionError):
            wrong()


names = st.sampled_from("abc")
steps = st.recursive(
    st.builds(tool, names, st.sampled_from([True, False, None])),
    lambda inner: st.builds(lambda name, inside: Step(name=name, children=inside), names, st.lists(inner, max_size=3)),
    max_leaves=8,
)
expectations = st.fixed_dictionaries(
    {},
    optional={
        "steps": st.lists(names, max_size=4),
        "ordering": st.sampled_from(["strict", "relaxed", "unordered"]),
        "allow_repeated_steps": st.booleans(),
        "max_steps": st.integers(0, 4),
        "no_redundant_calls": st.booleans(),
        "max_retries_per_tool": st.integers(0, 2),
        "blacklisted_tools": st.lists(names, max_size=1),
        "blacklisted_sequences": st.lists(st.lists(names, max_size=2), max_size=2),
    },
)


@given(st.lists(steps, max_size=5), expectations)
def test_in_range(taken: list[Step], expected: dict[str, Any]) -> None:
    for score in (judged(run_with(*taken), expected), accuracy(run_with(*taken, expected=expected))):
        assert score.status in ("scored", "not_scorable"), score
        assert score.score is None or 0 <= score.score <= 1


@given(st.lists(steps, max_size=5))
def test_the_steps_taken_are_a_perfect_expectation_of_themselves(taken: list[Step]) -> None:
    run = run_with(*taken)
    for ordering in ("strict", "relaxed", "unordered"):
        assert accuracy(run, run.trajectory, ordering=ordering).score == 1
        assert accuracy(run, run.trajectory, ordering=ordering, allow_repeated_steps=False).score == 1


@given(st.lists(names, max_size=6), st.lists(names, min_size=1, max_size=6))
def test_looser_orderings_never_score_lower(taken: list[str], expected: list[str]) -> None:
    run = run_with(*map(tool, taken))
    strict, relaxed, unordered = (
        accuracy(run, expected, ordering=ordering).score for ordering in ("strict", "relaxed", "unordered")
    )
    assert strict is not None
    assert relaxed is not None
    assert unordered is not None
    assert strict <= relaxed <= unordered


@pytest.mark.parametrize("budget", [10**400, float("nan"), float("inf"), -1, True])
def test_a_budget_is_a_number_that_a_float_can_hold(budget: Any) -> None:
    with pytest.raises(OptionError, match="max_steps must be a number of at least 0"):
        create_trajectory_scorer_code({"max_steps": budget})


@pytest.mark.parametrize("duration", [float("nan"), float("inf")])
def test_a_duration_that_is_no_number_is_an_error_and_no_score(duration: float) -> None:
    run = Run(id="r", trajectory=Trajectory(steps=[tool("search")], total_duration_ms=duration))
    score = create_trajectory_scorer_code({"max_total_duration_ms": 5}).run_sync(run)
    assert score.status == "error"
    assert score.error is not None
    assert "no number to hold against a budget" in score.error.message


def test_a_blacklist_hit_is_0_even_where_nothing_that_applies_has_weight() -> None:
    weights = {"efficiency": 0, "tool_failures": 0, "blacklist": 0}
    scorer = create_trajectory_scorer_code({"blacklisted_tools": ["delete"]}, weights=weights)
    assert scorer.run_sync(Run(id="r", trajectory=Trajectory(steps=[tool("delete")]))).score == 0.0
    assert scorer.run_sync(Run(id="r", trajectory=Trajectory(steps=[tool("read")]))).status == "not_scorable"
