"""Hallucination: how many of the answer's statements does the context not support?"""

from __future__ import annotations

from collections.abc import Sequence

from referee.pipeline import Scorer
from referee.runs import Run
from referee.scorers.context import Context, ContextOf
from referee.scorers.judging import VerdictMode, VerdictQuestion, require_answer
from referee.scorers.statements import JudgedStatements, Material, StatementVerdicts, statement_scorer
from referee.steps import Asker

EXTRACT = """\
List the statements of fact that the answer makes: each says one thing and can be understood alone. Put in what pronouns \
refer to, and keep numbers, names, dates and negations as they are. Take what the answer guesses or supposes for a \
statement too. Leave out questions, offers and greetings. Do not judge the statements.
{question}
{answer}
"""

UNSUPPORTED = VerdictQuestion(
    """\
Compare each statement with the context. Use the context alone, not what you know: a true statement that the context does \
not contain counts as invented.
yes: invented. The context says otherwise, or does not say it.
no: the context says it, or it follows from the context.
{context}
{statements}
""",
    ("yes", "no"),
    "statements",
    alone="""\
Does the context support the statement? Use the context alone, not what you know.
yes: the context says it, or it follows from the context.
no: the context says otherwise, or does not say it.
{context}
{statements}
""",
    opposite=True,
)


def create_hallucination_scorer(
    model: Asker | str | None = None,
    context: Sequence[str] | None = None,
    scale: float = 1,
    *,
    get_context: ContextOf | None = None,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "hallucination-scorer",
) -> Scorer[JudgedStatements, StatementVerdicts]:
    """How many of the answer's statements are invented: the context contradicts them or does not contain them.

    Lower is better. The judge lists the statements of fact in the final answer and says of each whether it is invented.
    Only the context counts: what the judge knows to be true, and the context does not say, is invented too.

    Formula: invented / statements * `scale`, rounded to two decimals. No statements: 0. Not scorable: an empty answer, or
    no context; the judge is not asked then.

    Bands (`scale` 1): 0 the answer keeps to the context; up to 0.25 a detail is invented; up to 0.6 much of it; above
    that the answer has little to do with the context.

    Not for: answers that may use general knowledge (every true fact from outside the context counts as invented);
    chat without facts; questions of style. How much is supported, with "unsure" told apart, is `faithfulness`.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        context: The texts that the answer must rest on. `None` takes all tool results of the run; an empty list is no
            context.
        scale: The score of an answer that is all invented, above 0.
        get_context: A function of the run, sync or async, that gives the texts; it beats `context`.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([
        ...     {"statements": ["The ferry leaves at nine.", "It costs 5 euros."]},
        ...     {"verdicts": [
        ...         {"id": "s1", "reason": "The timetable says nine.", "verdict": "no"},
        ...         {"id": "s2", "reason": "No price is given.", "verdict": "yes"},
        ...     ]},
        ...     {"reason": "The price is invented."},
        ... ])
        >>> run = create_agent_test_run(input_messages="When is the ferry?", output="At nine, for 5 euros.")
        >>> create_hallucination_scorer(Judge(model), context=["Ferry: 9:00"]).run_sync(run).score
        0.5
    """
    source = Context(context, get_context, "get_context")

    async def material(run: Run) -> Material:
        answer = require_answer(run)
        return Material({"question": run.user_text, "answer": answer}, await source.of(run))

    return statement_scorer(
        model,
        kind="hallucination",
        id=id,
        description="How many of the answer's statements the context contradicts or does not contain.",
        extract=EXTRACT,
        question=UNSUPPORTED,
        material=material,
        aspect="invented statements (lower is better)",
        without_statements=0.0,
        options={"context": source.texts, "get_context": get_context},
        scale=scale,
        verdicts=verdicts,
        repeats=repeats,
        lower_is_better=True,
    )
