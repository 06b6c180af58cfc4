"""The judge: answers, verdicts from probabilities, repeats, estimates, model strings."""

from __future__ import annotations

import asyncio
import math
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from judge_answers import JUDGED, good_reply, museum_run
from referee import Prompt, PromptStep, Score, Scorer, create_scorer, load_scorer, run_evals_sync, scorers
from referee.errors import MissingExtraError, OptionError, UnreadableReplyError
from referee.judge import Judge, Price, Reply, Request, ScriptedModel, estimate, judge_for
from referee.judge.endpoints import find_endpoint
from referee.judge.forms import json_schema, one_of
from referee.judge.reading import read


class Tone(msgspec.Struct, frozen=True):
    reason: str
    polite: bool


POLITE = '{"reason": "It says please.", "polite": true}'


def approving(request: Request) -> str:
    return good_reply(request.text)


def ask(judge: Judge, prompt: str = "Polite?", returns: Any = Tone) -> Any:
    return asyncio.run(judge.ask(prompt, returns))


# What may be asked for.


@pytest.mark.parametrize(
    ("reply", "returns", "answer"),
    [
        (POLITE, Tone, Tone("It says please.", True)),
        ('{"value": 0.25}', float, 0.25),
        ('{"value": 3}', int, 3),
        ('{"value": false}', bool, False),
        ("  It says please.\n", str, "It says please."),
    ],
)
def test_answers(reply: str, returns: Any, answer: Any) -> None:
    assert ask(Judge(ScriptedModel([reply])), returns=returns) == answer


def test_prompt_steps_may_ask_for_a_number_and_a_reason() -> None:
    model = ScriptedModel(['{"value": 0.7}', "It is short."])
    scorer = (
        create_scorer(id="brief", judge=Judge(model))
        .generate_score(PromptStep(lambda run: Prompt("How brief? {answer}", answer=run.final_text), returns=float))
        .generate_reason(PromptStep(lambda run, results: f"Why {results.score}?", returns=str))
    )
    score = scorer.run_sync(museum_run())
    assert (score.score, score.reason) == (0.7, "It is short.")
    assert score.generate_reason_prompt == "Why 0.7?"
    assert "<<<answer" in (score.generate_score_prompt or "")


def test_schemas_are_strict() -> None:
    class Line(msgspec.Struct):
        id: str
        share: float

    schema = json_schema(Line)
    assert schema == {
        "type": "object",
        "properties": {"id": {"type": "string", "maxLength": 1500}, "share": {"type": "number"}},
        "required": ["id", "share"],
        "additionalProperties": False,
    }
    assert "maxLength" not in str(json_schema(Line, strict=False))


# Verdicts from log-probabilities.


def alternatives(**probabilities: float) -> Reply:
    import math

    tokens = [(token.replace("_", " "), math.log(share)) for token, share in probabilities.items()]
    return Reply(text=tokens[0][0], finish="length", alternatives=tokens)


def test_a_word_is_read_from_the_probabilities_of_the_first_token() -> None:
    choice = read(alternatives(_Yes=0.5, yes=0.2, No=0.1, maybe=0.2), one_of("yes", "no"))
    assert choice.word == "yes"
    assert choice.probabilities == pytest.approx({"yes": 0.875, "no": 0.125})


@pytest.mark.parametrize("logprob", [math.nan, -math.inf])
def test_a_probability_that_is_no_number_is_no_verdict(logprob: float) -> None:
    with pytest.raises(UnreadableReplyError, match="none of the words"):
        read(Reply(text="yes", alternatives=[("yes", logprob)]), one_of("yes", "no"))


def test_a_probability_above_one_counts_as_one() -> None:
    choice = read(Reply(text="yes", alternatives=[("yes", 1000.0), ("no", 0.0)]), one_of("yes", "no"))
    assert choice.probabilities == {"yes": 0.5, "no": 0.5}


@pytest.mark.parametrize(
    ("judge", "words"), [(7, "not int"), (ScriptedModel(["x"]), "Judge(model) makes a judge of it")]
)
def test_what_is_no_judge_is_refused_before_anything_runs(judge: Any, words: str) -> None:
    scorer = scorers.create_bias_scorer(judge)
    with pytest.raises(OptionError) as refused:
        run_evals_sync(target=str, data=["a"], scorers=[scorer])
    assert words in str(refused.value)


def test_verdicts_from_probabilities_keep_their_confidence() -> None:
    def reply(request: Request) -> Any:
        if "one word" not in request.text:
            return approving(request)
        return (
            alternatives(yes=0.9, no=0.1)
            if "free" in request.text.rpartition("<<<claims")[2]
            else alternatives(no=0.6, Yes=0.3)
        )

    score = scorers.create_faithfulness_scorer(Judge(ScriptedModel(reply)), verdicts="logprobs").run_sync(museum_run())
    assert score.score == 0.5
    found = [(each.verdict, each.confidence) for each in score.analyze_step_result.verdicts]
    assert found == [("yes", pytest.approx(0.9)), ("no", pytest.approx(1 / 3))]


