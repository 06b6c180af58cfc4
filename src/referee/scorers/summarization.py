"""Summarization: does a summary keep to its source, and to what matters in it?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing, Prompt
from referee.runs import Run
from referee.scorers.judging import (
    REASON,
    Verdict,
    VerdictMode,
    VerdictQuestion,
    ask_reason,
    called,
    judged,
    require_answer,
    require_mode,
    require_scale,
    share,
    verdict_lines,
)
from referee.steps import Asker, NotScorable, Results, asks_judge

#: A function of the run that gives the source, sync or async.
SourceOf: TypeAlias = Callable[[Run], str | Awaitable[str]]

CLAIMS = """\
List the claims that the summary makes: each says one thing and can be understood alone. Put in what pronouns refer to, \
and keep numbers, names, dates and negations as they are. Do not judge the claims.
{summary}
"""

QUESTIONS = """\
Write questions that the source answers and that a good summary of it must answer too: the most important first, \
{number} at most, each about one thing, with yes as the right answer.
{source}
"""

SUPPORT = VerdictQuestion(
    """\
Decide for each claim whether the source supports it. Use the source alone, not what you know.
yes: the source says it, or it follows from the source.
no: the source says otherwise, or does not say it.
{source}
{claims}
""",
    ("yes", "no"),
    "claims",
)

COVERAGE = VerdictQuestion(
    """\
