"""A cache of the judge's replies in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from referee.errors import OptionError
from referee.judge.exchange import Reply, Request, Transport
from referee.scores import JudgeUsage

_TABLE = "CREATE TABLE IF NOT EXISTS reply (key TEXT PRIMARY KEY, reply BLOB NOT NULL) WITHOUT ROWID"


class Cache:
    """Keeps replies in one SQLite file. Threads and processes may share it; a reply is safe as soon as it is there.

    The key is the model's name, its parameters, the prompt and the repeat number. Only replies that could be read are
    kept, so a failure is asked again. Delete the file to start anew.

    Args:
        path: The file; it is made when it is missing.

    Raises:
        OptionError: The file can't be opened, or is no cache.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cache = Cache(Path(folder) / "judge.sqlite")
        ...     cache.put("key", Reply(text="yes"))
        ...     found = cache.get("key")
        ...     cache.close()
        >>> found.text
        'yes'
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        with self._lock:
            self._open()

    def get(self, key: str) -> Reply | None:
        """The reply under a key, or `None`."""
        with self._lock:
            row = self._open().execute("SELECT reply FROM reply WHERE key = ?", (key,)).fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=Reply)

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply. It is there for good when this returns, also if the process is killed next."""
        with self._lock, self._open() as connection:
            connection.execute("INSERT OR REPLACE INTO reply VALUES (?, ?)", (key, msgspec.json.encode(reply)))

    def forget(self, is_meant: Callable[[Reply], bool]) -> int:
        """Remove the replies for which a function is true, and leave nothing of them in the file. Gives how many."""
        with self._lock:
            connection = self._open()
            rows = connection.execute("SELECT key, reply FROM reply").fetchall()
            meant = [(key,) for key, reply in rows if is_meant(msgspec.json.decode(reply, type=Reply))]
            with connection:
                connection.executemany("DELETE FROM reply WHERE key = ?", meant)
            if meant:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(meant)

    def close(self) -> None:
        """Close the file. The next use opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        # A connection must not cross a fork.
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        try:
            connection = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(_TABLE)
        except sqlite3.Error as error:
            raise OptionError(f"cache {self.path}: {error}") from None
        self._connection, self._process = connection, os.getpid()
        return connection


class Cached:
    """Replies from the cache where it can, and keeps what it had to ask."""

    def __init__(self, transport: Transport, cache: Cache) -> None:
        self._transport = transport
        self._cache = cache

    async def send(self, request: Request) -> Reply:
        """Give the kept reply, at no cost, or send the request.

        Raises:
            JudgeError: There is no reply.
        """
        key = request.key
        known = self._cache.get(key)
        if known is not None:
            return msgspec.structs.replace(known, usage=JudgeUsage(calls=1, cached=1))
        reply = await self._transport.send(request)
        self._cache.put(key, reply)
        return reply
