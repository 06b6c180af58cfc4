"""Rows of labels, scores beside them, and calibrations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, or_, select

from referee.agreement import Agreement, Weights, agreement, most_voted
from referee.errors import OptionError
from referee.storage import codec
from referee.storage.experiment_rows import find
from referee.storage.schema import calibrations, labels, runs, scorers, scores
from referee.storage.score_rows import turn_of


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """What a person thinks of a run, or of what a scorer judged in it.

    Attributes:
        number: The label's number in this store.
        run, run_id, item: The run: its number in this store, its id, and the item it is of.
        turn: The turn; `None` for the whole run.
        scorer: The id of the scorer whose question is answered, or any other name of what was judged.
        author: Who says it.
        value: The answer, on the scorer's scale.
        comment: Why.
        at: When.
    """

    number: int
    run: int
    run_id: str
    item: str
    turn: int | None
    scorer: str
    author: str
    value: float
    comment: str | None
    at: datetime


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How far one version of a scorer was found to agree with people.

    Attributes:
        scorer, version: The scorer; another version has to earn its trust anew.
        kappa: Cohen's kappa; `None` when it is undefined.
        weights: How disagreements counted.
        pairs: How many labelled scores it stands on.
        agreement: All figures.
        at: When.
    """

    scorer: str
    version: str
    kappa: float | None
    weights: Weights
    pairs: int
    agreement: Agreement
    at: datetime


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """A score beside the labels of what it scored, by author, and the label that most of them gave."""

    score: int
    version: str
    value: float
    labels: dict[str, float]
    label: float | None


def subject_of(connection: Connection, run: int) -> str:
    """What a label on this run is about: its content; a run without content stands for itself."""
    digest = connection.execute(select(runs.c.digest).where(runs.c.id == run)).scalar()
    return digest or f"run {run}"


def read_labels(connection: Connection, conditions: Sequence[ColumnElement[bool]], *, limit: int) -> list[Label]:
    """The labels that fit, the newest number first."""
    query = select(labels, runs.c.run_id, runs.c.item).outerjoin(runs, runs.c.id == labels.c.run).where(*conditions)
    found = connection.execute(query.order_by(labels.c.id.desc()).limit(limit))
    return [
        Label(
            number=row.id,
            run=row.run,
            run_id=row.run_id or "",
            item=row.item or "",
            turn=turn_of(row.turn),
            scorer=row.scorer,
            author=row.author,
            value=row.value,
            comment=row.comment,
            at=codec.from_ms(row.at),
        )
        for row in found
    ]


def labels_of_score() -> ColumnElement[bool]:
    """Labels of what a score's run did: of the run itself, or of one with the same content."""
    same = or_(
        and_(runs.c.digest != "", labels.c.subject == runs.c.digest),
        and_(runs.c.digest == "", labels.c.run == runs.c.id),
    )
    return and_(same, labels.c.turn == scores.c.turn)


def scores_of(
    connection: Connection, scorer: str, version: str | None, experiment: str | None, *, indexed: bool = True
) -> list[ColumnElement[bool]]:
    """What a row of `scores` must be to be a scorer's, with a value; with `indexed=False` no index of it is to be used."""
    numbers = select(scorers.c.id).where(scorers.c.scorer_id == scorer)
    if version is not None:
        numbers = numbers.where(scorers.c.version == version)
    column: ColumnElement[Any] = scores.c.scorer if indexed else scores.c.scorer + 0
    conditions: list[ColumnElement[bool]] = [
        column.in_(list(connection.scalars(numbers))),
        scores.c.value.isnot(None),
    ]
    if experiment is not None:
        of_experiment: ColumnElement[Any] = scores.c.experiment if indexed else scores.c.experiment + 0
        conditions.append(of_experiment == find(connection, experiment).number)
    return conditions


def read_pairs(
    connection: Connection, scorer: str, version: str | None, experiment: str | None, author: str | None
) -> list[Labelled]:
    """The labelled scores of a scorer. See `Labels.pairs`."""
    conditions = [*scores_of(connection, scorer, version, experiment, indexed=False), labels.c.scorer == scorer]
    if author is not None:
        conditions.append(labels.c.author == author)
    columns = (labels.c.subject, labels.c.turn, scorers.c.version, scores.c.id, scores.c.value, labels.c.author)
    # From the few labels to their runs, and from these to their scores: each way of being the same has its own index.
    same = (
        and_(runs.c.digest != "", labels.c.subject == runs.c.digest),
        and_(runs.c.digest == "", labels.c.run == runs.c.id),
    )
    queries = [
        select(*columns, labels.c.value.label("label"), labels.c.id.label("number"))
        .select_from(labels.join(runs, is_same))
        .join(scores, and_(scores.c.run == runs.c.id, scores.c.turn == labels.c.turn))
        .join(scorers, scorers.c.id == scores.c.scorer)
        .where(*conditions)
        for is_same in same
    ]
    rows = [row for query in queries for row in connection.execute(query)]
    rows.sort(key=lambda row: (row.id, row.number))
    # One content that was scored several times by one version is one judgement: the latest score stands for it.
    latest: dict[tuple[str, int, str], tuple[int, float]] = {}
    votes: dict[tuple[str, int], dict[str, float]] = {}
    for subject, turn, of_version, number, value, by, label, _ in rows:
        latest[subject, turn, of_version] = (number, value)
        votes.setdefault((subject, turn), {})[by] = label
    return [
        Labelled(
            score=number,
            version=of_version,
            value=value,
            labels=votes[subject, turn],
            label=most_voted(list(votes[subject, turn].values())),
        )
        for (subject, turn, of_version), (number, value) in latest.items()
    ]


def agreement_of(found: Sequence[Labelled], cuts: Sequence[float] | None) -> Agreement:
    """The agreement of scores with the labels that most people gave."""
    agreed = [(pair.value, pair.label) for pair in found if pair.label is not None]
    return agreement(agreed, cuts=cuts, disputed=len(found) - len(agreed))


def pairs_of_one_version(
    connection: Connection, scorer: str, version: str | None, experiment: str | None, author: str | None
) -> tuple[str | None, list[Labelled]]:
    """The one version of a scorer that has labelled scores, and these; `None` when there are none.

    Raises:
        OptionError: Several versions have labelled scores, and none was named.
    """
    found = read_pairs(connection, scorer, version, experiment, author)
    versions = sorted({pair.version for pair in found})
    if version is None and len(versions) > 1:
        raise OptionError(f"{scorer} has labelled scores of the versions {', '.join(versions)}: name one of them")
    return version or (versions[0] if versions else None), found


def read_calibration(connection: Connection, *of_version: ColumnElement[bool]) -> Calibration | None:
    """The latest calibration of a scorer's version."""
    query = select(calibrations, scorers.c.scorer_id, scorers.c.version)
    row: Any = connection.execute(
        query.join(scorers, scorers.c.id == calibrations.c.scorer)
        .where(*of_version)
        .order_by(calibrations.c.id.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    return Calibration(
        scorer=row.scorer_id,
        version=row.version,
        kappa=row.kappa,
        weights=row.weights,
        pairs=row.pairs,
        agreement=codec.decode(row.report, Agreement),
        at=codec.from_ms(row.at),
    )
