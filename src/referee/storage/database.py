"""The connection to the database: SQLite or PostgreSQL, opened, migrated, and closed."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from referee.display import quoted
from referee.errors import MissingExtraError, OptionError, StoreError
from referee.storage.schema import HEAD

#: How long a writer waits for another one, in seconds.
LOCK_TIMEOUT = 120

#: Any number; it names the lock that processes take while they migrate a PostgreSQL database.
_MIGRATION_LOCK = 7_366_216_337

_PRAGMAS = (
    # Of a new file: half as many pages are split and written than with the 4,096 bytes of the default.
    "PRAGMA page_size=8192",
    f"PRAGMA busy_timeout={LOCK_TIMEOUT * 1000}",
    # Every commit reaches the disk before it is reported; with the write-ahead log that is one sync.
    "PRAGMA synchronous=FULL",
    "PRAGMA cache_size=-65536",
    "PRAGMA temp_store=MEMORY",
    # Pages of indexes that are written again and again go to the file once in 64 MB.
    "PRAGMA wal_autocheckpoint=8000",
    "PRAGMA journal_size_limit=67108864",
)


class Database:
    """An engine with a writing and a reading side. Safe for threads; a forked child starts with fresh connections."""

    def __init__(self, url: str | Path) -> None:
        self.url = parse_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = self._create_engine()
        _forget_after_fork(self.engine)
        try:
            self._migrate()
        except BaseException:
            self.engine.dispose()
            raise

    @property
    def shown(self) -> str:
        """The address, without its password."""
        return str(self.url.database) if self.is_sqlite else self.url.render_as_string(hide_password=True)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that may write. On SQLite it takes the write lock at once, so it never fails half-way."""
        with self._reported(), self.engine.connect() as connection:
            writing = connection.execution_options(referee_transaction="write")
            with writing.begin():
                yield writing

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that reads one state of the database."""
        with self._reported(), self.engine.connect() as connection:
            if not self.is_sqlite:  # else each query would see a state of its own
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def outside_transaction(self) -> Iterator[Connection]:
        """A connection without a transaction, for statements such as `VACUUM`."""
        with self._reported(), self.engine.connect() as connection:
            if self.is_sqlite:
                yield connection.execution_options(referee_transaction="none")
            else:
                yield connection.execution_options(isolation_level="AUTOCOMMIT")

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    @property
    def _driver_error(self) -> type[Exception]:
        """What the driver itself raises where rows go past SQLAlchemy (see `bulk`)."""
        found: type[Exception] = self.engine.dialect.loaded_dbapi.Error
        return found

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, self._driver_error) as error:
            raise StoreError(f"{self.shown}: {_one_line(error)}") from error
        except OverflowError as error:
            raise StoreError(f"{self.shown}: a number is too large for the database: {error}") from error

    def _create_engine(self) -> Engine:
        if not self.is_sqlite:
            try:
                return create_engine(self.url, pool_pre_ping=True)
            except ImportError:
                raise MissingExtraError("a PostgreSQL store", package="psycopg", extra="postgres") from None
        engine = create_engine(self.url)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine

    def _migrate(self) -> None:
        try:
            with self.engine.connect() as connection:
                found = schema_version(connection)
            if found == HEAD:
                return
            _refuse_unknown(found, self.shown)
            with self.write() as connection:
                if not self.is_sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
                if schema_version(connection) != HEAD:
                    upgrade(connection)
        except SQLAlchemyError as error:
            raise StoreError(f"{self.shown}: the store can't be opened: {_one_line(error)}") from error


def parse_url(url: str | Path) -> URL:
    """The address of a store: a file's path, `sqlite:///path` or `postgresql://user@host/name`.

    Raises:
        OptionError: It is neither, or a database in memory, which would be lost.

    Example:
        >>> parse_url("scores.db").database
        'scores.db'
    """
    written = str(url)
    if "://" not in written:
        if not written:
            raise OptionError("a store needs an address: a file's path, or postgresql://user@host/name")
        return URL.create("sqlite", database=written)
    try:
        parsed = make_url(written.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError):
        raise OptionError("this is no address of a store: give a file's path, or postgresql://user@host/name") from None
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise OptionError(f"a store is SQLite or PostgreSQL, not {backend}")
    if parsed.database in (None, "", ":memory:"):
        raise OptionError("a store in memory would be lost: give a file's path")
    return parsed.set(drivername="sqlite")


def schema_version(connection: Connection) -> str | None:
    """The migration that the database stands at, or `None` for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


def _refuse_unknown(found: str | None, shown: str) -> None:
    if found is not None and not (found.isdecimal() and len(found) == len(HEAD)):
        raise StoreError(f"{shown}: this database belongs to something else (its schema is called {quoted(found)})")
    if found is not None and found > HEAD:
        raise StoreError(
            f"{shown}: written by a newer release (schema {found}); this one knows schema {HEAD}: upgrade referee"
        )


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Bring the database to a migration, in the transaction of `connection`."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    migrations = ScriptDirectory(str(Path(__file__).parent / "migrations"))
    context = MigrationContext.configure(connection)
    steps = list(migrations.iterate_revisions(revision, schema_version(connection) or "base"))
    with Operations.context(context):
        for step in reversed(steps):
            step.module.upgrade()
    context.stamp(migrations, revision)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver must not begin transactions by itself: `_begin_sqlite` does
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    _use_wal(cursor)
    cursor.close()


def _use_wal(cursor: Any) -> None:
    """Switch to the write-ahead log. SQLite does not wait here when two processes open a new file at once; we do."""
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    kind = connection.get_execution_options().get("referee_transaction", "read")
    if kind != "none":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if kind == "write" else "BEGIN")


def _forget_after_fork(engine: Engine) -> None:
    """Connections do not survive a fork: the child drops them without closing its parent's."""
    reference = weakref.ref(engine)

    def forget() -> None:
        alive = reference()
        if alive is not None:
            alive.dispose(close=False)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def _one_line(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split())
