"""The checks beyond the reference's eleven: words, length, JSON, arguments, limits; and figures as scorers."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from referee import MissingExtraError, OptionError, Run, Step, Trajectory, Usage, checks, scorers
from referee.messages import Message, Text, ToolCall
from referee.pipeline import Scorer


def saying(*texts: str, **fields: Any) -> Run:
    return Run(id="r", output=[Message("assistant", [Text(text)]) for text in texts], **fields)


def calling(*calls: ToolCall, **fields: Any) -> Run:
    return Run(id="r", output=[Message("assistant", list(calls))], **fields)


def passes(scorer: Scorer[Any, Any], run: Run) -> bool:
    score = scorer.run_sync(run)
    assert score.score in (0, 1), score
    assert score.reason
    return score.score == 1


# Words


@pytest.mark.parametrize(
    ("scorer", "text", "passed"),
    [
        (checks.one_of(["yes", "no"]), " YES\n", True),
        (checks.one_of(["yes", "no"]), "yes, sure", False),
        (checks.one_of(["yes", "no"], ignore_case=False), "Yes", False),
        (checks.one_of(["it\u2019s"]), "it's", True),
        (checks.one_of(["it\u2019s"], normalize=False), "it's", False),
        (checks.starts_with("Dear"), "\n dear Ada", True),
        (checks.starts_with("dear", ignore_case=False), "Dear Ada", False),
        (checks.starts_with("Ada"), "Dear Ada", False),
        (checks.starts_with(""), "", True),
        (checks.ends_with("ada."), "Yours, Ada. \n", True),
        (checks.ends_with("ada"), "Ada.", False),
        (checks.ends_with(""), "x", True),
        (checks.ends_with("\u2026"), "and so on...", True),
        (checks.ends_with("\u2026", normalize=False), "and so on...", False),
        (checks.max_length(chars=5), "  \u4f60\u597d\u4e16\u754c\u3002\n", True),
        (checks.max_length(chars=4), "\u4f60\u597d\u4e16\u754c\u3002", False),
        (checks.max_length(words=2), "two\u00a0words", True),
        (checks.max_length(words=1), "two words", False),
        (checks.max_length(words=0), "", True),
    ],
)
def test_words(scorer: Scorer[Any, Any], text: str, passed: bool) -> None:
    assert passes(scorer, saying(text)) == passed


@pytest.mark.parametrize(
    "make",
    [
        lambda scope: checks.one_of(["b"], scope=scope),
        lambda scope: checks.starts_with("b", scope=scope),
        lambda scope: checks.max_length(chars=1, scope=scope),
        lambda scope: checks.is_json({"const": 2}, scope=scope),
    ],
)
def test_words_read_the_final_answer_unless_told(make: Any) -> None:
    run = saying("a", "2") if make("final").kind == "checks.is_json" else saying("a", "b")
    assert passes(make("final"), run)
    assert not passes(make("all"), run)
    with pytest.raises(OptionError, match="scope must be"):
        make("some")


# JSON


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}', None),
        (" [1, 2]\n", None),
        ("5", None),
        ("", "is empty"),
        ("Here: {}", "no JSON"),
        ("```json\n{}\n```", "code block"),
        ('{"a": 1', "no JSON"),
        ("NaN", "no JSON"),
        ("{'a': 1}", "no JSON"),
        ("{} {}", "no JSON"),
        ('"\ud800"', "no JSON"),
    ],
)
def test_is_json(text: str, words: str | None) -> None:
    score = checks.is_json().run_sync(saying(text))
    assert score.score == float(words is None)
    assert (words or "is JSON") in (score.reason or "")


def test_deeply_nested_json_is_an_error() -> None:
    score = checks.is_json().run_sync(saying("[" * 100_000))
    assert score.status == "error"


def test_is_json_with_a_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"properties": {"price": {"type": "number"}}}}},
        "required": ["total"],
    }
    scorer = checks.is_json(schema)
    assert passes(scorer, saying('{"items": [{"price": 1}], "total": 2}'))
    score = scorer.run_sync(saying('{"items": [{"price": 1}, {"price": "2"}]}'))
    assert score.score == 0
    assert 'items[1].price: "2" is not of type "number"' in (score.reason or "")
    assert '"total" is a required property' in (score.reason or "")
    assert passes(checks.is_json(True), saying("1"))
    assert not passes(checks.is_json(False), saying("1"))


@pytest.mark.parametrize("schema", [{"type": "dict"}, {"pattern": "("}, {"$ref": "#/nowhere"}, 5, ["object"]])
def test_a_wrong_schema_is_found_early(schema: Any) -> None:
    with pytest.raises(OptionError, match=r"^checks\.is_json: schema is no JSON Schema: [^\n]+$"):
        checks.is_json(schema)


@pytest.mark.parametrize("uri", ["http://localhost:9/x.json", "file:///etc/hostname", "https://json.schemastore.org/x"])
def test_a_schema_loads_nothing(uri: str) -> None:
    with pytest.raises(OptionError, match="are not loaded from"):
        checks.is_json({"$ref": uri})


def test_a_pattern_of_a_schema_does_not_hang() -> None:
    for pattern in ("^(a+)+$", r"^(?=(a+)+$)(a|aa)+\1$"):
        assert not passes(checks.is_json({"pattern": pattern}), saying('"' + "a" * 50 + '!"'))


def test_a_schema_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    assert passes(checks.is_json(), saying("1"))
    for make in (lambda: checks.is_json({}), lambda: checks.tool_args_valid({"a": {}})):
        with pytest.raises(MissingExtraError, match=r"referee\[schema\]"):
            make()


# Arguments of tools

FORECAST = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "schemas",
    [
        {"forecast": FORECAST, "ping": True},
        [
            {"type": "function", "function": {"name": "forecast", "parameters": FORECAST}},
            {"function": {"name": "ping"}},
        ],
        [{"type": "function", "name": "forecast", "parameters": FORECAST}, {"type": "function", "name": "ping"}],
    ],
)
def test_tool_args_valid(schemas: Any) -> None:
    scorer = checks.tool_args_valid(schemas)
    assert passes(scorer, calling())
    assert passes(scorer, calling(ToolCall("forecast", {"city": "Ghent", "days": 2}), ToolCall("ping", {"x": 1})))
    assert passes(scorer, calling(ToolCall("ping", None), ToolCall("forecast", {"days": "x"}, state="partial")))
    score = scorer.run_sync(
        calling(
            ToolCall("ping"),
            ToolCall("forecast", {"days": "2", "unit": "C"}),
            ToolCall("forecast", '{"city"', args_invalid=True),
            ToolCall("forecats", {}),
        )
    )
    assert score.score == 0
    for words in (
        'call 2 forecast: days: "2" is not of type "integer"',
        "call 2 forecast: Additional properties are not allowed ('unit' was unexpected)",
        'call 2 forecast: "city" is a required property',
        "call 3 forecast: the arguments are no JSON",
        "call 4 forecats: there is no schema for this tool",
    ):
        assert words in (score.reason or "")


def test_a_call_without_arguments_has_an_empty_object() -> None:
    assert not passes(checks.tool_args_valid({"forecast": FORECAST}), calling(ToolCall("forecast", None)))


def test_hostile_arguments() -> None:
    value: Any = 1
    for _ in range(50_000):
        value = [value]
    score = checks.tool_args_valid({"t": True}).run_sync(calling(ToolCall("t", {"a": value})))
    assert score.error is not None
    many = checks.tool_args_valid({"t": {"items": {"type": "string"}}}).run_sync(calling(ToolCall("t", [1] * 1000)))
    assert (many.reason or "").endswith("and 990 more")
    long = checks.tool_args_valid({"t": {"type": "string"}}).run_sync(calling(ToolCall("t", {"\x1b[31m": "x" * 9999})))
    assert len(long.reason or "") < 300
    assert "\x1b" not in (long.reason or "")


@pytest.mark.parametrize("schemas", ["forecast", 5, ["forecast"], [{"function": "forecast"}], [{"parameters": {}}]])
def test_wrong_tool_definitions(schemas: Any) -> None:
    with pytest.raises(OptionError, match=r"checks\.tool_args_valid: schemas"):
        checks.tool_args_valid(schemas)
    with pytest.raises(OptionError, match="the schema of forecast is no JSON Schema"):
        checks.tool_args_valid({"forecast": {"type": "dict"}})


# Calls of one tool

SEARCHES = calling(
    ToolCall("search", {"q": "ferries", "page": {"n": 1, "size": 10}}),
    ToolCall("search", {"q": "trains"}),
    ToolCall("book", {"id": 1}),
)


@pytest.mark.parametrize(
    ("options", "passed"),
    [
        ({"name": "search"}, True),
        ({"name": "search", "times": 2}, True),
        ({"name": "search", "times": 3}, False),
        ({"name": "search", "at_most": 2}, True),
        ({"name": "search", "at_most": 1}, False),
        ({"name": "pay", "times": 0, "at_most": 0}, True),
        ({"name": "book", "times": 0, "at_most": 0}, False),
        ({"name": "search", "args": {"q": "trains"}}, True),
        ({"name": "search", "args": {"q": "ferries"}}, False),
        ({"name": "search", "args": {"q": "ferries"}, "match": "subset"}, True),
        ({"name": "search", "args": {"page": {"n": 1.0}}, "match": "subset"}, True),
        ({"name": "search", "args": {}, "match": "subset", "at_most": 1}, False),
        ({"name": "search", "args": {"q": "trains"}, "times": 2}, False),
        ({"name": "book", "args": {"id": True}}, False),
        ({"name": "book", "args": {"id": "1"}}, False),
    ],
)
def test_called_tool(options: Any, passed: bool) -> None:
    assert passes(checks.called_tool(**options), SEARCHES) == passed


def test_called_tool_says_what_differs() -> None:
    score = checks.called_tool("book", args={"id": 2, "seat": "4A"}).run_sync(SEARCHES)
    assert score.reason == (
        'book was never called with {"id": 2, "seat": "4A"}, expected at least 1; '
        'id: expected 2, got 1; seat: missing, expected "4A"'
    )
    score = checks.called_tool("pay", args={}).run_sync(SEARCHES)
    assert (score.reason or "").endswith("; pay was not called at all")


@pytest.mark.parametrize(
    "options",
    [
        {"times": 2, "at_most": 1},
        {"at_most": True},
        {"args": {"a": 1}, "match": "ignore"},
        {"args": {"a": object()}},
    ],
)
def test_called_tool_refuses_wrong_options(options: Any) -> None:
    with pytest.raises(OptionError, match=r"checks\.called_tool"):
        checks.called_tool("search", **options)


def test_called_tool_keeps_its_version() -> None:
    assert checks.called_tool("search").options == {"name": "search"}
    assert checks.called_tool("search").version == checks.called_tool("search", 1, match="exact").version


# Limits and figures

TIMED = saying("Done.", duration_ms=1500.0, usage=Usage(700, 200), cost=0.01)


@pytest.mark.parametrize(
    ("scorer", "passed"),
    [
        (checks.max_duration(1500), True),
        (checks.max_duration(1499.9), False),
        (checks.max_tokens(900), True),
        (checks.max_tokens(899), False),
        (checks.max_cost(0.01), True),
        (checks.max_cost(0.0099), False),
    ],
)
def test_limits(scorer: Scorer[Any, Any], passed: bool) -> None:
    assert passes(scorer, TIMED) == passed


@pytest.mark.parametrize(
    "scorer",
    [
        checks.max_duration(1),
        checks.max_tokens(1),
        checks.max_cost(1),
        scorers.create_duration_scorer(),
        scorers.create_tokens_scorer(),
        scorers.create_cost_scorer(),
        scorers.create_steps_scorer(),
    ],
    ids=lambda scorer: scorer.kind,
)
def test_a_figure_that_the_run_does_not_carry(scorer: Scorer[Any, Any]) -> None:
    score = scorer.run_sync(Run(id="r"))
    assert score.status == "not_scorable"
    assert score.not_scorable is not None
    assert score.not_scorable.reason.startswith("the run has no ")


def test_half_a_token_count_is_none() -> None:
    assert checks.max_tokens(10).run_sync(saying("x", usage=Usage(5, None))).status == "not_scorable"
    assert checks.max_tokens(10).run_sync(saying("x", usage=Usage(None, None, 11))).score == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_figure_that_is_no_number_is_an_error(value: float) -> None:
    run = saying("x", duration_ms=value)
    assert checks.max_duration(10).run_sync(run).status == "error"
    assert scorers.create_duration_scorer().run_sync(run).status == "error"


@pytest.mark.parametrize("value", [-1, float("nan"), "5", True, None])
def test_wrong_limits(value: Any) -> None:
    for make in (checks.max_duration, checks.max_tokens, checks.max_cost):
        with pytest.raises(OptionError, match="must be a"):
            make(value)
    with pytest.raises(OptionError, match="whole number"):
        checks.max_tokens(1.5)  # type: ignore[arg-type]


def test_figures_as_scorers() -> None:
    for make, value in (
        (scorers.create_duration_scorer, 1500),
        (scorers.create_tokens_scorer, 900),
        (scorers.create_cost_scorer, 0.01),
        (scorers.create_steps_scorer, 0),
    ):
        scorer = make()
        score = scorer.run_sync(TIMED)
        assert score.score == value
        assert scorer.lower_is_better
        assert scorer.range[0] == 0
        with pytest.raises(OptionError):
            score.check()


def test_duration_and_steps_of_a_recorded_trajectory() -> None:
    inner = Step(name="search")
    trajectory = Trajectory(steps=[Step(name="agent", children=[inner, inner])], total_duration_ms=80.0)
    run = calling(ToolCall("a"), ToolCall("b"), trajectory=trajectory)
    assert scorers.create_steps_scorer().run_sync(run).score == 1
    assert scorers.create_duration_scorer().run_sync(run).score == 80
    assert scorers.create_steps_scorer().run_sync(calling(ToolCall("a"), ToolCall("b"))).score == 2


# Wrong options


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: checks.one_of("yes"), "list of texts"),  # type: ignore[arg-type]
        (lambda: checks.one_of([]), "list of texts"),
        (lambda: checks.one_of([5]), "must be a string"),  # type: ignore[list-item]
        (lambda: checks.starts_with(5), "must be a string"),  # type: ignore[arg-type]
        (checks.max_length, "either chars or words"),
        (lambda: checks.max_length(chars=1, words=1), "either chars or words"),
        (lambda: checks.max_length(chars=-1), "whole number"),
        (lambda: checks.max_length(words=1.5), "whole number"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options(make: Any, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: checks.includes("a", ignore_case="no"), "checks.includes: ignore_case must be true or false"),
        (lambda: checks.equals("a", normalize=0), "checks.equals: normalize must be true or false"),
        (lambda: checks.matches("a", exact="yes"), "checks.matches: exact must be true or false"),
        (lambda: checks.matches({"pattern": "a", "flags": 5}), "flags of a pattern are letters"),
        (lambda: checks.similarity("a", threshold="0.5"), "threshold must be in 0 to 1"),
        (lambda: checks.includes("a", id={"x": 1}), "the id of a scorer is a text"),
        (lambda: checks.tool_calls(["a"], forbid_args=None), "forbid_args must be a list of paths"),
        (lambda: checks.tool_calls(["a"], forbid_args=[1]), "a path to an argument is a text"),
        (lambda: checks.max_cost(10**400), "must be a number of at least 0"),
        (lambda: scorers.create_content_similarity_scorer(ignore_case="no"), "ignore_case must be true or false"),
        (
            lambda: scorers.create_tool_call_accuracy_scorer_code("a", strict_mode="no"),
            "strict_mode must be true or false",
        ),
        (lambda: scorers.create_tool_call_accuracy_scorer_code(5), "the name of a tool is a text"),
        (lambda: scorers.create_trajectory_scorer_code(weights=[1]), "weights must be {dimension: number}"),
    ],
)
def test_an_option_of_another_kind_is_refused(make: Any, message: str) -> None:
    """Taken as it is, a text like "no" would count as true, and the rest would end in a traceback."""
    with pytest.raises(OptionError, match=message):
        make()


def test_a_plan_nested_beyond_the_stack_is_refused() -> None:
    plan: Any = "a"
    for _ in range(5000):
        plan = {"optional": plan}
    with pytest.raises(OptionError, match="nested too deeply"):
        checks.tool_plan([plan])


def test_the_reason_of_a_failed_call_is_short_and_on_one_line() -> None:
    failed = ToolCall("search", {}, state="error", error="\x1b[31m" + "x" * 100_000)
    reason = checks.no_tool_errors().run_sync(calling(failed)).reason
    assert reason is not None
    assert len(reason) < 300
    assert "\x1b" not in reason
