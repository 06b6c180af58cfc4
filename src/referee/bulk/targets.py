"""Where the encoded scores of parts go. Files can be cut back to a size they had, so that nothing is half written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from referee.bulk.payloads import packed_table, unpacked_records, unpacked_table
from referee.outputs import ENCODINGS, PARQUET, require_output
from referee.pipeline import Scorer

_LENGTH = 8


class Target(Protocol):
    """Takes the payloads of one kind."""

    @property
    def size(self) -> int:
        """How much was written."""
        ...

    def write(self, content: bytes, old: Sequence[str], new: Sequence[str]) -> None:
        """Write the payload of a part whose runs had the ids `old` and have the ids `new`."""
        ...

    def cut(self, size: int) -> None:
        """Forget what was written beyond a size."""
        ...

    def sync(self) -> None:
        """Bring what was written to the disk."""
        ...

    def close(self, *, is_complete: bool) -> None:
        """Make the best of what was written."""
        ...


class TextTarget:
    """A file of one of the text encodings.

    Args:
        path: The file.
        size: How much of it is there already and stays; `None` starts it anew.
    """

    def __init__(self, path: Path, size: int | None) -> None:
        self._encoding = ENCODINGS[path.suffix]
        self._file = _File(path, size)
        if size is None:
            self._file.append(self._encoding.header)

    @property
    def size(self) -> int:
        """How much was written."""
        return self._file.size

    def write(self, content: bytes, old: Sequence[str], new: Sequence[str]) -> None:
        """Write the payload of a part."""
        self._file.append(content if old == new else self._encoding.renamed(content, old, new))

    def cut(self, size: int) -> None:
        """Forget what was written beyond a size."""
        self._file.cut(size)

    def sync(self) -> None:
        """Bring what was written to the disk."""
        self._file.sync()

    def close(self, *, is_complete: bool) -> None:
        """Close the file."""
        self._file.close()


class ParquetTarget:
    """A Parquet file. It can't be written on after a break, so its rows are kept beside it until all are there."""

    def __init__(self, path: Path, size: int | None) -> None:
        self._path = path
        self._rows_path = path.with_name(f"{path.name}.rows")
        self._rows = _File(self._rows_path, size)

    @property
    def size(self) -> int:
        """How much was written."""
        return self._rows.size

    def write(self, content: bytes, old: Sequence[str], new: Sequence[str]) -> None:
        """Write the payload of a part."""
        if old != new:
            from referee.score_tables import with_run_ids

            content = packed_table(with_run_ids(unpacked_table(content), new))
        self._rows.append(len(content).to_bytes(_LENGTH, "big") + content)

    def cut(self, size: int) -> None:
        """Forget what was written beyond a size."""
        self._rows.cut(size)

    def sync(self) -> None:
        """Bring what was written to the disk."""
        self._rows.sync()

    def close(self, *, is_complete: bool) -> None:
        """Make the Parquet file of the rows that are there."""
        from referee.score_tables import ParquetWriter

        self._rows.close()
        with ParquetWriter(self._path) as writer:
            for table in self._tables():
                writer.write_table(table)
        if is_complete:
            self._rows_path.unlink()

    def _tables(self) -> Iterator[Any]:
        with self._rows_path.open("rb") as file:
            while head := file.read(_LENGTH):
                yield unpacked_table(file.read(int.from_bytes(head, "big")))


class StoreTarget:
    """A store. Keeping the same again changes nothing, so there is nothing to cut."""

    size = 0

    def __init__(self, url: str, scorers: Sequence[Scorer[Any, Any]]) -> None:
        from referee.storage import Store

        self._store = Store(url)
        self._scorers = scorers

    def write(self, content: bytes, old: Sequence[str], new: Sequence[str]) -> None:
        """Keep the runs of a part."""
        records = unpacked_records(content)
        if old != new:
            for place, run_id in enumerate(new):
                record = records[place]
                run = msgspec.structs.replace(record.run, id=run_id)
                scores = [msgspec.structs.replace(score, run_id=run_id) for score in record.scores]
                records[place] = msgspec.structs.replace(record, run=run, scores=scores)
        self._store.save(records, scorers=self._scorers)

    def cut(self, size: int) -> None:
        """Nothing."""

    def sync(self) -> None:
        """Nothing: what is saved is on the disk."""

    def close(self, *, is_complete: bool) -> None:
        """Close the store."""
        self._store.close()


class _File:
    """A file that only grows, or is cut."""

    def __init__(self, path: Path, size: int | None) -> None:
        self._file = path.open("wb" if size is None else "r+b", buffering=0)
        self.size = 0
        if size is not None:
            self.cut(size)

    def append(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            written = self._file.write(rest)
            rest = rest[written:]
        self.size += len(content)

    def cut(self, size: int) -> None:
        self._file.truncate(size)
        self._file.seek(size)
        self.size = size

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def file_target(path: Path, size: int | None) -> Target:
    """The target for a file, by its suffix; with a size to go on with it.

    Raises:
        OptionError: The suffix is none of an output.
        MissingExtraError: Parquet without pyarrow.
        OSError: The file can't be written.
    """
    require_output(path)
    if path.suffix != PARQUET:
        return TextTarget(path, size)
    import referee.score_tables  # noqa: F401 - says what is missing before anything is scored

    return ParquetTarget(path, size)


def written_size(path: Path) -> int:
    """How much an earlier attempt wrote for an output; -1 when there is nothing."""
    written = path.with_name(f"{path.name}.rows") if path.suffix == PARQUET else path
    return written.stat().st_size if written.exists() else -1
