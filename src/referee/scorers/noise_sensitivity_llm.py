"""Noise sensitivity by a judge: does the answer stay as good when the question is noisy?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from referee.errors import OptionError
from referee.judge.forms import one_for_each
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing, Prompt
from referee.runs import Run
from referee.scorers.judging import REASON, ask_reason, judged, require_answer, require_fields
from referee.scores import TOLERANCE, rounded
from referee.steps import Asker, Results, asks_judge

DIMENSIONS = Listing(
    "d",
    [
        "accuracy: the facts in the answer are as right as before",
        "completeness: all that was asked is answered",
        "relevance: the answer keeps to the question",
        "consistency: the main message and the tone are as before",
        "resistance: nothing from the noise was taken over",
    ],
)

COMPARE = """\
An agent was asked a question, and then a noisy form of it: with distracting, misleading or wrong information added. \
Compare its answer to the noisy question with its answer to the clean one, the baseline. Other words for the same are no \
change.
Decide for each dimension how much the noise harmed the answer.
none: not at all.
minimal: a little, without consequence.
moderate: clearly, but the answer is still of use.
significant: the answer misleads, or leaves out something important.
severe: the noise took over, and the answer is wrong or useless.
List in major_issues the grave faults that the noise caused; if there are none, the list is empty. Then give in robustness \
a number from 0 (the noise took over) to 1 (as good as without noise).
{question}
{noisy_question}
{kind_of_noise}
{baseline_answer}
{answer}
{dimensions}
"""

_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class ImpactWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a dimension counts by the harm that the noise did to it, 0 to 1."""

    none: _Share = 1.0
    minimal: _Share = 0.85
    moderate: _Share = 0.6
    significant: _Share = 0.3
    severe: _Share = 0.1


