"""Answer similarity: does the answer say the same as the right answer?"""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec

from referee.judge.forms import one_for_each
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing, Prompt
from referee.runs import Run
from referee.scorers.judging import (
    REASON,
    VerdictMode,
    VerdictQuestion,
    ask_reason,
    judged,
    require_answer,
    require_fields,
    require_ground_truth,
    require_mode,
    require_scale,
    share,
)
from referee.steps import Asker, Consultation, NotScorable, Results, asks_judge

#: The most that further information in the answer can cost.
MOST_FOR_EXTRAS = 0.2

EXTRACT = """\
Split two texts into units: the answer, and the right answer. Each unit says one thing and can be understood alone. Put in \
what pronouns refer to, and keep numbers, names, dates and negations as they are. Leave nothing out, add nothing, and do \
not compare the texts.
{answer}
{right_answer}
"""

_MATCHES = """\
exact: the answer says it with the same facts, in the same or nearly the same words.
semantic: the answer says the same in other words.
partial: the answer says only a part of it, or less precisely.
missing: the answer does not say it.
"""

JUDGE = f"""\
Decide for each unit of the right answer how well the answer says it.
{_MATCHES}
Then list in extra the units of the answer that say something else than the right answer and do not contradict it, and \
in contradictions the units of the answer that can't be true together with the right answer. A unit stands in one list at \
most.
{{answer_units}}
{{right_answer_units}}
"""

MATCH = VerdictQuestion(
    f"Decide how well the answer says the unit of the right answer.\n{_MATCHES}\n{{answer_units}}\n{{unit}}\n",
    ("exact", "semantic", "partial", "missing"),
    "unit",
)

PLACE = VerdictQuestion(
    """\
Decide how the unit of the answer stands to the right answer.
said: the right answer says it too.
contradicts: it can't be true together with the right answer.
extra: the right answer does not say it, and it contradicts nothing.
{right_answer_units}
{unit}
""",
    ("said", "contradicts", "extra"),
    "unit",
)

_Amount = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Amounts(msgspec.Struct, frozen=True):
    """What each kind of match and fault counts."""

    semantic_threshold: _Amount
    exact_match_bonus: _Amount
    missing_penalty: _Amount
    contradiction_penalty: _Amount
    extra_info_penalty: _Amount


class AnswerUnits(msgspec.Struct, frozen=True):
    """Both texts, taken apart."""

    output_units: list[str]
    ground_truth_units: list[str]


class _Match(msgspec.Struct, frozen=True):
    id: str
    reason: str
    match: Literal["exact", "semantic", "partial", "missing"]


class _Comparison(msgspec.Struct, frozen=True):
    matches: list[_Match]
    extra: list[str]
    contradictions: list[str]


class UnitMatch(msgspec.Struct, frozen=True):
    """How well the answer says one unit of the right answer, and why."""

    ground_truth_unit: str
    match: str
    reason: str


class AnswerSimilarity(msgspec.Struct, frozen=True):
    """One match for each unit of the right answer, in order; what the answer says besides, and against it."""

    matches: list[UnitMatch]
    extra: list[str]
    contradictions: list[str]


