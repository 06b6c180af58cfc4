"""The journal of bulk scoring, beside its first output: what was written, part by part, so that it can be gone on with."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from referee.bulk.records import SCHEMA_VERSION, FileState, Header, Record
from referee.bulk.shards import Done, Input, is_packed
from referee.errors import OptionError

_BLOCK = 1 << 20
#: Seconds from one time that the files are brought to the disk to the next.
_SYNC_SECONDS = 5.0


def journal_path(output: Path) -> Path:
    """Where the journal of an output lies."""
    return output.with_name(f"{output.name}.journal")


def _encode(entry: Header | Record) -> bytes:
    try:
        return msgspec.json.encode(entry)
    except UnicodeEncodeError:  # a lone surrogate in what a scorer of one's own said
        return json.dumps(msgspec.to_builtins(entry), ensure_ascii=False).encode("utf-8", "replace")


class Journal:
    """An open journal. A killed program loses at most the part that it was writing.

    Args:
        path: The file, made anew.
        header: What all parts have in common.
        records: What was written before.
    """

    def __init__(self, path: Path, header: Header, records: Sequence[Record] = ()) -> None:
        self.path = path
        entries: list[Header | Record] = [header, *records]
        fresh = path.with_name(f"{path.name}.new")
        with fresh.open("wb") as file:
            file.writelines(_encode(entry) + b"\n" for entry in entries)
            os.fsync(file.fileno())
        fresh.replace(path)
        self._file = path.open("ab", buffering=0)
        self._synced = time.monotonic()

    def append(self, record: Record) -> bool:
        """Write the record of a part whose scores are written; whether it is time to bring all to the disk.

        Raises:
            OSError: The disk is full.
        """
        line = _encode(record) + b"\n"
        if self._file.write(line) != len(line):
            raise OSError(0, "the disk is full")
        return time.monotonic() - self._synced >= _SYNC_SECONDS

    def sync(self) -> None:
        """Bring the journal to the disk. The outputs must be there before."""
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def close(self, *, is_complete: bool) -> None:
        """Close the journal, and remove it when there is nothing to go on with."""
        self._file.close()
        if is_complete:
            self.path.unlink(missing_ok=True)


def read_journal(path: Path) -> tuple[Header, list[Record]]:
    """What a journal holds. A last line that was cut off is passed over.

    Raises:
        OptionError: It can't be read.
    """
    records: list[Record] = []
    header: Header | None = None
    try:
        with path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                if header is None:
                    header = msgspec.json.decode(line, type=Header)
                else:
                    records.append(msgspec.json.decode(line, type=Record))
    except (OSError, msgspec.MsgspecError) as error:
        raise OptionError(f"the journal {path} can't be read: {error}; remove it to start again") from None
    if header is None or header.schema_version != SCHEMA_VERSION:
        raise OptionError(f"the journal {path} is of no use to this release; remove it to start again")
    return header, records


def usable(path: Path, header: Header, records: Sequence[Record], sizes: Sequence[int]) -> list[Record]:
    """The records to go on from: those whose scores are all there, without the shards that were lost.

    Args:
        path: The journal.
        header: Its header.
        records: Its records.
        sizes: How large the outputs are now.

    Raises:
        OptionError: An output is shorter than it was at the start.
    """
    if any(size < start for size, start in zip(sizes, header.starts, strict=True)):
        raise OptionError(f"{' or '.join(header.outputs)} is not as it was left: remove {path} to start again")
    kept: list[Record] = []
    for record in records:
        if any(size < written for size, written in zip(sizes, record.sizes, strict=True)):
            break
        if record.lost is None:
            kept.append(record)
        elif header.keeps_order:
            break
    return kept


def done_of(records: Sequence[Record]) -> dict[int, Done]:
    """By number of shard, what is done."""
    done: dict[int, Done] = {}
    for record in records:
        shard = done.setdefault(record.shard, Done())
        shard.runs += len(record.ids)
        shard.parts += 1
        shard.is_complete = record.is_last
        shard.checksum = record.checksum
    return done


def require_same(path: Path, earlier: Header, now: Header) -> None:
    """Make sure that work can be gone on with.

    Raises:
        OptionError: Something is not as it was when the work began; tells what.
    """
    same = (
        ("the inputs are", [state.input for state in earlier.files], [state.input for state in now.files]),
        ("the scorers, or their options or code, are", earlier.scorers, now.scorers),
        ("the options of reading are", earlier.reading, now.reading),
        ("the outputs are", earlier.outputs, now.outputs),
        ("--order is", earlier.keeps_order, now.keeps_order),
        ("the engine is", earlier.sends_content, now.sends_content),
    )
    for what, before, after in same:
        if before != after:
            raise OptionError(f"{what} not the same as when {path} was begun: remove it to start again")


def require_unchanged(path: Path, earlier: Header, now: Header, records: Sequence[Record]) -> None:
    """Make sure that what was scored of the inputs is still what they hold.

    A file of the same size and time is taken for the same. Of one with another time every scored part is compared by
    its check sum; parts of compressed files are compared when they are unpacked again.

    Raises:
        OptionError: A file has changed.
    """
    for number, (before, after) in enumerate(zip(earlier.files, now.files, strict=True)):
        if before.size == after.size and before.changed == after.changed:
            continue
        name = after.input.name
        if before.size != after.size or not _holds(after, [record for record in records if record.file == number]):
            raise OptionError(f"{name} has changed since a part of it was scored: remove {path} to start again")


def _holds(file: FileState, records: Sequence[Record]) -> bool:
    """Whether a file still has the check sums of what was read of it."""
    last = {record.shard: record for record in records}
    with open(file.input.path, "rb") as stream:  # noqa: PTH123 - a path of any form
        if is_packed(stream.read(4)):
            return True
        return all(_checksum(stream, record.start, record.read) == record.checksum for record in last.values())


def _checksum(stream: IO[bytes], start: int, size: int) -> int:
    stream.seek(start)
    checksum = 0
    while size and (content := stream.read(min(size, _BLOCK))):
        checksum = zlib.crc32(content, checksum)
        size -= len(content)
    return checksum


def file_states(inputs: Sequence[Input]) -> list[FileState]:
    """How the files are now."""
    states = []
    for file in inputs:
        try:
            found = Path(file.path).stat()
        except OSError:
            states.append(FileState(file))
        else:
            states.append(FileState(file, found.st_size, found.st_mtime_ns))
    return states
