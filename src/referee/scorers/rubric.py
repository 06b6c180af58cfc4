"""Rubric: does the answer satisfy every required criterion?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing
from referee.runs import Run
from referee.scorers.judging import (
    Verdict,
    VerdictMode,
    VerdictQuestion,
    judged,
    require_answer,
    require_mode,
    require_scale,
    transcript,
)
from referee.steps import Asker, NotScorable, Results, asks_judge

CRITERIA = VerdictQuestion(
    """\
Decide for each criterion whether the assistant's answer satisfies it. Judge each one alone, by its own words. The answer \
is what the assistant wrote after the user's request; the tool calls show how it came about.
yes: the answer satisfies it completely.
no: it does not, or only partly.
{conversation}
{criteria}
""",
    ("yes", "no"),
    "criteria",
)

#: A list mark at the start of a line: a bullet, or a number or single letter with a dot or bracket.
_MARK = re.compile(
    r"^\s*(?:[-*+\u2022\u2023\u25aa\u25cf\u25e6\u2013\u2014]\s+|\(?(?:\d{1,3}|[A-Za-z])[.)]\s+)(?:\[[ xX]?\]\s+)?"
)


class CriterionVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether one criterion is satisfied, and why. `confidence` is the probability of yes, with `verdicts="logprobs"`."""

    criterion: str
    required: bool
    satisfied: bool
    reason: str
    confidence: float | None = None


class RubricVerdicts(msgspec.Struct, frozen=True):
    """One verdict for each criterion, in order."""

    criteria: list[CriterionVerdict]


def create_rubric_scorer(
    model: Asker | str | None = None,
    criteria: str | Sequence[str | Mapping[str, Any]] | None = None,
    scale: float = 1,
    *,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "rubric-scorer",
) -> Scorer[None, RubricVerdicts]:
    """Whether the answer satisfies every required criterion of a rubric. Gives `scale` or 0.

    If no criterion is marked as required, all of them are. Not scorable: no rubric, or an empty answer; the judge is not
    asked then.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        criteria: The rubric: a text with one criterion a line (list marks are removed), or a list of texts or
            `{"description": ..., "required": true or false}`. Not marked counts as required.
        scale: The score of an answer that satisfies the rubric, above 0.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range, or a criterion has no description.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([{"verdicts": [
        ...     {"id": "r1", "reason": "It says 5 euros.", "verdict": "yes"},
        ...     {"id": "r2", "reason": "No day is named.", "verdict": "no"},
        ... ]}])
        >>> scorer = create_rubric_scorer(Judge(model), criteria="- States the price.\\n- Names the day.")
        >>> score = scorer.run_sync(create_agent_test_run(input_messages="Price on Sunday?", output="5 euros."))
        >>> score.score, score.reason
        (0.0, 'not satisfied: Names the day. (No day is named.)')
    """
    require_scale(scale)
    mode = require_mode(verdicts)
    rubric = parse_rubric(criteria)
    listing = Listing("r", [criterion["description"] for criterion in rubric])

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> RubricVerdicts:
        if not rubric:
            raise NotScorable("there is no rubric")
        require_answer(run)
        conversation = transcript((*run.history, *run.input, *run.output))
        found = await CRITERIA.ask(results.judge, listing, mode=mode, conversation=conversation)
        return RubricVerdicts([_verdict(criterion, each) for criterion, each in zip(rubric, found)])

    def generate_score(run: Run, results: Results[None, RubricVerdicts]) -> float:
        return 0.0 if _unsatisfied(results.analyze_step_result) else float(scale)

    def generate_reason(run: Run, results: Results[None, RubricVerdicts]) -> str:
        failed = _unsatisfied(results.analyze_step_result)
        if not failed:
            return "every required criterion is satisfied"
        return "not satisfied: " + "; ".join(
            f"{each.criterion} ({each.reason})" if each.reason else each.criterion for each in failed
        )

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The answer satisfies every required criterion.", range=(0, scale), judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {"criteria": rubric, "scale": scale, "verdicts": verdicts, "repeats": repeats}
    return judged(built, "rubric", options, questions=[CRITERIA], repeats=repeats)


def parse_rubric(criteria: str | Sequence[str | Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """The criteria as `{"description": ..., "required": ...}`. If none is required, all are.

    Raises:
        OptionError: They are no list, or a criterion has no description or a key that is unknown.

    Example:
        >>> parse_rubric("1) States the price.\\n\\n- Is polite.")
        [{'description': 'States the price.', 'required': True}, {'description': 'Is polite.', 'required': True}]
    """
    given = criteria.splitlines() if isinstance(criteria, str) else criteria or ()
    if isinstance(given, Mapping) or not isinstance(given, Sequence):
        raise OptionError(f"criteria must be a text or a list, not {criteria!r}")
    rubric = [_criterion(each) for each in given if not isinstance(each, str) or _MARK.sub("", each).strip()]
    if not any(criterion["required"] for criterion in rubric):
        return [{**criterion, "required": True} for criterion in rubric]
    return rubric


def _criterion(given: Any) -> dict[str, Any]:
    description = given.get("description") if isinstance(given, Mapping) else given
    required = given.get("required") if isinstance(given, Mapping) else None
    unknown = set(given) - {"description", "required"} if isinstance(given, Mapping) else set()
    if not isinstance(description, str) or not description.strip() or required not in (None, True, False) or unknown:
        raise OptionError(
            f'criteria: a criterion is a text or {{"description": ..., "required": true or false}}, not {given!r}'
        )
    return {"description": _MARK.sub("", description).strip(), "required": required is not False}


def _verdict(criterion: Mapping[str, Any], given: Verdict) -> CriterionVerdict:
    return CriterionVerdict(
        criterion["description"], criterion["required"], given.verdict == "yes", given.reason, given.confidence
    )


def _unsatisfied(found: RubricVerdicts) -> list[CriterionVerdict]:
    return [each for each in found.criteria if each.required and not each.satisfied]
