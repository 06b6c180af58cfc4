"""What is remembered of every part once its scores are written: enough to sum up, and to go on after a break."""

from __future__ import annotations

from typing import Any

import msgspec

from referee.bulk.scoring import Part, Unreadable
from referee.bulk.shards import Input, Shard
from referee.formats import Counts
from referee.tally import TallyPart

#: Raised when an earlier release could misread what is remembered.
SCHEMA_VERSION = 1


class FileState(msgspec.Struct, frozen=True):
    """How a file was found: its size, and when it was changed last, in nanoseconds."""

    input: Input
    size: int = 0
    changed: int = 0


class Header(msgspec.Struct, kw_only=True):
    """What all parts have in common; work is only gone on with when it is the same.

    Attributes:
        files: The files that are read.
        scorers: The scorers' ids and versions.
        reading: How runs are read.
        outputs: The files that are written.
        starts: How large each of them was before the first part.
        shard_bytes, sends_content: How the input is cut.
        keeps_order: Whether parts are written in the order of the input.
    """

    schema_version: int = SCHEMA_VERSION
    files: list[FileState]
    scorers: list[tuple[str, str]]
    reading: dict[str, Any]
    outputs: list[str]
    starts: list[int]
    shard_bytes: int
    sends_content: bool
    keeps_order: bool


class Record(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A part that was written: see `referee.bulk.scoring.Part`.

    `start` is where its shard starts in its file; `sizes` are those of the outputs after it.
    """

    shard: int
    number: int
    is_last: bool
    file: int
    start: int = 0
    ids: list[str] = []
    tally: TallyPart | None = None
    errors: list[Unreadable] = []
    error_count: int = 0
    counts: Counts = msgspec.field(default_factory=Counts)
    lines: int = 0
    read: int = 0
    checksum: int = 0
    lost: str | None = None
    sizes: list[int] = []


def record_of(shard: Shard, part: Part, sizes: list[int]) -> Record:
    """What is remembered of a part."""
    errors, count = part.errors, part.error_count
    if part.lost is not None:
        problem = f"the process that scored it ended twice ({part.lost}): not scored"
        if part.number:
            problem = (
                f"the process that scored its rest ended twice ({part.lost}): {shard.runs_done:,} runs of it are scored"
            )
        where = "" if shard.end is None else f"bytes {shard.start:,} to {shard.end:,}: "
        errors, count = [*errors, Unreadable(f"{where}{problem}")], count + 1
    return Record(
        shard=part.shard,
        number=part.number,
        is_last=part.is_last,
        file=shard.file,
        start=shard.start,
        ids=part.ids,
        tally=part.tally,
        errors=errors,
        error_count=count,
        counts=part.counts,
        lines=part.lines,
        read=part.read,
        checksum=part.checksum,
        lost=part.lost,
        sizes=sizes,
    )
