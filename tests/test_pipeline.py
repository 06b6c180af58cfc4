"""The pipeline: steps, outcomes, identities, and the doors into it."""

from __future__ import annotations

import asyncio
import math
import threading
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import (
    Message,
    OptionError,
    PromptStep,
    Results,
    Run,
    Score,
    ScoreCheckError,
    Text,
    ToolCall,
    as_scorer,
    checks,
    create_scorer,
    filter_run,
    not_scorable,
)
from referee.errors import JudgeError
from referee.scores import JudgeUsage, StepError, Unscored

RUN = Run(id="r1", output=[Message("assistant", [Text("It is sunny.")])])


def test_four_steps_pass_their_results_on() -> None:
    scorer = (
        create_scorer(id="words", description="Counts words.", range=(0, 100))
        .preprocess(lambda run, results: run.final_text.split())
        .analyze(lambda run, results: len(results.preprocess_step_result))
        .generate_score(lambda run, results: results.analyze_step_result)
        .generate_reason(lambda run, results: f"{results.score:g} words")
    )
    score = scorer.run_sync(RUN)
    assert (score.score, score.reason, score.run_id, score.scorer_id) == (3.0, "3 words", "r1", "words")
    assert score.preprocess_step_result == ["It", "is", "sunny."]
    assert score.analyze_step_result == 3
    assert score.status == "scored"


def test_asynchronous_steps_give_the_same() -> None:
    async def count(run: Run, results: Results[Any, Any]) -> int:
        await asyncio.sleep(0)
        return len(run.final_text.split())

    scorer = (
        create_scorer(id="words", range=(0, 100))
        .analyze(count)
        .generate_score(lambda run, results: results.analyze_step_result)
    )
    assert scorer.run_sync(RUN).score == 3.0
    assert asyncio.run(scorer.run(RUN)).score == 3.0


def test_the_sync_door_works_inside_a_running_loop() -> None:
    async def slow(run: Run) -> float:
        await asyncio.sleep(0)
        return 1.0

    async def notebook() -> float | None:
        return create_scorer(id="slow").generate_score(slow).run_sync(RUN).score

    assert asyncio.run(notebook()) == 1.0


def test_the_sync_door_says_to_await_inside_an_asynchronous_scorer() -> None:
    async def inner(run: Run) -> float:
        return 1.0

    async def outer(run: Run) -> float | None:
        return create_scorer(id="inner").generate_score(inner).run_sync(run).score

    score = create_scorer(id="outer").generate_score(outer).run_sync(RUN)  # type: ignore[arg-type]
    assert score.error is not None
    assert "await" in score.error.message


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.0001, -0.1, "1", None, [1]])
def test_a_value_that_is_no_score_is_an_error_and_never_a_number(value: Any) -> None:
    score = create_scorer(id="bad").generate_score(lambda run: value).run_sync(RUN)
    assert score.status == "error"
    assert score.score is None
    assert score.error is not None
    assert score.error.error_class == "InvalidScoreError"


@pytest.mark.parametrize(("value", "number"), [(True, 1.0), (False, 0.0), (1, 1.0), (0.25, 0.25)])
def test_booleans_and_integers_are_numbers(value: Any, number: float) -> None:
    assert create_scorer(id="good").generate_score(lambda run: value).run_sync(RUN).score == number


@given(st.floats(allow_nan=True, allow_infinity=True), st.floats(-5, 0), st.floats(0.001, 5))
def test_a_score_is_always_in_its_range(value: float, low: float, width: float) -> None:
    score = create_scorer(id="any", range=(low, low + width)).generate_score(lambda run: value).run_sync(RUN)
    assert (score.score is None) == (score.status == "error")
    if score.score is not None:
        assert low <= score.score <= low + width


@pytest.mark.parametrize("step", ["preprocess", "analyze", "generate_score"])
@pytest.mark.parametrize("raised", [True, False])
def test_not_scorable_from_any_step(step: str, raised: bool) -> None:
    def nothing(run: Run) -> Any:
        if raised:
            raise not_scorable("nothing there")
        return not_scorable("nothing there")

    scorer: Any = create_scorer(id="s")
    scorer = getattr(scorer, step)(nothing)
    if step != "generate_score":
        scorer = scorer.generate_score(lambda run: 1.0)
    score = scorer.run_sync(RUN)
    assert score.status == "not_scorable"
    assert (score.not_scorable.step, score.not_scorable.reason) == (step, "nothing there")
    assert score.score is None
    assert score.error is None


@pytest.mark.parametrize("step", ["preprocess", "analyze", "generate_score"])
def test_a_failing_step_is_an_error_that_names_it(step: str) -> None:
    def fail(run: Run) -> Any:
        raise KeyError("missing")

    scorer: Any = getattr(create_scorer(id="s"), step)(fail)
    if step != "generate_score":
        scorer = scorer.generate_score(lambda run: 1.0)
    score = scorer.run_sync(RUN)
    assert score.status == "error"
    assert (score.error.step, score.error.error_class) == (step, "KeyError")


