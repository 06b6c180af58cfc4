"""Classifier: which of your labels fits the answer?"""

from __future__ import annotations

import math
from collections.abc import Mapping

from referee.errors import OptionError
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Prompt
from referee.runs import Run
from referee.scorers.judging import (
    Verdict,
    VerdictMode,
    as_text,
    ask_verdict,
    judged,
    require_answer,
    require_mode,
    transcript,
)
from referee.steps import Asker, NotScorable, Results, asks_judge

CLASSIFY = """\
Read the conversation and put the assistant's last answer into one of the classes, by the definition that is given. The \
right answer is given where there is one.
{definition}
{classes}
{conversation}
{right_answer}
"""


def create_classifier_scorer(
    model: Asker | str | None = None,
    instructions: str = "",
    labels: Mapping[str, float | None] | None = None,
    *,
    lower_is_better: bool = False,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "classifier-scorer",
) -> Scorer[None, Verdict]:
    """Which of your labels fits the answer; each label has a score. Gives the lowest to the highest of them.

    The judge reads the conversation, with tool calls and results, and the ground truth where the run has one. It chooses
    one label by your instructions and says why.

    Formula: the score of the chosen label. A label whose score is `None` says that the run can't be judged: such a run is
    not scorable, as is an empty answer (the judge is not asked then).

    Bands: they are yours. Use few labels, and say in the instructions where one ends and the next begins.

    Not for: marks from 1 to 10 (judges spread them at random: use few labels with names); several questions at once (one
    classifier each, or `rubric`).

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        instructions: What is asked, and what each label means.
        labels: The score of each label: `{"helpful": 1, "evasive": 0.5, "refused": 0, "no request": None}`; at least
            two different scores.
        lower_is_better: Whether a low score is the good one.
        verdicts: `json` asks for the label with a reason; `logprobs` reads it from token probabilities (no label may
            begin like another one then).
        repeats: How often each run is scored; the score is the median.
        id: Another id.

    Raises:
        OptionError: There are no instructions, or the labels have no two different scores.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([{"reason": "It changes the subject.", "verdict": "evasive"}])
        >>> scorer = create_classifier_scorer(
        ...     Judge(model),
        ...     instructions="Does the assistant give the price? evasive: it talks about something else.",
        ...     labels={"helpful": 1, "evasive": 0.5, "refused": 0, "no request": None},
        ... )
        >>> score = scorer.run_sync(create_agent_test_run(input_messages="Price?", output="Our shop is lovely."))
        >>> score.score, score.reason
        (0.5, 'evasive: It changes the subject.')
    """
    if not isinstance(instructions, str) or not instructions.strip():
        raise OptionError(f"classifier: instructions must be a text that is not empty, not {instructions!r}")
    scores = _scores(labels)
    numbers = [number for number in scores.values() if number is not None]
    mode = require_mode(verdicts)
    classes = "\n".join(scores)

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> Verdict:
        require_answer(run)
        prompt = Prompt(
            CLASSIFY,
            definition=instructions,
            classes=classes,
            conversation=transcript((*run.history, *run.input, *run.output)),
            right_answer=None if run.ground_truth is None else as_text(run.ground_truth),
        )
        return await ask_verdict(results.judge, prompt, list(scores), mode=mode)

    def generate_score(run: Run, results: Results[None, Verdict]) -> float | NotScorable:
        found = results.analyze_step_result
        number = scores[found.verdict]
        return NotScorable(_words(found)) if number is None else number

    def generate_reason(run: Run, results: Results[None, Verdict]) -> str:
        return _words(results.analyze_step_result)

    scorer: Scorer[None, None] = create_scorer(
        id=id,
        description="The score of the label that fits the answer.",
        range=(min(numbers), max(numbers)),
        lower_is_better=lower_is_better,
        judge=model,
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {
        "instructions": instructions,
        "labels": scores,
        "lower_is_better": lower_is_better,
        "verdicts": verdicts,
        "repeats": repeats,
    }
    return judged(built, "classifier", options, questions=[CLASSIFY], repeats=repeats)


def _words(found: Verdict) -> str:
    return f"{found.verdict}: {found.reason}" if found.reason else found.verdict


def _scores(labels: Mapping[str, float | None] | None) -> dict[str, float | None]:
    """The labels with their scores.

    Raises:
        OptionError: A label is empty or stands twice but for its case, a score is no number, or all scores are the same.
    """
    if labels is not None and not isinstance(labels, Mapping):
        raise OptionError(
            f"labels must be a mapping from labels to scores, such as {{'good': 1, 'bad': 0}}, not {labels!r}"
        )
    found: dict[str, float | None] = dict(labels or {})
    for label, number in found.items():
        if not isinstance(label, str) or label != label.strip() or not label or len(label.splitlines()) > 1:
            raise OptionError(f"labels: a label is a text on one line without spaces around it, not {label!r}")
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number)
        ):
            raise OptionError(f"labels: the score of {label!r} must be a number or None, not {number!r}")
    if len({label.casefold() for label in found}) < len(found):
        raise OptionError(f"labels must differ in more than case: {', '.join(found)}")
    if len({number for number in found.values() if number is not None}) < 2:
        raise OptionError(
            f"labels must have at least two different scores, such as {{'good': 1, 'bad': 0}}, not {found}"
        )
    return found