def test_tool_calls_are_judged_from_probabilities_too() -> None:
    def reply(request: Request) -> Any:
        if "one word" not in request.text:
            return approving(request)
        if "<<<tool " in request.text:
            return alternatives(yes=0.8, no=0.2)
        return alternatives(help=0.6, In=0.3, ap=0.1)

    tools = [{"name": "search", "description": "Searches"}, {"name": "tickets", "description": "Sells tickets"}]
    scorer = scorers.create_tool_call_accuracy_scorer_llm(Judge(ScriptedModel(reply)), tools, verdicts="logprobs")
    score = scorer.run_sync(museum_run())
    assert score.score == 0.5
    assert score.analyze_step_result.missing_tools == ["tickets"]
    assert [each.verdict for each in score.analyze_step_result.evaluations] == ["helpful", "helpful"]


@pytest.mark.parametrize(
    "reply", [Reply(text="yes"), alternatives(maybe=0.9, yes=0.001), Reply(text="", finish="refusal")]
)
def test_without_usable_probabilities_there_is_no_verdict(reply: Reply) -> None:
    def script(request: Request) -> Any:
        return reply if "one word" in request.text else approving(request)

    scorer = scorers.create_faithfulness_scorer(Judge(ScriptedModel(script)), verdicts="logprobs")
    assert scorer.run_sync(museum_run()).status == "error"


# Repeats.


def repeated(values: list[float], **fields: Any) -> Score:
    script = [msgspec.json.encode({"value": value}).decode() for value in values]
    scorer: Scorer[Any, Any] = create_scorer(id="x", judge=Judge(ScriptedModel(script)), **fields).generate_score(
        PromptStep(lambda run: "How good?", returns=float)
    )
    return scorer.with_repeats(len(values)).run_sync(museum_run())


def test_repeats_give_the_median_and_their_spread() -> None:
    score = repeated([0.2, 0.9, 0.4])
    assert score.score == 0.4
    assert score.details == {"repeats": {"scores": [0.2, 0.9, 0.4], "spread": 0.7, "unstable": True}}
    assert score.judge is not None
    assert score.judge["generate_score"].calls == 3
    stable = repeated([0.5, 0.5, 0.55, 0.5])
    assert stable.details is not None
    assert (stable.score, stable.details["repeats"]["unstable"]) == (0.5, False)
    assert repeated([0.5, 0.6]).score == pytest.approx(0.55)


def test_a_repeat_that_fails_makes_the_score_unstable_and_counts_for_nothing() -> None:
    score = repeated([0.5, 7, 0.5])
    assert score.score == 0.5
    assert score.details == {"repeats": {"scores": [0.5, None, 0.5], "spread": 0.0, "unstable": True}}
    assert repeated([7, 8]).status == "error"


def test_repeats_are_cached_apart(tmp_path: Path) -> None:
    model = ScriptedModel(approving)
    scorer = scorers.create_rubric_scorer(
        Judge(model, cache=tmp_path / "judge.sqlite"), criteria="Is polite.", repeats=3
    )
    assert scorer.run_sync(museum_run()).details is not None
    scorer.run_sync(museum_run())
    assert len(model.requests) == 3


@pytest.mark.parametrize("repeats", [0, -1, 1.5, True])
def test_repeats_out_of_range(repeats: Any) -> None:
    with pytest.raises(OptionError, match="repeats"):
        scorers.create_rubric_scorer(criteria="x", repeats=repeats)


# Estimates.


def test_an_estimate_counts_the_calls_of_a_real_run() -> None:
    runs = [museum_run(), museum_run(""), museum_run("Short.")]
    model = ScriptedModel(approving)
    real = [
        getattr(scorers, factory)(Judge(model), **options).run_sync(run)
        for factory, options in JUDGED.items()
        for run in runs
    ]
    planned = estimate(runs, [getattr(scorers, factory)(**options) for factory, options in JUDGED.items()])
    assert planned.calls == len(model.requests)
    assert planned.cost is None
    assert "price not known" in str(planned)
    asked = sum(len(request.text) for request in model.requests) / 4
    assert planned.input_tokens == pytest.approx(asked, rel=0.2)
    assert all(score.status != "error" for score in real)


def test_an_estimate_takes_each_judges_price_and_ignores_checks() -> None:
    from referee import checks

    judge = Judge(ScriptedModel([POLITE]), price=Price(input=1, output=1))
    planned = estimate([museum_run()], [scorers.create_rubric_scorer(judge, criteria="x"), checks.includes("free")])
    assert planned.calls == 1
    assert planned.cost == pytest.approx((planned.input_tokens + planned.output_tokens) / 1e6)
    assert estimate([museum_run()], [checks.includes("free")]).calls == 0


# Models.