def test_a_failing_reason_leaves_the_score() -> None:
    def fail(run: Run) -> str:
        raise RuntimeError("no words")

    score = create_scorer(id="s").generate_score(lambda run: 0.5).generate_reason(fail).run_sync(RUN)
    assert (score.score, score.status, score.reason) == (0.5, "scored", None)
    assert score.reason_error is not None
    assert score.reason_error.message == "no words"


def test_a_failing_prepare_run_is_an_error() -> None:
    def fail(run: Run) -> Run:
        raise ValueError("no")

    score = create_scorer(id="s", prepare_run=fail).generate_score(lambda run: 1.0).run_sync(RUN)
    assert score.error is not None
    assert score.error.step == "prepare_run"


def test_an_interrupt_is_not_swallowed() -> None:
    def stop(run: Run) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_scorer(id="s").generate_score(stop).run_sync(RUN)


def test_plain_functions_are_scorers() -> None:
    def polite(run: Run) -> bool:
        """Says please."""
        return "please" in run.output_text

    async def sunny(run: Run) -> float:
        return float("sunny" in run.output_text)

    def whole(run: Run) -> Score:
        return Score("other", "other", 0.5, "half")

    assert as_scorer(polite).description == "Says please."
    assert as_scorer(polite).run_sync(RUN).score == 0.0
    assert as_scorer(sunny).run_sync(RUN).score == 1.0
    score = as_scorer(whole).run_sync(RUN)
    assert (score.run_id, score.scorer_id, score.score, score.reason) == ("r1", "whole", 0.5, "half")


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        (Score("r", "s", 0.5, error=StepError("judge", "Broken", "no answer")), "error", "no answer"),
        (Score("r", "s", 0.5, not_scorable=Unscored("analyze", "no claims")), "not_scorable", None),
        (Score("r", "s"), "error", "gave NoneType, not a number"),
        (Score("r", "s", 0.5, details=[1]), "error", "details that are no object but list"),  # type: ignore[arg-type]
        (Score("r", "s", 0.5, reason=5), "scored", None),  # type: ignore[arg-type]
    ],
)
def test_a_whole_score_has_one_outcome(given: Score, status: str, message: str | None) -> None:
    score = create_scorer(id="own").generate_score(lambda run: given).run_sync(Run(id="r"))
    assert score.status == status
    assert (score.score is None) == (status != "scored")
    assert message is None if score.error is None else message in score.error.message  # type: ignore[operator]
    assert score.reason in (None, "5")


def test_a_truth_value_outside_the_range_is_an_error() -> None:
    score = create_scorer(id="own", range=(2, 5)).generate_score(lambda run: True).run_sync(Run(id="r"))
    assert score.status == "error"


@pytest.mark.parametrize("wrong", [3, "name", None, lambda run: 1.0])
def test_what_is_no_scorer_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError):
        as_scorer(wrong)


def test_wrong_builders_are_refused() -> None:
    with pytest.raises(OptionError, match="id"):
        create_scorer(id="")
    with pytest.raises(OptionError, match="range"):
        create_scorer(id="s", range=(1, 0))
    with pytest.raises(OptionError, match="twice"):
        create_scorer(id="s").preprocess(lambda run: 1).preprocess(lambda run: 1)
    with pytest.raises(OptionError, match="before"):
        create_scorer(id="s").generate_score(lambda run: 1.0).preprocess(lambda run: 1)
    with pytest.raises(OptionError, match="no generate_score"):
        create_scorer(id="s").run_sync(RUN)
    with pytest.raises(OptionError, match="takes"):
        create_scorer(id="s").generate_score(lambda a, b, c: 1.0)  # type: ignore[arg-type,misc]


def test_a_scorer_is_not_changed_by_adding_steps() -> None:
    start = create_scorer(id="s")
    first = start.generate_score(lambda run: 0.0)
    second = start.generate_score(lambda run: 1.0)
    assert (first.run_sync(RUN).score, second.run_sync(RUN).score) == (0.0, 1.0)


class Polite(msgspec.Struct):
    reason: str
    polite: bool


