"""Writes of runs with their scores: idempotent by result key, with their rollups, in one transaction.

A run's row is the lock for its scores: whoever has inserted or locked it knows which scores there are. Rows are written
in the order of their keys, so that two writers of PostgreSQL never wait for each other in a circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, delete, select, update

from referee.scores import Score
from referee.storage import codec
from referee.storage.bulk import insert_for, insert_rows, take_numbers
from referee.storage.outcomes import OUTCOMES, outcome_of
from referee.storage.registry import Registry
from referee.storage.rollups import Changes
from referee.storage.runs_writing import RunKey, write_runs
from referee.storage.schema import WHOLE_RUN, score_details, scorers, scores
from referee.storage.scored_runs import Kind, ScoredRun

_NUMBERS = {outcome: number for number, outcome in enumerate(OUTCOMES)}
_ERROR, _NUMBERS_FROM = _NUMBERS["error"], _NUMBERS["failed"]
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
    #: Where the score names another run than the one it lies with: a turn, or a step of a workflow.
    run_id: str | None = None


_details = attrgetter(*[field for field in _Details.__struct_fields__ if field != "run_id"])
_NOTHING_KEPT = (None, None)
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
    run_id: str


class _Stored(NamedTuple):
    """A score that is in the database."""

    number: int
    outcome: int
    value: float | None
    at: int
    range: tuple[float, float]


class _Key(msgspec.Struct, frozen=True, gc=False):
    """What a score is of. There are many: tuples would wake the garbage collector."""

    run: int
    turn: int
    scorer: int


class Writing:
    """One write of runs with their scores, in the transaction of `connection`.

    Args:
        connection: A writing connection.
        experiment: The number of what they belong to.
        kind: Its kind.
        registry: Knows the scorers.
        replace: Put each run and its scores in the place of what is stored of it. Otherwise what is stored stays, and
            only errors give way.
    """

    def __init__(
        self, connection: Connection, experiment: int, kind: Kind, registry: Registry, *, replace: bool = False
    ) -> None:
        self._connection = connection
        self._experiment = experiment
        self._kind = kind
        self._registry = registry
        self._is_replacing = replace
        self._changes = Changes()

    def write(self, records: Sequence[ScoredRun]) -> Written:
        """Write runs with their scores."""
        places = write_runs(self._connection, records, self._experiment, self._kind, replace=self._is_replacing)
        drafts = _drafts(records, places, self._registry)
        stored = self._stored([place.number for place in places if not place.is_new])
        new = [draft for key, draft in drafts.items() if key not in stored]
        again = ((key, drafts[key]) for key in stored if key in drafts)
        better = {key: draft for key, draft in again if self._is_better(draft, stored[key])}
        self._insert(new)
        self._update({stored[key]: draft for key, draft in better.items()})
        if self._is_replacing:
            self._remove({key: score for key, score in stored.items() if key not in drafts})
        self._changes.apply(self._connection)
        return Written(len(new), len(better), len(drafts) - len(new) - len(better))

    def _is_better(self, draft: _Draft, stored: _Stored) -> bool:
        return self._is_replacing or (stored.outcome == _ERROR and draft.outcome != _ERROR)

    def _stored(self, runs: Sequence[int]) -> dict[_Key, _Stored]:
        """The scores of runs that were there before; no other writer adds to them while we hold their rows."""
        stored = {}
        row = (scores.c.id, scores.c.outcome, scores.c.value, scores.c.at, scorers.c.low, scorers.c.high)
        query = select(scores.c.run, scores.c.turn, scores.c.scorer, *row).join(
            scorers, scorers.c.id == scores.c.scorer
        )
        for start in range(0, len(runs), _CHUNK):
            some = query.where(scores.c.run.in_(runs[start : start + _CHUNK]))
            for run, turn, scorer, number, outcome, value, at, low, high in self._connection.execute(some):
                stored[_Key(run, turn, scorer)] = _Stored(number, outcome, value, at, (low, high))
        return stored

    def _insert(self, drafts: Sequence[_Draft]) -> None:
        numbers = take_numbers(self._connection, scores, len(drafts))
        rows = (
            (number, draft.run, draft.turn, draft.scorer, self._experiment, draft.outcome, draft.value, draft.at)
            for number, draft in zip(numbers, drafts)
        )
        details = (
            (number, *kept) for number, draft in zip(numbers, drafts) if (kept := _details_of(draft)) != _NOTHING_KEPT
        )
        insert_rows(self._connection, scores, _SCORE_COLUMNS, rows)
        insert_rows(self._connection, score_details, _DETAIL_COLUMNS, details)
        for draft in drafts:
            self._count(draft)

    def _update(self, better: dict[_Stored, _Draft]) -> None:
        """Put new outcomes in the place of stored ones."""
        if not better:
            return
        for old, draft in better.items():
            self._take_away(draft.scorer, draft.turn, old)
            self._count(draft)
        self._connection.execute(
            update(scores)
            .where(scores.c.id == bindparam("number"))
            .values(outcome=bindparam("new_outcome"), value=bindparam("new_value")),
            [
                {"number": old.number, "new_outcome": draft.outcome, "new_value": draft.value}
                for old, draft in better.items()
            ],
        )
        insert = insert_for(self._connection, score_details)
        self._connection.execute(
            insert.on_conflict_do_update(
                index_elements=["score"], set_={"reason": insert.excluded.reason, "body": insert.excluded.body}
            ),
            [dict(zip(_DETAIL_COLUMNS, (old.number, *_details_of(draft)))) for old, draft in better.items()],
        )

    def _remove(self, gone: dict[_Key, _Stored]) -> None:
        """Remove scores that the replaced runs no longer have."""
        if not gone:
            return
        for key, old in gone.items():
            self._take_away(key.scorer, key.turn, old)
        numbers = [old.number for old in gone.values()]
        for start in range(0, len(numbers), _CHUNK):
            some = numbers[start : start + _CHUNK]
            self._connection.execute(delete(score_details).where(score_details.c.score.in_(some)))
            self._connection.execute(delete(scores).where(scores.c.id.in_(some)))

    def _take_away(self, scorer: int, turn: int, old: _Stored) -> None:
        self._changes.add(self._experiment, scorer, turn, old.at, old.outcome, old.value, old.range, sign=-1)

    def _count(self, draft: _Draft) -> None:
        cell = self._changes.add(
            self._experiment, draft.scorer, draft.turn, draft.at, draft.outcome, draft.value, draft.score.range
        )
        if draft.score.judge:
            for usage in draft.score.judge.values():
                cell.tokens += usage.input_tokens + usage.output_tokens
                cell.cost += usage.cost or 0.0


def _drafts(records: Sequence[ScoredRun], places: Sequence[RunKey], registry: Registry) -> dict[_Key, _Draft]:
    drafts: dict[_Key, _Draft] = {}
    for record, place in zip(records, places):
        for turn, score in _scores_of(record):
            scorer, default_bounds = registry.of(score)
            key = _Key(place.number, turn, scorer)
            if key in drafts and drafts[key].outcome != _ERROR:
                continue
            outcome = _NUMBERS[outcome_of(score, record.bounds.get(score.scorer_id, default_bounds))]
            value = score.score if outcome >= _NUMBERS_FROM else None
            drafts[key] = _Draft(place.number, turn, scorer, outcome, value, place.at, score, record.run.id)
    return drafts


def _scores_of(record: ScoredRun) -> Iterator[tuple[int, Score]]:
    yield from ((WHOLE_RUN, score) for score in record.scores)
    for turn, scores_of_turn in record.turn_scores.items():
        yield from ((turn, score) for score in scores_of_turn)


def _details_of(draft: _Draft) -> tuple[str | None, str | None]:
    """The reason, and what else is kept beside the number; `None` where there is nothing."""
    score = draft.score
    reason = None if score.reason is None else codec.clean(score.reason)
    kept = (*_details(score), None if score.run_id == draft.run_id else score.run_id)
    return reason, None if kept == _NO_DETAILS else codec.encode(_Details(*kept))
