"""`run_evals`: what is refused, what an error costs, conversations, groups, repeats, thresholds, hooks, deadlines."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from referee import (
    Item,
    Message,
    OptionError,
    PromptStep,
    Run,
    Step,
    Text,
    Trajectory,
    Turn,
    checks,
    create_scorer,
    to_run,
)
from referee.evaluate import Hooks, RecordedRuns, Report, SideBySide, ToolMocks, run_evals, run_evals_sync
from referee.results import ItemResult
from referee.scores import JudgeUsage
from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation

SUNNY = checks.includes("sunny")


def echo(text: str) -> str:
    return f"You said {text}."


def scored(value: float | Callable[[Run], float], id: str = "own", **options: Any) -> Any:
    """A scorer of the user's own."""
    return create_scorer(id=id, **options).generate_score(value if callable(value) else lambda run: value)


def evaluate(**arguments: Any) -> Report:
    return run_evals_sync(**{"target": echo, "data": ["sunny", "rainy"], "gates": [], **arguments})


# What is refused before anything runs


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"data": []}, "no items"),
        ({"data": "sunny"}, "list of items"),
        ({"data": None}, "give data"),
        ({"data": [{}]}, "item 1: give exactly one of input, inputs and turns; it has none"),
        ({"data": ["a", {"input": "a", "inputs": ["b"]}]}, "item 2: .* it has input and inputs"),
        ({"data": [{"inputs": []}]}, "inputs is empty"),
        ({"data": [{"inputs": ["a", None]}]}, "inputs: a turn has no input"),
        ({"data": [{"turns": [{"input": None}]}]}, "turns: a turn has no input"),
        ({"data": [{"input": "a", "tags": [1]}]}, "a tag is a text, not 1"),
        ({"data": [Item(id=5, input="a")]}, "id is a text, not 5"),  # type: ignore[arg-type]
        ({"name": 5}, "name is a text"),
        ({"model": 5}, "model is a Judge"),
        ({"target_options": ["a"]}, "target_options is a mapping"),
        ({"hooks": {"before_run": print}}, "hooks is a Hooks"),
        ({"hooks": Hooks(after_item=5)}, "after_item is a function"),  # type: ignore[arg-type]
        ({"on_item_complete": 5}, "on_item_complete is a function"),
        ({"journal": 5}, "journal is a file's name"),
        ({"journal": "/dev/full"}, "can't be written: No space left"),
        ({"resume": "all"}, "resume is True, False or 'failed'"),
        ({"data": [{"inptu": "a"}]}, "did you mean input"),
        ({"data": [{"turns": [{"scorer": []}]}]}, "did you mean scorers"),
        ({"data": [{"turns": ["a"]}]}, "a turn is an object"),
        ({"data": [{"input": "a", "tags": "x"}]}, "tags must be a list"),
        ({"data": [3]}, "not int"),
        ({"scorers": []}, "at least one scorer or gate"),
        ({"scorers": ["checks.include"]}, "did you mean checks.include"),
        ({"scorers": SUNNY}, "give a list"),
        ({"scorers": {"agnt": [SUNNY]}}, "no group 'agnt'; did you mean agent"),
        ({"scorers": {"steps": [SUNNY]}}, "names each step"),
        ({"scorers": [{"scorer": SUNNY, "threshold": {}}]}, "give a number, or min and max"),
        ({"scorers": [{"scorer": SUNNY, "threshold": None}]}, "needs a bound"),
        ({"scorers": [{"scorer": SUNNY, "threshold": float("nan")}]}, "finite"),
        ({"scorers": [{"scorer": SUNNY, "threshold": {"min": 0.9, "max": 0.1}}]}, "min 0.9 is above max 0.1"),
        ({"scorers": [{"scorer": SUNNY, "threshold": {"mni": 0.9}}]}, "takes confidence, max, min, min_coverage"),
        ({"scorers": [{"scorer": SUNNY, "thershold": 1}]}, "did you mean threshold"),
        ({"scorers": [{"scorer": SUNNY, "threshold": {"min": 0.5, "confidence": 95}}]}, "between 0 and 1"),
        ({"scorers": [{"scorer": SUNNY, "threshold": 0.5, "min_coverage": 2}]}, "from 0 to 1"),
        ({"scorers": [{"scorer": scored(1, lower_is_better=True), "threshold": 0.2}]}, "lower is better"),
        ({"scorers": [{"scorer": SUNNY, "threshold": 80}]}, "at least 80 can't be reached; the scores are 0 to 1"),
        ({"scorers": [{"scorer": SUNNY, "threshold": {"max": -1}}]}, "at most -1 can't be reached"),
        (
            {"gates": [{"scorer": scored(1, range=(0, 5)), "min": 6}]},
            "at least 6 can't be reached; the scores are 0 to 5",
        ),
        (
            {"gates": [{"scorer": SUNNY, "threshold": 0.5}]},
            "gates: an entry with 'scorer' has no 'threshold'; it takes max",
        ),
        ({"data": "items.json"}, "not str; of a file of items make a list"),
        ({"gates": [scored(1, lower_is_better=True)]}, "lower is better"),
        ({"gates": [scored(1, range=(0, 5))]}, "its range is 0 to 5"),
        ({"gates": [{"scorer": SUNNY, "passes": "most"}]}, "like '4 of 5'"),
        ({"gates": [{"scorer": SUNNY, "passes": "4 of 5"}], "repeats": 3}, "run 3 times"),
        ({"gates": [{"scorer": SUNNY, "passes": "0 of 1"}]}, "like '4 of 5'"),
        ({"data": [{"input": "a", "gates": ["checks.nothing"]}]}, "item .*: there is no scorer"),
        ({"target": None}, "give a target"),
        ({"target": 7}, "a target is"),
        ({"target": lambda: "hi"}, "input as its first argument"),
        ({"targets": {}, "target": None}, "at least one"),
        ({"targets": {"a": echo}}, "not both"),
        ({"repeats": 0}, "at least 1"),
        ({"concurrency": 0}, "at least 1"),
        ({"timeout": -1}, "above 0"),
        ({"item_timeout": "5"}, "above 0"),
        ({"confidence": 1}, "between 0 and 1"),
        ({"target_options": {"temperature": 0}}, "unexpected keyword argument 'temperature'"),
        ({"unmocked_tools": "forbid"}, "'allow' or 'deny'"),
        ({"unmocked_tools": "deny"}, "can't run with them"),
        ({"data": [{"input": "a", "tool_mocks": {"search": 1}}]}, "can't run with them"),
        ({"resume": True}, "needs a journal"),
        ({"target": RecordedRuns([Run(id="a")]), "data": [{"id": "a", "inputs": ["x", "y"]}]}, "several turns"),
        ({"target": RecordedRuns([Run(id="a")]), "target_options": {"x": 1}}, "no target_options"),
    ],
)
def test_a_mistake_is_refused_before_anything_runs(arguments: dict[str, Any], words: str) -> None:
    asked: list[str] = []
    arguments = {"target": asked.append, "scorers": [SUNNY], **arguments}
    with pytest.raises(OptionError, match=words):
        evaluate(**arguments)
    assert asked == []


