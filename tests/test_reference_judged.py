"""The reference's documented examples of judged scorers, with a judge that says what its documentation says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from referee import Run, scorers
from referee.judge import Judge, ScriptedModel
from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation

TOOLS = [
    {"name": "weather-tool", "description": "Get current weather information for any location"},
    {"name": "calendar-tool", "description": "Check calendar events and scheduling"},
    {"name": "search-tool", "description": "Search the web for general information"},
]


def run(question: str, answer: str, *calls: Any) -> Run:
    message = create_test_message(content=answer, role="assistant", id="output-1", tool_invocations=calls)
    return create_agent_test_run(input_messages=question, output=[message])


def judged(run_: Run, verdicts: list[str], reason: str, missing: list[str] | None = None, **options: Any) -> Any:
    """The judged tool-call accuracy of a run with a judge that gives these verdicts and this reason."""
    evaluations = [{"id": f"c{number}", "reason": reason, "verdict": word} for number, word in enumerate(verdicts, 1)]
    judge = Judge(ScriptedModel([{"evaluations": evaluations, "missing_tools": missing or []}, {"reason": reason}]))
    return scorers.create_tool_call_accuracy_scorer_llm(judge, TOOLS, **options).run_sync(run_)


def test_the_right_tool_scores_1() -> None:
    call = create_tool_invocation(
        tool_call_id="call-123",
        tool_name="weather-tool",
        args={"location": "San Francisco", "date": "today"},
        result={"temperature": "68°F", "condition": "foggy"},
    )
    score = judged(
        run("What is the weather like in San Francisco today?", "Let me check the current weather for you.", call),
        ["appropriate"],
        "The agent used the weather tool for a question about the weather.",
    )
    assert score.score == 1.0
    assert score.reason == "The agent used the weather tool for a question about the weather."
    found = msgspec.to_builtins(score.analyze_step_result)
    assert found["evaluations"][0]["tool_called"] == "weather-tool"
    assert found["evaluations"][0]["was_appropriate"] is True
    assert found["evaluations"][0]["reasoning"]
    assert found["missing_tools"] == []


def test_a_merely_helpful_tool_scores_a_half() -> None:
    call = create_tool_invocation(
        tool_call_id="call-456",
        tool_name="search-tool",
        args={"query": "Tokyo weather"},
        result={"results": ["Tokyo weather data..."]},
    )
    score = judged(
        run("What is the weather in Tokyo?", "Let me search for that information.", call),
        ["helpful"],
        "The weather tool would have been the direct way.",
        missing=["weather-tool"],
    )
    assert score.score == 0.5
    assert score.analyze_step_result.evaluations[0].was_appropriate is False


def test_a_right_request_for_clarification_scores_1() -> None:
    score = judged(
        run("I need help with something", "Could you please say what you need help with?"),
        [],
        "The agent rightly asked before it called anything.",
    )
    assert score.score == 1.0


def test_the_scorer_by_code_and_the_judged_one_on_the_same_run() -> None:
    call = create_tool_invocation(
        tool_call_id="call-1", tool_name="search-tool", args={"query": "weather"}, result={"results": ["weather data"]}
    )
    same = run("What is the weather?", "Let me find that information.", call)
    assert scorers.create_tool_call_accuracy_scorer_code(expected_tool="weather-tool").run_sync(same).score == 0
    assert judged(same, ["helpful"], "The search is less direct.").score == 0.5
    assert judged(same, ["helpful"], "The search is less direct.", helpful_weight=0.3).score == 0.3


@pytest.mark.parametrize(
    ("verdicts", "options", "expected"),
    [
        (["yes", "yes", "yes"], {}, 1.0),
        (["yes", "unsure", "no"], {}, 0.43),
        (["yes", "unsure"], {"uncertainty_weight": 0.5}, 0.75),
        (["yes", "no"], {"scale": 10}, 5.0),
        (["no", "no"], {}, 0.0),
    ],
)
def test_answer_relevancy(verdicts: list[str], options: dict[str, Any], expected: float) -> None:
    replies = [
        {"statements": [f"Statement {number}" for number in range(len(verdicts))]},
        {"verdicts": [{"id": f"s{n}", "reason": "because", "verdict": word} for n, word in enumerate(verdicts, 1)]},
        {"reason": "Most of it answers the question."},
    ]
    scorer = scorers.create_answer_relevancy_scorer(Judge(ScriptedModel(replies)), **options)
    score = scorer.run_sync(run("What are the health benefits of regular exercise?", "It strengthens the heart."))
    assert score.score == expected
    assert msgspec.to_builtins(score.preprocess_step_result) == replies[0]
    assert msgspec.to_builtins(score.analyze_step_result) == {
        "results": [{"result": word, "reason": "because"} for word in verdicts]
    }
    reference = score.to_mastra()
    assert {"preprocessPrompt", "analyzePrompt", "generateReasonPrompt", "reason", "score", "runId"} <= set(reference)


@pytest.mark.parametrize(
    "options", [{"uncertainty_weight": 1.1}, {"uncertainty_weight": -0.1}, {"scale": 0}, {"scale": -1}]
)
def test_options_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        scorers.create_answer_relevancy_scorer(**options)
