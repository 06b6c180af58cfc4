"""What the judged scorers do beyond the vectors: options, context, verdicts from probabilities, what they keep."""

from __future__ import annotations

import asyncio
import math
import pickle
from typing import Any

import msgspec
import pytest

from judge_answers import JUDGED, SCORES, good_reply, museum_run
from referee import Run, Score, load_scorer, scorers
from referee.errors import OptionError
from referee.judge import Judge, Reply, Request, ScriptedModel
from referee.judge.forms import words_of
from referee.scorers.pairwise import position_bias
from referee.scorers.rubric import parse_rubric
from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation

#: Factories whose numbers come from the judge itself, so that there are no words to read probabilities of.
WITHOUT_PROBABILITIES = ("create_noise_sensitivity_scorer_llm", "create_prompt_alignment_scorer_llm")
WITH_PROBABILITIES = [factory for factory in JUDGED if factory not in WITHOUT_PROBABILITIES]


def approving(request: Request) -> Any:
    """A judge that approves, by log-probabilities where one word is asked for."""
    words = words_of(request.returns)
    if not words:
        return good_reply(request.text)
    favourable = {"said": "said", "first": "first"}
    word = next((word for word in ("yes", "appropriate", "exact", "high") if word in words), words[0])
    word = favourable.get(words[0], word)
    others = [other for other in words if other != word]
    return Reply(
        text=word, alternatives=[(word, math.log(0.9)), *((other, math.log(0.1 / len(others))) for other in others)]
    )


def scored(factory: str, run: Run, **options: Any) -> tuple[Score, ScriptedModel]:
    model = ScriptedModel(approving)
    scorer = getattr(scorers, factory)(Judge(model), **{**JUDGED.get(factory, {}), **options})
    return scorer.run_sync(run), model


@pytest.mark.parametrize("factory", WITH_PROBABILITIES)
def test_verdicts_from_probabilities_give_the_same_score(factory: str) -> None:
    score, model = scored(factory, museum_run(), verdicts="logprobs")
    # Of one statement alone it is asked whether the context supports it, so that yes is good.
    expected = 0.0 if factory == "create_hallucination_scorer" else SCORES.get(factory, (1.0, 0.0))[0]
    assert score.score == expected, score
    assert any(words_of(request.returns) for request in model.requests)


@pytest.mark.parametrize("factory", JUDGED)
def test_a_score_of_a_process_can_be_sent_to_another_one(factory: str) -> None:
    score, _ = scored(factory, museum_run())
    assert pickle.loads(pickle.dumps(score)) == score
    assert msgspec.json.encode(score)


@pytest.mark.parametrize("factory", JUDGED)
def test_plain_data_makes_the_same_scorer(factory: str) -> None:
    scorer = getattr(scorers, factory)("ollama/judge", **JUDGED[factory], repeats=2, id="mine")
    again = load_scorer(scorer.spec)
    assert (again.id, again.version, again.range) == ("mine", scorer.version, scorer.range)
    other = getattr(scorers, factory)("ollama/other", **JUDGED[factory], repeats=2, id="mine")
    assert other.version != scorer.version


#: Relevancy scores an empty answer 0; the other two judge calls and steps.
TAKE_EMPTY_ANSWERS = (
    "create_answer_relevancy_scorer",
    "create_tool_call_accuracy_scorer_llm",
    "create_trajectory_accuracy_scorer_llm",
)


@pytest.mark.parametrize("factory", [factory for factory in JUDGED if factory not in TAKE_EMPTY_ANSWERS])
def test_an_empty_answer_is_not_scorable_and_asks_nothing(factory: str) -> None:
    score, model = scored(factory, museum_run(answer=" \n"))
    assert score.status == "not_scorable"
    assert not model.requests


# Context

CONTEXT_SCORERS = {
    "create_hallucination_scorer": "get_context",
    "create_context_precision_scorer": "context_extractor",
    "create_context_recall_scorer": "context_extractor",
    "create_context_relevance_scorer_llm": "context_extractor",
}


