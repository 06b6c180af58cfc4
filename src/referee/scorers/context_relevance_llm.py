"""Context relevance by a judge: was the context about the question, used, and complete?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec

from referee.judge.forms import one_for_each
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing, Prompt
from referee.runs import Run
from referee.scorers.context import Context, ContextOf
from referee.scorers.judging import (
    REASON,
    VerdictMode,
    VerdictQuestion,
    ask_reason,
    judged,
    require_answer,
    require_fields,
    require_mode,
    require_scale,
    share,
)
from referee.steps import Asker, Consultation, Results, asks_judge

WEIGHTS = {"high": 1.0, "medium": 0.7, "low": 0.3, "none": 0.0}

_LEVELS = """\
high: it holds what is needed to answer the question.
medium: it helps to answer a part of the question.
low: it is about the same subject, but hardly helps.
none: it is about something else.
"""

_USE = """\
yes: something in the answer rests on it.
no: the answer does without it.
"""

_MISSING = """\
List in missing_context what the context lacks and a full answer to the question needs, one thing each. If nothing is \
lacking, the list is empty.
"""

JUDGE = f"""\
Decide for each piece of context how relevant it is for the question.
{_LEVELS}
Decide too whether the answer used it.
{_USE}
{_MISSING}
{{question}}
{{answer}}
{{context}}
"""

RELEVANCE = VerdictQuestion(
    f"Decide how relevant the piece of context is for the question.\n{_LEVELS}\n{{question}}\n{{context}}\n",
    ("high", "medium", "low", "none"),
    "context",
)

USE = VerdictQuestion(
    f"Decide whether the answer used the piece of context.\n{_USE}\n{{question}}\n{{answer}}\n{{context}}\n",
    ("yes", "no"),
    "context",
)

MISSING = f"{_MISSING}\n{{question}}\n{{answer}}\n{{context}}\n"

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class ContextPenalties(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is taken off, 0 to 1 each.

    Attributes:
        unused_high_relevance_context: For each piece of high relevance that the answer did not use.
        missing_context_per_item: For each thing that the context lacks.
        max_missing_context_penalty: The most for all that it lacks.
    """

    unused_high_relevance_context: Share = 0.1
    missing_context_per_item: Share = 0.15
    max_missing_context_penalty: Share = 0.5


class _Piece(msgspec.Struct, frozen=True):
    id: str
    reason: str
    relevance: Literal["high", "medium", "low", "none"]
    used: Literal["yes", "no"]


class _Missing(msgspec.Struct, frozen=True):
    missing_context: list[str]


class _Pieces(msgspec.Struct, frozen=True):
    pieces: list[_Piece]
    missing_context: list[str]


class PieceRelevance(msgspec.Struct, frozen=True):
    """How relevant one piece of context is, whether the answer used it, and why."""

    piece: str
    relevance: str
    used: bool
    reason: str


class ContextRelevance(msgspec.Struct, frozen=True):
    """One evaluation for each piece of context, in order, and what the context lacks."""

    pieces: list[PieceRelevance]
    missing_context: list[str]