def create_answer_similarity_scorer(
    model: Asker | str | None = None,
    semantic_threshold: float = 0.8,
    exact_match_bonus: float = 0.2,
    missing_penalty: float = 0.15,
    contradiction_penalty: float = 1,
    extra_info_penalty: float = 0.05,
    scale: float = 1,
    *,
    require_ground_truth: bool = True,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "answer-similarity-scorer",
) -> Scorer[AnswerUnits, AnswerSimilarity]:
    """How far the answer says the same as the right answer.

    The judge splits the final answer and the run's ground truth into units. For each of the n units of the ground truth
    it says how well the answer has it, and it lists what the answer says besides and against it.

    Formula: each unit counts exact 1 + `exact_match_bonus`, semantic `semantic_threshold`, partial half of that, missing
    minus `missing_penalty`; their sum / (n * (1 + `exact_match_bonus`)), minus `contradiction_penalty` for each
    contradiction, minus `extra_info_penalty` for each further unit (0.2 at most); held within 0 and 1; * `scale`, rounded
    to two decimals. Not scorable: no ground truth or an empty answer (the judge is not asked then), or a ground truth
    without units.

    Bands (`scale` 1, other defaults): 0.9 to 1 the same facts in nearly the same words; 0.6 to 0.9 the same facts in
    other words (all semantic is 0.67); 0.3 to 0.6 a part is missing; below that another answer. One contradiction gives 0.

    Not for: open questions with many right answers; comparing texts word by word (`checks.similarity`, free and
    repeatable); a ground truth that is one number or word (`checks.includes`).

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        semantic_threshold: What a unit in other words counts, 0 to 1.
        exact_match_bonus: What a unit in the same words counts above 1, 0 to 1.
        missing_penalty: What a missing unit costs, 0 to 1.
        contradiction_penalty: What a contradiction costs, 0 to 1.
        extra_info_penalty: What a further unit costs, 0 to 1.
        scale: The best score, above 0.
        require_ground_truth: The reference's switch between a failure and 0 for a run without ground truth. Here such a
            run is not scorable either way.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([
        ...     {"output_units": ["The ferry leaves at nine."],
        ...      "ground_truth_units": ["The ferry leaves at 9:00.", "Dogs travel free."]},
        ...     {"matches": [
        ...         {"id": "g1", "reason": "Nine is 9:00.", "match": "semantic"},
        ...         {"id": "g2", "reason": "Dogs are not mentioned.", "match": "missing"},
        ...     ], "extra": [], "contradictions": []},
        ...     {"reason": "Nothing is said about dogs."},
        ... ])
        >>> run = create_agent_test_run(output="It leaves at nine.", ground_truth="Ferry at 9:00, dogs travel free.")
        >>> create_answer_similarity_scorer(Judge(model)).run_sync(run).score
        0.27
    """
    given_amounts = {
        "semantic_threshold": semantic_threshold,
        "exact_match_bonus": exact_match_bonus,
        "missing_penalty": missing_penalty,
        "contradiction_penalty": contradiction_penalty,
        "extra_info_penalty": extra_info_penalty,
    }
    amounts = require_fields("answer_similarity", given_amounts, _Amounts)
    require_scale(scale)
    mode = require_mode(verdicts)

    @asks_judge
    async def preprocess(run: Run, results: Results[None, None]) -> AnswerUnits:
        right_answer = _ground_truth(run)
        prompt = Prompt(EXTRACT, answer=require_answer(run), right_answer=right_answer)
        return await results.judge.ask(prompt, AnswerUnits)

    @asks_judge
    async def analyze(run: Run, results: Results[AnswerUnits, None]) -> AnswerSimilarity | NotScorable:
        units = results.preprocess_step_result
        if not units.ground_truth_units:
            return NotScorable("the ground truth says nothing")
        answer, right = Listing("a", units.output_units), Listing("g", units.ground_truth_units)
        if mode == "logprobs":
            return await _by_probability(results.judge, answer, right)
        prompt = Prompt(JUDGE, answer_units=answer, right_answer_units=right)
        found = await results.judge.ask(prompt, one_for_each(_Comparison, matches=right.ids))
        matches = [UnitMatch(unit, given.match, given.reason) for unit, given in zip(right.texts, found.matches)]
        return AnswerSimilarity(matches, found.extra, found.contradictions)

    def generate_score(run: Run, results: Results[AnswerUnits, AnswerSimilarity]) -> float:
        return share(_similarity(results.analyze_step_result, amounts), 1, scale)

    @asks_judge
    async def generate_reason(run: Run, results: Results[AnswerUnits, AnswerSimilarity]) -> str:
        found = results.analyze_step_result
        lines = [f"{each.match}: {each.ground_truth_unit} ({each.reason})" for each in found.matches]
        lines += [f"extra: {each}" for each in found.extra]
        lines += [f"contradiction: {each}" for each in found.contradictions]
        aspect = "saying the same as the right answer"
        return await ask_reason(results.judge, aspect, results.score, scale, "\n".join(lines))

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The answer says the same as the right answer.", range=(0, scale), judge=model
    )
    built = (
        scorer.preprocess(preprocess).analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    )
    options = {
        **given_amounts,
        "scale": scale,
        "require_ground_truth": require_ground_truth,
        "verdicts": verdicts,
        "repeats": repeats,
    }
    return judged(
        built, "answer_similarity", options, questions=[EXTRACT, JUDGE, MATCH, PLACE, REASON], repeats=repeats
    )


#: The option of this name hides the function inside the factory.
_ground_truth = require_ground_truth


async def _by_probability(judge: Consultation, answer: Listing, right: Listing) -> AnswerSimilarity:
    matches, places = await asyncio.gather(
        MATCH.ask(judge, right, mode="logprobs", answer_units=answer),
        PLACE.ask(judge, answer, mode="logprobs", right_answer_units=right),
    )
    return AnswerSimilarity(
        [UnitMatch(unit, given.verdict, "") for unit, given in zip(right.texts, matches)],
        [unit for unit, given in zip(answer.texts, places) if given.verdict == "extra"],
        [unit for unit, given in zip(answer.texts, places) if given.verdict == "contradicts"],
    )


def _similarity(found: AnswerSimilarity, amounts: _Amounts) -> float:
    best = 1 + amounts.exact_match_bonus
    counts = {
        "exact": best,
        "semantic": amounts.semantic_threshold,
        "partial": amounts.semantic_threshold / 2,
        "missing": -amounts.missing_penalty,
    }
    matched = sum(counts[each.match] for each in found.matches) / (len(found.matches) * best)
    extras = min(len(found.extra) * amounts.extra_info_penalty, MOST_FOR_EXTRAS)
    return min(1.0, max(0.0, matched - len(found.contradictions) * amounts.contradiction_penalty - extras))
