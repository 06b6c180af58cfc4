"""`all_of`, `any_of` and `not_`: truth tables, ranges, judged parts, and what is kept of them."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from typing import Any

import pytest

from referee import OptionError, PromptStep, Run, Scorer, checks, create_scorer, not_scorable
from referee.errors import JudgeError
from referee.loading import load_scorer
from referee.scores import JudgeUsage
from referee.steps import Results, asks_judge

RUN = Run(id="r")
FAILS, NOTHING = "error", "not_scorable"


def part(outcome: Any, *, judged: bool = False, id: str = "part", **options: Any) -> Scorer[Any, Any]:
    """A scorer with a fixed outcome; `ran` in its options counts."""

    def decide() -> Any:
        if outcome == FAILS:
            raise KeyError("broken")
        return not_scorable("nothing there") if outcome == NOTHING else outcome

    async def decide_late(run: Run) -> Any:
        await asyncio.sleep(0)
        return decide()

    started = create_scorer(id=id, **options)
    return started.generate_score(decide_late) if judged else started.generate_score(lambda run: decide())


def outcome(scorer: Scorer[Any, Any]) -> Any:
    score = scorer.run_sync(RUN)
    return score.score if score.status == "scored" else score.status


OUTCOMES: list[Any] = [0.0, 0.4, 1.0, FAILS, NOTHING]


def expected(outcomes: tuple[Any, ...], certain: float, choose: Any) -> Any:
    """The truth table of the docstrings, written as a search for what the unknown parts could still change."""
    numbers = [value for value in outcomes if isinstance(value, float)]
    if certain in numbers:
        return certain
    if FAILS in outcomes:
        return FAILS
    return NOTHING if NOTHING in outcomes else choose(numbers)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_truth_tables(size: int, late: bool) -> None:
    for outcomes in product(OUTCOMES, repeat=size):
        parts = [part(given, judged=late) for given in outcomes]
        assert outcome(checks.all_of(*parts)) == expected(outcomes, 0.0, min), outcomes
        assert outcome(checks.any_of(parts)) == expected(outcomes, 1.0, max), outcomes


def test_not() -> None:
    assert [outcome(checks.not_(part(given))) for given in OUTCOMES] == [1.0, 0.6, 0.0, FAILS, NOTHING]
    assert outcome(checks.not_(checks.not_(part(0.4)))) == pytest.approx(0.4)


def test_other_ranges_count_as_their_share_and_low_is_turned_round() -> None:
    scaled = part(7.5, range=(0, 10))
    assert outcome(checks.all_of(scaled, part(1.0))) == 0.75
    assert outcome(checks.any_of(part(0.1, lower_is_better=True))) == 0.9
    assert outcome(checks.not_(part(2.0, range=(0, 10), lower_is_better=True))) == pytest.approx(0.2)
    assert outcome(checks.all_of(part(10.0, range=(0, 10), lower_is_better=True), part(FAILS))) == 0


def test_parts_after_a_certain_outcome_are_not_run() -> None:
    score = checks.all_of(part(0.0, id="first"), part(FAILS, id="second")).run_sync(RUN)
    assert score.score == 0
    assert score.analyze_step_result.not_run == ["second"]
    assert score.reason == "first 0; not run: second"


def test_errors_and_not_scorable_keep_their_reasons() -> None:
    error = checks.all_of(part(0.4), part(FAILS, id="second")).run_sync(RUN).error
    assert error is not None
    assert (error.error_class, error.message) == ("KeyError", "second: 'broken'")
    nothing = checks.not_(part(NOTHING, id="second")).run_sync(RUN).not_scorable
    assert nothing is not None
    assert nothing.reason == "second: nothing there"


def test_a_check_that_checks() -> None:
    checks.all_of(checks.used_no_tools(), checks.includes("")).run_sync(RUN).check()
    with pytest.raises(AssertionError, match="check-includes 0: the text does not contain"):
        checks.all_of(checks.used_no_tools(), checks.includes("sunny")).run_sync(RUN).check()


def polite(run: Run) -> bool:
    return "please" in run.output_text


def test_plain_functions_and_wrong_parts() -> None:
    assert outcome(checks.not_(polite)) == 1
    for wrong in ((), ([],), (5,), ("includes",)):
        with pytest.raises(OptionError):
            checks.all_of(*wrong)


# Judged parts


class CountingJudge:
    """A judge that answers 0.5 and knows what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.fingerprint = "counting"

    async def ask(self, prompt: Any, returns: Any) -> Any:
        raise AssertionError("consult is preferred")

    async def consult(self, prompt: Any, returns: Any, *, repeat: int = 0) -> Any:
        self.asked.append((str(prompt), repeat))
        if "fail" in str(prompt):
            raise JudgeError("no answer", raw_reply="???", usage=JudgeUsage(calls=1, input_tokens=3))
        return 0.5, JudgeUsage(model="m", calls=1, attempts=1, input_tokens=10, output_tokens=2, cost=0.25)


