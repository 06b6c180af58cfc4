"""Upkeep of a store: giving room back, and looking whether everything fits together."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from referee.storage.database import Database, schema_version
from referee.storage.days import DAY_MS
from referee.storage.outcomes import ERROR_BIN, NOT_SCORABLE_BIN, OUTCOMES, bin_of, edges
from referee.storage.schema import (
    ALL_DAYS,
    metadata,
    rollups,
    run_contents,
    run_tags,
    runs,
    score_details,
    scorers,
    scores,
)

#: How long a checkpoint waits for readers, in seconds.
_PATIENCE = 30
_ERROR, _FAILED, _PASSED = (OUTCOMES.index(name) for name in ("error", "failed", "passed"))


class StoreInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a store is: its address without a password, database, schema version, size and rows by table."""

    address: str
    database: str
    schema: str
    bytes: int
    rows: dict[str, int]


def read_info(database: Database) -> StoreInfo:
    """Address, version, size and rows of a store."""
    with database.read() as connection:
        if database.is_sqlite:
            pages, size = (
                connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("page_count", "page_size")
            )
            length = pages * size
        else:
            length = connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one()
        return StoreInfo(
            address=database.shown,
            database="SQLite" if database.is_sqlite else "PostgreSQL",
            schema=schema_version(connection) or "",
            bytes=length,
            rows={
                name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for name, table in sorted(metadata.tables.items())
            },
        )


def vacuum(database: Database) -> list[str]:
    """Give the room of removed rows back, so that their content is in no file any more. Gives what could not be done."""
    with database.outside_transaction() as connection:
        if database.is_sqlite:
            connection.execute(text("VACUUM"))
            return _truncate_log(connection)
        for name in sorted(metadata.tables):
            connection.execute(text(f"VACUUM FULL {name}"))
        return _leave_log(connection)


def _truncate_log(connection: Connection) -> list[str]:
    """Empty SQLite's write-ahead log; a reader that is still at work holds it back for a while."""
    deadline = time.monotonic() + _PATIENCE
    while connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()[0]:
        if time.monotonic() > deadline:
            return ["another process reads the store, so the write-ahead log could not be emptied: run it again later"]
        time.sleep(0.05)
    return []


def _leave_log(connection: Connection) -> list[str]:
    """Let PostgreSQL go on to a new log file, where we may, so that it can drop the ones before."""
    try:
        connection.execute(text("CHECKPOINT"))
        connection.execute(text("SELECT pg_switch_wal()"))
        connection.execute(text("CHECKPOINT"))
    except DBAPIError:
        return ["the database's own logs could not be left (no permission): ask its administrator for a checkpoint"]
    return []


def find_problems(database: Database) -> list[str]:
    """What does not fit together in a store: rows without their other half, rollups that count something else."""
    with database.read() as connection:
        return [*_orphans(connection), *_wrong_rollups(connection)]


def _orphans(connection: Connection) -> Iterator[str]:
    links = (
        ("scores without a run", scores.c.run, runs.c.id),
        ("scores without a scorer", scores.c.scorer, scorers.c.id),
        ("details without a score", score_details.c.score, scores.c.id),
        ("contents without a run", run_contents.c.run, runs.c.id),
        ("tags without a run", run_tags.c.run, runs.c.id),
        ("runs without content", runs.c.id, run_contents.c.run),
    )
    for what, child, parent in links:
        source = child.table.outerjoin(parent.table, parent == child)
        count = connection.execute(select(func.count()).select_from(source).where(parent.is_(None))).scalar_one()
        if count:
            yield f"{count} {what}"


def _wrong_rollups(connection: Connection) -> Iterator[str]:
    """The rollups that count other scores than there are, one by one and all of them in memory."""
    counted: Counter[tuple[int, ...]] = Counter()
    spans = {row.id: (row.low, row.high) for row in connection.execute(select(scorers))}
    inner = {span: edges(*span) for span in set(spans.values())}
    query = select(scores.c.experiment, scores.c.scorer, scores.c.turn, scores.c.at, scores.c.outcome, scores.c.value)
    for experiment, scorer, turn, at, outcome, value in connection.execution_options(yield_per=5000).execute(query):
        if scorer not in spans:
            continue
        place = (
            (ERROR_BIN if outcome == _ERROR else NOT_SCORABLE_BIN)
            if value is None
            else bin_of(value, inner[spans[scorer]])
        )
        for day in (at // DAY_MS, ALL_DAYS):
            key = (day, scorer, experiment, turn, place)
            counted[*key, 0] += 1
            counted[*key, 1] += outcome == _FAILED
            counted[*key, 2] += outcome == _PASSED
    stored: Counter[tuple[int, ...]] = Counter()
    names = ("day", "scorer", "experiment", "turn", "bin")
    kept: Any = select(*(rollups.c[name] for name in names), rollups.c.scores, rollups.c.failed, rollups.c.passed)
    for row in connection.execute(kept):
        for place, number in enumerate(row[5:]):
            stored[*row[:5], place] = number
    wrong = {key[:5] for key in counted.keys() | stored.keys() if counted[key] != stored[key]}
    if wrong:
        yield f"{len(wrong)} rollups that count other scores than there are"
