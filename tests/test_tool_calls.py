"""`checks.tool_calls` and `checks.tool_plan`: options, matchers, retries, diffs, and hostile arguments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from referee import OptionError, Run, Score, checks
from referee.diffs import ArgumentDiff, ToolCallDiff
from referee.expectations import bfcl_calls
from referee.messages import Message, ToolCall


def run_with(*calls: ToolCall, **fields: Any) -> Run:
    return Run(id="r", output=[Message("assistant", list(calls))], **fields)


def call(tool: str, /, **args: Any) -> ToolCall:
    return ToolCall(tool, args, state="result")


def failed(tool: str, /, **args: Any) -> ToolCall:
    return ToolCall(tool, args, state="error", error="timeout")


def named(*names: str) -> Run:
    return run_with(*map(call, names))


def score_with(expected_args: Any, actual_args: Any, **options: Any) -> Score:
    return checks.tool_calls([{"name": "t", "args": expected_args}], **options).run_sync(
        run_with(ToolCall("t", actual_args, state="result"))
    )


def argument_diffs(score: Score) -> list[ArgumentDiff]:
    return [argument for line in score.analyze_step_result.lines for argument in line.arguments]


def changes(score: Score) -> list[tuple[str, str]]:
    return [(line.change, line.name) for line in score.analyze_step_result.lines]


# Order and other calls


@pytest.mark.parametrize(
    ("order", "extra", "names", "score"),
    [
        ("subsequence", "allow", "a x b c", 1),
        ("subsequence", "allow", "b a c", 2 / 3),
        ("subsequence", "forbid", "a b c", 1),
        ("subsequence", "forbid", "a b c x", 0),
        ("any", "allow", "c x b", 2 / 3),
        ("any", "forbid", "c a b", 1),
        ("any", "forbid", "c a b b", 0),
        ("exact", "allow", "a b c", 1),
        ("exact", "allow", "x a b c x", 1),
        ("exact", "allow", "a x b c", 0),
        ("exact", "allow", "a a b c", 1),
        ("exact", "forbid", "a b c", 1),
        ("exact", "forbid", "x a b c", 0),
        ("exact", "forbid", "a c b", 0),
    ],
)
def test_order_and_extra(order: Any, extra: Any, names: str, score: float) -> None:
    scorer = checks.tool_calls(["a", "b", "c"], order=order, extra=extra)
    assert scorer.run_sync(named(*names.split())).score == pytest.approx(score)


def test_no_calls_expected() -> None:
    assert checks.tool_calls([]).run_sync(named("a")).score == 1
    assert checks.tool_calls([], extra="forbid").run_sync(named("a")).score == 0
    assert checks.tool_calls([], order="exact").run_sync(named()).score == 1


def test_partial_calls_do_not_count() -> None:
    run = run_with(ToolCall("a", {}, state="partial"), ToolCall("", {}), call("b"))
    assert checks.tool_calls(["a"]).run_sync(run).score == 0
    assert checks.tool_calls(["b"], extra="forbid").run_sync(run).score == 1


# The run's own expectation


def test_expected_calls_of_the_run() -> None:
    scorer = checks.tool_calls()
    assert scorer.run_sync(run_with(call("a"), expected_tool_calls=["a", "b"])).score == 0.5
    score = scorer.run_sync(named("a"))
    assert score.status == "not_scorable"
    assert score.not_scorable is not None
    assert "expected_tool_calls" in score.not_scorable.reason


def test_wrong_expected_calls_of_the_run_are_an_error() -> None:
    score = checks.tool_calls().run_sync(run_with(expected_tool_calls=["a", {"tool": "b"}]))
    assert score.error is not None
    assert (
        score.error.message
        == "expected_tool_calls[1] has an unknown field 'tool'; its fields are name, args, allowed_args"
    )


# Arguments


def test_arguments_exact_subset_ignore() -> None:
    expected = {"filter": {"year": 2024}, "tags": [{"a": 1}]}
    actual = {"filter": {"year": 2024.0, "lang": "en"}, "tags": [{"a": 1, "b": 2}], "limit": 5}
    assert score_with(expected, actual).score == 0
    assert score_with(expected, actual, args="subset").score == 1
    assert score_with(expected, {**actual, "tags": []}, args="subset").score == 0
    assert score_with(expected, None, args="ignore").score == 1


@pytest.mark.parametrize("args", [None, {}])
def test_a_source_without_arguments_has_none(args: Any) -> None:
    assert score_with({}, args).score == 1


def test_arguments_that_are_no_object() -> None:
    assert score_with("ls -l", "ls -l").score == 1
    score = checks.tool_calls([{"name": "t", "args": {"a": 1}}]).run_sync(
        run_with(ToolCall("t", '{"a": 1', state="call", args_invalid=True))
    )
    assert argument_diffs(score) == [ArgumentDiff("", "changed", {"a": 1}, '{"a": 1')]
    assert 'arguments: expected {"a": 1}, got "{' in (score.reason or "")


def test_every_difference_has_its_path_and_both_values() -> None:
    expected = {"city": "Ghent", "days": [1, 2, 3], "filter": {"tags": ["a"], "odd.name": 1}, "unit": "C", "on": True}
    actual = {"city": "Gent", "days": [1, 5], "filter": {"tags": ["a", "b"], "odd.name": 2}, "force": None, "on": 1}
    assert argument_diffs(score_with(expected, actual)) == [
        ArgumentDiff("city", "changed", "Ghent", "Gent"),
        ArgumentDiff("days[1]", "changed", 2, 5),
        ArgumentDiff("days[2]", "missing", expected=3),
        ArgumentDiff("filter.tags[1]", "unexpected", actual="b"),
        ArgumentDiff('filter["odd.name"]', "changed", 1, 2),
        ArgumentDiff("unit", "missing", expected="C"),
        ArgumentDiff("on", "changed", True, 1),
        ArgumentDiff("force", "unexpected", actual=None),
    ]


def test_expected_arguments_may_be_tuples() -> None:
    assert score_with({"point": (1, 2)}, {"point": [1, 2]}).score == 1


# Matchers


@pytest.mark.parametrize(
    ("matcher", "expected", "actual", "fits"),
    [
        ("unordered_list", [1, 2, 2], [2, 1, 2.0], True),
        ("unordered_list", [1, 2, 2], [2, 1, 1], False),
        ("unordered_list", [1, True], [True, 1], True),
        ("unordered_list", [1, 1], [True, 1], False),
        ("unordered_list", [{"a": 1}, [2]], [[2], {"a": 1}], True),
        ("unordered_list", [1], [1, 1], False),
        ("unordered_list", "ab", "ba", False),
        ("coerce", 7, "7", True),
        ("coerce", "7.0", 7, True),
        ("coerce", 7, "7a", False),
        ("coerce", True, "true", True),
        ("coerce", True, 1, True),
        ("coerce", False, "False", True),
        ("coerce", None, "", False),
        ("coerce", [1, "2"], ["1", 2], True),
        ("coerce", "1_000", 1000, False),
        ("coerce", "9" * 5000, "9" * 5000, True),
        ("coerce", "1e999", "2e999", False),
        ("ignore_case", "Ghent", "GHENT", True),
        ("ignore_case", ["Straße"], ["STRASSE"], True),
        ("ignore_case", "a", "b", False),
        ({"abs_tol": 0.1}, 1.0, 1.1, True),
        ({"abs_tol": 0.1}, 1.0, 1.11, False),
        ({"abs_tol": 1}, 1, True, False),
        ({"abs_tol": 1}, 1, "1", False),
        ({"abs_tol": 1}, 1.5, 10**400, False),
        ({"regex": r"^\d{4}$"}, "", "2024", True),
        ({"regex": "(?i)ghent"}, "", "to Ghent", True),
        ({"regex": r"^\d{4}$"}, "2024", "24", False),
        ({"regex": r"\d"}, 5, 5, False),
        (lambda expected, actual: actual > expected, 1, 2, True),
        (lambda expected, actual: actual > expected, 2, 1, False),
    ],
)
def test_matchers(matcher: Any, expected: Any, actual: Any, fits: bool) -> None:
    score = score_with({"inner": {"x": expected}}, {"inner": {"x": actual}}, matchers={"inner.x": matcher})
    assert score.error is None
    assert (score.score == 1) == fits
    if not fits:
        [difference] = argument_diffs(score)
        assert (difference.path, difference.expected, difference.actual) == ("inner.x", expected, actual)
        assert difference.rule


@pytest.mark.parametrize(
    ("entry", "score"),
    [
        ({"name": "t", "args": None}, 1),
        ({"name": "t", "args": {"p": (1, 2)}}, 1),
        ({"name": "t", "args": {"p": [2, 1]}}, 0),
        ({"name": "t", "allowed_args": {"p": [[1, 2], [2, 1]]}}, 1),
        ("t", 1),
    ],
)
def test_every_form_of_an_entry_in_the_run_and_in_the_check(entry: Any, score: float) -> None:
    made = call("t", p=[1, 2])
    for others in (0, 1):
        run = run_with(*[made] * (1 + others), expected_tool_calls=[entry])
        assert checks.tool_calls([entry]).run_sync(run).score == score
        assert checks.tool_calls().run_sync(run).score == score


def test_a_matcher_does_not_make_an_argument_optional() -> None:
    for expected, actual in (({"x": "a"}, {}), ({}, {"x": "a"})):
        assert score_with(expected, actual, matchers={"x": "ignore_case"}).score == 0


def test_paths_reach_into_lists() -> None:
    expected = {"items": [{"price": 1.0, "name": "A"}, {"price": 2.0, "name": "B"}]}
    actual = {"items": [{"price": 1.2, "name": "a"}, {"price": 2.1, "name": "B"}]}
    near = {"items[*].price": {"abs_tol": 0.3}}
    assert argument_diffs(score_with(expected, actual, matchers=near)) == [
        ArgumentDiff("items[0].name", "changed", "A", "a")
    ]
    assert score_with(expected, actual, matchers={**near, "items[0].name": "ignore_case"}).score == 1
    assert score_with(expected, actual, matchers={**near, "items[1].name": "ignore_case"}).score == 0
    # An index goes before [*].
    assert (
        score_with(
            expected, actual, matchers={**near, "items[*].name": "ignore_case", "items[0].price": {"abs_tol": 0.1}}
        ).score
        == 0
    )


def test_matchers_hold_inside_unordered_lists() -> None:
    expected = {"items": [{"price": 1.0}, {"price": 2.0}]}
    actual = {"items": [{"price": 2.1}, {"price": 1.1}]}
    assert score_with(expected, actual, matchers={"items": "unordered_list"}).score == 0
    both = {"items": "unordered_list", "items[*].price": {"abs_tol": 0.2}}
    assert score_with(expected, actual, matchers=both).score == 1


def test_odd_names_are_quoted() -> None:
    matchers = {'["user.name"]["a\\"]"]': "ignore_case"}
    assert score_with({"user.name": {'a"]': "X"}}, {"user.name": {'a"]': "x"}}, matchers=matchers).score == 1


def test_a_matcher_that_fails_is_an_error() -> None:
    score = score_with({"x": 1}, {"x": "a"}, matchers={"x": lambda expected, actual: actual > expected})
    assert score.error is not None
    assert score.error.error_class == "TypeError"


def test_a_pattern_that_backtracks_is_an_error() -> None:
    score = score_with({"x": ""}, {"x": "a" * 40 + "!"}, matchers={"x": {"regex": "^(a|aa)+$(?<!b)\\1?"}})
    assert score.error is not None
    assert "backtracks" in score.error.message


def test_forbidden_arguments_unpair_a_call() -> None:
    run = run_with(call("cancel", id="88", options={"force": True}))
    for expected in ("cancel", {"name": "cancel", "args": {"id": "88"}}):
        scorer = checks.tool_calls([expected], args="subset", forbid_args=["options.force"])
        score = scorer.run_sync(run)
        assert score.score == 0
        assert argument_diffs(score) == [ArgumentDiff("options.force", "forbidden", actual=True)]
    assert checks.tool_calls(["cancel"], args="ignore", forbid_args=["options.force"]).run_sync(run).score == 0
    assert checks.tool_calls(["cancel"], forbid_args=["force", "options[*]"]).run_sync(run).score == 1


# Alternatives


def test_allowed_arguments() -> None:
    entry = {
        "name": "area",
        "allowed_args": {"base": [10, 11], "unit": ["cm", ""], "box": [{"min": [1], "max": [2, 3]}]},
    }
    scorer = checks.tool_calls([entry])

    def scored(**args: Any) -> Score:
        return scorer.run_sync(run_with(call("area", **args)))

    assert scored(base=10.0, box={"min": 1, "max": 3}).score == 1
    assert scored(base=11, unit="cm", box={"max": 2, "min": 1}).score == 1
    assert argument_diffs(scored(base=12, unit="m", box={"min": 1, "max": 4}, more=0)) == [
        ArgumentDiff("base", "changed", [10, 11], 12, "one of them"),
        ArgumentDiff("unit", "changed", "cm", "m"),
        ArgumentDiff("box.max", "changed", [2, 3], 4, "one of them"),
        ArgumentDiff("more", "unexpected", actual=0),
    ]
    assert argument_diffs(scored(box={})) == [
        ArgumentDiff("base", "missing", expected=[10, 11], rule="one of them"),
        ArgumentDiff("box.min", "missing", expected=1),
        ArgumentDiff("box.max", "missing", expected=[2, 3], rule="one of them"),
    ]


def test_allowed_lists_of_objects() -> None:
    entry = {"name": "find", "allowed_args": {"where": [[{"field": ["age"], "value": ["25", 25]}]], "skip": [""]}}
    scorer = checks.tool_calls([entry])
    assert scorer.run_sync(run_with(call("find", where=[{"field": "age", "value": 25}]))).score == 1
    assert scorer.run_sync(run_with(call("find", where=[{"field": "age", "value": 26}]))).score == 0
    assert scorer.run_sync(run_with(call("find", where=[]))).score == 0
    assert scorer.run_sync(run_with(call("find", where="age = 25"))).score == 0
    score = scorer.run_sync(run_with(call("find", where=[{"field": "age", "value": 25}], skip=3)))
    assert argument_diffs(score) == [ArgumentDiff("skip", "unexpected", actual=3)]


def test_bfcl_answers_are_plain_data() -> None:
    answer = [{"math.hypot": {"x": [4], "z": ["", 0]}}]
    assert json.loads(json.dumps(bfcl_calls(answer))) == [
        {"name": "math.hypot", "allowed_args": {"x": [4], "z": ["", 0]}}
    ]
    assert bfcl_calls(["ls(a=True)", "a.b(p=[1, (2, 3)])"]) == [
        {"name": "ls", "args": {"a": True}},
        {"name": "a.b", "args": {"p": [1, [2, 3]]}},
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "ls()",
        {"ls": {}},
        [["ls()"]],
        [{"a": {}, "b": {}}],
        [{"a": {"x": 1}}],
        [{"a": {"x": []}}],
        ["sort('a.txt')"],
        ["ls(a=open('x'))"],
        ["ls(**{'a': 1})"],
        ["ls"],
        ["ls("],
        ["(" * 5000],
        ["x" * 200_000],
    ],
)
def test_wrong_bfcl_answers(answer: Any) -> None:
    with pytest.raises(ValueError, match=r"BFCL|call|name|allowed"):
        bfcl_calls(answer)


# Retries


def test_retries() -> None:
    run = run_with(failed("get", id=1), failed("get", id=1), call("get", id=1), failed("get", id=2), call("put"))
    expected = [{"name": "get", "args": {"id": 1}}, "get", "put"]

    def scored(retries: Any, expected: Any) -> Score:
        return checks.tool_calls(expected, order="exact", extra="forbid", retries=retries).run_sync(run)

    assert scored("count", expected).score == 0
    assert scored("collapse_failed", expected).score == 1
    assert scored("ignore_failed", ["get", "put"]).score == 1
    score = scored("ignore_failed", expected)
    assert score.score == 0
    assert "3 failed calls are not counted" in (score.reason or "")
    assert [line.call for line in score.analyze_step_result.lines if line.change == "left_out"] == [0, 1, 3]


def test_a_retry_with_other_arguments_is_another_call() -> None:
    run = run_with(failed("get", id=1), call("get", id=2))
    assert checks.tool_calls(["get"], extra="forbid", retries="collapse_failed").run_sync(run).score == 0


# Diffs


def test_missing_extra_and_moved() -> None:
    score = checks.tool_calls(["a", "b", "c", "d"], extra="forbid").run_sync(named("b", "c", "x", "a"))
    assert changes(score) == [("moved", "a"), ("matched", "b"), ("matched", "c"), ("extra", "x"), ("missing", "d")]
    assert score.reason == (
        "2 of 4 expected calls matched: 1 in another place, 1 missing, 1 extra\n"
        "  > 1 call 4 a\n"
        "      called in another place of the order\n"
        "  = 2 call 1 b\n"
        "  = 3 call 2 c\n"
        "  + call 3 x()\n"
        "  - 4 d()"
    )


def test_the_nearest_calls_are_set_beside_each_other() -> None:
    expected = [{"name": "book", "args": {"from": "A", "to": "B"}}, {"name": "book", "args": {"from": "C", "to": "D"}}]
    score = checks.tool_calls(expected, order="any").run_sync(
        run_with(ToolCall("book", {"from": "C", "to": "X"}), ToolCall("book", {"from": "A", "to": "Y"}))
    )
    assert [(line.place, line.call) for line in score.analyze_step_result.lines] == [(0, 1), (1, 0)]
    assert [difference.path for difference in argument_diffs(score)] == ["to", "to"]


def test_allowed_calls_are_counted_and_not_shown() -> None:
    score = checks.tool_calls(["a", "b"]).run_sync(named("x", "a", "y"))
    assert score.reason == (
        "1 of 2 expected calls matched: 1 missing; 2 other calls are allowed\n  = 1 call 2 a\n  - 2 b()"
    )


def test_calls_between_are_not_allowed_when_the_order_is_exact() -> None:
    score = checks.tool_calls(["a", "b"], order="exact").run_sync(named("x", "a", "y", "b", "z"))
    assert [(line.name, line.allowed) for line in score.analyze_step_result.lines if line.change == "extra"] == [
        ("x", True),
        ("y", False),
        ("z", True),
    ]


def test_long_values_are_cut_where_they_differ() -> None:
    score = score_with({"text": "word " * 100 + "left"}, {"text": "word " * 100 + "right"})
    assert "…" in (score.reason or "")
    assert 'left"' in (score.reason or "")
    assert 'right"' in (score.reason or "")
    assert max(map(len, (score.reason or "").splitlines())) < 250


def test_a_long_diff_ends_with_a_count() -> None:
    score = checks.tool_calls(["a"] * 100).run_sync(named())
    assert (score.reason or "").endswith("… and 40 more lines")
    assert len(score.analyze_step_result.lines) == 100


def test_nothing_the_agent_writes_leaves_its_place() -> None:
    hostile = "x```\n# title\x1b[31m\u202e<script>alert(1)</script>"
    diff = (
        checks.tool_calls([{"name": "t", "args": {"a": 1}}], extra="forbid")
        .run_sync(run_with(ToolCall("t", {"a": hostile}), ToolCall(hostile, {hostile: hostile})))
        .analyze_step_result
    )
    for text in (diff.to_text(), diff.to_markdown()):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\n# title" not in text
    body = diff.to_markdown().split("\n", 2)[2]
    assert body.startswith("````diff\n")
    assert body.endswith("\n````")
    assert body.count("````") == 2


def test_markdown() -> None:
    diff = checks.tool_calls(["a", "b"]).run_sync(named("a")).analyze_step_result
    assert diff.to_markdown() == ("**1 of 2 expected calls matched: 1 missing**\n\n```diff\n= 1 call 1 a\n- 2 b()\n```")
    assert ToolCallDiff([], 0, 0, 0).to_markdown() == "**no call was expected**"


# Hostile arguments


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize("levels", [51, 2_000, 100_000])
def test_deeply_nested_arguments_are_an_error(levels: int) -> None:
    hostile = ToolCall("t", nested(levels), state="error")
    one = checks.tool_calls([{"name": "t", "args": nested(3)}]).run_sync(run_with(hostile))
    assert one.status == "error"
    run = run_with(hostile, hostile)
    for scorer in (
        checks.tool_calls([{"name": "t", "args": nested(3)}]),
        checks.tool_calls(["t"], retries="collapse_failed"),
        checks.tool_calls(["t"], args="ignore"),
        checks.tool_plan(["t"]),
        checks.called_tool("t", args=nested(3)),
    ):
        score = scorer.run_sync(run)
        assert score.error is not None, score
        assert score.error.message == "the arguments of a call of t are nested deeper than 100 levels"


def test_deeply_nested_expectations_are_refused() -> None:
    with pytest.raises(OptionError, match="deeper than 100"):
        checks.tool_calls([{"name": "t", "args": nested(1000)}])
    score = checks.tool_calls().run_sync(run_with(expected_tool_calls=[{"name": "t", "args": nested(1000)}]))
    assert score.status == "error"


def test_arguments_of_a_reasonable_depth_are_compared() -> None:
    assert score_with(nested(49), nested(49)).score == 1
    assert score_with(nested(49), nested(48)).score == 0
    assert score_with(nested(49), nested(49), matchers={"zzz": "coerce"}, args="subset").score == 1


# Wrong options


@pytest.mark.parametrize(
    ("expected", "options", "words"),
    [
        ("search", {}, "must be a list of expected calls"),
        ([5], {}, r"expected\[0\] must be the name of a tool"),
        ([{"args": {}}], {}, r"expected\[0\].name"),
        ([{"name": "a", "arguments": {}}], {}, "unknown field 'arguments'"),
        ([{"name": "a", "args": {}, "allowed_args": {}}], {}, "both args and allowed_args"),
        ([{"name": "a", "allowed_args": {"x": 1}}], {}, "must be a list of allowed values"),
        ([{"name": "a", "args": {"x": object()}}], {}, "no JSON value"),
        (["a"], {"order": "strict"}, "order must be one of subsequence, exact, any"),
        (["a"], {"extra": True}, "extra must be one of"),
        (["a"], {"args": "all"}, "args must be one of"),
        (["a"], {"retries": "none"}, "retries must be one of"),
        (["a"], {"forbid_args": "force"}, "forbid_args must be a list"),
        (["a"], {"forbid_args": ["a..b"]}, "no path to an argument"),
        (["a"], {"forbid_args": [".a"]}, "no path to an argument"),
        (["a"], {"forbid_args": ["a[x]"]}, "no path to an argument"),
        (["a"], {"forbid_args": ["a[0]b"]}, "no path to an argument"),
        (["a"], {"forbid_args": [""]}, "no path to an argument"),
        (["a"], {"matchers": {"x": "coerce"}}, "no expected call has any"),
        (
            [{"name": "a", "args": {"x": 1}}],
            {"matchers": {"x": "coerce"}, "args": "ignore"},
            "no expected call has any",
        ),
        ([{"name": "a", "args": {"x": 1}}], {"matchers": {"x": "fuzzy"}}, "the matcher of 'x' must be one of"),
        ([{"name": "a", "args": {"x": 1}}], {"matchers": {"x": {"abs_tol": -1}}}, "abs_tol of 'x'"),
        ([{"name": "a", "args": {"x": 1}}], {"matchers": {"x": {"abs_tol": True}}}, "abs_tol of 'x'"),
        ([{"name": "a", "args": {"x": 1}}], {"matchers": {"x": {"regex": "("}}}, "does not compile"),
        ([{"name": "a", "args": {"x": 1}}], {"matchers": {"x": lambda value: True}}, "must take"),
        ([{"name": "a", "args": {"x": 1}}], {"matchers": ["x"]}, "matchers are"),
    ],
)
def test_wrong_options(expected: Any, options: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        checks.tool_calls(expected, **options)


# Plans


def test_plans() -> None:
    plan = checks.tool_plan(
        [
            "login",
            {"any_order": [{"name": "weather", "args": {"city": "Porto"}}, {"one_of": ["news", "sports"]}]},
            {"optional": "save"},
            "logout",
        ],
        extra="forbid",
    )
    weather = call("weather", city="Porto")
    for calls, score in [
        ([call("login"), weather, call("news"), call("logout")], 1),
        ([call("login"), call("sports"), weather, call("save"), call("logout")], 1),
        ([call("login"), weather, call("news"), call("sports"), call("logout")], 0),
        ([call("login"), weather, call("logout")], 0),
        ([call("login"), call("weather", city="Oslo"), call("news"), call("logout")], 0),
        ([call("login"), weather, call("news"), call("logout"), call("save")], 0),
    ]:
        assert plan.run_sync(run_with(*calls)).score == score


def test_the_diff_of_a_plan() -> None:
    plan = checks.tool_plan(["login", {"any_order": ["a", {"name": "b", "args": {"n": 1}}]}, {"one_of": ["c", "d"]}])
    score = plan.run_sync(run_with(call("b", n=2), call("x"), call("login"), call("a")))
    assert score.reason == (
        "2 of 4 expected calls matched: 1 with other arguments, 1 missing; 1 other call is allowed\n"
        "  = 1 call 3 login\n"
        "  = 2 call 4 a\n"
        "  ~ 3 call 1 b(n=2)\n"
        "      n: expected 1, got 2\n"
        "  - 4 c() or d()"
    )


def test_a_moved_step() -> None:
    score = checks.tool_plan(["a", "b", "c"]).run_sync(named("b", "c", "a"))
    assert changes(score) == [("moved", "a"), ("matched", "b"), ("matched", "c")]
    assert score.score == 0


@pytest.mark.parametrize(
    "steps",
    [
        "login",
        {"any_order": ["a"]},
        [{"any_order": "a"}],
        [{"any_order": []}],
        [{"one_of": []}],
        [{"one_of": ["a"], "optional": "b"}],
        [{"sequence": ["a"]}],
        [["a", "b"]],
        [{"any_order": [{"one_of": [{"any_order": ["a", "b"]}, "c"]}] * 11}],
    ],
)
def test_wrong_plans(steps: Any) -> None:
    with pytest.raises(OptionError, match=r"checks\.tool_plan: "):
        checks.tool_plan(steps)


def test_alternatives_of_single_calls_do_not_multiply() -> None:
    plan = checks.tool_plan([{"any_order": [{"one_of": ["a", "b", "c"]}] * 30}])
    assert plan.run_sync(named(*["a", "b", "c"] * 10)).score == 1


def test_a_plan_over_many_calls() -> None:
    names = ["a", "b", "c"] * 400
    assert checks.tool_plan([{"any_order": ["a", "b"]}] * 50 + ["c"]).run_sync(named(*names)).score == 1
    assert checks.tool_plan([{"any_order": ["a", "b"]}] * 50 + ["d"]).run_sync(named(*names)).score == 0


def test_optional_steps_that_were_not_taken_are_no_part_of_the_diff() -> None:
    plan = checks.tool_plan(["a", {"optional": "b"}, {"optional": {"any_order": ["c", "d"]}}, "e"], extra="forbid")
    for names in (["a", "e", "x"], ["a", "b", "e", "x"], ["a", "c", "d", "e", "x"]):
        score = plan.run_sync(named(*names))
        assert changes(score) == [*(("matched", name) for name in names[:-1]), ("extra", "x")]
        assert [line.place for line in score.analyze_step_result.lines[:-1]] == list(range(len(names) - 1))


def test_names_of_arguments_are_kept_in_the_shape_of_the_reference() -> None:
    score = checks.tool_calls([{"name": "t", "args": {"user_id": 1}}]).run_sync(run_with(call("t", user_id={"a_b": 2})))
    [line] = score.to_mastra()["analyzeStepResult"]["lines"]
    assert line["expected"] == [{"name": "t", "args": {"user_id": 1}}]
    assert line["args"] == {"user_id": {"a_b": 2}}
    assert line["arguments"] == [{"path": "user_id", "change": "changed", "expected": 1, "actual": {"a_b": 2}}]


# The documentation


def test_the_page_shows_what_its_snippets_print(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[1] / "docs" / "tool-calls.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        exec(compile(code, "tool-calls.md", "exec"), names)
    printed = capsys.readouterr().out
    shown = re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(shown) == 2
    for text in shown:
        assert text in printed


# As plain data


def test_scorers_as_data() -> None:
    from referee.loading import load_scorer

    scorer = checks.tool_calls([{"name": "a", "args": {"x": 1}}], matchers={"x": {"abs_tol": 1}}, forbid_args=["y"])
    again = load_scorer(json.loads(json.dumps(scorer.spec)))
    assert again.version == scorer.version
    plan = checks.tool_plan([{"optional": "a"}], extra="forbid", id="plan")
    assert load_scorer(plan.spec).version == plan.version
    assert load_scorer(plan.spec).id == "plan"
    with_function = checks.tool_calls([{"name": "a", "args": {"x": 1}}], matchers={"x": lambda one, other: True})
    assert with_function.spec is None
    assert with_function.version != scorer.version


def test_coerce_reads_a_long_text_in_one_pass() -> None:
    """A text of digits that is no number after all: with two ways to split the digits it took minutes."""
    score = score_with({"x": 1}, {"x": "1" * 200_000 + "x"}, matchers={"x": "coerce"})
    assert score.score == 0.0


@pytest.mark.parametrize("most", [10**400, float("nan"), float("inf"), True, "1"])
def test_a_tolerance_is_a_number_that_a_float_can_hold(most: Any) -> None:
    with pytest.raises(OptionError, match="abs_tol"):
        checks.tool_calls([{"name": "f", "args": {"x": 1}}], matchers={"x": {"abs_tol": most}})