class FakeJudge:
    """A judge without a model: gives what it is told to."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    async def consult(self, prompt: str, returns: type[Any], *, repeat: int = 0) -> tuple[Any, JudgeUsage]:
        self.prompts.append(prompt)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply, JudgeUsage(model="fake", calls=1, attempts=1, input_tokens=10)

    async def ask(self, prompt: str, returns: type[Any]) -> Any:
        return (await self.consult(prompt, returns))[0]


def polite_scorer() -> Any:
    return (
        create_scorer(id="polite")
        .analyze(PromptStep(lambda run, results: f"Polite? {run.final_text}", returns=Polite))
        .generate_score(lambda run, results: results.analyze_step_result.polite)
        .generate_reason(PromptStep(lambda run, results: f"Explain {results.score:g}", returns=str))
    )


def test_prompt_steps_ask_the_judge_and_keep_prompts_and_usage() -> None:
    judge = FakeJudge(Polite("kind words", True), "It is polite.")
    score = polite_scorer().run_sync(RUN, judge=judge)
    assert (score.score, score.reason) == (1.0, "It is polite.")
    assert score.analyze_prompt == "Polite? It is sunny."
    assert score.generate_reason_prompt == "Explain 1"
    assert score.judge == {
        "analyze": JudgeUsage("fake", 1, 1, 0, 10),
        "generate_reason": JudgeUsage("fake", 1, 1, 0, 10),
    }


def test_a_judge_that_fails_is_an_error_with_its_raw_reply_and_cost() -> None:
    failure = JudgeError("no JSON", raw_reply="Sure! yes", usage=JudgeUsage("fake", 1, 2, 0, 20))
    score = polite_scorer().run_sync(RUN, judge=FakeJudge(failure))
    assert score.status == "error"
    assert score.error.raw_reply == "Sure! yes"
    assert score.judge["analyze"].attempts == 2
    reasonless = polite_scorer().run_sync(RUN, judge=FakeJudge(Polite("", False), failure))
    assert (reasonless.score, reasonless.reason_error.raw_reply) == (0.0, "Sure! yes")


def test_a_missing_judge_is_found_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFEREE_MODEL", raising=False)
    ran: list[Run] = []
    scorer = (
        create_scorer(id="s")
        .preprocess(ran.append)
        .analyze(PromptStep(lambda run, results: "?", returns=Polite))
        .generate_score(lambda run: 1.0)
    )
    with pytest.raises(OptionError, match="REFEREE_MODEL"):
        scorer.run_sync(RUN)
    assert ran == []


def test_a_step_of_its_own_judge_beats_the_scorers() -> None:
    own, other = FakeJudge(Polite("", True)), FakeJudge()
    scorer = (
        create_scorer(id="s", judge=other)
        .analyze(PromptStep(lambda run, results: "?", returns=Polite, judge=own))
        .generate_score(lambda run, results: results.analyze_step_result.polite)
    )
    assert scorer.run_sync(RUN).score == 1.0
    assert other.prompts == []


def test_versions_follow_what_can_change_a_score() -> None:
    assert checks.includes("a").version == checks.includes("a").version == checks.includes("a", id="x").version
    others = [
        checks.includes("b"),
        checks.includes("a", ignore_case=False),
        checks.excludes("a"),
        checks.includes("a", scope="final"),
    ]
    assert len({scorer.version for scorer in others} | {checks.includes("a").version}) == 5
    one = create_scorer(id="s").generate_score(lambda run: 1.0)
    two = create_scorer(id="s").generate_score(lambda run: 0.0)
    assert one.version != two.version


def test_a_score_can_be_checked() -> None:
    score = checks.includes("rain").run_sync(RUN)
    with pytest.raises(ScoreCheckError, match="does not contain"):
        score.check()
    checks.includes("sunny").run_sync(RUN).check()
    Score("r", "s", 0.7).check(min=0.7)
    Score("r", "s", 0.1 + 0.2).check(min=0.3, max=0.3)
    with pytest.raises(AssertionError, match="above"):
        Score("r", "s", 0.7).check(max=0.5)
    with pytest.raises(ScoreCheckError, match="not scorable"):
        create_scorer(id="s").generate_score(lambda run: not_scorable("empty")).run_sync(RUN).check(min=0)
    with pytest.raises(ValueError, match="min="):
        Score("r", "bias", 0.0, lower_is_better=True).check()


def test_the_reference_shape_has_camel_case_and_no_empty_fields() -> None:
    from referee.scorers import create_tool_call_accuracy_scorer_code

    shape = create_tool_call_accuracy_scorer_code(expected_tool="search").run_sync(RUN).to_mastra()
    assert shape["scorerId"] == "code-tool-call-accuracy-scorer"
    assert shape["preprocessStepResult"]["hasToolCalls"] is False
    assert shape["preprocessStepResult"]["toolCallInfos"] == []
    assert "error" not in shape


def test_filter_run_keeps_what_is_asked_for() -> None:
    run = Run(
        id="r",
        history=[Message("user", [Text(str(number))]) for number in range(5)],
        output=[
            Message("assistant", [Text("a"), ToolCall(name="search")]),
            Message("assistant", [ToolCall(name="book")]),
            Message("assistant", [Text("done")]),
        ],
        system=[Message("system", [Text("rules")])],
        context={"user": 1},
        ground_truth="x",
    )
    only = filter_run(
        tool_names=["search"], max_remembered_messages=2, drop_request_context=True, drop_ground_truth=True
    )(run)
    assert only.tool_names == ("search",)
    assert [message.text for message in only.history] == ["3", "4"]
    assert (only.context, only.ground_truth) == (None, None)
    assert only.system == run.system
    assert [message.text for message in only.output] == ["a", "done"]
    assert filter_run(max_output_messages=1)(run).output_text == "done"
    assert filter_run(max_output_messages=0)(run).output == []
    with pytest.raises(OptionError):
        filter_run(max_output_messages=-1)


def test_many_threads_share_a_scorer() -> None:
    scorer = create_scorer(id="s").generate_score(lambda run: len(run.final_text) > 3)
    found: list[float | None] = []

    def work() -> None:
        found.extend(scorer.run_sync(RUN).score for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1.0] * 400
