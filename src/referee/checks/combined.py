"""Scorers joined by "and", "or" and "not".

A joined scorer first brings each part's score to 0 to 1 with 1 as the good end: a part of another range is scaled, one
for which lower is better is turned round. Parts that only know 1 and 0 combine as in logic; others by the lowest, the
highest, and the distance from 1. An outcome that the parts with a number already settle is given; else an error of a
part is the joined scorer's error, and else a part that is not scorable makes it not scorable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.fingerprint import fingerprint
from referee.pipeline import Scorer, as_scorer, create_scorer
from referee.runs import Run
from referee.scores import Score, StepError
from referee.steps import Asker, Consultation, NotScorable, Results, asks_judge, not_scorable

#: A scorer, or a plain function that `as_scorer` takes.
AnyScorer: TypeAlias = Scorer[Any, Any] | Callable[..., Any]

#: Keeps the repeats of a joined scorer apart from the repeats of its parts.
_REPEAT_STRIDE = 1000


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one part gave: its own `score`, and the `value` that counts, 0 to 1 with 1 as the good end."""

    scorer_id: str
    status: str
    value: float | None = None
    score: float | None = None
    reason: str | None = None
    error: StepError | None = None


class Joined(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the parts gave, in order; `not_run` are those that could not change the outcome any more."""

    parts: list[Part]
    not_run: list[str] = []


def all_of(*scorers: AnyScorer | Sequence[AnyScorer], id: str | None = None) -> Scorer[None, Joined]:
    """The lowest score of several scorers: 1 when all of them give 1.

    | the parts give | outcome |
    |---|---|
    | a 0, whatever the others give | 0 |
    | otherwise an error | error |
    | otherwise something not scorable | not scorable |
    | only numbers | the lowest |

    The parts run from left to right until one gives 0, so put those that ask no judge first.

    Args:
        scorers: Scorers, or a list of them; judged ones too. Scores of another range count as their share of it, and
            those for which lower is better are turned round.
        id: Another id than `check-all-of`.

    Returns:
        A scorer that gives 0 to 1.

    Raises:
        OptionError: No scorer is given, or something that is none.

    Example:
        >>> from referee import checks
        >>> from referee.testing import create_agent_test_run
        >>> scorer = all_of(checks.includes("sunny"), checks.excludes("sorry"))
        >>> scorer.run_sync(create_agent_test_run(output="Sorry, I do not know.")).reason
        'check-includes 0: the text does not contain "sunny"; not run: check-excludes'
    """
    parts = _parts("all_of", scorers)
    return _joined("all_of", parts, id, "All of: ", settled=0.0, choose=min)


def any_of(*scorers: AnyScorer | Sequence[AnyScorer], id: str | None = None) -> Scorer[None, Joined]:
    """The highest score of several scorers: 1 when one of them gives 1.

    | the parts give | outcome |
    |---|---|
    | a 1, whatever the others give | 1 |
    | otherwise an error | error |
    | otherwise something not scorable | not scorable |
    | only numbers | the highest |

    The parts run from left to right until one gives 1, so put those that ask no judge first.

    Args:
        scorers: Scorers, or a list of them; judged ones too. Scores of another range count as their share of it, and
            those for which lower is better are turned round.
        id: Another id than `check-any-of`.

    Returns:
        A scorer that gives 0 to 1.

    Raises:
        OptionError: No scorer is given, or something that is none.

    Example:
        >>> from referee import checks
        >>> from referee.testing import create_agent_test_run
        >>> scorer = any_of(checks.includes("sunny"), checks.includes("clear"))
        >>> scorer.run_sync(create_agent_test_run(output="The sky is clear.")).score
        1.0
    """
    parts = _parts("any_of", scorers)
    return _joined("any_of", parts, id, "Any of: ", settled=1.0, choose=max)


def not_(scorer: AnyScorer, *, id: str | None = None) -> Scorer[None, Joined]:
    """The opposite of a scorer: 1 minus its score.

    | the part gives | outcome |
    |---|---|
    | a number | 1 minus the number |
    | an error | error |
    | not scorable | not scorable |

    Args:
        scorer: The scorer; a judged one too. A score of another range counts as its share of it, and one for which
            lower is better is turned round first.
        id: Another id than `check-not`.

    Returns:
        A scorer that gives 0 to 1.

    Raises:
        OptionError: It is no scorer.

    Example:
        >>> from referee import checks
        >>> from referee.testing import create_agent_test_run
        >>> not_(checks.equals("I do not know.")).run_sync(create_agent_test_run(output="It is sunny.")).score
        1.0
    """
    parts = _parts("not_", [scorer])
    return _joined("not_", parts, id or "check-not", "Not: ", settled=None, choose=lambda values: 1.0 - values[0])


def _parts(check_name: str, given: Sequence[AnyScorer | Sequence[AnyScorer]]) -> list[Scorer[Any, Any]]:
    listed = given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given
    if not listed:
        raise OptionError(f"checks.{check_name}: give at least one scorer")
    return [as_scorer(scorer) for scorer in listed]


def _joined(
    name: str,
    parts: list[Scorer[Any, Any]],
    id: str | None,
    words: str,
    *,
    settled: float | None,
    choose: Callable[[list[float]], float],
) -> Scorer[None, Joined]:
    def analyze(run: Run) -> Joined:
        given = []
        for place, part in enumerate(parts, 1):
            given.append(_part(part, part.run_sync(run)))
            if given[-1].value is not None and given[-1].value == settled:
                return Joined(given, [other.id for other in parts[place:]])
        return Joined(given)

    async def analyze_async(run: Run, results: Results[None, None]) -> Joined:
        given = []
        for place, part in enumerate(parts, 1):
            given.append(_part(part, await _run_inside(part, run, results.judge)))
            if given[-1].value is not None and given[-1].value == settled:
                return Joined(given, [other.id for other in parts[place:]])
        return Joined(given)

    def generate_score(run: Run, results: Results[None, Joined]) -> float | Score | NotScorable:
        return _outcome(run, results.analyze_step_result.parts, settled, choose)

    start: Scorer[None, None] = create_scorer(
        id=id or f"check-{name.replace('_', '-')}", description=words + ", ".join(part.id for part in parts) + "."
    )
    if any(part.needs_judge for part in parts):
        asks_judge(analyze_async)
    analyzed = (
        start.analyze(analyze)
        if all(part.is_synchronous and not part.needs_judge for part in parts)
        else start.analyze(analyze_async)
    )
    return (
        analyzed.generate_score(generate_score)
        .generate_reason(_reason)
        .as_kind(f"checks.{name}", {"scorer": parts[0]} if name == "not_" else {"scorers": parts})
    )


async def _run_inside(part: Scorer[Any, Any], run: Run, consultation: Consultation) -> Score:
    """Run a part with the joined scorer's judge; what it asked is kept with the joined scorer."""
    asker = consultation.asker
    if asker is not None and consultation.repeat:
        asker = _Repeated(asker, consultation.repeat)
    score = await part.run(run, judge=asker)
    consultation.include(score)
    return score


class _Repeated:
    """A judge inside one repeat of a joined scorer: its answers are new in each repeat, not those of the first."""

    def __init__(self, asker: Asker, repeat: int) -> None:
        self._asker = asker
        self._first = repeat * _REPEAT_STRIDE
        self.fingerprint = fingerprint(asker)

    async def ask(self, prompt: Any, returns: type[Any]) -> Any:
        return await self._asker.ask(prompt, returns)

    async def consult(self, prompt: Any, returns: type[Any], *, repeat: int = 0) -> Any:
        consult = getattr(self._asker, "consult", None)
        if consult is None:
            return await self._asker.ask(prompt, returns), None
        return await consult(prompt, returns, repeat=self._first + repeat)


def _part(scorer: Scorer[Any, Any], score: Score) -> Part:
    reason = score.not_scorable.reason if score.not_scorable else score.reason
    return Part(scorer.id, score.status, _value(scorer, score), score.score, reason, score.error)


def _value(scorer: Scorer[Any, Any], score: Score) -> float | None:
    if score.score is None:
        return None
    low, high = scorer.range
    share = (score.score - low) / (high - low)
    return 1.0 - share if scorer.lower_is_better else share


def _outcome(
    run: Run, parts: list[Part], settled: float | None, choose: Callable[[list[float]], float]
) -> float | Score | NotScorable:
    values = [part.value for part in parts if part.value is not None]
    if settled is not None and settled in values:
        return settled
    for part in parts:
        if part.error is not None:
            error = msgspec.structs.replace(part.error, message=f"{part.scorer_id}: {part.error.message}")
            return Score(run.id, part.scorer_id, error=error)
    for part in parts:
        if part.value is None:
            return not_scorable(f"{part.scorer_id}: {part.reason}")
    return choose(values)


def _reason(run: Run, results: Results[None, Joined]) -> str:
    joined = results.analyze_step_result
    sentences = [_told(part) for part in joined.parts]
    if joined.not_run:
        sentences.append(f"not run: {', '.join(joined.not_run)}")
    return "; ".join(sentences)


def _told(part: Part) -> str:
    if part.error is not None:
        return f"{part.scorer_id} failed: {part.error.message}"
    given = "not scorable" if part.score is None else f"{part.score:g}"
    return f"{part.scorer_id} {given}" + (f": {part.reason}" if part.reason else "")
