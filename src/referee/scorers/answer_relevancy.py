"""Answer relevancy: how much of the answer is about the question?"""

from __future__ import annotations

from typing import Literal

import msgspec

from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing, Prompt
from referee.runs import Run
from referee.scorers.judging import (
    REASON,
    Verdict,
    VerdictMode,
    VerdictQuestion,
    ask_reason,
    judged,
    require_mode,
    require_scale,
    require_share,
    share,
    verdict_lines,
)
from referee.steps import Asker, Results, asks_judge

EXTRACT = """\
Split the answer into statements: each says one thing and can be understood alone. Put in what pronouns and short \
replies refer to. Leave nothing out and add nothing. Greetings and offers of further help are statements too.
{question}
{answer}
"""

RELEVANCE = VerdictQuestion(
    """\
For each statement of an answer, decide whether it helps to answer the question. Judge what it is about, how complete and \
how detailed it is. Do not judge whether it is true.
yes: it answers the question or a part of it, or gives a detail that the question needs.
unsure: it is about the same subject, but helps only a little or indirectly.
no: it is about something else.
{question}
{statements}
""",
    ("yes", "unsure", "no"),
    "statements",
    alone="""\
Does the statement help to answer the question? Do not judge whether it is true.
yes: it answers the question or a part of it, or gives a detail that the question needs.
no: it is about something else.
{question}
{statements}
""",
)


class Statements(msgspec.Struct, frozen=True):
    """The answer, taken apart."""

    statements: list[str]


class Relevance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether one statement is relevant, and why. `confidence` is the probability of yes, with `verdicts="logprobs"`."""

    result: Literal["yes", "unsure", "no"]
    reason: str
    confidence: float | None = None


class AnswerRelevancy(msgspec.Struct, frozen=True):
    """One result for each statement, in order."""

    results: list[Relevance]


def create_answer_relevancy_scorer(
    model: Asker | str | None = None,
    uncertainty_weight: float = 0.3,
    scale: float = 1,
    *,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "answer-relevancy-scorer",
) -> Scorer[Statements, AnswerRelevancy]:
    """How much of the answer is about the question. Gives 0 to `scale`.

    The judge splits the final answer into statements and says of each whether it helps to answer the user's question:
    relevance, completeness and detail count, truth does not. The score is
    (yes + `uncertainty_weight` * unsure) / statements * scale. An empty answer scores 0.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        uncertainty_weight: What a statement counts of which the judge is unsure, 0 to 1.
        scale: The best score, above 0.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([
        ...     {"statements": ["The ferry leaves at nine.", "The harbour is pretty."]},
        ...     {"verdicts": [
        ...         {"id": "s1", "reason": "It gives the time.", "verdict": "yes"},
        ...         {"id": "s2", "reason": "Nobody asked.", "verdict": "no"},
        ...     ]},
        ...     {"reason": "Half of the answer is about the harbour."},
        ... ])
        >>> run = create_agent_test_run(input_messages="When is the ferry?", output="At nine. The harbour is pretty.")
        >>> create_answer_relevancy_scorer(Judge(model)).run_sync(run).score
        0.5
    """
    require_share("uncertainty_weight", uncertainty_weight)
    require_scale(scale)
    mode = require_mode(verdicts)

    @asks_judge
    async def preprocess(run: Run, results: Results[None, None]) -> Statements:
        if not run.final_text.strip():
            return Statements([])
        return await results.judge.ask(Prompt(EXTRACT, question=run.user_text, answer=run.final_text), Statements)

    @asks_judge
    async def analyze(run: Run, results: Results[Statements, None]) -> AnswerRelevancy:
        statements = Listing("s", results.preprocess_step_result.statements)
        found = await RELEVANCE.ask(results.judge, statements, mode=mode, question=run.user_text)
        return AnswerRelevancy([Relevance(each.verdict, each.reason, each.confidence) for each in found])  # type: ignore[arg-type]

    def generate_score(run: Run, results: Results[Statements, AnswerRelevancy]) -> float:
        given = [each.result for each in results.analyze_step_result.results]
        if not given:
            return 0.0
        return share(given.count("yes") + uncertainty_weight * given.count("unsure"), len(given), scale)

    @asks_judge
    async def generate_reason(run: Run, results: Results[Statements, AnswerRelevancy]) -> str:
        statements = Listing("s", results.preprocess_step_result.statements)
        if not statements.ids:
            return "the answer is empty" if not run.final_text.strip() else "the answer says nothing"
        found = [
            Verdict(own_id, each.reason, each.result)
            for own_id, each in zip(statements.ids, results.analyze_step_result.results)
        ]
        return await ask_reason(
            results.judge,
            "relevance to the question",
            results.score,
            scale,
            verdict_lines(found, statements),
            question=run.user_text,
        )

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="How much of the answer is about the question.", range=(0, scale), judge=model
    )
    built = (
        scorer.preprocess(preprocess).analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    )
    options = {"uncertainty_weight": uncertainty_weight, "scale": scale, "verdicts": verdicts, "repeats": repeats}
    return judged(built, "answer_relevancy", options, questions=[EXTRACT, RELEVANCE, REASON], repeats=repeats)
