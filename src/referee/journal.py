"""The journal of an evaluation: an append-only file of JSON Lines, one for its plan and one for every finished item.

A line is on the disk before the next item is asked for, so a program that is killed loses nothing that was finished.
Of two lines for the same item the later one counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

import msgspec

from referee.errors import OptionError, ReadError
from referee.results import SCHEMA_VERSION, Evaluation, ItemResult, Record, ResultKey, decode_record, encode_record

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@runtime_checkable
class Ledger(Protocol):
    """Where the engine writes down what is finished: a journal, or anything else with the same three names.

    Attributes:
        evaluation: The plan of an evaluation to go on with; its id and time are taken over.
        results: What is known of it already.
    """

    evaluation: Evaluation | None
    results: dict[ResultKey, ItemResult]

    def append(self, record: Record) -> None:
        """Write down a plan or a result; it is safe when this returns."""
        ...


class Journal:
    """An open journal.

    Args:
        path: The file; made with its folder when it is not there.
        resume: Go on with what the file holds. Otherwise it must be empty.

    Raises:
        OptionError: The file holds results and `resume` is not asked for, it can't be opened, or another evaluation
            is writing it.
        ReadError: A line is no record of an evaluation.
    """

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False) -> None:
        self.path = Path(path)
        self.evaluation: Evaluation | None = None
        self.results: dict[ResultKey, ItemResult] = {}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab", buffering=0)
        except OSError as error:
            raise OptionError(f"the journal {self.path} can't be opened: {error.strerror}") from None
        try:
            _lock(self._file, self.path)
            if self._file.tell():
                self._go_on(resume)
        except BaseException:
            self._file.close()
            raise

    def _go_on(self, resume: bool) -> None:
        if not resume:
            raise OptionError(f"the journal {self.path} holds results: resume it, or give another path")
        self.evaluation, self.results = read_records(self.path)
        # A line that was cut off by a crash would swallow the start of the next one.
        self._file.truncate(_complete_size(self.path))

    def append(self, record: Record) -> None:
        """Write a record and bring it to the disk.

        Raises:
            OSError: The disk is full, or the file is gone.
            ReadError: The record holds values of wrong types, so that it could not be read back.
        """
        line = encode_record(record) + b"\n"
        try:
            decode_record(line)
        except msgspec.MsgspecError as error:
            raise ReadError(f"it could not be read back: {error}", source=str(self.path)) from None
        self._write(line)
        if isinstance(record, Evaluation):
            self.evaluation = record
        else:
            self.results[record.key] = record

    def _write(self, line: bytes) -> None:
        start, rest = self._file.tell(), line
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(start)  # a piece of a line would swallow the next one
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep the file to this evaluation: two at once would do everything twice and cut each other's lines."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OptionError(f"the journal {path} is in use by another evaluation") from None
    except OSError:  # a file system without locks
        return


def set_aside(path: Path, kept: Path) -> None:
    """Rename the journal of an evaluation that is over.

    Raises:
        OptionError: An evaluation is writing it.
        OSError: It can't be renamed.
    """
    with path.open("ab") as file:
        _lock(file, path)
    path.replace(kept)


def read_records(path: str | os.PathLike[str]) -> tuple[Evaluation | None, dict[ResultKey, ItemResult]]:
    """The plan and the last result of each item. An incomplete last line, left by a crash, is passed over.

    Raises:
        ReadError: The file can't be read, or a line is no record of an evaluation; tells which.
    """
    evaluation = None
    results: dict[ResultKey, ItemResult] = {}
    for record in _records(Path(path)):
        if isinstance(record, Evaluation):
            evaluation = record
        else:
            results[record.key] = record
    return evaluation, results


def _records(path: Path) -> Iterator[Record]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    return
                yield _record(line, str(path), number)
    except OSError as error:
        raise ReadError(str(error.strerror), source=str(path)) from None


def _record(line: bytes, source: str, number: int) -> Record:
    try:
        record = decode_record(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise ReadError(f"no record of an evaluation: {error}", source=source, line=number) from None
    if isinstance(record, Evaluation) and record.schema_version != SCHEMA_VERSION:
        problem = f"written in schema version {record.schema_version}; this release reads version {SCHEMA_VERSION}"
        raise ReadError(problem, source=source, line=number)
    return record


def _complete_size(path: Path) -> int:
    """The size of the file up to the end of its last complete line."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        while size:
            start = max(0, size - 65536)
            file.seek(start)
            found = file.read(size - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            size = start
    return 0