def test_a_judge_that_is_missing_is_found_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFEREE_MODEL", raising=False)
    asked: list[str] = []
    with pytest.raises(OptionError, match="REFEREE_MODEL"):
        evaluate(target=asked.append, scorers=["answer_relevancy"])
    assert asked == []


# Results


def test_scores_and_summary_take_the_scorer_object() -> None:
    def polite(run: Run) -> bool:
        return "please" in run.output_text

    twice = checks.includes("rainy")
    report = evaluate(scorers=[SUNNY, polite, twice], gates=[checks.used_no_tools()])
    assert report.scores[SUNNY] == report.scores["check-includes"] == 0.5
    assert report.scores[polite] == 0
    assert report.scores[twice] == report.scores["check-includes#2"] == 0.5
    assert report.summary[twice].interval is not None
    assert SUNNY in report.scores
    assert checks.includes("sunny") not in report.scores
    with pytest.raises(KeyError, match="there are check-includes, polite"):
        report.scores[checks.includes("sunny")]


def test_expectations_reach_the_run_and_ids_are_unique() -> None:
    item = {"input": "a", "groundTruth": "A", "expectedToolCalls": ["search"], "context": {"user": 1}, "metadata": {}}
    seen: list[Run] = []
    report = evaluate(data=[item, item], scorers=[scored(lambda run: seen.append(run) or 1.0)])
    ids = [result.item_id for result in report.results]
    assert ids[1] == f"{ids[0]}#2"
    assert [(run.ground_truth, run.expected_tool_calls, run.context) for run in seen] == [
        ("A", ["search"], {"user": 1})
    ] * 2
    assert all(run.duration_ms is not None for run in seen)