Decide for each question whether the summary alone answers it. Use nothing that you know.
yes: a reader of the summary knows the answer.
no: the summary does not say.
{summary}
{questions}
""",
    ("yes", "no"),
    "questions",
)


class _Claims(msgspec.Struct, frozen=True):
    claims: list[str]


class _Questions(msgspec.Struct, frozen=True):
    questions: list[str]


class SummaryMaterial(msgspec.Struct, frozen=True):
    """The source, what the summary claims, and what it must answer."""

    source: str
    claims: list[str]
    questions: list[str]


class SummaryVerdicts(msgspec.Struct, frozen=True):
    """One verdict for each claim (`yes`: supported) and for each question (`yes`: answered), in order."""

    claims: list[Verdict]
    questions: list[Verdict]


def create_summarization_scorer(
    model: Asker | str | None = None,
    source: str | None = None,
    max_questions: int = 10,
    scale: float = 1,
    *,
    source_extractor: SourceOf | None = None,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "summarization-scorer",
) -> Scorer[SummaryMaterial, SummaryVerdicts]:
    """Whether a summary is true to its source and says what matters in it: the lower of the two.

    The judge lists the claims of the summary (the final answer) and says of each whether the source supports it. From the
    source it writes questions that a good summary answers, and says of each whether this summary does; it does not see
    the source then.

    Formula: the lower of supported / claims and answered / questions, * `scale`, rounded to two decimals. No claims or no
    questions: 0. Not scorable: an empty answer or an empty source; the judge is not asked then.

    Bands (`scale` 1): 0.85 to 1 true and complete; 0.6 to 0.85 a point is missing or added; 0.3 to 0.6 much is; below
    that it is no summary of this source.

    Not for: length and style (`checks.max_length`, `rubric`); sources longer than the judge can read; answers that are
    no summary.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        source: The text that was to be summarized. `None` takes the user's message.
        max_questions: The most questions about the source, at least 1.
        scale: The best score, above 0.
        source_extractor: A function of the run, sync or async, that gives the source; it beats `source`.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> yes, no = ({"reason": "See the text.", "verdict": verdict} for verdict in ("yes", "no"))
        >>> model = ScriptedModel([
        ...     {"claims": ["The ferry leaves at nine."]},
        ...     {"questions": ["Does it say when the ferry leaves?", "Does it say what it costs?"]},
        ...     {"verdicts": [{"id": "c1", **yes}]},
        ...     {"verdicts": [{"id": "q1", **yes}, {"id": "q2", **no}]},
        ...     {"reason": "The price is missing."},
        ... ])
        >>> run = create_agent_test_run(input_messages="Ferry: 9:00, 5 euros. Summarize.", output="It leaves at nine.")
        >>> create_summarization_scorer(Judge(model)).run_sync(run).score
        0.5
    """
    require_scale(scale)
    mode = require_mode(verdicts)
    _require_options(source, max_questions, source_extractor)
    about_source = QUESTIONS.replace("{number}", str(max_questions))

    @asks_judge
    async def preprocess(run: Run, results: Results[None, None]) -> SummaryMaterial:
        summary, text = require_answer(run), await _source(run, source, source_extractor)
        claims, questions = await asyncio.gather(
            results.judge.ask(Prompt(CLAIMS, summary=summary), _Claims),
            results.judge.ask(Prompt(about_source, source=text), _Questions),
        )
        return SummaryMaterial(text, claims.claims, questions.questions[:max_questions])

    @asks_judge
    async def analyze(run: Run, results: Results[SummaryMaterial, None]) -> SummaryVerdicts:
        found = results.preprocess_step_result
        if not (found.claims and found.questions):
            return SummaryVerdicts([], [])
        claims, questions = await asyncio.gather(
            SUPPORT.ask(results.judge, Listing("c", found.claims), mode=mode, source=found.source),
            COVERAGE.ask(results.judge, Listing("q", found.questions), mode=mode, summary=run.final_text),
        )
        return SummaryVerdicts(claims, questions)

    def generate_score(run: Run, results: Results[SummaryMaterial, SummaryVerdicts]) -> float:
        found = results.analyze_step_result
        if not (found.claims and found.questions):
            return 0.0
        return share(min(_share_of_yes(found.claims), _share_of_yes(found.questions)), 1, scale)

    @asks_judge
    async def generate_reason(run: Run, results: Results[SummaryMaterial, SummaryVerdicts]) -> str:
        material, found = results.preprocess_step_result, results.analyze_step_result
        if not found.claims:
            return "the summary makes no claims" if not material.claims else "the source answers no questions"
        lines = (
            "supported by the source:",
            verdict_lines(found.claims, Listing("c", material.claims)),
            "answered by the summary:",
            verdict_lines(found.questions, Listing("q", material.questions)),
        )
        aspect = "being true to the source and saying what matters in it (the lower of the two shares)"
        return await ask_reason(results.judge, aspect, results.score, scale, "\n".join(lines))

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The summary is true to its source and says what matters.", range=(0, scale), judge=model
    )
    built = (
        scorer.preprocess(preprocess).analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    )
    options = {
        "source": source,
        "max_questions": max_questions,
        "scale": scale,
        "source_extractor": source_extractor,
        "verdicts": verdicts,
        "repeats": repeats,
    }
    return judged(
        built, "summarization", options, questions=[CLAIMS, QUESTIONS, SUPPORT, COVERAGE, REASON], repeats=repeats
    )


def _require_options(source: Any, max_questions: Any, source_extractor: Any) -> None:
    if isinstance(max_questions, bool) or not isinstance(max_questions, int) or max_questions < 1:
        raise OptionError(f"max_questions must be a whole number of at least 1, not {max_questions!r}")
    if source is not None and not isinstance(source, str):
        raise OptionError(f"source must be a text, not {source!r}")
    if source_extractor is not None and not callable(source_extractor):
        raise OptionError(f"source_extractor must be a function of the run, not {type(source_extractor).__name__}")


async def _source(run: Run, source: str | None, extractor: SourceOf | None) -> str:
    """The text that was to be summarized.

    Raises:
        NotScorable: It is empty.
        OptionError: The function gave something else than a text.
    """
    text: Any = await called(extractor, run) if extractor else run.user_text if source is None else source
    if not isinstance(text, str):
        raise OptionError(f"what source_extractor gives must be a text, not {type(text).__name__}")
    if not text.strip():
        raise NotScorable("there is no source")
    return text


def _share_of_yes(verdicts: list[Verdict]) -> float:
    return sum(each.verdict == "yes" for each in verdicts) / len(verdicts)
