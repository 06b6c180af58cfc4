"""Rows in bulk: numbers taken beforehand, and the database's own quick way of inserting.

SQLAlchemy's compiled inserts cost more per row than SQLite itself, so rows go to the driver as tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Table, text


def is_sqlite(connection: Connection) -> bool:
    """Whether this is SQLite; else it is PostgreSQL."""
    return connection.dialect.name == "sqlite"


def insert_for(connection: Connection, table: Table) -> Any:
    """An `INSERT` of this connection's database, with `on_conflict_do_nothing` and `on_conflict_do_update`."""
    # Each database's module takes its time to load: only the one that is used.
    if is_sqlite(connection):
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)


def take_numbers(connection: Connection, table: Table, count: int) -> range | list[int]:
    """New numbers for rows of a table, never given before. The transaction must be a writing one."""
    if is_sqlite(connection):
        query = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        last = connection.execute(query, {"name": table.name}).scalar() or 0
        return range(last + 1, last + 1 + count)
    query = text(f"SELECT nextval('{table.name}_id_seq') FROM generate_series(1, :count)")  # noqa: S608 - our own table
    return list(connection.execute(query, {"count": count}).scalars())


def insert_rows(connection: Connection, table: Table, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows of which none is there yet: tuples in the order of `columns`, each asked for when it is its turn."""
    if is_sqlite(connection):
        _cursor(connection).executemany(_insert(connection, table, columns), rows)
        return
    named = ", ".join(columns)
    with _cursor(connection) as cursor, cursor.copy(f"COPY {table.name} ({named}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def insert_missing(
    connection: Connection, table: Table, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> None:
    """Insert those rows whose key is not there yet; it waits for another writer of the same key."""
    _cursor(connection).executemany(f"{_insert(connection, table, columns)} ON CONFLICT DO NOTHING", rows)


def _cursor(connection: Connection) -> Any:
    driver: Any = connection.connection.driver_connection
    return driver.cursor()


def _insert(connection: Connection, table: Table, columns: Sequence[str]) -> str:
    marks = ", ".join(["?" if is_sqlite(connection) else "%s"] * len(columns))
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our own names