def test_the_order_of_results_is_that_of_the_data() -> None:
    async def slowest_first(text: str) -> str:
        for _ in range(20 - int(text)):
            await asyncio.sleep(0)
        return text

    finished: list[str] = []
    report = evaluate(
        target=slowest_first,
        data=[{"id": f"i{number}", "input": str(number)} for number in range(20)],
        scorers=[SUNNY],
        concurrency=20,
        on_item_complete=lambda result: finished.append(result.item_id),
    )
    assert [result.item_id for result in report.results] == [f"i{number}" for number in range(20)]
    assert sorted(finished) == sorted(report.evaluation.items)
    assert finished != list(report.evaluation.items)


def test_concurrency_is_a_limit_and_is_reached() -> None:
    running, most = 0, 0

    async def count(text: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return text

    evaluate(target=count, data=[str(number) for number in range(30)], scorers=[SUNNY], concurrency=7)
    assert most == 7


@pytest.mark.parametrize(
    "answer",
    [
        "It is sunny.",
        Message("assistant", [Text("It is sunny.")]),
        [Message("user", [Text("a")]), Message("assistant", [Text("It is sunny.")])],
        [{"role": "assistant", "content": "It is sunny."}],
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "It is sunny."}],
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "It is sunny."}]},
        Run(output=[Message("assistant", [Text("It is sunny.")])]),
    ],
)
def test_every_kind_of_answer_becomes_the_same_run(answer: Any) -> None:
    report = evaluate(target=lambda text: answer, data=["a"], scorers=[SUNNY])
    run = report.results[0].run
    assert run is not None
    assert (run.input_text, run.output_text, run.history) == ("a", "It is sunny.", [])
    assert len(run.output) == 1


def test_no_messages_are_a_run_without_an_answer() -> None:
    report = evaluate(target=lambda text: [], data=["a"], scorers=[checks.used_no_tools()])
    assert report.scores["check-used-no-tools"] == 1


def test_a_conversation_up_to_now_becomes_history() -> None:
    asked = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Where?"},
        {"role": "user", "content": "Ghent"},
    ]
    run = evaluate(target=lambda messages: "Sunny.", data=[{"input": asked}], scorers=[SUNNY]).results[0].run
    assert run is not None
    assert [message.text for message in run.system] == ["Be brief."]
    assert [message.text for message in run.history] == ["Weather?", "Where?"]
    assert (run.user_text, run.output_text) == ("Ghent", "Sunny.")


# Errors


def sudden_exit(text: str) -> str:
    raise SystemExit(3)


async def sudden_async_exit(text: str) -> str:
    raise SystemExit(4)


def failed_in_pytest(text: str) -> str:
    pytest.fail("said no")


async def cancelled_inside(text: str) -> str:
    raise asyncio.CancelledError


async def several_failures(text: str) -> str:
    raise ExceptionGroup("unhandled errors in a TaskGroup", [ValueError("the real cause")])


@pytest.mark.parametrize(
    ("fail", "error_class", "words"),
    [
        (lambda text: 1 / 0, "ZeroDivisionError", "division"),
        (sudden_exit, "SystemExit", "3"),
        (sudden_async_exit, "SystemExit", "4"),
        (failed_in_pytest, "Failed", "said no"),
        (cancelled_inside, "CancelledError", "from inside"),
        (several_failures, "ValueError", "the real cause"),
        (lambda text: None, "AnswerError", "gave nothing"),
        (lambda text: 5, "AnswerError", "gave 5 (int)"),
        (lambda text: {"temperature": 20}, "ReadError", "no known format"),
        (lambda text: next(iter([])), "RuntimeError", "StopIteration"),
    ],
)
def test_a_failing_target_is_an_error_of_its_item_alone(fail: Any, error_class: str, words: str) -> None:
    is_async = asyncio.iscoroutinefunction(fail)

    async def target(text: str) -> Any:
        if text != "rainy":
            return "sunny"
        return await fail(text) if is_async else fail(text)

    for asked, timeout in ((target, None), (target, 20), (fail, None), (fail, 20)):
        data = ["a", "rainy"] if asked is target else ["rainy"]
        report = evaluate(target=asked, data=data, gates=[SUNNY], scorers=[scored(1)], item_timeout=timeout)
        error = report.results[-1].error
        assert error is not None
        assert (error.step, error.error_class) == ("target", error_class)
        assert words in error.message
        assert report.errors == 1
        assert not report.complete
        assert report.verdict == "failed"
    assert report.summary["own"].coverage == 0
    assert evaluate(target=target, data=["a", "rainy"], scorers=[scored(1)]).summary["own"].coverage == 0.5


