"""Shards: the pieces of the input that are scored on their own.

A plain JSON Lines file is cut by byte ranges at the ends of lines. JSON Lines that can't be read from the middle
(compressed files, standard input) are unpacked by one reader and sent on in pieces of whole lines. Any other file (one
JSON document, a table, an archive, spans that belong together) is one shard.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

import msgspec

from referee.errors import OptionError
from referee.formats import Format
from referee.formats.packed import DamagedError, unpacked
from referee.formats.parts import HEAD_BYTES, LineFile

#: The largest and the smallest shard. Smaller ones spread a small file over all workers.
LARGEST, SMALLEST = 4 << 20, 256 << 10
#: So many shards of a file a worker should get, so that all end at about the same time.
_SHARDS_A_WORKER = 8
_BLOCK = 1 << 20


class Input(msgspec.Struct, frozen=True):
    """One file to read: the number of the source that it belongs to, its path, and the name to call it by."""

    source: int
    path: str
    name: str


class Shard(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A piece of the input.

    Attributes:
        number: Its place in the order of the input, from 0.
        file: The number of its file.
        input: The file.
        start, end: The bytes that it takes of the file; to the end when `end` is `None`.
        is_lines: Whether these are whole lines of a JSON Lines file; else the file is read as it is.
        likely: The format of the file's first record.
        content: The lines themselves, where they can't be read from the file.
        problem: Why the file could not be read further; then there is nothing to score.
        runs_done, parts_done: What was scored of it before and is not to be scored again.
    """

    number: int
    file: int
    input: Input
    start: int = 0
    end: int | None = None
    is_lines: bool = False
    likely: str | None = None
    content: bytes | None = None
    problem: str | None = None
    runs_done: int = 0
    parts_done: int = 0

    def __str__(self) -> str:
        if self.content is not None or (self.end is None and not self.start):
            return self.input.name
        return f"{self.input.name}: bytes {self.start:,} to {'the end' if self.end is None else f'{self.end:,}'}"


class Done(msgspec.Struct):
    """What an earlier attempt did of a shard."""

    runs: int = 0
    parts: int = 0
    is_complete: bool = False
    checksum: int = 0