@pytest.mark.parametrize(("factory", "option"), CONTEXT_SCORERS.items())
def test_context_comes_from_a_function_a_list_or_the_tool_results(factory: str, option: str) -> None:
    async def later(run: Run) -> list[str]:
        await asyncio.sleep(0)
        return [f"FROM-LATER {run.id}"]

    for options, shown in (
        ({option: lambda run: [f"FROM-FUNCTION {run.id}"], "context": ["FROM-LIST"]}, "FROM-FUNCTION museum"),
        ({option: later}, "FROM-LATER museum"),
        ({"context": ["FROM-LIST"]}, "FROM-LIST"),
        ({}, "Sundays: free entry."),
    ):
        score, model = scored(factory, museum_run(), **options)
        assert score.status == "scored"
        assert any(shown in request.text for request in model.requests)
        assert not any("FROM-LIST" in request.text for request in model.requests if shown != "FROM-LIST")


@pytest.mark.parametrize(("factory", "option"), CONTEXT_SCORERS.items())
def test_a_function_is_asked_once_a_run(factory: str, option: str) -> None:
    calls = []
    scored(factory, museum_run(), **{option: lambda run: calls.append(run.id) or ["Free on Sunday."]})
    assert calls == ["museum"]


@pytest.mark.parametrize(("factory", "option"), CONTEXT_SCORERS.items())
@pytest.mark.parametrize("context", [[], ["", " \n"], None])
def test_without_context_nothing_is_asked(factory: str, option: str, context: Any) -> None:
    run = create_agent_test_run(input_messages="Price?", output="Free.", ground_truth="Free.")
    options: list[dict[str, Any]] = [{"context": context}]
    if context is not None:
        options.append({option: lambda run: context})
    for each in options:
        score, model = scored(factory, run, **each)
        assert score.status == "not_scorable"
        assert not model.requests


@pytest.mark.parametrize(("factory", "option"), CONTEXT_SCORERS.items())
@pytest.mark.parametrize("wrong", ["one text", [1], 5])
def test_a_function_that_gives_no_texts_is_an_error_that_names_it(factory: str, option: str, wrong: Any) -> None:
    score, _ = scored(factory, museum_run(), **{option: lambda run: wrong})
    assert score.error is not None
    assert option in score.error.message


@pytest.mark.parametrize(
    ("factory", "option"),
    [("create_summarization_scorer", "source_extractor"), ("create_pairwise_scorer", "baseline_response")],
)
def test_other_functions_of_the_run_may_be_asynchronous_too(factory: str, option: str) -> None:
    async def later(run: Run) -> str:
        await asyncio.sleep(0)
        return f"FROM-LATER {run.id}"

    score, model = scored(factory, museum_run(), **{option: later})
    assert score.status == "scored"
    assert any("FROM-LATER museum" in request.text for request in model.requests)


def test_a_line_of_a_rubric_that_is_only_a_mark_is_no_criterion() -> None:
    assert [each["description"] for each in parse_rubric("- Is short.\n- \n 1. \n2. Is kind.")] == [
        "Is short.",
        "Is kind.",
    ]


def test_a_function_that_fails_is_an_error_of_the_score() -> None:
    def broken(run: Run) -> list[str]:
        raise ValueError("no database")

    score, _ = scored("create_hallucination_scorer", museum_run(), get_context=broken)
    assert score.error is not None
    assert "no database" in score.error.message


def test_remembered_tool_results_are_context_too() -> None:
    call = create_tool_invocation(tool_name="search", result={"opens": "10:00"})
    run = create_agent_test_run(
        input_messages="And when?",
        output="At ten.",
        remembered_messages=[create_test_message(role="assistant", tool_invocations=[call])],
    )
    _, model = scored("create_hallucination_scorer", run)
    assert any('{"opens":"10:00"}' in request.text for request in model.requests)


# Options