@pytest.mark.parametrize(
    ("model", "base_url", "environ", "expected"),
    [
        ("openai/gpt-5", None, {"OPENAI_API_KEY": "k1"}, ("gpt-5", "https://api.openai.com/v1", "k1")),
        ("openai:gpt-5", None, {"OPENAI_API_KEY": "k1"}, ("gpt-5", "https://api.openai.com/v1", "k1")),
        ("OpenAI/gpt-5", None, {"OPENAI_API_KEY": "k1"}, ("gpt-5", "https://api.openai.com/v1", "k1")),
        (
            "openai/gpt-5",
            None,
            {"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": "http://proxy:8080/v1/"},
            ("gpt-5", "http://proxy:8080/v1", "k1"),
        ),
        (
            "openrouter/openai/gpt-5",
            None,
            {"OPENROUTER_API_KEY": "k2"},
            ("openai/gpt-5", "https://openrouter.ai/api/v1", "k2"),
        ),
        ("ollama/qwen2.5:7b", None, {}, ("qwen2.5:7b", "http://localhost:11434/v1", None)),
        (
            "qwen2.5:7b",
            "http://localhost:1/v1",
            {"OPENAI_API_KEY": "k1"},
            ("qwen2.5:7b", "http://localhost:1/v1", None),
        ),
        ("Qwen/Qwen2.5", "http://localhost:1/v1", {}, ("Qwen/Qwen2.5", "http://localhost:1/v1", None)),
        ("openai/gpt-5", "http://localhost:1/v1", {"OPENAI_API_KEY": "k1"}, ("gpt-5", "http://localhost:1/v1", "k1")),
        ("m", "http://localhost:1/v1", {"REFEREE_API_KEY": "k3"}, ("m", "http://localhost:1/v1", "k3")),
        ("m", None, {"REFEREE_BASE_URL": "http://localhost:1/v1"}, ("m", "http://localhost:1/v1", None)),
        ("m", "http://localhost:1/v1/chat/completions", {}, ("m", "http://localhost:1/v1", None)),
    ],
)
def test_model_strings(model: str, base_url: str | None, environ: dict[str, str], expected: tuple[Any, ...]) -> None:
    endpoint = find_endpoint(model, base_url, environ=environ)
    assert endpoint is not None
    assert (endpoint.model, endpoint.base_url, endpoint.key) == expected


@pytest.mark.parametrize(
    ("model", "base_url", "words"),
    [
        ("openai/gpt-5", None, "set OPENAI_API_KEY"),
        ("gpt-5", None, "provider/model"),
        ("openai/", None, "provider/model"),
        (" ", None, "empty"),
        ("m", "localhost:8080", "http://localhost:8080/v1"),
        ("m", "http://user:pass word@:x/v1", "http://localhost:8080/v1"),
    ],
)
def test_wrong_model_strings(model: str, base_url: str | None, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        find_endpoint(model, base_url, environ={})


def test_other_providers_go_through_pydantic_ai() -> None:
    assert find_endpoint("anthropic/claude", environ={}) is None


def test_without_a_model_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFEREE_MODEL", raising=False)
    scorer = scorers.create_rubric_scorer(criteria="Is polite.")
    for start in (lambda: scorer.run_sync(museum_run()), scorer.ready, Judge, lambda: judge_for(None)):
        with pytest.raises(OptionError, match="REFEREE_MODEL"):
            start()


def test_the_environments_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFEREE_MODEL", "judge-model")
    monkeypatch.setenv("REFEREE_BASE_URL", "http://127.0.0.1:9/v1")
    judge = judge_for(None)
    assert judge.model == "judge-model"
    assert judge_for("judge-model") is judge
    monkeypatch.setenv("REFEREE_BASE_URL", "http://127.0.0.1:10/v1")
    assert judge_for(None) is not judge


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'referee\[judge\]'"):
        Judge("m", base_url="http://localhost:1/v1")
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'referee\[providers\]'"):
        Judge("anthropic/claude")


def test_a_type_that_has_no_schema_is_refused() -> None:
    with pytest.raises(OptionError, match="can't be asked for"):
        ask(Judge(ScriptedModel([POLITE])), returns=Path)


@pytest.mark.parametrize("factory", JUDGED)
def test_a_judged_scorer_can_be_written_down(factory: str) -> None:
    scorer = getattr(scorers, factory)("ollama/qwen3", **JUDGED[factory])
    again = load_scorer(scorer.spec)
    assert again.version == scorer.version
    assert again.options == scorer.options


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": "60"},
        {"timeout": math.nan},
        {"item_timeout": -1},
        {"max_tokens": 0},
        {"max_tokens": "100"},
        {"retries": -1},
        {"retries": 1.5},
        {"temperature": "hot"},
        {"limits": 5},
        {"budget": 2.0},
        {"price": 1.0},
        {"cache": 5},
        {"extra_body": ["a"]},
        {"model": 7},
    ],
)
def test_options_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Judge(**{"model": ScriptedModel([POLITE]), **options})


def test_the_scorers_version_changes_with_the_judge() -> None:
    scorer = scorers.create_rubric_scorer(criteria="x")
    warm = Judge(ScriptedModel([POLITE]), temperature=1)
    other = Judge(ScriptedModel([POLITE], name="other"))
    versions = {
        scorer.ready(judge).version
        for judge in (Judge(ScriptedModel([POLITE])), Judge(ScriptedModel(["x"])), warm, other)
    }
    assert len(versions) == 3
    score = scorer.run_sync(museum_run(), judge=Judge(ScriptedModel(approving)))
    assert score.scorer_version == scorer.ready(Judge(ScriptedModel([POLITE]))).version