def test_a_failing_scorer_is_an_error_of_its_score_alone() -> None:
    report = evaluate(scorers=[scored(lambda run: 1 / ("rainy" not in run.input_text)), SUNNY])
    assert report.scores["own"] == 1
    assert report.summary["own"].errors == 1
    assert report.scores[SUNNY] == 0.5
    assert report.errors == 0
    assert not report.complete
    assert report.verdict is None


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), MemoryError()])
@pytest.mark.parametrize("item_timeout", [None, 20])
def test_whatever_a_scorer_raises_is_an_error_of_its_score(error: BaseException, item_timeout: float | None) -> None:
    def plain(run: Run) -> float:
        raise error

    async def waiting(run: Run) -> float:
        raise error

    report = evaluate(scorers=[plain, waiting], gates=[SUNNY], data=["sunny"], item_timeout=item_timeout)
    assert report.verdict == "passed"
    assert not report.complete
    for name in ("plain", "waiting"):
        failure = report.results[0].scores[name].error
        assert failure is not None
        assert failure.error_class == type(error).__name__


def test_an_interrupt_ends_the_evaluation_and_nothing_else() -> None:
    def interrupted(text: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(target=interrupted, gates=[SUNNY])
    assert evaluate(data=["sunny"], gates=[SUNNY]).verdict == "passed"


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (Run(output="sunny"), "Message objects"),  # type: ignore[arg-type]
        (Run(output=[{"role": "assistant", "content": "sunny"}]), "Message objects"),  # type: ignore[list-item]
        (Run(id=5), "Expected `str`, got `int` - at `$.id`"),  # type: ignore[arg-type]
        (Run(duration_ms="fast"), "$.duration_ms"),  # type: ignore[arg-type]
        (Run(duration_ms=math.nan), "duration_ms is nan"),
        (Run(cost=math.inf), "cost is inf"),
    ],
)
def test_a_run_with_wrong_values_is_an_error_of_its_item(run: Run, words: str) -> None:
    report = evaluate(target=lambda text: run, data=["a"], gates=[SUNNY])
    error = report.results[0].error
    assert error is not None
    assert error.error_class == "AnswerError"
    assert words in error.message
    assert "AnswerError" in str(report)


def test_the_scorer_object_is_a_key_in_every_way() -> None:
    report = evaluate(gates=[SUNNY], scorers=[SUNNY])
    assert report.scores[SUNNY] == report.scores.get(SUNNY) == report.scores.get("check-includes#2") == 0.5
    assert SUNNY in report.scores
    assert report.scores.get("check-includes") is None
    assert report.scores.get(scored(1), 7) == 7


def test_an_unscorable_item_is_in_no_figure() -> None:
    report = evaluate(scorers=[{"scorer": checks.tool_calls(), "threshold": 1}], gates=[checks.tool_calls()])
    assert report.verdict is None
    assert (report.gates, report.thresholds) == ([], [])
    assert report.summary["check-tool-calls"].not_scorable == 2
    assert report.summary["check-tool-calls"].coverage is None


# Deadlines and cancellation


async def hang(text: str) -> str:
    await asyncio.Event().wait()
    return text


async def hang_and_ignore_cancelling(text: str) -> str:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if text == "let go":
                raise


def block(text: str) -> str:
    threading.Event().wait()
    return text


@pytest.mark.parametrize("target", [hang, hang_and_ignore_cancelling, block])
def test_an_item_that_takes_too_long_is_an_error(target: Any) -> None:
    async def asked(text: str) -> Any:
        return "sunny" if text == "a" else await hang(text)

    report = evaluate(target=target, gates=[SUNNY], item_timeout=0.05)
    assert [result.error and result.error.error_class for result in report.results] == ["TimeoutError"] * 2
    assert "not finished within 0.05 s" in str(report.results[0].error)
    assert report.verdict == "failed"
    mixed = evaluate(target=asked, data=["a", "b"], scorers=[SUNNY], item_timeout=0.05)
    assert (mixed.summary[SUNNY].scored, mixed.errors) == (1, 1)


@pytest.mark.parametrize("wait", [lambda run: threading.Event().wait(), lambda run: hang("")])
def test_a_scorer_that_takes_too_long_is_an_error_of_its_score(wait: Any) -> None:
    report = evaluate(scorers=[scored(wait), SUNNY], item_timeout=0.05)
    assert report.summary["own"].errors == 2
    assert report.scores[SUNNY] == 0.5
    assert report.errors == 0


def test_when_the_time_is_up_every_open_item_is_an_error() -> None:
    report = evaluate(target=hang, data=list("abcd"), scorers=[SUNNY], timeout=0.05, concurrency=2)
    messages = [result.error.message for result in report.results if result.error]
    assert len(messages) == 4
    assert [message.startswith("not started") for message in messages] == [False, False, True, True]