WRONG = [
    ("create_answer_similarity_scorer", {"semantic_threshold": 1.5}, "semantic_threshold"),
    ("create_answer_similarity_scorer", {"missing_penalty": -0.1}, "missing_penalty"),
    ("create_answer_similarity_scorer", {"extra_info_penalty": math.nan}, "extra_info_penalty"),
    ("create_bias_scorer", {"scale": 0}, "scale"),
    ("create_bias_scorer", {"verdicts": "xml"}, "verdicts"),
    ("create_bias_scorer", {"repeats": 0}, "repeats"),
    ("create_classifier_scorer", {"instructions": " "}, "instructions"),
    ("create_classifier_scorer", {"labels": {}}, "two different scores"),
    ("create_classifier_scorer", {"labels": {"good": 1}}, "two different scores"),
    ("create_classifier_scorer", {"labels": {"good": 1, "bad": True}}, "'bad'"),
    ("create_classifier_scorer", {"labels": {"good": 1, "bad": math.inf}}, "'bad'"),
    ("create_classifier_scorer", {"labels": {"good": 1, "Good": 0}}, "more than case"),
    ("create_classifier_scorer", {"labels": {"good": 1, " bad": 0}}, "without spaces"),
    ("create_classifier_scorer", {"labels": ["good", "bad"]}, "labels must be a mapping"),
    ("create_rubric_scorer", {"criteria": {"description": "Is short."}}, "criteria must be a text or a list"),
    ("create_rubric_scorer", {"criteria": 5}, "criteria must be a text or a list"),
    ("create_rubric_scorer", {"criteria": [{"description": "Is short.", "requird": False}]}, "'requird'"),
    ("create_tool_call_accuracy_scorer_llm", {"available_tools": None}, "available_tools must be a list"),
    (
        "create_tool_call_accuracy_scorer_llm",
        {"available_tools": {"search": "finds"}},
        "available_tools must be a list",
    ),
    ("create_context_precision_scorer", {"context": "one text"}, "context must be a list"),
    ("create_context_precision_scorer", {"context_extractor": ["a"]}, "context_extractor must be a function"),
    ("create_context_relevance_scorer_llm", {"penalties": {"missing": 0.1}}, "penalties: .*missing"),
    ("create_context_relevance_scorer_llm", {"penalties": {"missing_context_per_item": 2}}, "missing_context_per_item"),
    ("create_hallucination_scorer", {"get_context": "a"}, "get_context must be a function"),
    ("create_multi_turn_judge_scorer", {"criterion": ""}, "criterion"),
    ("create_noise_sensitivity_scorer_llm", {"baseline_response": ""}, "baseline_response"),
    ("create_noise_sensitivity_scorer_llm", {"noisy_query": "\n"}, "noisy_query"),
    ("create_noise_sensitivity_scorer_llm", {"scoring": {"impact_weights": {"huge": 0}}}, "scoring: .*huge"),
    ("create_noise_sensitivity_scorer_llm", {"scoring": {"discrepancy_threshold": -1}}, "discrepancy_threshold"),
    ("create_pairwise_scorer", {"baseline_response": 5}, "baseline_response"),
    ("create_pairwise_scorer", {"criteria": ["a"]}, "criteria"),
    ("create_prompt_alignment_scorer_llm", {"evaluation_mode": "all"}, "evaluation_mode"),
    ("create_summarization_scorer", {"max_questions": 0}, "max_questions"),
    ("create_summarization_scorer", {"max_questions": 2.5}, "max_questions"),
    ("create_summarization_scorer", {"source": ["a"]}, "source"),
    ("create_summarization_scorer", {"source_extractor": "a"}, "source_extractor"),
    ("create_trajectory_accuracy_scorer_llm", {"expected_trajectory": [5]}, "expected_trajectory"),
]


@pytest.mark.parametrize(("factory", "options", "words"), WRONG)
def test_a_wrong_option_is_refused_before_anything_runs(factory: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words) as refused:
        getattr(scorers, factory)(**{**JUDGED[factory], **options})
    assert "\n" not in str(refused.value)


def test_lower_is_better_where_the_counted_statements_are_bad() -> None:
    lower = [name for name in JUDGED if getattr(scorers, name)("ollama/judge", **JUDGED[name]).lower_is_better]
    assert lower == ["create_bias_scorer", "create_hallucination_scorer", "create_toxicity_scorer"]


# Single scorers


