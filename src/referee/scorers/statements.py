"""Scorers that take a text apart and ask one question about each of its statements: the score is a share of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

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
    share,
    verdict_lines,
)
from referee.steps import Asker, NotScorable, Results, asks_judge


class Material(msgspec.Struct, frozen=True):
    """What there is to judge.

    Attributes:
        extract: The material for the question that takes a text apart, by name.
        context: The texts that the statements are judged by.
    """

    extract: dict[str, str]
    context: list[str] = []


class Statements(msgspec.Struct, frozen=True):
    """A text, taken apart."""

    statements: list[str]


class JudgedStatements(msgspec.Struct, frozen=True, omit_defaults=True):
    """The statements that are judged, and the context that they are judged by."""

    statements: list[str]
    context: list[str] = []


class StatementVerdicts(msgspec.Struct, frozen=True):
    """One verdict for each statement, in order. The question's first word counts towards the score."""

    verdicts: list[Verdict]


def statement_scorer(
    model: Asker | str | None,
    *,
    kind: str,
    id: str,
    description: str,
    extract: str,
    question: VerdictQuestion,
    material: Callable[[Run], Awaitable[Material]],
    aspect: str,
    without_statements: float | str,
    options: Mapping[str, Any],
    scale: float,
    verdicts: VerdictMode,
    repeats: int,
    lower_is_better: bool = False,
) -> Scorer[JudgedStatements, StatementVerdicts]:
    """A scorer whose score is counted statements / statements * scale.

    Args:
        model: The judge, or its name.
        kind: The factory's short name.
        id: The scorer's id.
        description: What it measures, in one line.
        extract: The question that takes a text apart; the reply is a list of `statements`.
        question: The question about each statement. Its first word counts towards the score.
        material: What there is to judge in a run; raises `NotScorable` when there is nothing, before the judge is asked.
        aspect: What is scored, for the question about the reason.
        without_statements: The score of a text without statements, or the words why there is none.
        options: The factory's options without the next three.
        scale: The highest score.
        verdicts: How verdicts are asked for.
        repeats: How often a run is scored.
        lower_is_better: Whether the counted statements are bad ones.

    Raises:
        OptionError: An option is out of its range.
    """
    require_scale(scale)
    mode = require_mode(verdicts)

    @asks_judge
    async def preprocess(run: Run, results: Results[None, None]) -> JudgedStatements:
        given = await material(run)
        found = await results.judge.ask(Prompt(extract, **given.extract), Statements)
        return JudgedStatements(found.statements, given.context)

    @asks_judge
    async def analyze(run: Run, results: Results[JudgedStatements, None]) -> StatementVerdicts | NotScorable:
        found = results.preprocess_step_result
        if not found.statements and isinstance(without_statements, str):
            return NotScorable(without_statements)
        context = {"context": Listing("p", found.context)} if found.context else {}
        return StatementVerdicts(await question.ask(results.judge, _listing(found), mode=mode, **context))

    def generate_score(run: Run, results: Results[JudgedStatements, StatementVerdicts]) -> float:
        given = [each.verdict for each in results.analyze_step_result.verdicts]
        return share(given.count(question.words[0]), len(given), scale) if given else float(without_statements)

    @asks_judge
    async def generate_reason(run: Run, results: Results[JudgedStatements, StatementVerdicts]) -> str:
        found = results.preprocess_step_result
        if not found.statements:
            return "there is nothing of this kind in the answer"
        lines = verdict_lines(results.analyze_step_result.verdicts, _listing(found))
        return await ask_reason(results.judge, aspect, results.score, scale, lines)

    scorer: Scorer[None, None] = create_scorer(
        id=id, description=description, range=(0, scale), lower_is_better=lower_is_better, judge=model
    )
    built = (
        scorer.preprocess(preprocess).analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    )
    every_option = {**options, "scale": scale, "verdicts": verdicts, "repeats": repeats}
    return judged(built, kind, every_option, questions=[extract, question, REASON], repeats=repeats)


def _listing(found: JudgedStatements) -> Listing:
    return Listing("s", found.statements)
