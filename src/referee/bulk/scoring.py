"""Scores one shard: the function that every engine calls."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from referee.batch import score_runs
from referee.bulk.job import Job
from referee.bulk.payloads import payload
from referee.bulk.shards import Shard
from referee.errors import ReadError
from referee.formats import Counts, get_format
from referee.formats.parts import PartReader, SpreadRunError
from referee.formats.sources import BATCH_RUNS, RunReader
from referee.pipeline import Scorer
from referee.runs import Run
from referee.scores import Score
from referee.steps import Asker
from referee.tally import Tally, TallyPart

#: A part is sent when it is so large, so that no shard needs more memory than this.
_PART_BYTES = 2 << 20
#: So many runs, or the runs of so many bytes, wait for a judge together.
_RUNS_AT_ONCE, _BYTES_AT_ONCE = 64, 2 << 20


class Unreadable(msgspec.Struct):
    """A line or record that could not be read; its line is counted from the start of the shard."""

    problem: str
    line: int | None = None
    field: str | None = None


class Part(msgspec.Struct, kw_only=True):
    """What was done of a shard, in one or more parts.

    Attributes:
        shard, number: Which shard, and which part of it, from 0.
        is_last: Whether the shard is done.
        ids: The runs' ids as they were read.
        payloads: The scores, encoded for each output.
        tally: Their summary.
        errors: What could not be read; `error_count` says how much that was.
        counts: What was received and kept.
        lines: How many lines were read.
        read, checksum: How many bytes of the shard were read since its start, and their CRC-32.
        lost: How the process ended that should have scored the rest of the shard.
        failure: Why the shard can't be scored at all; the work should end.
    """

    shard: int
    number: int
    is_last: bool
    ids: list[str] = []
    payloads: list[bytes] = []
    tally: TallyPart | None = None
    errors: list[Unreadable] = []
    error_count: int = 0
    counts: Counts = msgspec.field(default_factory=Counts)
    lines: int = 0
    read: int = 0
    checksum: int = 0
    lost: str | None = None
    failure: str | None = None


class Stretch(io.RawIOBase):
    """A stretch of a stream as a stream; counts the bytes and the check sum of what was read."""

    def __init__(self, stream: IO[bytes], name: str, start: int = 0, end: int | None = None) -> None:
        stream.seek(start)
        self._stream = stream
        self._left = end - start if end is not None else 1 << 62
        self.name = name
        self.size = 0
        self.checksum = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer."""
        wanted = memoryview(buffer)[: self._left]
        size: int = self._stream.readinto(wanted)  # type: ignore[attr-defined]
        self._left -= size
        self.size += size
        self.checksum = zlib.crc32(wanted[:size], self.checksum)
        return size


def score_shard(
    shard: Shard, job: Job, scorers: Sequence[Scorer[Any, Any]], judge: Asker | None = None
) -> Iterator[Part]:
    """Score the runs of a shard.

    Args:
        shard: The shard; the runs that were done of it before are read and passed over.
        job: The job.
        scorers: Its scorers, loaded.
        judge: The judge for scorers that have none.

    Yields:
        At least one part.
    """
    if shard.problem is not None:
        yield Part(shard=shard.number, number=0, is_last=True, errors=[Unreadable(shard.problem)], error_count=1)
        return
    try:
        with _opened(shard) as stream:
            yield from _ShardScoring(shard, job, scorers, judge, stream).parts()
    except OSError as error:
        problem = Unreadable(f"can't be read: {error.strerror or error}")
        yield Part(shard=shard.number, number=shard.parts_done, is_last=True, errors=[problem], error_count=1)


def count_lines(shard: Shard) -> int:
    """How many ends of lines a shard holds."""
    with _opened(shard) as stream:
        stretch = _stretch(shard, stream)
        return sum(piece.count(b"\n") for piece in iter(lambda: stretch.read(1 << 20), b""))


def _stretch(shard: Shard, stream: IO[bytes]) -> Stretch:
    # Content that was sent starts at its own beginning, wherever it was in its file.
    start, end = (0, None) if shard.content is not None else (shard.start, shard.end)
    return Stretch(stream, shard.input.name, start, end)


