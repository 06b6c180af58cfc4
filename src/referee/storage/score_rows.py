"""Scores as people read them: rows of a list, and one score with everything that is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, case, select

from referee.errors import StoreError
from referee.runs import Run
from referee.scores import Score, StepError, Unscored
from referee.storage import codec
from referee.storage.outcomes import OUTCOMES, Outcome
from referee.storage.schema import experiments, run_contents, runs, score_details, scorers, scores

_WITHOUT_NUMBER = (OUTCOMES.index("error"), OUTCOMES.index("not_scorable"))


class ScoreRow(msgspec.Struct, frozen=True, kw_only=True):
    """A score in a list.

    Attributes:
        number: The score's number in this store.
        experiment, kind: What it belongs to, and whether that is an `experiment`, `recorded` or `live`.
        item, repeat: The item and which of its repetitions, from 0.
        turn: The turn that was scored, from 0; `None` for the whole run.
        run, run_id: The run's number in this store, and its id.
        scorer, version: The scorer's id and version.
        range, lower_is_better: As the scorer declares them.
        outcome: `error`, `not_scorable`, `failed`, `passed` or `unbounded`.
        value: The number, or `None`.
        reason: The reason, or why there is no number.
        at: When the run took place.
        asked, answered: The beginning of the user's text and of the answer.
    """

    number: int
    experiment: str
    kind: str
    item: str
    repeat: int
    turn: int | None
    run: int
    run_id: str
    scorer: str
    version: str
    range: tuple[float, float]
    lower_is_better: bool
    outcome: Outcome
    value: float | None
    reason: str | None
    at: datetime
    asked: str
    answered: str


class StoredScore(msgspec.Struct, frozen=True, kw_only=True):
    """A score with all its details, and the run it is of."""

    row: ScoreRow
    score: Score
    run: Run


class _Failure(msgspec.Struct):
    """As much of a score's details as tells why it has no number."""

    not_scorable: Unscored | None = None
    error: StepError | None = None


_COLUMNS = (
    scores.c.id.label("number"),
    experiments.c.key,
    experiments.c.kind,
    runs.c.item,
    runs.c.repeat,
    scores.c.turn,
    scores.c.run,
    runs.c.run_id,
    scorers.c.scorer_id,
    scorers.c.version,
    scorers.c.low,
    scorers.c.high,
    scorers.c.lower_is_better,
    scores.c.outcome,
    scores.c.value,
    score_details.c.reason,
    case((scores.c.outcome.in_(_WITHOUT_NUMBER), score_details.c.body)).label("failure"),
    scores.c.at,
    runs.c.asked,
    runs.c.answered,
)

_FROM = (
    scores.join(runs, runs.c.id == scores.c.run)
    .join(experiments, experiments.c.id == scores.c.experiment)
    .join(scorers, scorers.c.id == scores.c.scorer)
    .outerjoin(score_details, score_details.c.score == scores.c.id)
)


def read_rows(connection: Connection, numbers: Sequence[int]) -> list[ScoreRow]:
    """The scores of these numbers, in this order; those that are gone are left out."""
    query = select(*_COLUMNS).select_from(_FROM).where(scores.c.id.in_(numbers))
    found = {row.number: _row(row) for row in connection.execute(query)}
    return [found[number] for number in numbers if number in found]


def _row(row: Any) -> ScoreRow:
    return ScoreRow(
        number=row.number,
        experiment=row.key,
        kind=row.kind,
        item=row.item,
        repeat=row.repeat,
        turn=turn_of(row.turn),
        run=row.run,
        run_id=row.run_id,
        scorer=row.scorer_id,
        version=row.version,
        range=(row.low, row.high),
        lower_is_better=bool(row.lower_is_better),
        outcome=OUTCOMES[row.outcome],
        value=row.value,
        reason=row.reason or _failure(row.failure),
        at=codec.from_ms(row.at),
        asked=row.asked,
        answered=row.answered,
    )


def turn_of(stored: int) -> int | None:
    """The turn as people see it: `None` for the whole run."""
    return None if stored < 0 else stored


def _failure(body: str | None) -> str | None:
    if body is None:
        return None
    failure = codec.decode(body, _Failure)
    if failure.error is not None:
        return f"{failure.error.error_class}: {failure.error.message}"
    return failure.not_scorable.reason if failure.not_scorable else None


def read_score(connection: Connection, number: int) -> StoredScore:
    """One score with its details and its run.

    Raises:
        StoreError: There is none of this number.
    """
    rows = read_rows(connection, [number])
    if not rows:
        raise StoreError(f"there is no score {number}")
    [row] = rows
    body = connection.execute(select(run_contents.c.body).where(run_contents.c.run == row.run)).scalar()
    run = codec.decode(body, Run) if body is not None else Run(id=row.run_id)
    score = score_of(connection.execute(select(*_SCORE_COLUMNS).select_from(_FROM).where(scores.c.id == number)).one())
    return StoredScore(row=row, score=score, run=run)


_SCORE_COLUMNS = (
    runs.c.run_id,
    scorers.c.scorer_id,
    scorers.c.version,
    scorers.c.low,
    scorers.c.high,
    scorers.c.lower_is_better,
    scores.c.value,
    score_details.c.reason,
    score_details.c.body,
)


def score_of(row: Any) -> Score:
    """The score of a row with the columns of run id, scorer, value and details."""
    kept = {} if row.body is None else codec.decode(row.body, dict[str, Any])
    fields = {
        "run_id": row.run_id,
        "scorer_id": row.scorer_id,
        "scorer_version": row.version,
        "score": row.value,
        "reason": row.reason,
        "range": (row.low, row.high),
        "lower_is_better": bool(row.lower_is_better),
    }
    # Details with characters that no JSON can carry were written with their empty fields (see `codec.encode`).
    return msgspec.convert({**fields, **{name: value for name, value in kept.items() if value is not None}}, Score)