def test_cancelling_keeps_what_is_done(tmp_path: Any) -> None:
    journal = tmp_path / "evals.jsonl"
    asked: list[str] = []
    done: list[ItemResult] = []

    async def target(text: str) -> str:
        asked.append(text)
        return text if len(asked) != 3 else await hang(text)

    async def interrupted() -> None:
        running = asyncio.create_task(
            run_evals(
                target=target,
                data=list("abcde"),
                gates=[checks.used_no_tools()],
                concurrency=1,
                journal=journal,
                on_item_complete=done.append,
            )
        )
        while len(asked) < 3:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(interrupted())
    assert len(done) == 2
    report = evaluate(
        target=target, data=list("abcde"), gates=[checks.used_no_tools()], journal=journal, resume=True, concurrency=1
    )
    assert asked == ["a", "b", "c", "c", "d", "e"]
    assert (report.verdict, report.complete, len(report.results)) == ("passed", True, 5)


def test_fail_fast_starts_nothing_after_a_failure() -> None:
    asked: list[str] = []
    report = evaluate(
        target=lambda text: asked.append(text) or text,
        data=["sunny", "rainy", "sunny too", "sunny again"],
        gates=[SUNNY],
        fail_fast=True,
        concurrency=1,
    )
    assert asked == ["sunny", "rainy"]
    assert (report.verdict, report.missing, report.complete) == ("failed", 2, False)


def test_the_sync_door_inside_a_running_loop() -> None:
    async def notebook() -> Report:
        return evaluate(scorers=[SUNNY])

    assert asyncio.run(notebook()).scores[SUNNY] == 0.5


# Hooks


def test_hooks_are_called_around_the_run_and_its_items() -> None:
    calls: list[str] = []

    async def after_item(result: ItemResult) -> None:
        calls.append(f"after {result.item_id}")

    hooks = Hooks(
        before_run=lambda evaluation: calls.append("before run"),
        before_item=lambda item, repeat: calls.append(f"before {item.id} {repeat}"),
        after_item=after_item,
        after_run=lambda report: calls.append(f"after run {report.verdict}"),
    )
    evaluate(data=[{"id": "a", "input": "sunny"}], gates=[SUNNY], hooks=hooks, repeats=2, concurrency=1)
    assert calls == ["before run", "before a 0", "after a", "before a 1", "after a", "after run passed"]


def test_each_hook_fails_by_its_rule() -> None:
    def broken(*_: Any) -> None:
        raise OSError("no database")

    asked: list[str] = []

    def target(text: str) -> str:
        asked.append(text)
        return "sunny"

    with pytest.raises(OSError, match="no database"):
        evaluate(target=target, gates=[SUNNY], hooks=Hooks(before_run=broken))
    report = evaluate(target=target, gates=[SUNNY], hooks=Hooks(before_item=broken))
    assert asked == []
    assert [result.error and result.error.step for result in report.results] == ["before_item"] * 2
    assert report.verdict == "failed"
    report = evaluate(
        target=target, gates=[SUNNY], hooks=Hooks(after_item=broken, after_run=broken), on_item_complete=broken
    )
    assert report.verdict == "passed"
    assert (
        sorted(error.step for error in report.hook_errors)
        == ["after_item"] * 2 + ["after_run"] + ["on_item_complete"] * 2
    )
    assert not report.complete


# Conversations


def test_inputs_are_one_thread_and_scorers_see_all_of_it() -> None:
    heard: list[tuple[str, list[str], str]] = []

    def target(text: str, history: list[Message], thread_id: str) -> str:
        heard.append((text, [message.text for message in history], thread_id))
        return text.upper()

    report = evaluate(target=target, data=[{"inputs": ["a", "b"]}], scorers=[checks.includes("b")])
    assert [(text, history) for text, history, _ in heard] == [("a", []), ("b", ["a", "A"])]
    assert heard[0][2] == heard[1][2]
    run = report.results[0].run
    assert run is not None
    assert (run.input_text, run.output_text, run.thread_id) == ("a\nb", "A\nB", heard[0][2])


def test_a_turn_is_judged_on_its_own_run() -> None:
    seen: list[Run] = []
    turns = [
        Turn(input="a"),
        Turn(input="b", gates=[checks.equals("B")], scorers=[scored(lambda run: seen.append(run) or 0.4)]),
    ]
    report = evaluate(target=lambda text: text.upper(), data=[Item(id="talk", turns=turns)], scorers=[SUNNY])
    assert [(turn.item_id, turn.turn, turn.gates, turn.scores) for turn in report.turns] == [
        ("talk", 1, {"check-equals": 1.0}, {"own": 0.4})
    ]
    assert ([message.text for message in seen[0].history], seen[0].input_text) == (["a", "A"], "b")
    assert (report.gates, report.verdict) == ([], "passed")
    assert set(report.summary) == {"check-includes"}