def create_context_relevance_scorer_llm(
    model: Asker | str | None = None,
    context: Sequence[str] | None = None,
    scale: float = 1,
    *,
    context_extractor: ContextOf | None = None,
    penalties: Mapping[str, float] | None = None,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "context-relevance-scorer",
) -> Scorer[None, ContextRelevance]:
    """How relevant the context was for the question, whether the answer used it, and whether something was missing.

    The judge gives each piece of context a level, says whether the answer used it, and lists what a full answer would
    have needed besides.

    Formula: (mean over the pieces of high 1, medium 0.7, low 0.3, none 0; minus 0.1 for each piece of level high that
    was not used; minus 0.15 for each missing thing, at most 0.5; not below 0) * `scale`, rounded to two decimals. Not
    scorable: an empty answer or no context; the judge is not asked then.

    Bands (`scale` 1): 0.9 to 1 the context fits and is used; 0.7 to 0.9 some of it is beside the point or unused; 0.4 to
    0.7 much is irrelevant or missing; below that the agent worked with the wrong context.

    Not for: the order of the context (`context_precision`); whether the answer keeps to it (`faithfulness`); long lists
    of search results of which one suffices (the others lower the mean).

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        context: The texts. `None` takes all tool results of the run; an empty list is no context.
        scale: The best score, above 0.
        context_extractor: A function of the run, sync or async, that gives the texts; it beats `context`.
        penalties: Other penalties than those above, 0 to 1: `unused_high_relevance_context`,
            `missing_context_per_item`, `max_missing_context_penalty`.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities (what is
            missing is a list, and asked for as JSON).
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([
        ...     {"pieces": [
        ...         {"id": "p1", "reason": "It gives the time.", "relevance": "high", "used": "yes"},
        ...         {"id": "p2", "reason": "It is about a museum.", "relevance": "none", "used": "no"},
        ...     ], "missing_context": []},
        ...     {"reason": "Half of the context is about a museum."},
        ... ])
        >>> run = create_agent_test_run(input_messages="When is the ferry?", output="At nine.")
        >>> scorer = create_context_relevance_scorer_llm(Judge(model), context=["Ferry: 9:00", "Museum: free"])
        >>> scorer.run_sync(run).score
        0.5
    """
    require_scale(scale)
    source = Context(context, context_extractor)
    costs = require_fields("penalties", penalties, ContextPenalties)
    mode = require_mode(verdicts)

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> ContextRelevance:
        answer = require_answer(run)
        pieces = Listing("p", await source.of(run))
        if mode == "logprobs":
            return await _by_probability(results.judge, pieces, run.user_text, answer)
        prompt = Prompt(JUDGE, question=run.user_text, answer=answer, context=pieces)
        reply = await results.judge.ask(prompt, one_for_each(_Pieces, pieces=pieces.ids))
        evaluations = [
            PieceRelevance(piece, given.relevance, given.used == "yes", given.reason)
            for piece, given in zip(pieces.texts, reply.pieces)
        ]
        return ContextRelevance(evaluations, reply.missing_context)

    def generate_score(run: Run, results: Results[None, ContextRelevance]) -> float:
        found = results.analyze_step_result
        mean = sum(WEIGHTS[each.relevance] for each in found.pieces) / len(found.pieces)
        unused = sum(each.relevance == "high" and not each.used for each in found.pieces)
        missing = min(len(found.missing_context) * costs.missing_context_per_item, costs.max_missing_context_penalty)
        return share(max(0.0, mean - unused * costs.unused_high_relevance_context - missing), 1, scale)

    @asks_judge
    async def generate_reason(run: Run, results: Results[None, ContextRelevance]) -> str:
        found = results.analyze_step_result
        lines = [
            f"{each.relevance}, {'used' if each.used else 'not used'}: {' '.join(each.piece.split())} ({each.reason})"
            for each in found.pieces
        ]
        lines += [f"missing: {each}" for each in found.missing_context]
        aspect = "the relevance, use and completeness of its context"
        return await ask_reason(results.judge, aspect, results.score, scale, "\n".join(lines), question=run.user_text)

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The context was about the question, used, and complete.", range=(0, scale), judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {
        "context": source.texts,
        "scale": scale,
        "context_extractor": context_extractor,
        "penalties": dict(penalties) if penalties else None,
        "verdicts": verdicts,
        "repeats": repeats,
    }
    return judged(
        built, "context_relevance_llm", options, questions=[JUDGE, RELEVANCE, USE, MISSING, REASON], repeats=repeats
    )


async def _by_probability(judge: Consultation, pieces: Listing, question: str, answer: str) -> ContextRelevance:
    levels = await RELEVANCE.ask(judge, pieces, mode="logprobs", question=question)
    uses = await USE.ask(judge, pieces, mode="logprobs", question=question, answer=answer)
    missing = await judge.ask(Prompt(MISSING, question=question, answer=answer, context=pieces), _Missing)
    evaluations = [
        PieceRelevance(piece, level.verdict, use.verdict == "yes", "")
        for piece, level, use in zip(pieces.texts, levels, uses)
    ]
    return ContextRelevance(evaluations, missing.missing_context)
