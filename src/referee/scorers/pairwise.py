"""Pairwise: which of two answers is better, whichever is shown first?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Prompt
from referee.runs import Run
from referee.scorers.judging import (
    Verdict,
    VerdictMode,
    as_text,
    ask_verdict,
    called,
    judged,
    require_answer,
    require_mode,
    transcript,
)
from referee.scores import Score
from referee.statistics import Interval, wilson_interval
from referee.steps import Asker, NotScorable, Results, asks_judge

#: A function of the run that gives the other answer, sync or async.
BaselineOf: TypeAlias = Callable[[Run], str | Awaitable[str | None] | None]

COMPARE = """\
Two assistants answered the same request. Decide which answer is better, by the criteria; without criteria: which one \
does what was asked, correctly and completely. Length and order do not count, and neither do politeness and \
self-praise.
first: the first answer is better.
second: the second answer is better.
{criteria}
{request}
{first_answer}
{second_answer}
"""

TIE = "tie: neither is better.\n"
COMPARE_OR_TIE = COMPARE.replace("{criteria}", TIE + "{criteria}")

_POINTS = {"answer": 1.0, "tie": 0.5, "baseline": 0.0}


class Preference(msgspec.Struct, frozen=True):
    """Which of two answers is better.

    Attributes:
        winner: `answer`, `baseline` or `tie`.
        changed_mind: Whether the two orders had different outcomes; the winner is `tie` then.
        answer_first: The verdict with the run's answer shown first: `first`, `second` or `tie`.
        answer_second: The verdict with the baseline shown first.
    """

    winner: Literal["answer", "baseline", "tie"]
    changed_mind: bool
    answer_first: Verdict
    answer_second: Verdict


class PositionBias(msgspec.Struct, frozen=True):
    """How often a judge changed its mind when two answers changed places.

    Attributes:
        compared: How many pairs were judged in both orders.
        changed: In how many of them the outcomes differed.
        share: `changed` / `compared`; `None` if nothing was compared.
        interval: The 95 % Wilson interval of the share; `None` if nothing was compared.
        prefers_first: In how many of them the answer shown first won both times.
        prefers_second: In how many of them the answer shown second won both times.
    """

    compared: int
    changed: int
    share: float | None
    interval: Interval | None
    prefers_first: int
    prefers_second: int


def create_pairwise_scorer(
    model: Asker | str | None = None,
    baseline_response: str | BaselineOf | None = None,
    criteria: str | None = None,
    *,
    allow_ties: bool = True,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "pairwise-scorer",
) -> Scorer[None, Preference]:
    """Whether the answer is better than another one to the same request: 1 better, 0 worse, 0.5 a tie.

    The judge is asked twice, with the answers in both orders. If its mind changes with the order, the verdict comes from
    the place and not from the answer: that is a tie, and it is counted. `position_bias` says how often it happened.

    Formula: both orders prefer the run's answer: 1; both prefer the other: 0; anything else: 0.5. Not scorable: an empty
    answer or no other answer; the judge is not asked then. `score.details["changed_mind"]` is true for a pair whose
    orders had different outcomes, and `score.details["verdicts"]` has both verdicts.

    Bands: of one pair there are three values only. Over many pairs the mean is the share of wins with half of the ties:
    0.5 means that neither side is better. With many changed minds all means come near 0.5: trust them less.

    Not for: how good an answer is (two bad ones make a winner too); answers whose difference can be checked by code;
    a choice among more than two (each pair costs two questions).

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        baseline_response: The other answer: a text, or a function of the run, sync or async, for example one that looks up the answer of
            an earlier version by the run's id. `None` takes the run's ground truth.
        criteria: What better means, in words.
        allow_ties: Whether the judge may say that neither is better.
        verdicts: `json` asks for the verdict with its reason; `logprobs` reads it from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id.

    Raises:
        OptionError: An option is wrong.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([
        ...     {"reason": "It gives the time.", "verdict": "first"},
        ...     {"reason": "It gives the time.", "verdict": "second"},
        ... ])
        >>> run = create_agent_test_run(input_messages="When is the ferry?", output="At nine.")
        >>> score = create_pairwise_scorer(Judge(model), baseline_response="In the morning.").run_sync(run)
        >>> score.score, score.reason
        (1.0, 'the answer is better in both orders: It gives the time. / It gives the time.')
        >>> position_bias([score]).changed
        0
    """
    if baseline_response is not None and not isinstance(baseline_response, str) and not callable(baseline_response):
        raise OptionError(f"baseline_response must be a text or a function of the run, not {baseline_response!r}")
    if criteria is not None and not isinstance(criteria, str):
        raise OptionError(f"criteria must be a text, not {criteria!r}")
    mode = require_mode(verdicts)
    words = ("first", "second", "tie") if allow_ties else ("first", "second")
    question = COMPARE_OR_TIE if allow_ties else COMPARE

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> Preference:
        answer, other = require_answer(run), await _baseline(baseline_response, run)
        request = transcript((*run.history, *run.input))

        def ask(first: str, second: str) -> Any:
            shown = Prompt(question, criteria=criteria, request=request, first_answer=first, second_answer=second)
            return ask_verdict(results.judge, shown, words, mode=mode)

        return _preference(*await asyncio.gather(ask(answer, other), ask(other, answer)))

    def generate_score(run: Run, results: Results[None, Preference]) -> Score:
        found = results.analyze_step_result
        verdicts_given = [found.answer_first.verdict, found.answer_second.verdict]
        details = {"changed_mind": found.changed_mind, "verdicts": verdicts_given}
        return Score(run.id, id, _POINTS[found.winner], details=details)

    def generate_reason(run: Run, results: Results[None, Preference]) -> str:
        found = results.analyze_step_result
        outcome = {
            "answer": "the answer is better in both orders",
            "baseline": "the other answer is better in both orders",
            "tie": "the judge changed its mind with the order" if found.changed_mind else "neither is better",
        }[found.winner]
        reasons = [each.reason for each in (found.answer_first, found.answer_second) if each.reason]
        return f"{outcome}: {' / '.join(reasons)}" if reasons else outcome

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The answer is better than another one, in whichever order.", judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {
        "baseline_response": baseline_response,
        "criteria": criteria,
        "allow_ties": allow_ties,
        "verdicts": verdicts,
        "repeats": repeats,
    }
    return judged(built, "pairwise", options, questions=[question], repeats=repeats)


def position_bias(scores: Iterable[Score]) -> PositionBias:
    """How often the judge changed its mind with the order, over the scores of a pairwise scorer.

    Args:
        scores: Scores of any scorers, stored ones too; those of other scorers, and those that are no score, are left
            out.

    Example:
        >>> position_bias([]).share is None
        True
    """
    found = [score.details for score in scores if score.details and "changed_mind" in score.details]
    changed = sum(each["changed_mind"] for each in found)
    verdicts = [each["verdicts"] for each in found]
    return PositionBias(
        compared=len(found),
        changed=changed,
        share=changed / len(found) if found else None,
        interval=wilson_interval(changed, len(found)) if found else None,
        prefers_first=verdicts.count(["first", "first"]),
        prefers_second=verdicts.count(["second", "second"]),
    )


async def _baseline(given: str | BaselineOf | None, run: Run) -> str:
    """The other answer.

    Raises:
        NotScorable: There is none.
        OptionError: The function gave something else than a text.
    """
    found: Any = await called(given, run) if callable(given) else run.ground_truth if given is None else given
    if callable(given) and found is not None and not isinstance(found, str):
        raise OptionError(f"what baseline_response gives must be a text or None, not {type(found).__name__}")
    text = "" if found is None else as_text(found)
    if not text.strip():
        raise NotScorable("there is no other answer to compare with")
    return text


def _preference(answer_first: Verdict, answer_second: Verdict) -> Preference:
    one = {"first": "answer", "second": "baseline"}.get(answer_first.verdict, "tie")
    other = {"first": "baseline", "second": "answer"}.get(answer_second.verdict, "tie")
    winner: Any = one if one == other else "tie"
    return Preference(winner, one != other, answer_first, answer_second)