def test_a_turn_threshold_counts_for_the_verdict() -> None:
    turn = {"input": "a", "scorers": [{"scorer": scored(0.4), "threshold": 0.5}]}
    report = evaluate(data=[{"turns": [turn]}])
    assert (report.verdict, report.thresholds) == ("scored", [])
    assert report.local_thresholds[0].turn == 0


def test_a_turn_that_fails_ends_the_conversation() -> None:
    def target(text: str) -> str:
        return "sunny" if text != "b" else str(1 / 0)

    turns = [{"input": text, "gates": [SUNNY]} for text in "abc"]
    report = evaluate(target=target, data=[{"turns": turns}], scorers=[scored(1)])
    assert report.results[0].error is not None
    assert report.results[0].error.step == "turn 2"
    assert [turn.gates["check-includes"] for turn in report.turns] == [1.0, "error", "error"]
    assert report.summary["own"].errors == 1
    assert report.verdict == "failed"


def test_a_target_that_gives_the_whole_thread_back() -> None:
    def target(text: str, history: list[Message]) -> list[dict[str, Any]]:
        said = [{"role": message.role, "content": message.text} for message in history]
        return [*said, {"role": "user", "content": text}, {"role": "assistant", "content": text.upper()}]

    run = evaluate(target=target, data=[{"inputs": ["a", "b", "c"]}], scorers=[SUNNY]).results[0].run
    assert run is not None
    assert (run.input_text, run.output_text) == ("a\nb\nc", "A\nB\nC")


# Gates and scorers of items, groups


def test_the_gates_of_an_item_are_its_own() -> None:
    data = [
        {"id": "a", "input": "sunny", "gates": [checks.includes("sunny")], "scorers": [checks.includes("said")]},
        {"id": "b", "input": "rainy", "gates": ["checks.used_no_tools", {"checks.includes": {"expected": "snow"}}]},
    ]
    report = evaluate(data=data, scorers=[checks.includes("You")])
    assert set(report.summary) == {"check-includes"}
    assert [(gate.item_id, gate.id, gate.passed) for gate in report.local_gates] == [
        ("a", "check-includes#2", True),
        ("b", "check-used-no-tools", True),
        ("b", "check-includes#2", False),
    ]
    assert report.verdict == "failed"
    assert evaluate(data=data[:1]).verdict == "passed"


def test_groups_say_what_is_scored() -> None:
    draft = Step(name="draft", step_type="workflow_step", fields={"input": {"city": "Ghent"}, "output": "It is sunny."})
    trajectory = Trajectory(steps=[Step(name="plan", step_type="workflow_step", children=[draft])])
    report = evaluate(
        target=lambda text: Run(output=[Message("assistant", [Text("Done.")])], trajectory=trajectory),
        data=["a"],
        scorers={
            "agent": [checks.includes("Done")],
            "trajectory": [scored(lambda run: len(run.trajectory.steps), "steps", range=(0, 9))],
            "workflow": [checks.includes("sunny")],
            "steps": {"draft": [checks.includes("sunny"), checks.used_no_tools()], "send": [checks.includes("x")]},
        },
    )
    assert dict(report.scores) == {
        "check-includes": 1.0,
        "steps": 1.0,
        "check-includes#2": 0.0,
        "check-includes#3": 1.0,
        "check-used-no-tools": 1.0,
        "check-includes#4": None,
    }
    assert report.summary["check-includes#3"].step == "draft"
    assert report.summary["check-includes#4"].not_scorable == 1


# Repeats, thresholds


def flaky(pattern: str) -> Any:
    """A target that answers `sunny` where the pattern has a 1, by repeat."""

    def target(text: str, repeat: int) -> str:
        return "sunny" if pattern[repeat] == "1" else "rainy"

    return target


@pytest.mark.parametrize(
    ("pattern", "passes", "verdict"),
    [
        ("11110", None, "failed"),
        ("11110", "4 of 5", "passed"),
        ("10110", "4 of 5", "failed"),
        ("11111", None, "passed"),
    ],
)
def test_a_gate_may_ask_for_some_of_the_repeats(pattern: str, passes: str | None, verdict: str) -> None:
    gate = {"scorer": SUNNY, "passes": passes} if passes else SUNNY
    report = evaluate(target=flaky(pattern), data=["a"], gates=[gate], repeats=5)
    assert report.verdict == verdict
    assert len(report.results) == 5


