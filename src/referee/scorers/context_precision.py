"""Context precision: does the useful context come first?"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing
from referee.runs import Run
from referee.scorers.context import Context, ContextOf
from referee.scorers.judging import (
    REASON,
    Verdict,
    VerdictMode,
    VerdictQuestion,
    ask_reason,
    judged,
    require_answer,
    require_mode,
    require_scale,
    share,
    verdict_lines,
)
from referee.steps import Asker, Results, asks_judge

USEFUL = VerdictQuestion(
    """\
Decide for each piece of context whether it was useful for the answer to the question.
yes: it holds something that the answer needs or rests on.
no: the answer could have been given just as well without it.
{question}
{answer}
{context}
""",
    ("yes", "no"),
    "context",
)


class ContextPrecision(msgspec.Struct, frozen=True):
    """The pieces of context, and one verdict for each, in order: `yes` is useful."""

    context: list[str]
    verdicts: list[Verdict]


def create_context_precision_scorer(
    model: Asker | str | None = None,
    context: Sequence[str] | None = None,
    scale: float = 1,
    *,
    context_extractor: ContextOf | None = None,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "context-precision-scorer",
) -> Scorer[None, ContextPrecision]:
    """How far at the front of the context its useful pieces stand: did the retrieval rank well?

    The judge says of each piece of context whether it was useful for the answer.

    Formula: average precision * `scale`, rounded to two decimals. At each useful piece, in the order of the context, the
    share of useful pieces so far is taken; the score is the mean of these shares. No useful piece: 0. Not scorable: an
    empty answer or no context; the judge is not asked then.

    Bands (`scale` 1): 1 all useful pieces come first; 0.6 to 1 some useless ones are between; 0.3 to 0.6 the useful ones
    come late; below that hardly anything useful is in front.

    Not for: context without an order; how much useful context is there (one useful piece in front scores 1: see
    `context_relevance_llm`), or whether something is missing (`context_recall`).

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        context: The texts, best first. `None` takes all tool results of the run; an empty list is no context.
        scale: The best score, above 0.
        context_extractor: A function of the run, sync or async, that gives the texts; it beats `context`.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([
        ...     {"verdicts": [
        ...         {"id": "p1", "reason": "It is about a museum.", "verdict": "no"},
        ...         {"id": "p2", "reason": "It gives the time.", "verdict": "yes"},
        ...     ]},
        ...     {"reason": "The timetable came second."},
        ... ])
        >>> run = create_agent_test_run(input_messages="When is the ferry?", output="At nine.")
        >>> create_context_precision_scorer(Judge(model), context=["Museum: free", "Ferry: 9:00"]).run_sync(run).score
        0.5
    """
    require_scale(scale)
    source = Context(context, context_extractor)
    mode = require_mode(verdicts)

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> ContextPrecision:
        answer = require_answer(run)
        pieces = await source.of(run)
        found = await USEFUL.ask(results.judge, Listing("p", pieces), mode=mode, question=run.user_text, answer=answer)
        return ContextPrecision(pieces, found)

    def generate_score(run: Run, results: Results[None, ContextPrecision]) -> float:
        useful = [each.verdict == "yes" for each in results.analyze_step_result.verdicts]
        return share(average_precision(useful), 1, scale)

    @asks_judge
    async def generate_reason(run: Run, results: Results[None, ContextPrecision]) -> str:
        found = results.analyze_step_result
        lines = verdict_lines(found.verdicts, Listing("p", found.context))
        aspect = "how far in front the useful pieces of its context stand"
        return await ask_reason(results.judge, aspect, results.score, scale, lines, question=run.user_text)

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="How far in front the useful pieces of the context stand.", range=(0, scale), judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {
        "context": source.texts,
        "scale": scale,
        "context_extractor": context_extractor,
        "verdicts": verdicts,
        "repeats": repeats,
    }
    return judged(built, "context_precision", options, questions=[USEFUL, REASON], repeats=repeats)


def average_precision(useful: Sequence[bool]) -> float:
    """The mean, over the useful places, of the share of useful ones up to there; 0 if there are none.

    Example:
        >>> average_precision([True, False, True]), average_precision([False])
        (0.8333333333333333, 0.0)
    """
    shares = [sum(useful[:place]) / place for place in range(1, len(useful) + 1) if useful[place - 1]]
    return sum(shares) / len(shares) if shares else 0.0
