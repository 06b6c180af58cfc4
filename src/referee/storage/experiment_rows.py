"""Rows of experiments: how they are found, made, and noted upon."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection, insert, select

from referee.errors import OptionError, StoreError
from referee.nearest import did_you_mean
from referee.results import Evaluation
from referee.storage import codec
from referee.storage.bulk import insert_for
from referee.storage.database import Database
from referee.storage.schema import datasets, experiment_events, experiments
from referee.storage.scored_runs import LIVE, RECORDED, Kind

#: `running` until it is finished; `cancelled` when somebody gave it up.
Status: TypeAlias = Literal["running", "finished", "cancelled"]


class Belonging(NamedTuple):
    """An experiment's row: its number and kind."""

    number: int
    kind: Kind


class ExperimentRow(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment in a list.

    Attributes:
        key: What names it in this store.
        kind: `experiment`, `recorded` or `live`; the last two hold scores that belong to no experiment.
        name: For people.
        target: The target's name, where there is more than one.
        status: `running`, `finished` or `cancelled`; `None` for scores that belong to no experiment.
        verdict: `passed`, `scored` or `failed`; `None` when nothing gates, or not yet.
        dataset, dataset_version: The data set's number in this store and the version of it that was used.
        planned: How many results the plan asks for.
        results, failed_results: How many there are, and in how many of them the target failed.
        created_at, finished_at: Its time.
    """

    number: int
    key: str
    kind: Kind
    name: str
    target: str
    status: Status | None
    verdict: str | None
    dataset: int | None
    dataset_version: int | None
    planned: int | None
    results: int
    failed_results: int
    created_at: datetime
    finished_at: datetime | None


class ExperimentEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to an experiment: `started`, `resumed`, `item`, `finished`, `cancelled`, ..."""

    number: int
    at: datetime
    event: str
    details: dict[str, Any]


def key_of(evaluation: Evaluation, target: str = "") -> str:
    """The key of the experiment of an evaluation and one of its targets.

    Example:
        >>> key_of(Evaluation(id="nightly"), "small-model")
        'nightly:small-model'
    """
    return f"{evaluation.id}:{target}" if target else evaluation.id


def note(connection: Connection, experiment: int, event: str, details: dict[str, Any]) -> None:
    """Write down that something happened to an experiment."""
    row = {"experiment": experiment, "at": codec.now_ms(), "event": event}
    connection.execute(insert(experiment_events), {**row, "details": codec.encode(details) if details else None})


def find(connection: Connection, name: str) -> Belonging:
    """The experiment of a key, of the one key that begins so, or the newest of a name.

    Raises:
        StoreError: There is none, names the nearest one; or several keys begin so.
    """
    name = codec.name(name)
    newest = select(experiments.c.id, experiments.c.kind, experiments.c.key).order_by(experiments.c.id.desc())
    for condition in (experiments.c.key == name, experiments.c.name == name):
        row = connection.execute(newest.where(condition).limit(1)).one_or_none()
        if row is not None:
            return Belonging(row.id, row.kind)
    beginning = connection.execute(newest.where(experiments.c.key.startswith(name, autoescape=True)).limit(2)).all()
    if len(beginning) == 1 and name:
        return Belonging(beginning[0].id, beginning[0].kind)
    if beginning and name:
        raise StoreError(f"several experiments begin with {name!r}, such as {beginning[0].key!r}: give more of the key")
    known = [row.key for row in connection.execute(newest.limit(1000))]
    raise StoreError(f"there is no experiment {name!r}{did_you_mean(name, known)}")


def ensure_experiment(database: Database, key: str, kind: Kind | None = None) -> Belonging:
    """The experiment of this key, made when there is none.

    Raises:
        OptionError: The key is empty, or there is one of another kind.
    """
    key = codec.name(key)
    if not key:
        raise OptionError("an experiment needs a key")
    query = select(experiments.c.id, experiments.c.kind).where(experiments.c.key == key)
    with database.read() as connection:
        found = connection.execute(query).one_or_none()
    if found is None:
        row = {"key": key, "kind": kind or _kind_of(key), "created_at": codec.now_ms()}
        with database.write() as connection:
            connection.execute(insert_for(connection, experiments).on_conflict_do_nothing(), row)
            found = connection.execute(query).one()
    if kind is not None and found.kind != kind:
        raise OptionError(f"{key!r} is of the kind {found.kind}, not {kind}: choose another key")
    return Belonging(found.id, found.kind)


def _kind_of(key: str) -> Kind:
    if key == RECORDED:
        return "recorded"
    return "live" if key == LIVE else "experiment"


#: What a list of experiments shows: everything but the plan, which may be long.
LISTED = [column for column in experiments.c if column.name != "plan"]


def experiment_row(row: Any) -> ExperimentRow:
    """The experiment of a row with the columns of `LISTED`."""
    return ExperimentRow(
        number=row.id,
        key=row.key,
        kind=row.kind,
        name=row.name,
        target=row.target or "",
        status=row.status,
        verdict=row.verdict,
        dataset=row.dataset,
        dataset_version=row.dataset_version,
        planned=row.planned,
        results=row.results,
        failed_results=row.failed_results,
        created_at=codec.from_ms(row.created_at),
        finished_at=None if row.finished_at is None else codec.from_ms(row.finished_at),
    )


def baseline_of(connection: Connection, experiment: int) -> ExperimentRow | None:
    """What an experiment is measured against. See `Experiments.baseline`."""
    listed = select(*LISTED)
    row = connection.execute(listed.where(experiments.c.id == experiment)).one()
    if row.dataset is not None:
        chosen = connection.scalar(select(datasets.c.baseline).where(datasets.c.id == row.dataset))
        if chosen is not None and chosen != row.id:
            found = connection.execute(listed.where(experiments.c.id == chosen)).one_or_none()
            if found is not None:
                return experiment_row(found)
        alike = experiments.c.dataset == row.dataset
    elif row.name:
        alike = (experiments.c.name == row.name) & experiments.c.dataset.is_(None)
    else:
        return None
    earlier = listed.where(
        alike,
        experiments.c.target == row.target,
        experiments.c.kind == "experiment",
        experiments.c.status == "finished",
        experiments.c.id < row.id,
    )
    found = connection.execute(earlier.order_by(experiments.c.id.desc()).limit(1)).one_or_none()
    return None if found is None else experiment_row(found)
