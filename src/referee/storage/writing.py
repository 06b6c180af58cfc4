"""Writes of runs with their scores: idempotent by result key, with their rollups, in one transaction.

A run's row is the lock for its scores: whoever has inserted or locked it knows which scores there are. Rows are written
in the order of their keys, so that two writers of PostgreSQL never wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, select, update

from referee.scores import Score
from referee.storage import codec
from referee.storage.bulk import insert_for, insert_rows, take_numbers
from referee.storage.outcomes import OUTCOMES, outcome_of
from referee.storage.registry import Registry
from referee.storage.rollups import Changes
from referee.storage.runs_writing import RunKey, write_runs
from referee.storage.schema import WHOLE_RUN, score_details, scores
from referee.storage.scored_runs import ScoredRun

_ERROR = OUTCOMES.index("error")
_NUMBERS_FROM = OUTCOMES.index("failed")
#: How many keys one query may name.
_CHUNK = 5000

_SCORE_COLUMNS = ("id", "run", "turn", "scorer", "experiment", "outcome", "value", "at")
_DETAIL_COLUMNS = ("score", "reason", "body")


class Written(msgspec.Struct, frozen=True):
    """What a write did.

    Attributes:
        added: Scores that are new.
        replaced: Errors in whose place there is now a score, or "not scorable".
        kept: Scores that were there already; they stay as they were.
    """

    added: int = 0
    replaced: int = 0
    kept: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(self.added + other.added, self.replaced + other.replaced, self.kept + other.kept)


class _Details(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a score beside its number, status and reason."""

    preprocess_step_result: Any = None
    analyze_step_result: Any = None
    preprocess_prompt: str | None = None
    analyze_prompt: str | None = None
    generate_score_prompt: str | None = None
    generate_reason_prompt: str | None = None
    judge: Any = None
    not_scorable: Any = None
    error: Any = None
    reason_error: Any = None
    details: Any = None


_details = attrgetter(*_Details.__struct_fields__)
_NO_DETAILS = (None,) * len(_Details.__struct_fields__)


class _Draft(msgspec.Struct, frozen=True, gc=False):
    """A score on its way into the database."""

    run: int
    turn: int
    scorer: int
    outcome: int
    value: float | None
    at: int
    score: Score


class _Stored(NamedTuple):
    """A score that is in the database."""

    number: int
    outcome: int


#: Run, turn and scorer.
_Key = tuple[int, int, int]


def write_records(
    connection: Connection, records: Sequence[ScoredRun], experiment: int, kind: str, registry: Registry
) -> Written:
    """Write records in the transaction of `connection`; the registry knows their scorers."""
    places = write_runs(connection, records, experiment, kind)
    drafts = _drafts(records, places, registry)
    stored = _stored_scores(connection, [place.number for place in places if not place.is_new])
    new = [draft for key, draft in drafts.items() if key not in stored]
    better = {
        stored[key].number: draft
        for key, draft in drafts.items()
        if key in stored and stored[key].outcome == _ERROR and draft.outcome != _ERROR
    }
    changes = Changes()
    _insert(connection, new, experiment, changes)
    _replace(connection, better, experiment, changes)
    changes.apply(connection)
    return Written(len(new), len(better), len(drafts) - len(new) - len(better))


def _drafts(records: Sequence[ScoredRun], places: Sequence[RunKey], registry: Registry) -> dict[_Key, _Draft]:
    drafts: dict[_Key, _Draft] = {}
    for record, place in zip(records, places):
        for turn, score in _scores_of(record):
            scorer, default_bounds = registry.of(score)
            key = (place.number, turn, scorer)
            if key in drafts and drafts[key].outcome != _ERROR:
                continue
            outcome = OUTCOMES.index(outcome_of(score, record.bounds.get(score.scorer_id, default_bounds)))
            value = score.score if outcome >= _NUMBERS_FROM else None
            drafts[key] = _Draft(*key, outcome, value, place.at, score)
    return drafts


def _scores_of(record: ScoredRun) -> Iterator[tuple[int, Score]]:
    yield from ((WHOLE_RUN, score) for score in record.scores)
    for turn, scores_of_turn in record.turn_scores.items():
        yield from ((turn, score) for score in scores_of_turn)


def _stored_scores(connection: Connection, runs: Sequence[int]) -> dict[_Key, _Stored]:
    """The scores of runs that were there before; no other writer adds to them while we hold their rows."""
    stored = {}
    query = select(scores.c.run, scores.c.turn, scores.c.scorer, scores.c.id, scores.c.outcome)
    for start in range(0, len(runs), _CHUNK):
        for run, turn, scorer, *rest in connection.execute(query.where(scores.c.run.in_(runs[start : start + _CHUNK]))):
            stored[run, turn, scorer] = _Stored(*rest)
    return stored


def _insert(connection: Connection, drafts: Sequence[_Draft], experiment: int, changes: Changes) -> None:
    rows, details = [], []
    for number, draft in zip(take_numbers(connection, scores, len(drafts)), drafts):
        rows.append((number, draft.run, draft.turn, draft.scorer, experiment, draft.outcome, draft.value, draft.at))
        reason, body = _details_of(draft.score)
        if reason is not None or body is not None:
            details.append((number, reason, body))
        _count(changes, draft, experiment)
    insert_rows(connection, scores, _SCORE_COLUMNS, rows)
    insert_rows(connection, score_details, _DETAIL_COLUMNS, details)


def _replace(connection: Connection, better: dict[int, _Draft], experiment: int, changes: Changes) -> None:
    """Put the new outcomes, by score number, in the place of stored errors."""
    if not better:
        return
    for draft in better.values():
        changes.add(experiment, draft.scorer, draft.turn, draft.at, _ERROR, None, draft.score.range, sign=-1)
        _count(changes, draft, experiment)
    connection.execute(
        update(scores)
        .where(scores.c.id == bindparam("number"))
        .values(outcome=bindparam("new_outcome"), value=bindparam("new_value")),
        [{"number": n, "new_outcome": draft.outcome, "new_value": draft.value} for n, draft in better.items()],
    )
    details = [(number, *_details_of(draft.score)) for number, draft in better.items()]
    insert = insert_for(connection, score_details)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=["score"], set_={"reason": insert.excluded.reason, "body": insert.excluded.body}
        ),
        [dict(zip(_DETAIL_COLUMNS, row)) for row in details],
    )


def _count(changes: Changes, draft: _Draft, experiment: int) -> None:
    cell = changes.add(experiment, draft.scorer, draft.turn, draft.at, draft.outcome, draft.value, draft.score.range)
    if draft.score.judge:
        for usage in draft.score.judge.values():
            cell.tokens += usage.input_tokens + usage.output_tokens
            cell.cost += usage.cost or 0.0


def _details_of(score: Score) -> tuple[str | None, str | None]:
    """The reason, and what else is kept beside the number; `None` where there is nothing."""
    reason = None if score.reason is None else codec.clean(score.reason)
    kept = _details(score)
    return reason, None if kept == _NO_DETAILS else codec.encode(_Details(*kept))
