"""Rows of experiments: what scores belong to."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select

from referee.errors import OptionError
from referee.storage import codec
from referee.storage.bulk import insert_for
from referee.storage.database import Database
from referee.storage.schema import experiments
from referee.storage.scored_runs import LIVE, RECORDED, Kind


class Belonging(NamedTuple):
    """An experiment's row."""

    number: int
    kind: Kind


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
        wanted = kind or _kind_of(key)
        row = {"key": key, "kind": wanted, "created_at": codec.now_ms()}
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