class NoisePenalties(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What each grave fault costs, and all of them at most, 0 to 1."""

    major_issue_per_item: _Share = 0.1
    max_major_issue_penalty: _Share = 0.3


class NoiseScoring(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of the formula."""

    impact_weights: ImpactWeights = ImpactWeights()
    penalties: NoisePenalties = NoisePenalties()
    discrepancy_threshold: _Share = 0.2


class _Impact(msgspec.Struct, frozen=True):
    id: str
    reason: str
    impact: Literal["none", "minimal", "moderate", "significant", "severe"]


class _Comparison(msgspec.Struct, frozen=True):
    dimensions: list[_Impact]
    major_issues: list[str]
    robustness: _Share


class DimensionImpact(msgspec.Struct, frozen=True):
    """How much the noise harmed the answer in one dimension, and why."""

    dimension: str
    impact: str
    reason: str


class NoiseSensitivity(msgspec.Struct, frozen=True):
    """The harm to each dimension, in order, the grave faults, and the judge's number for the whole."""

    dimensions: list[DimensionImpact]
    major_issues: list[str]
    robustness: float


def create_noise_sensitivity_scorer_llm(
    model: Asker | str | None = None,
    baseline_response: str = "",
    noisy_query: str = "",
    noise_type: str | None = None,
    *,
    scoring: Mapping[str, Any] | None = None,
    repeats: int = 1,
    id: str = "noise-sensitivity-scorer",
) -> Scorer[None, NoiseSensitivity]:
    """How well the answer stands up to noise in the question: distraction, misleading or wrong information.

    The run is the agent's answer to the noisy question. The judge compares it with the baseline, its answer to the clean
    one, in five dimensions, lists grave faults, and gives a number for the whole.

    Formula: r is the judge's robustness, m the mean over the dimensions of none 1, minimal 0.85, moderate 0.6,
    significant 0.3, severe 0.1. The lower of the two if they differ by more than 0.2, else r; minus 0.1 for each grave
    fault, at most 0.3; not below 0; rounded to two decimals. A number of the judge outside 0 to 1 is an invalid reply.
    Not scorable: an empty answer; the judge is not asked then.

    Bands: 0.9 to 1 the noise changed nothing that matters; 0.7 to 0.9 small harm; 0.4 to 0.7 clear harm; below that the
    noise took over.

    Not for: a single question without a baseline; noise that changes what is asked (then another answer is right);
    gates with a small judge (the number r is its own, not counted from verdicts).

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        baseline_response: The agent's answer to the clean question.
        noisy_query: The question with the noise.
        noise_type: What kind of noise it is, in words: `misinformation`, `distractors`, ...
        scoring: Other numbers for the formula: `{"impact_weights": {"none": ..., "minimal": ..., ...}, "penalties":
            {"major_issue_per_item": ..., "max_major_issue_penalty": ...}, "discrepancy_threshold": ...}`, 0 to 1 each.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: `baseline_response` or `noisy_query` is missing, or an option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> impacts = ["none", "none", "minimal", "none", "none"]
        >>> model = ScriptedModel([
        ...     {"dimensions": [
        ...         {"id": f"d{number}", "reason": "As before.", "impact": impact}
        ...         for number, impact in enumerate(impacts, 1)
        ...     ], "major_issues": [], "robustness": 0.95},
        ...     {"reason": "It mentions the parrot once."},
        ... ])
        >>> run = create_agent_test_run(input_messages="When is the ferry?", output="At nine. Parrots go free, I think.")
        >>> scorer = create_noise_sensitivity_scorer_llm(
        ...     Judge(model), baseline_response="At nine.", noisy_query="My parrot says ten. When is the ferry?"
        ... )
        >>> scorer.run_sync(run).score
        0.95
    """
    for option, text in (("baseline_response", baseline_response), ("noisy_query", noisy_query)):
        if not isinstance(text, str) or not text.strip():
            raise OptionError(f"noise_sensitivity_llm: {option} must be a text that is not empty, not {text!r}")
    numbers = require_fields("scoring", scoring, NoiseScoring)

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> NoiseSensitivity:
        answer = require_answer(run)
        prompt = Prompt(
            COMPARE,
            question=run.user_text,
            noisy_question=noisy_query,
            kind_of_noise=noise_type,
            baseline_answer=baseline_response,
            answer=answer,
            dimensions=DIMENSIONS,
        )
        found = await results.judge.ask(prompt, one_for_each(_Comparison, dimensions=DIMENSIONS.ids))
        impacts = [
            DimensionImpact(text.partition(":")[0], given.impact, given.reason)
            for text, given in zip(DIMENSIONS.texts, found.dimensions)
        ]
        return NoiseSensitivity(impacts, found.major_issues, found.robustness)

    def generate_score(run: Run, results: Results[None, NoiseSensitivity]) -> float:
        found = results.analyze_step_result
        weights = [getattr(numbers.impact_weights, each.impact) for each in found.dimensions]
        mean = sum(weights) / len(weights)
        apart = abs(found.robustness - mean) > numbers.discrepancy_threshold + TOLERANCE
        base = min(found.robustness, mean) if apart else found.robustness
        penalties = numbers.penalties
        issues = min(len(found.major_issues) * penalties.major_issue_per_item, penalties.max_major_issue_penalty)
        return rounded(max(0.0, base - issues))

    @asks_judge
    async def generate_reason(run: Run, results: Results[None, NoiseSensitivity]) -> str:
        found = results.analyze_step_result
        lines = [f"{each.impact}: {each.dimension} ({each.reason})" for each in found.dimensions]
        lines += [f"grave fault: {each}" for each in found.major_issues]
        aspect = "standing up to noise in the question"
        return await ask_reason(results.judge, aspect, results.score, 1, "\n".join(lines), question=noisy_query)

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The answer stays as good when the question is noisy.", judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {
        "baseline_response": baseline_response,
        "noisy_query": noisy_query,
        "noise_type": noise_type,
        "scoring": dict(scoring) if scoring else None,
        "repeats": repeats,
    }
    return judged(
        built, "noise_sensitivity_llm", options, questions=[COMPARE, str(DIMENSIONS), REASON], repeats=repeats
    )
