"""Context recall: does the context hold everything that the right answer needs?"""

from __future__ import annotations

from collections.abc import Sequence

from referee.pipeline import Scorer
from referee.runs import Run
from referee.scorers.context import Context, ContextOf
from referee.scorers.judging import VerdictMode, VerdictQuestion, require_answer, require_ground_truth
from referee.scorers.statements import JudgedStatements, Material, StatementVerdicts, statement_scorer
from referee.steps import Asker

EXTRACT = """\
List the claims that the right answer makes: each says one thing and can be understood alone. Put in what pronouns refer \
to, and keep numbers, names, dates and negations as they are. Leave nothing out and add nothing.
{question}
{right_answer}
"""

FOUND = VerdictQuestion(
    """\
Decide for each claim whether it can be found in the context. Use the context alone, not what you know.
yes: the context says it, or it follows from the context.
no: the context says otherwise, or does not say it.
{context}
{statements}
""",
    ("yes", "no"),
    "statements",
)


def create_context_recall_scorer(
    model: Asker | str | None = None,
    context: Sequence[str] | None = None,
    scale: float = 1,
    *,
    context_extractor: ContextOf | None = None,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "context-recall-scorer",
) -> Scorer[JudgedStatements, StatementVerdicts]:
    """How much of the right answer the context holds: did the retrieval find what was needed?

    The judge takes the ground truth apart into claims and says of each whether the context holds it. The agent's answer
    is not judged.

    Formula: claims found in the context / claims * `scale`, rounded to two decimals. Not scorable: no ground truth, no
    context, an empty answer (the judge is not asked then), or a ground truth without claims.

    Bands (`scale` 1): 1 everything needed was found; 0.7 to 1 a detail is missing; 0.3 to 0.7 half of it; below that the
    retrieval missed the subject.

    Not for: runs without a ground truth; a ground truth that is one word or a number (one claim gives 0 or 1 alone);
    the quality of the answer (`answer_similarity`). Context that is too much is not punished here: see
    `context_precision`.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        context: The retrieved texts. `None` takes all tool results of the run; an empty list is no context.
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
        ...     {"statements": ["The ferry leaves at nine.", "Dogs travel free."]},
        ...     {"verdicts": [
        ...         {"id": "s1", "reason": "The timetable says nine.", "verdict": "yes"},
        ...         {"id": "s2", "reason": "Dogs are not mentioned.", "verdict": "no"},
        ...     ]},
        ...     {"reason": "Nothing about dogs was found."},
        ... ])
        >>> run = create_agent_test_run(output="At nine.", ground_truth="The ferry leaves at nine; dogs travel free.")
        >>> create_context_recall_scorer(Judge(model), context=["Ferry: 9:00"]).run_sync(run).score
        0.5
    """
    source = Context(context, context_extractor)

    async def material(run: Run) -> Material:
        require_answer(run)
        right_answer = require_ground_truth(run)
        return Material({"question": run.user_text, "right_answer": right_answer}, await source.of(run))

    return statement_scorer(
        model,
        kind="context_recall",
        id=id,
        description="How much of the right answer the context holds.",
        extract=EXTRACT,
        question=FOUND,
        material=material,
        aspect="how much of the right answer the context holds",
        without_statements="the ground truth makes no claims",
        options={"context": source.texts, "context_extractor": context_extractor},
        scale=scale,
        verdicts=verdicts,
        repeats=repeats,
    )
