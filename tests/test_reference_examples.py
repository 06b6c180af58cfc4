"""The code examples of the reference's documents for the checks, tool-call accuracy by code and completeness."""

from __future__ import annotations

import re

import pytest

from referee import checks
from referee.scorers import create_completeness_scorer, create_tool_call_accuracy_scorer_code
from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation


def call(name: str, id: str, args: object, result: object) -> object:
    return create_tool_invocation(tool_name=name, tool_call_id=id, args=args, result=result, state="result")


def run_with(content: str, *calls: object, question: str = "?") -> object:
    return create_agent_test_run(
        input_messages=[create_test_message(content=question, role="user", id="input-1")],
        output=[create_test_message(content=content, role="assistant", id="output-1", tool_invocations=calls)],  # type: ignore[arg-type]
    )


WEATHER = run_with(
    "It is sunny in Brooklyn, 72°F.",
    call("get_weather", "call-1", {"location": "Brooklyn"}, {"sky": "sunny"}),
    call("summarize", "call-2", {}, "sunny"),
    question="What is the weather in Brooklyn?",
)


@pytest.mark.parametrize(
    ("check", "score"),
    [
        (checks.includes("sunny"), 1),
        (checks.includes("Brooklyn"), 1),
        (checks.includes("Sunny", ignore_case=False), 0),
        (checks.excludes("error"), 1),
        (checks.excludes("Error", ignore_case=False), 1),
        (checks.equals("Hello, world!"), 0),
        (checks.matches(re.compile(r"\d+°[FC]")), 1),
        (checks.matches(re.compile(r"^hello$"), exact=True), 0),
        (checks.similarity("Sunny, 72°F", threshold=0.7), 0),
        (checks.called_tool("get_weather"), 1),
        (checks.called_tool("search", times=2), 0),
        (checks.did_not_call("delete_user"), 1),
        (checks.tool_order(["get_weather", "summarize"]), 1),
        (checks.tool_order(["search", "summarize", "respond"]), 0),
        (checks.max_tool_calls(5), 1),
        (checks.used_no_tools(), 0),
        (checks.no_tool_errors(), 1),
    ],
)
def test_quick_checks(check: object, score: int) -> None:
    assert check.run_sync(WEATHER).score == score  # type: ignore[attr-defined]


def test_similarity_without_a_threshold_is_a_number() -> None:
    found = checks.similarity("Sunny, 72°F").run_sync(WEATHER).score  # type: ignore[arg-type]
    assert found is not None
    assert 0 < found < 1


def test_the_right_tool() -> None:
    run = run_with(
        "Let me check the weather for you.",
        call("weather-tool", "call-123", {"location": "New York"}, {"temperature": "72°F", "condition": "sunny"}),
        question="What is the weather like in New York today?",
    )
    result = create_tool_call_accuracy_scorer_code(expected_tool="weather-tool").run_sync(run)  # type: ignore[arg-type]
    assert result.score == 1
    assert result.preprocess_step_result.correct_tool_called is True


def test_strict_mode_allows_no_other_tool() -> None:
    run = run_with(
        "Let me help you with that.",
        call("search-tool", "call-1", {}, {}),
        call("weather-tool", "call-2", {"location": "New York"}, {"temperature": "20°C"}),
    )
    strict = create_tool_call_accuracy_scorer_code(expected_tool="weather-tool", strict_mode=True)
    assert strict.run_sync(run).score == 0  # type: ignore[arg-type]
    lenient = create_tool_call_accuracy_scorer_code(expected_tool="weather-tool")
    assert lenient.run_sync(run).score == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(("strict", "extra", "score"), [(True, False, 1), (True, True, 0), (False, True, 1)])
def test_order_of_tools(strict: bool, extra: bool, score: int) -> None:
    calls = [
        call("auth-tool", "call-1", {"token": "abc123"}, {"authenticated": True}),
        *([call("log-tool", "call-2", {"message": "Starting fetch"}, {"logged": True})] if extra else []),
        call("fetch-tool", "call-3", {"endpoint": "/data"}, {"data": ["item1"]}),
    ]
    scorer = create_tool_call_accuracy_scorer_code(
        expected_tool="auth-tool",  # ignored: an order is given
        expected_tool_order=["auth-tool", "fetch-tool"],
        strict_mode=strict,
    )
    result = scorer.run_sync(run_with("I will authenticate and fetch the data.", *calls))  # type: ignore[arg-type]
    assert result.score == score
    assert result.preprocess_step_result.correct_order_called is bool(score)


def test_the_code_scorer_of_the_comparison() -> None:
    run = run_with(
        "Let me find that information.",
        call("search-tool", "call-1", {"query": "weather"}, {"results": ["weather data"]}),
        question="What is the weather?",
    )
    assert create_tool_call_accuracy_scorer_code(expected_tool="weather-tool").run_sync(run).score == 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question",
    [
        "Explain the process of photosynthesis, including the inputs, outputs, and stages involved.",
        "What are the benefits and drawbacks of remote work for both employees and employers?",
        "Compare renewable and non-renewable energy sources in terms of cost, environmental impact, and sustainability.",
    ],
)
def test_completeness_tells_covering_answers_from_others(question: str) -> None:
    scorer = create_completeness_scorer()

    def score(answer: str) -> float:
        found = scorer.run_sync(create_agent_test_run(input_messages=question, output=answer)).score
        assert found is not None
        return found

    half = " ".join(question.split()[: len(question.split()) // 2])
    assert score(question) == 1.0
    assert score("Bananas!") == 0.0
    assert 0.2 < score(half) < 0.9
    result = scorer.run_sync(create_agent_test_run(input_messages=question, output=half)).preprocess_step_result
    assert result.element_counts.input == len(result.input_elements)
    assert set(result.missing_elements) <= set(result.input_elements)
