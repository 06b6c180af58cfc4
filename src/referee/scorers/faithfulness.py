"""Faithfulness: how many of the answer's claims does the context support?"""

from __future__ import annotations

from collections.abc import Sequence

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
    given_or_tool_results,
    judged,
    require_answer,
    require_mode,
    require_scale,
    require_texts,
    share,
    verdict_lines,
)
from referee.steps import Asker, NotScorable, Results, asks_judge

EXTRACT = """\
List the factual claims that the answer makes: each says one thing and can be understood alone. Put in what pronouns \
refer to, and keep numbers, names, dates and negations as they are. Leave out questions, offers and greetings. Do not \
judge the claims.
{question}
{answer}
"""

SUPPORT = VerdictQuestion(
    """\
Decide for each claim whether the context supports it. Use the context alone, not what you know.
yes: the context says it, or it follows from the context.
no: the context says otherwise.
unsure: the context does not say.
{context}
{claims}
""",
    ("yes", "no", "unsure"),
    "claims",
    alone="""\
Does the context support the claim? Use the context alone, not what you know.
yes: the context says it, or it follows from the context.
no: the context says otherwise, or does not say.
{context}
{claims}
""",
)


class Claims(msgspec.Struct, frozen=True):
    """What the answer claims."""

    claims: list[str]


class Faithfulness(msgspec.Struct, frozen=True):
    """One verdict for each claim, in order. Only `yes` is supported."""

    verdicts: list[Verdict]


def create_faithfulness_scorer(
    model: Asker | str | None = None,
    context: Sequence[str] | None = None,
    scale: float = 1,
    *,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "faithfulness-scorer",
) -> Scorer[Claims, Faithfulness]:
    """How many of the answer's claims the context supports. Gives 0 to `scale`.

    The judge lists the claims of the final answer and says of each whether the context supports it. The score is
    supported claims / claims * scale. Not scorable: an empty answer, no context (then the judge is not asked), an answer
    without claims.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        context: The texts that the answer must rest on. `None` takes all tool results of the run; an empty list is no
            context.
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
        ...     {"claims": ["The ferry leaves at nine.", "It costs 5 euros."]},
        ...     {"verdicts": [
        ...         {"id": "c1", "reason": "The timetable says nine.", "verdict": "yes"},
        ...         {"id": "c2", "reason": "No price is given.", "verdict": "unsure"},
        ...     ]},
        ...     {"reason": "The price is not in the timetable."},
        ... ])
        >>> run = create_agent_test_run(input_messages="When is the ferry?", output="At nine, for 5 euros.")
        >>> create_faithfulness_scorer(Judge(model), context=["Ferry: 9:00"]).run_sync(run).score
        0.5
    """
    require_scale(scale)
    texts = require_texts("context", context)
    mode = require_mode(verdicts)

    @asks_judge
    async def preprocess(run: Run, results: Results[None, None]) -> Claims:
        answer = require_answer(run)
        given_or_tool_results(texts, run)
        return await results.judge.ask(Prompt(EXTRACT, question=run.user_text, answer=answer), Claims)

    @asks_judge
    async def analyze(run: Run, results: Results[Claims, None]) -> Faithfulness | NotScorable:
        claims = Listing("c", results.preprocess_step_result.claims)
        if not claims.ids:
            return NotScorable("the answer makes no claims")
        context = Listing("p", given_or_tool_results(texts, run))
        return Faithfulness(await SUPPORT.ask(results.judge, claims, mode=mode, context=context))

    def generate_score(run: Run, results: Results[Claims, Faithfulness]) -> float:
        given = [each.verdict for each in results.analyze_step_result.verdicts]
        return share(given.count("yes"), len(given), scale)

    @asks_judge
    async def generate_reason(run: Run, results: Results[Claims, Faithfulness]) -> str:
        claims = Listing("c", results.preprocess_step_result.claims)
        lines = verdict_lines(results.analyze_step_result.verdicts, claims)
        return await ask_reason(results.judge, "faithfulness to the context", results.score, scale, lines)

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="How many of the answer's claims the context supports.", range=(0, scale), judge=model
    )
    built = (
        scorer.preprocess(preprocess).analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    )
    options = {"context": texts, "scale": scale, "verdicts": verdicts, "repeats": repeats}
    return judged(built, "faithfulness", options, questions=[EXTRACT, SUPPORT, REASON], repeats=repeats)