def test_a_summary_is_judged_without_its_source_when_its_questions_are_answered() -> None:
    _, model = scored("create_summarization_scorer", museum_run(), source="THE SOURCE", max_questions=1)
    about_questions = [request for request in model.requests if "questions" in request.prompt.material]
    assert [request.text.count("THE SOURCE") for request in about_questions] == [0]
    assert "q2: " not in about_questions[0].text


def test_short_requests_are_judged_with_what_was_said_before() -> None:
    run = create_agent_test_run(
        input_messages="B",
        output="B it is.",
        remembered_messages=[create_test_message(role="assistant", content="Choose A or B.")],
    )
    for included in (True, False):
        _, model = scored("create_prompt_alignment_scorer_llm", run, include_conversation_history=included)
        assert ("Choose A or B." in model.requests[0].text) == included


def test_each_prompt_is_judged_in_a_question_of_its_own() -> None:
    rules = create_test_message(role="system", content="Speak like a pirate.")
    run = create_agent_test_run(input_messages="Where?", output="Arr.", system_messages=[rules])
    for mode, asked in (("both", [False, True]), ("user", [False]), ("system", [True])):
        _, model = scored("create_prompt_alignment_scorer_llm", run, evaluation_mode=mode)
        assert ["like a pirate" in request.text for request in model.requests[:-1]] == asked


def test_steps_are_shown_with_their_arguments_and_results() -> None:
    _, model = scored("create_trajectory_accuracy_scorer_llm", museum_run(), expected_trajectory=["search", "pay"])
    shown = model.requests[0].text
    assert 't1: search (tool_call); tool_args {"query":"museum"}; tool_result Sundays: free entry.' in shown
    assert "e2: pay" in shown


def test_no_steps_are_right_only_if_none_were_expected() -> None:
    run = create_agent_test_run(input_messages="Hello", output="Hello!", expected_trajectory=["greet"])
    for expected, number in ((None, 0.0), (["greet"], 0.0), ([], 1.0)):
        score, model = scored("create_trajectory_accuracy_scorer_llm", run, expected_trajectory=expected)
        assert score.score == number
        assert not model.requests


def test_a_conversation_is_shown_whole() -> None:
    turns = [
        create_test_message(role=role, content=text)
        for role, text in (("assistant", "ONE"), ("user", "TWO"), ("assistant", "THREE"))
    ]
    _, model = scored("create_multi_turn_judge_scorer", create_agent_test_run(input_messages="ZERO", output=turns))
    for text in ("user: ZERO", "assistant: ONE", "user: TWO", "assistant: THREE"):
        assert text in model.requests[0].text


def test_labels_give_the_range() -> None:
    labels = {"great": 10, "fine": 2.5, "bad": -5, "unclear": None}
    scorer = scorers.create_classifier_scorer("ollama/judge", "Mark it.", labels, lower_is_better=True)
    assert scorer.range == (-5.0, 10.0)
    assert scorer.lower_is_better


def test_position_bias_is_counted_over_scores() -> None:
    verdicts = iter(["first", "second"] * 6 + ["first", "first"] * 3 + ["second", "second"] + ["tie", "tie"])
    model = ScriptedModel(lambda request: {"reason": "", "verdict": next(verdicts)})
    scorer = scorers.create_pairwise_scorer(Judge(model), "At nine.")
    run = create_agent_test_run(input_messages="When?", output="At 9:00.")
    scores = [scorer.run_sync(run) for _ in range(11)]
    assert [score.score for score in scores] == [1.0] * 6 + [0.5] * 5
    found = position_bias([*scores, Score("r", "other", 1.0)])
    assert (found.compared, found.changed, found.prefers_first, found.prefers_second) == (11, 4, 3, 1)
    assert found.share == pytest.approx(4 / 11)
    assert found.interval is not None
    assert found.interval.low < 4 / 11 < found.interval.high
    stored = msgspec.json.decode(msgspec.json.encode(scores), type=list[Score])
    assert position_bias(stored) == position_bias(scores)


def test_a_pairwise_judge_sees_both_orders() -> None:
    _, model = scored("create_pairwise_scorer", museum_run("MINE"), baseline_response="THEIRS")
    first, second = (request.text for request in model.requests)
    assert first.index("MINE") < first.index("THEIRS")
    assert second.index("THEIRS") < second.index("MINE")