def _opened(shard: Shard) -> IO[bytes]:
    if shard.content is not None:
        return io.BytesIO(shard.content)
    return Path(shard.input.path).open("rb", buffering=0)


class _ShardScoring:
    """The scoring of one shard, from its stream to its parts."""

    def __init__(
        self, shard: Shard, job: Job, scorers: Sequence[Scorer[Any, Any]], judge: Asker | None, stream: IO[bytes]
    ) -> None:
        self._shard = shard
        self._job = job
        self._scorers = scorers
        self._judge = judge
        self._stretch = _stretch(shard, stream)
        self._reader = _reader(shard, job, self._stretch)
        self._payloads = [payload(kind) for kind in job.kinds]
        self._number = shard.parts_done
        self._begin_part()

    def _begin_part(self) -> None:
        reader = self._reader
        self._tally = Tally(self._scorers, keep_lowest=self._job.lowest)
        self._ids: list[str] = []
        self._errors_before = reader.error_count
        reader.errors.clear()
        reader.counts = Counts()

    def parts(self) -> Iterator[Part]:
        """The parts, one after the other."""
        runs = iter(self._reader)
        try:
            for _ in islice(runs, self._shard.runs_done):
                pass
            if self._shard.runs_done:
                self._begin_part()
            for scored in self._scored(runs):
                self._take(scored)
                if sum(gathered.size for gathered in self._payloads) >= _PART_BYTES:
                    yield self._part(is_last=False)
        except SpreadRunError as error:
            yield self._impossible(error)
            return
        yield self._part(is_last=True)

    def _scored(self, runs: Iterator[Run]) -> Iterator[Iterable[tuple[Run, list[Score]]]]:
        """The scores of one batch after the other.

        Nothing is read ahead of what is given, so that a part says no more than what was done.
        """
        judge, concurrency = self._judge, self._job.concurrency
        most = BATCH_RUNS if all(scorer.is_synchronous for scorer in self._scorers) else _RUNS_AT_ONCE
        while batch := self._batch(runs, most):
            yield score_runs(batch, self._scorers, judge=judge, concurrency=concurrency)

    def _batch(self, runs: Iterator[Run], most: int) -> list[Run]:
        start = self._stretch.size
        batch: list[Run] = []
        for run in runs:
            batch.append(run)
            if len(batch) >= most or self._stretch.size - start >= _BYTES_AT_ONCE:
                break
        return batch

    def _take(self, scored: Iterable[tuple[Run, list[Score]]]) -> None:
        for run, scores in scored:
            self._ids.append(run.id)
            self._tally.add(run, scores)
            for gathered in self._payloads:
                gathered.add(run, scores)

    def _part(self, *, is_last: bool) -> Part:
        reader, stretch = self._reader, self._stretch
        part = Part(
            shard=self._shard.number,
            number=self._number,
            is_last=is_last,
            ids=self._ids,
            payloads=[gathered.take() for gathered in self._payloads],
            tally=self._tally.part,
            errors=[Unreadable(error.problem, error.line, error.field) for error in reader.errors],
            error_count=reader.error_count - self._errors_before,
            counts=reader.counts,
            lines=reader.lines if is_last and isinstance(reader, PartReader) else 0,
            read=stretch.size,
            checksum=stretch.checksum,
        )
        self._number += 1
        self._begin_part()
        return part

    def _impossible(self, error: ReadError) -> Part:
        failure = (
            f"{self._shard}: {error.problem}, whose lines may belong together anywhere in a file; a file is only cut "
            "to shards when it does not start with other records: score it without --workers"
        )
        return Part(shard=self._shard.number, number=self._number, is_last=True, failure=failure)


def _reader(shard: Shard, job: Job, stretch: Stretch) -> RunReader:
    reading = job.reading
    stream = io.BufferedReader(stretch, 1 << 20)
    if not shard.is_lines:
        return RunReader(
            stream,
            reading.chosen,
            turns=reading.turns,
            on_error="collect",
            max_line_bytes=reading.max_line_bytes,
            unique_ids=False,
        )
    return PartReader(
        stream,
        shard.input.name,
        is_start=shard.start == 0,
        format=reading.chosen,
        likely=None if shard.likely is None or reading.chosen is not None else get_format(shard.likely),
        turns=reading.turns,
        max_line_bytes=reading.max_line_bytes,
    )