class Plan:
    """Cuts the inputs into shards, one after the other as they are asked for.

    Args:
        inputs: The files, in order; the path `-` is standard input.
        format: The format that was asked for.
        max_line_bytes: As for `referee.read_runs`.
        shard_bytes: How large a shard is at most, but for one line.
        sends_content: Whether unpacked lines may be sent to those who score them.
        done: By number of shard, what need not be scored again.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        *,
        format: Format | None,
        max_line_bytes: int,
        shard_bytes: int,
        sends_content: bool = True,
        done: Mapping[int, Done] | None = None,
    ) -> None:
        self._inputs = inputs
        self._format = format
        self._most = max_line_bytes
        self._size = shard_bytes
        self._sends_content = sends_content
        self._done = done or {}
        self._number = 0
        self._copies: list[Path] = []

    def __iter__(self) -> Iterator[Shard]:
        for number, file in enumerate(self._inputs):
            for shard in self._shards_of(number, file):
                shard.number = self._number
                self._number += 1
                done = self._done.get(shard.number)
                if done is None:
                    yield shard
                elif not done.is_complete:
                    shard.runs_done, shard.parts_done = done.runs, done.parts
                    yield shard
                elif shard.content is not None and zlib.crc32(shard.content) != done.checksum:
                    raise OptionError(f"{file.name} has changed since a part of it was scored: start without --resume")

    def close(self) -> None:
        """Remove what was copied from standard input."""
        for path in self._copies:
            path.unlink(missing_ok=True)

    def _shards_of(self, number: int, file: Input) -> Iterator[Shard]:
        whole = Shard(number=0, file=number, input=file)
        if file.path == "-":
            yield from self._streamed(whole, sys.stdin.buffer, is_file=False)
            return
        try:
            stream = Path(file.path).open("rb")  # noqa: SIM115 - closed below
        except OSError:
            yield whole  # its reader says what is wrong
            return
        with stream:
            try:
                yield from self._opened(whole, stream)
            except OSError as error:
                yield msgspec.structs.replace(whole, problem=f"can't be read: {error.strerror or error}")

    def _opened(self, whole: Shard, stream: io.BufferedReader) -> Iterator[Shard]:
        state = os.fstat(stream.fileno())
        if not stat.S_ISREG(state.st_mode):
            yield from self._streamed(whole, stream, is_file=False)
            return
        head = stream.read(HEAD_BYTES)
        stream.seek(0)
        found = self._looked_at(head, whole.input.name, is_whole=state.st_size <= len(head))
        if is_packed(head) and self._sends_content:
            yield from self._streamed(whole, stream, is_file=True)
        elif found.is_parted and not is_packed(head):
            yield from self._ranges(whole, stream, state.st_size, found)
        else:
            yield whole

    def _looked_at(self, head: bytes, name: str, *, is_whole: bool) -> LineFile:
        return LineFile(head, name, self._format, is_whole=is_whole, max_line_bytes=self._most)

    def _ranges(self, whole: Shard, stream: IO[bytes], size: int, found: LineFile) -> Iterator[Shard]:
        start = 0
        while start < size:
            end = _line_start(stream, start + self._size, size)
            yield msgspec.structs.replace(whole, start=start, end=end, is_lines=True, likely=_name(found.likely))
            start = end

    def _streamed(self, whole: Shard, raw: IO[bytes], *, is_file: bool) -> Iterator[Shard]:
        """Shards of what comes out of a stream. When it is not parted, a file is read by its name, else a copy."""
        problems: list[str] = []
        blocks = _blocks(unpacked(raw), problems)
        first = b""
        while len(first) < HEAD_BYTES and (block := next(blocks, b"")):
            first += block
        found = self._looked_at(first, whole.input.name, is_whole=len(first) < HEAD_BYTES)
        if found.is_parted:
            start = 0
            for content in _whole_lines(chain((first,), blocks), self._size, self._most, problems):
                yield msgspec.structs.replace(
                    whole, start=start, is_lines=True, likely=_name(found.likely), content=content
                )
                start += len(content)
        elif not is_file:
            copy = self._copied(chain((first,), blocks))
            if not problems:
                yield msgspec.structs.replace(whole, input=Input(whole.input.source, str(copy), whole.input.name))
        else:
            yield whole
            return
        if problems:
            yield msgspec.structs.replace(whole, problem=f"the compressed data is damaged: {problems[0]}")

    def _copied(self, blocks: Iterable[bytes]) -> Path:
        with tempfile.NamedTemporaryFile(prefix="referee-", delete=False) as copy:
            self._copies.append(Path(copy.name))
            copy.writelines(blocks)
        return Path(copy.name)


def shard_bytes(inputs: Sequence[Input], workers: int) -> int:
    """How large a shard should be, so that also a small input gives each worker some of them."""
    paths = [Path(file.path) for file in inputs if file.path != "-"]
    total = sum(path.stat().st_size for path in paths if path.exists())
    return max(SMALLEST, min(LARGEST, total // (workers * _SHARDS_A_WORKER)))


def is_packed(head: bytes) -> bool:
    """Whether a file that starts so is compressed."""
    stream = io.BufferedReader(io.BytesIO(head))
    return unpacked(stream) is not stream


def _name(format: Format | None) -> str | None:
    return None if format is None else format.NAME


def _line_start(stream: IO[bytes], place: int, size: int) -> int:
    """Where the first line starts at or after a place in a file; its end when there is none."""
    if place >= size:
        return size
    stream.seek(place - 1)
    while piece := stream.readline(_BLOCK):
        if piece.endswith(b"\n"):
            return stream.tell()
    return size


def _blocks(stream: io.BufferedReader, problems: list[str]) -> Iterator[bytes]:
    """What a stream holds; where it is damaged, that is noted and the end."""
    try:
        while block := stream.read1(_BLOCK):
            yield block
    except DamagedError as error:
        problems.append(str(error))


def _whole_lines(blocks: Iterator[bytes], size: int, most: int, problems: list[str]) -> Iterator[bytes]:
    """The blocks put together to pieces of whole lines. A line longer than `most` is cut to one byte more than that."""
    pending = bytearray()
    for block in blocks:
        pending += block
        end = pending.rfind(b"\n") + 1
        if len(pending) - end > most + 1:
            del pending[end + most + 1 :]
            pending += _next_line(blocks)
        elif end and len(pending) >= size:
            yield bytes(pending[:end])
            del pending[:end]
    if problems:  # the last line is not whole
        del pending[pending.rfind(b"\n") + 1 :]
    if pending:
        yield bytes(pending)


def _next_line(blocks: Iterator[bytes]) -> bytes:
    """What follows a line whose rest is passed over, with the end of that line."""
    for block in blocks:
        end = block.find(b"\n")
        if end >= 0:
            return block[end:]
    return b""