def test_repeats_show_flakiness_and_pass_at_k() -> None:
    report = evaluate(target=flaky("1100"), data=["a", "b"], gates=[SUNNY], repeats=4)
    assert report.repeats is not None
    assert [(entry.k, entry.at_least_one, entry.all) for entry in report.repeats.passes] == [
        (1, 0.5, 0.5),
        (2, pytest.approx(5 / 6), pytest.approx(1 / 6)),
        (3, 1.0, 0.0),
        (4, 1.0, 0.0),
    ]
    assert [(entry.repeats, entry.passed) for entry in report.repeats.flaky] == [(4, 2), (4, 2)]
    assert evaluate(gates=[SUNNY]).repeats is None
    assert evaluate(scorers=[SUNNY], repeats=2).repeats is None


@pytest.mark.parametrize(
    ("count", "threshold", "verdict"),
    [
        (10, {"min": 0.8}, "passed"),
        (10, {"min": 0.8, "confidence": 0.95}, "scored"),
        (40, {"min": 0.8, "confidence": 0.95}, "passed"),
        (40, {"max": 0.95, "confidence": 0.95}, "scored"),
        (1, {"min": 0.1, "confidence": 0.5}, "passed"),
    ],
)
def test_a_threshold_may_ask_for_confidence(count: int, threshold: dict[str, float], verdict: str) -> None:
    data = [{"id": str(number), "input": "sunny"} for number in range(count)]
    assert evaluate(data=data, scorers=[{"scorer": SUNNY, "threshold": threshold}]).verdict == verdict


def test_one_score_that_is_no_rate_says_nothing_about_confidence() -> None:
    entry = {"scorer": scored(0.9), "threshold": {"min": 0.1, "confidence": 0.95}}
    report = evaluate(data=["a"], scorers=[entry])
    assert report.verdict == "scored"
    assert "says nothing" in report.thresholds[0].reason


def test_coverage_is_part_of_a_threshold() -> None:
    half = scored(lambda run: 1 / ("rainy" not in run.input_text))
    assert evaluate(scorers=[{"scorer": half, "threshold": 0.5}]).verdict == "scored"
    assert evaluate(scorers=[{"scorer": half, "threshold": 0.5, "min_coverage": 0.5}]).verdict == "passed"
    assert evaluate(scorers=[{"scorer": half, "threshold": {"min": 0.5, "min_coverage": 0.5}}]).verdict == "passed"


def test_a_gate_with_bounds() -> None:
    assert evaluate(gates=[{"scorer": scored(0.7), "min": 0.6}]).verdict == "passed"
    assert evaluate(gates=[{"scorer": scored(0.7, lower_is_better=True), "max": 0.6}]).verdict == "failed"
    assert evaluate(gates=[{"scorer": scored(3, range=(0, 5)), "min": 3, "max": 4}]).verdict == "passed"


# Targets


def test_ones_and_zeros_on_another_scale_are_no_rate() -> None:
    """1 of 10 points is no pass, so the interval of such a mean reaches beyond 1."""
    points = scored(lambda run: float("2" in run.input_text), range=(0, 10))
    interval = evaluate(data=["1", "2"], scorers=[points]).summary["own"].interval
    assert interval is not None
    assert (interval.method, interval.low) == ("t", 0.0)
    assert interval.high > 1


def test_several_targets_side_by_side() -> None:
    reports = run_evals_sync(targets={"echo": echo, "mute": lambda text: "…"}, data=["sunny"], gates=[SUNNY])
    assert isinstance(reports, SideBySide)
    assert [(name, report.verdict) for name, report in reports.items()] == [("echo", "passed"), ("mute", "failed")]
    assert (reports.verdict, reports.complete) == ("failed", True)
    assert reports["mute"].results[0].target == "mute"


def test_target_options_and_context_reach_a_function() -> None:
    def target(text: str, *, loud: bool, context: dict[str, Any]) -> str:
        return f"{text} {loud} {context}"

    report = evaluate(
        target=target, data=[{"input": "a", "context": {"u": 1}}], scorers=[SUNNY], target_options={"loud": True}
    )
    assert report.results[0].run is not None
    assert report.results[0].run.output_text == "a True {'u': 1}"


def test_context_variables_reach_a_synchronous_target() -> None:
    from contextvars import ContextVar

    tenant: ContextVar[str] = ContextVar("tenant", default="none")
    tenant.set("sunny")
    assert evaluate(target=lambda text: tenant.get(), gates=[SUNNY]).verdict == "passed"