def asking(prompt: str, judge: Any = None) -> Scorer[Any, Any]:
    return create_scorer(id=prompt.replace(" ", "-"), judge=judge).generate_score(
        PromptStep(lambda run, results: prompt, returns=float)
    )


def test_judged_parts_use_the_judge_of_the_whole() -> None:
    judge, own = CountingJudge(), CountingJudge()
    scorer = checks.all_of(checks.used_no_tools(), asking("is it right"), asking("is it kind", own))
    assert scorer.needs_judge
    score = scorer.run_sync(RUN, judge=judge)
    assert score.score == 0.5
    assert [prompt for prompt, _ in judge.asked] == ["is it right"]
    assert [prompt for prompt, _ in own.asked] == ["is it kind"]
    assert score.analyze_prompt == "is it right\n\nis it kind"
    assert score.judge == {
        "analyze": JudgeUsage(model="m", calls=2, attempts=2, input_tokens=20, output_tokens=4, cost=0.5)
    }


def test_no_judge_is_asked_when_the_outcome_is_certain() -> None:
    judge = CountingJudge()
    assert checks.all_of(checks.includes("sunny"), asking("is it right")).run_sync(RUN, judge=judge).score == 0
    assert judge.asked == []


def test_a_failing_judge_is_an_error_with_its_reply_and_cost() -> None:
    score = checks.any_of(asking("fail"), asking("is it right")).run_sync(RUN, judge=CountingJudge())
    assert score.error is not None
    assert (score.error.error_class, score.error.message, score.error.raw_reply) == (
        "JudgeError",
        "fail: no answer",
        "???",
    )
    assert score.judge is not None
    assert score.judge["analyze"].calls == 2


def test_a_missing_judge_is_found_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFEREE_MODEL", raising=False)
    with pytest.raises(OptionError):
        checks.not_(asking("is it right")).run_sync(RUN)
    assert not checks.not_(asking("is it right", CountingJudge())).needs_judge


def test_a_function_that_asks_inside_a_part() -> None:
    @asks_judge
    async def score(run: Run, results: Results[Any, Any]) -> float:
        return await results.judge.ask("inside", float)

    judge = CountingJudge()
    joined = checks.all_of(checks.all_of(create_scorer(id="inner").generate_score(score)))
    assert joined.run_sync(RUN, judge=judge).score == 0.5
    assert judge.asked == [("inside", 0)]


def test_repeats_ask_anew() -> None:
    judge = CountingJudge()
    assert checks.all_of(asking("a"), asking("b")).with_repeats(2).run_sync(RUN, judge=judge).score == 0.5
    assert len(set(judge.asked)) == len(judge.asked) == 4
    judge.asked.clear()
    checks.all_of(asking("a").with_repeats(2)).with_repeats(2).run_sync(RUN, judge=judge)
    assert len(set(judge.asked)) == len(judge.asked) == 4


def test_inside_a_running_loop() -> None:
    async def inside() -> tuple[Any, Any]:
        scorer = checks.not_(asking("is it right"))
        judge = CountingJudge()
        return (await scorer.run(RUN, judge=judge)).score, scorer.run_sync(RUN, judge=judge).score

    assert asyncio.run(inside()) == (0.5, 0.5)


# As plain data


def test_joined_scorers_as_data() -> None:
    spec = {
        "checks.all_of": [
            {"checks.includes": "sunny"},
            "checks.no_tool_errors",
            {"checks.not_": {"checks.any_of": {"scorers": [{"checks.equals": "?"}], "id": "unsure"}}},
        ]
    }
    scorer = load_scorer(spec)
    assert scorer.id == "check-all-of"
    again = load_scorer(json.loads(json.dumps(scorer.spec)))
    assert again.version == scorer.version
    assert again.spec == scorer.spec
    changed = load_scorer({"checks.all_of": [{"checks.includes": "rainy"}]})
    assert changed.version != load_scorer({"checks.all_of": [{"checks.includes": "sunny"}]}).version
    assert checks.all_of(polite).spec is None


@pytest.mark.parametrize(
    "spec", [{"checks.all_of": []}, {"checks.not_": ["checks.no_tool_errors"] * 2}, {"checks.any_of": 5}]
)
def test_wrong_data(spec: Any) -> None:
    with pytest.raises(OptionError):
        load_scorer(spec)
