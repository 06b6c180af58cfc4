"""People's labels, the agreement of scorers with them, and calibrations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, exists, select

from referee.agreement import Agreement, Weights
from referee.display import shown
from referee.errors import OptionError, StoreError
from referee.jsonvalue import is_finite_number
from referee.storage import codec
from referee.storage.bulk import insert_for
from referee.storage.database import Database
from referee.storage.experiment_rows import find
from referee.storage.label_rows import (
    Calibration,
    Label,
    Labelled,
    agreement_of,
    labels_of_score,
    pairs_of_one_version,
    read_calibration,
    read_labels,
    read_pairs,
    subject_of,
)
from referee.storage.outcomes import OUTCOMES
from referee.storage.schema import WHOLE_RUN, calibrations, labels, runs, scorers, scores
from referee.storage.score_rows import ScoreRow, read_rows

#: The outcomes of scores that have a value.
_WITH_VALUE = [OUTCOMES.index(name) for name in ("failed", "passed", "unbounded")]
#: A calibration needs so many labelled scores, unless another number is asked for.
FEWEST_PAIRS = 20


class _Target(NamedTuple):
    """What a label is about."""

    run: int
    turn: int
    scorer: str
    range: tuple[float, float] | None


class Labels:
    """The labels of a store. Made by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        value: float,
        *,
        author: str,
        score: int | None = None,
        run: int | None = None,
        name: str | None = None,
        turn: int | None = None,
        comment: str | None = None,
    ) -> Label:
        """Label a score, or a run. An earlier label of the same author on the same thing is replaced.

        Args:
            value: The answer: on the scorer's scale for a score, any finite number for a run. `True` counts as 1.
            author: Who says it.
            score: The score's number in this store.
            run: The run's number in this store, for a label on the run itself.
            name: What was judged of the run: a scorer's id, or any other name.
            turn: The turn of the run; `None` for the whole.
            comment: Why.

        Raises:
            OptionError: The value is no number of the scorer's scale, the author is empty, or it is not said what is
                labelled.
            StoreError: There is no such score or run.
        """
        if not author.strip():
            raise OptionError("a label needs an author")
        if not is_finite_number(value):
            raise OptionError(f"a label is a finite number, not {shown(value)}")
        if turn is not None and turn < 0:
            raise OptionError(f"turns are counted from 0, so there is no turn {turn}")
        with self._database.write() as connection:
            target = _target(connection, score, run, name, turn)
            if target.range is not None and not target.range[0] <= value <= target.range[1]:
                low, high = target.range
                raise OptionError(
                    f"the scorer {target.scorer} goes from {low:g} to {high:g}; the label {value:g} does not"
                )
            row = {
                "subject": subject_of(connection, target.run),
                "run": target.run,
                "turn": target.turn,
                "scorer": target.scorer,
                "author": codec.name(author),
                "value": float(value),
                "comment": None if comment is None else codec.clean(comment),
                "at": codec.now_ms(),
            }
            insert = insert_for(connection, labels)
            written = insert.on_conflict_do_update(
                index_elements=["subject", "turn", "scorer", "author"],
                set_={column: insert.excluded[column] for column in ("run", "value", "comment", "at")},
            ).returning(labels.c.id)
            number = connection.execute(written, row).scalar_one()
            [label] = read_labels(connection, [labels.c.id == number], limit=1)
        return label

    def remove(self, number: int) -> None:
        """Remove a label.

        Raises:
            StoreError: There is none of this number.
        """
        with self._database.write() as connection:
            if connection.execute(delete(labels).where(labels.c.id == number)).rowcount == 0:
                raise StoreError(f"there is no label {number}")

    def latest(
        self,
        *,
        scorer: str | None = None,
        author: str | None = None,
        run: int | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> list[Label]:
        """Labels, the newest number first.

        Args:
            scorer: Only of this scorer's question.
            author: Only by this person.
            run: Only of what this run, or one of the same content, did.
            limit: How many.
            before: Only those of a lower number: the last one that was seen.
        """
        with self._database.read() as connection:
            conditions: list[ColumnElement[bool]] = []
            if scorer is not None:
                conditions.append(labels.c.scorer == scorer)
            if author is not None:
                conditions.append(labels.c.author == author)
            if run is not None:
                conditions.append(labels.c.subject == subject_of(connection, run))
            if before is not None:
                conditions.append(labels.c.id < before)
            return read_labels(connection, conditions, limit=limit)

    def queue(
        self, scorer: str, *, author: str, version: str | None = None, experiment: str | None = None, limit: int = 20
    ) -> list[ScoreRow]:
        """Scores that a person has not labelled yet, the newest first. Only those that have a value.

        Args:
            scorer: The scorer's id.
            author: The person.
            version: Only of this version.
            experiment: Only of this experiment.
            limit: How many.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            is_labelled = exists(
                select(1).where(labels_of_score(), labels.c.scorer == scorer, labels.c.author == author)
            )
            return read_rows(connection, _newest(connection, scorer, version, experiment, ~is_labelled, limit))

    def pairs(
        self, scorer: str, *, version: str | None = None, experiment: str | None = None, author: str | None = None
    ) -> list[Labelled]:
        """The labelled scores of a scorer, each with its labels.

        Args:
            scorer: The scorer's id.
            version: Only scores of this version.
            experiment: Only scores of this experiment.
            author: Only labels by this person.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            return read_pairs(connection, scorer, version, experiment, author)

    def agreement(
        self,
        scorer: str,
        *,
        version: str | None = None,
        experiment: str | None = None,
        author: str | None = None,
        cuts: Sequence[float] | None = None,
    ) -> Agreement:
        """How far a scorer agrees with people. Where several labelled the same, the label with the most votes counts.

        Args:
            scorer: The scorer's id.
            version: The version; needed when labelled scores of several versions are there.
            experiment: Only scores of this experiment.
            author: Only labels by this person.
            cuts: Where one category ends and the next begins, like `[0.5]`; see `referee.agreement.agreement`.

        Raises:
            OptionError: Several versions have labelled scores and none was named, or cuts are needed or wrong.
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            _, pairs = pairs_of_one_version(connection, scorer, version, experiment, author)
            return agreement_of(pairs, cuts)

    def calibrate(
        self,
        scorer: str,
        *,
        version: str | None = None,
        experiment: str | None = None,
        author: str | None = None,
        cuts: Sequence[float] | None = None,
        weights: Weights = "none",
        fewest: int = FEWEST_PAIRS,
    ) -> Calibration:
        """Work out the agreement of a scorer's version with people and keep it, so that gates can ask for it.

        Args:
            scorer, version, experiment, author, cuts: As in `agreement`.
            weights: Which kappa counts: `none`, `linear` or `quadratic`.
            fewest: How many labelled scores there must be.

        Raises:
            OptionError: There are fewer labelled scores, or as in `agreement`.
            StoreError: There is no such experiment.
        """
        with self._database.write() as connection:
            version, pairs = pairs_of_one_version(connection, scorer, version, experiment, author)
            found = agreement_of(pairs, cuts)
            if found.pairs < fewest:
                raise OptionError(
                    f"{scorer}: {found.pairs} labelled scores say too little: label {fewest}, or ask for fewer"
                )
            of_version = (scorers.c.scorer_id == scorer, scorers.c.version == version)
            row = {
                "scorer": connection.execute(select(scorers.c.id).where(*of_version)).scalar_one(),
                "at": codec.now_ms(),
                "weights": weights,
                "kappa": found.by_weights(weights).value,
                "pairs": found.pairs,
                "report": codec.encode(found),
            }
            connection.execute(insert_for(connection, calibrations), row)
            kept = read_calibration(connection, *of_version)
        assert kept is not None
        return kept

    def calibration(self, scorer: str, version: str) -> Calibration | None:
        """The latest calibration of a scorer's version; `None` when it was never calibrated."""
        with self._database.read() as connection:
            return read_calibration(connection, scorers.c.scorer_id == scorer, scorers.c.version == version)


def _newest(
    connection: Connection,
    scorer: str,
    version: str | None,
    experiment: str | None,
    condition: ColumnElement[bool],
    limit: int,
) -> list[int]:
    """The numbers of a scorer's newest scores that fit. Each version and outcome is walked through in an index's order."""
    numbers = select(scorers.c.id).where(scorers.c.scorer_id == scorer)
    if version is not None:
        numbers = numbers.where(scorers.c.version == version)
    rest = [] if experiment is None else [scores.c.experiment == find(connection, experiment).number]
    found: list[tuple[int, int]] = []
    for number in list(connection.scalars(numbers)):
        for outcome in _WITH_VALUE:
            query = (
                select(scores.c.at, scores.c.id)
                .join(runs, runs.c.id == scores.c.run)
                .where(scores.c.scorer == number, scores.c.outcome == outcome, *rest, condition)
                .order_by(scores.c.at.desc(), scores.c.id.desc())
                .limit(limit)
            )
            found += [(row.at, row.id) for row in connection.execute(query)]
    return [number for _, number in sorted(found, reverse=True)[:limit]]


def _target(connection: Connection, score: int | None, run: int | None, name: str | None, turn: int | None) -> _Target:
    if (score is None) == (run is None):
        raise OptionError("say what is labelled: a score, or a run")
    if score is not None:
        query = select(scores.c.run, scores.c.turn, scorers.c.scorer_id, scorers.c.low, scorers.c.high)
        row = connection.execute(
            query.join(scorers, scorers.c.id == scores.c.scorer).where(scores.c.id == score)
        ).one_or_none()
        if row is None:
            raise StoreError(f"there is no score {score}")
        return _Target(row.run, row.turn, row.scorer_id, (row.low, row.high))
    assert run is not None
    if not name:
        raise OptionError("a label on a run says what was judged: a scorer's id, or any other name")
    if connection.execute(select(runs.c.id).where(runs.c.id == run)).scalar() is None:
        raise StoreError(f"there is no run {run}")
    return _Target(run, WHOLE_RUN if turn is None else turn, codec.name(name), None)
