"""Sums up what was done: scores, errors and counts, in the order of the input whatever the order of the parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from referee.bulk.records import Record
from referee.bulk.shards import Input
from referee.errors import ReadError
from referee.formats import Counts
from referee.formats.sources import MAX_ERRORS_KEPT
from referee.formats.unique_ids import UniqueIds
from referee.pipeline import Scorer
from referee.tally import Tally


class SourceAccount:
    """What was read of one source.

    Attributes:
        counts: What was received and kept.
        errors: What could not be read, the first thousand.
        error_count: How much that was.
    """

    def __init__(self) -> None:
        self.counts = Counts()
        self.errors: list[ReadError] = []
        self.error_count = 0


class Accounts:
    """What was read and scored so far.

    Args:
        inputs: The files.
        sources: How many sources they belong to.
        scorers: The scorers.
        lowest: How many of the lowest runs are kept.
    """

    def __init__(
        self, inputs: Sequence[Input], sources: int, scorers: Sequence[Scorer[Any, Any]], *, lowest: int
    ) -> None:
        self.tally = Tally(scorers, keep_lowest=lowest)
        self.sources = [SourceAccount() for _ in range(sources)]
        #: Runs and bytes that were done, also those that wait for their turn in the sums.
        self.runs_done = 0
        self.bytes_done = 0
        self._inputs = inputs
        self._ids = UniqueIds()
        self._lines = [0] * len(inputs)
        self._waiting: dict[tuple[int, int], Record] = {}
        self._next = (0, 0)
        self._read: dict[int, int] = {}

    def names(self, file: int, ids: Sequence[str]) -> list[str]:
        """Ids for the runs of a part of this file: those that its source repeats get `#2`, `#3`."""
        source = self._inputs[file].source
        return [self._ids.of(run_id, source) for run_id in ids]

    def add(self, record: Record) -> None:
        """Take the record of a part."""
        self.runs_done += len(record.ids)
        self.bytes_done += record.read - self._read.get(record.shard, 0)
        self._read[record.shard] = record.read
        record.ids = []
        self._waiting[record.shard, record.number] = record
        while (found := self._waiting.pop(self._next, None)) is not None:
            self._sum_up(found)
            self._next = (found.shard + 1, 0) if found.is_last else (found.shard, found.number + 1)
            if found.is_last:
                del self._read[found.shard]

    def _sum_up(self, record: Record) -> None:
        file = self._inputs[record.file]
        account = self.sources[file.source]
        if record.tally is not None:
            self.tally.merge(record.tally)
        account.counts.add(record.counts)
        account.error_count += record.error_count
        for error in record.errors[: MAX_ERRORS_KEPT - len(account.errors)]:
            line = None if error.line is None else error.line + self._lines[record.file]
            account.errors.append(ReadError(error.problem, source=file.name, line=line, field=error.field))
        self._lines[record.file] += record.lines

    def finish(self) -> None:
        """Sum up also what comes after parts that are missing."""
        for key in sorted(self._waiting):
            self._sum_up(self._waiting.pop(key))