def test_recorded_runs_without_ids_are_known_by_their_content() -> None:
    runs = [Run(output=[Message("assistant", [Text(text)])]) for text in ("sunny", "rainy", "sunny")]
    for arguments in ({"data": runs}, {"target": RecordedRuns(runs)}, {"target": RecordedRuns(runs), "data": runs[:2]}):
        report = run_evals_sync(**arguments, gates=[SUNNY])
        assert report.errors == 0
        assert [len(report.evaluation.items), sum(report.evaluation.items.values())] == [2, 3]


def test_recorded_runs_are_scored_without_an_agent() -> None:
    runs = [create_agent_test_run(input_messages="Weather?", output=text, run_id=text) for text in ("sunny", "rainy")]
    by_data = run_evals_sync(data=runs, gates=[SUNNY])
    by_target = run_evals_sync(target=RecordedRuns(runs), gates=[SUNNY])
    for report in (by_data, by_target):
        assert [result.item_id for result in report.results] == ["sunny", "rainy"]
        assert [result.run for result in report.results] == runs
        assert report.verdict == "failed"
    missing = evaluate(target=RecordedRuns(runs), data=[{"id": "other", "input": "x"}], gates=[SUNNY])
    assert missing.results[0].error is not None
    assert missing.results[0].error.error_class == "NoRecordedRunError"
    with pytest.raises(OptionError, match="no metadata field"):
        RecordedRuns(runs, item="task")


def test_recorded_repeats_may_differ_in_number() -> None:
    runs = [
        create_agent_test_run(output=text, run_id=f"r{number}", metadata={"task": task})
        for number, (task, text) in enumerate([("a", "sunny"), ("b", "sunny"), ("a", "rainy"), ("a", "sunny")])
    ]
    report = run_evals_sync(target=RecordedRuns(runs, item="task"), gates=[{"scorer": SUNNY, "passes": "2 of 3"}])
    assert report.evaluation.items == {"a": 3, "b": 1}
    assert report.verdict == "passed"


def test_tool_mocks_reach_a_function() -> None:
    def target(text: str, tool_mocks: ToolMocks) -> Any:
        call = create_tool_invocation(
            tool_name="forecast", args={"city": text}, result=tool_mocks("forecast", {"city": text})
        )
        return [create_test_message(role="assistant", tool_invocations=[call])]

    def mocked(mocks: dict[str, Any]) -> ItemResult:
        data = [{"input": "Ghent", "tool_mocks": mocks}]
        return evaluate(target=target, data=data, scorers=[checks.no_tool_errors()], unmocked_tools="deny").results[0]

    for mock in ({"sky": "clear"}, lambda args: {"sky": "clear"}):
        run = mocked({"forecast": mock}).run
        assert run is not None
        assert run.tool_calls[0].result == {"sky": "clear"}
    assert "no such city" in str(mocked({"forecast": {"$error": "no such city"}}).error)
    assert "unmocked tools are denied" in str(mocked({"search": 1}).error)


def test_figures_of_agent_and_tags() -> None:
    def target(text: str) -> Run:
        run = to_run(
            {
                "messages": [{"role": "assistant", "content": text}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 2},
            }
        )
        return run if text == "rainy" else Run(output=run.output, cost=0.5, duration_ms=20.0)

    data = [{"input": "sunny", "tags": ["good", "all"]}, {"input": "rainy", "tags": ["all"]}]
    report = evaluate(target=target, data=data, scorers=[SUNNY])
    assert report.tags == {"good": {"check-includes": 1.0}, "all": {"check-includes": 0.5}}
    assert (report.agent.runs, report.agent.cost, report.agent.tokens) == (2, (0.5, 1), (7, 1))
    assert report.judge is None


class Opinion(msgspec.Struct):
    value: float


class Answering:
    """A judge that gives one answer and says what it cost."""

    fingerprint = "answering"

    async def ask(self, prompt: str, returns: Any) -> Any:
        return (await self.consult(prompt, returns))[0]

    async def consult(self, prompt: str, returns: Any, *, repeat: int = 0) -> Any:
        return returns(0.75), JudgeUsage(model="m", calls=1, attempts=1, input_tokens=10, output_tokens=5, cost=0.01)


def test_the_evaluations_judge_is_asked_and_counted() -> None:
    step = PromptStep(lambda run, results: run.output_text, returns=Opinion)
    judged = (
        create_scorer(id="judged").analyze(step).generate_score(lambda run, results: results.analyze_step_result.value)
    )
    report = evaluate(scorers=[judged], model=Answering())
    assert report.scores[judged] == 0.75
    assert report.judge == JudgeUsage(
        model="m", calls=2, attempts=2, input_tokens=20, output_tokens=10, cost=0.02, duration_ms=0.0
    )
