"""An id of its own for every run of a source, in bounded memory."""

from __future__ import annotations

import os
import weakref

from referee.errors import ReadError

#: So many ids are kept in memory (3 MB); then they go to a temporary file, sorted, which is many times faster than alone.
_MOST_RECENT = 1 << 15
#: Bits that tell whether an id may be in that file; of a million ids 3 in 100 are looked up there in vain.
_BITS = 1 << 25
#: So many ids that repeat have their last number kept in memory; that of others is searched for.
_MOST_REPEATED = 1 << 15


class UniqueIds:
    """Gives ids that their source repeats `#2`, `#3` at their end.

    Only a 64-bit hash of each id is kept. Two of a million different ids have the same hash in one of 30 million files.
    All sources share what is kept, so that thousands of them need no more memory and no more files than one.

    Example:
        >>> ids = UniqueIds()
        >>> ids.of("a"), ids.of("b"), ids.of("a"), ids.of("a")
        ('a', 'b', 'a#2', 'a#3')
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._earlier: _Earlier | None = None
        self._last_numbers: dict[int, int] = {}

    def of(self, name: str, source: int = 0) -> str:
        """The id, or the id with a number at its end when it was given before to a run of this source.

        Raises:
            ReadError: The temporary file for many ids can't be written or read.
        """
        key = hash((source, name))
        if self._add(key):
            return name
        number = self._last_numbers.get(key) or self._last_number(name, source)
        while True:
            number += 1
            numbered = f"{name}#{number}"
            if self._add(hash((source, numbered))):
                break
        if len(self._last_numbers) >= _MOST_REPEATED:
            self._last_numbers.clear()
        self._last_numbers[key] = number
        return numbered

    def _add(self, key: int) -> bool:
        """Keep the hash of an id; whether it is new."""
        if self._has(key):
            return False
        self._recent.add(key)
        if len(self._recent) >= _MOST_RECENT:
            if self._earlier is None:
                self._earlier = _Earlier()
            self._earlier.add(self._recent)
            self._recent = set()
        return True

    def _last_number(self, name: str, source: int) -> int:
        """A number that was given to this id, while the next one was not: found in a few steps, however high it is."""
        low, high = 1, 2
        while self._has(hash((source, f"{name}#{high}"))):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._has(hash((source, f"{name}#{middle}"))) else (low, middle)
        return low

    def _has(self, key: int) -> bool:
        return key in self._recent or (self._earlier is not None and key in self._earlier)


class _Earlier:
    """Hashes in a temporary database, which SQLite removes, and bits in memory that spare most questions to it."""

    def __init__(self) -> None:
        import sqlite3

        self._bits = bytearray(_BITS // 8)
        self._error = sqlite3.Error
        self._process = os.getpid()
        try:
            self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._file.close)
            # Nobody else reads the file, and it ends with this process: no journal, no waiting for the disk.
            self._file.execute("PRAGMA journal_mode = OFF")
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.execute("CREATE TABLE id (key INTEGER PRIMARY KEY)")
            self._file.execute("BEGIN")
        except sqlite3.Error as error:
            raise _unusable(error) from None

    def __contains__(self, key: int) -> bool:
        if not self._bits[(key & _BITS - 1) >> 3] & 1 << (key & 7):
            return False
        self._require_same_process()
        try:
            return self._file.execute("SELECT 1 FROM id WHERE key = ?", (key,)).fetchone() is not None
        except self._error as error:
            raise _unusable(error) from None

    def add(self, keys: set[int]) -> None:
        """Keep hashes that are not there yet."""
        self._require_same_process()
        bits = self._bits
        for key in keys:
            bits[(key & _BITS - 1) >> 3] |= 1 << (key & 7)
        try:
            self._file.executemany("INSERT INTO id VALUES (?)", zip(sorted(keys)))
        except self._error as error:
            raise _unusable(error) from None

    def _require_same_process(self) -> None:
        """A forked process would write into the file of the one that it comes from."""
        if os.getpid() != self._process:
            raise ReadError("reading was begun in another process, and is far on: a forked process can't go on with it")


def _unusable(error: Exception) -> ReadError:
    return ReadError(
        f"the ids of so many runs need a temporary file, which can't be used: {error}; "
        "set TMPDIR to a folder with room for 20 bytes a run"
    )
