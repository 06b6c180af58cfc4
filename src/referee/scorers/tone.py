"""Tone: is the answer as positive as a reference text, or does it keep one tone throughout?"""

from __future__ import annotations

from statistics import pvariance

import msgspec

from referee.errors import OptionError
from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.steps import NotScorable, Results, not_scorable
from referee.valence import ratings, sentences, valence


class Tone(msgspec.Struct, frozen=True):
    """The valence of the whole answer and of the reference (-5 to +5), or of each sentence of the answer.

    `reference_valence` is `None` without a reference text, `sentence_valences` is empty with one.
    """

    valence: float
    reference_valence: float | None
    sentence_valences: list[float]


def create_tone_scorer(reference_tone: str | None = None, *, id: str = "tone-scorer") -> Scorer[Tone, None]:
    """How close the answer's tone is to a reference text's, or how steady it is from sentence to sentence, 0 to 1.

    The valence of a text is the mean rating of its words in AFINN, a list of English words rated from -5 to +5.
    With a reference text the score is 1 minus the difference of the two valences, without one 1 minus the population
    variance of the sentences' valences; at least 0. An empty answer or reference is not scorable.

    The ratings come from the package `afinn`: `pip install 'referee[tone]'`. Negation and irony are not seen, and
    texts in other languages than English come out neutral.

    Args:
        reference_tone: A text in the wanted tone.
        id: Another id than the reference's.

    Raises:
        OptionError: `reference_tone` is no string.
        MissingExtraError: The package `afinn` is not installed.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> run = create_agent_test_run(output="A superb meal. An awful meal.")
        >>> score = create_tone_scorer().run_sync(run)
        >>> score.score, score.reason
        (0.0, 'the valence of 2 sentences lies between -1.00 and 1.67')
    """
    if reference_tone is not None and not isinstance(reference_tone, str):
        raise OptionError(f"reference_tone must be a text, not {type(reference_tone).__name__}")
    ratings()  # a missing package is told before anything runs

    def preprocess(run: Run) -> Tone | NotScorable:
        answer = run.output_text
        if not answer:
            return not_scorable("the answer is empty")
        if reference_tone is None:
            return Tone(valence(answer), None, [valence(sentence) for sentence in sentences(answer) or [answer]])
        if not reference_tone.strip():
            return not_scorable("the reference text is empty")
        return Tone(valence(answer), valence(reference_tone), [])

    def generate_score(run: Run, results: Results[Tone, None]) -> float:
        found = results.preprocess_step_result
        if found.reference_valence is None:
            return max(0.0, 1 - pvariance(found.sentence_valences))
        return max(0.0, 1 - abs(found.valence - found.reference_valence))

    def generate_reason(run: Run, results: Results[Tone, None]) -> str:
        return _reason(results.preprocess_step_result)

    description = (
        "The answer keeps one tone." if reference_tone is None else "The answer's tone is that of the reference."
    )
    scorer: Scorer[None, None] = create_scorer(id=id, description=description)
    built = scorer.preprocess(preprocess).generate_score(generate_score).generate_reason(generate_reason)
    return built.as_kind("tone", {"reference_tone": reference_tone})


def _reason(found: Tone) -> str:
    if found.reference_valence is not None:
        return f"the answer's valence is {found.valence:.2f}, the reference's {found.reference_valence:.2f}"
    each = found.sentence_valences
    return f"the valence of {len(each)} sentences lies between {min(each):.2f} and {max(each):.2f}"
