"""What is sent back of a part: its scores as the bytes that each output takes, never as objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from referee.live import wire
from referee.outputs import ENCODINGS, PARQUET, Encoding
from referee.runs import Run
from referee.scores import Score
from referee.storage.scored_runs import ScoredRun

#: The kind of what a store takes; the other kinds are the suffixes of files.
STORE = "store"


class Payload(Protocol):
    """Gathers the scores of runs for one output."""

    size: int

    def add(self, run: Run, scores: Sequence[Score]) -> None:
        """Take the scores of a run."""
        ...

    def take(self) -> bytes:
        """Everything since the last time, as bytes."""
        ...


class _Text:
    def __init__(self, encoding: Encoding) -> None:
        self._encode = encoding.encode
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, run: Run, scores: Sequence[Score]) -> None:
        piece = self._encode(scores)
        self._pieces.append(piece)
        self.size += len(piece)

    def take(self) -> bytes:
        content = b"".join(self._pieces)
        self._pieces.clear()
        self.size = 0
        return content


class _Table:
    """As an Arrow stream."""

    def __init__(self) -> None:
        from referee.outputs import row
        from referee.score_tables import table_of_rows

        self._row = row
        self._table = table_of_rows
        self._rows: list[tuple[Any, ...]] = []
        self.size = 0

    def add(self, run: Run, scores: Sequence[Score]) -> None:
        self._rows += map(self._row, scores)
        self.size += 100 * len(scores)  # about what a row takes

    def take(self) -> bytes:
        content = packed_table(self._table(self._rows))
        self._rows.clear()
        self.size = 0
        return content


class _Stored:
    """As the records that a store takes."""

    def __init__(self) -> None:
        self._records: list[bytes] = []
        self.size = 0

    def add(self, run: Run, scores: Sequence[Score]) -> None:
        record = wire.encode(ScoredRun(run=run, scores=list(scores)))
        self._records.append(record)
        self.size += len(record)

    def take(self) -> bytes:
        content = msgspec.msgpack.encode(self._records)
        self._records.clear()
        self.size = 0
        return content


def payload(kind: str) -> Payload:
    """What gathers scores for an output of this kind."""
    if kind == STORE:
        return _Stored()
    return _Table() if kind == PARQUET else _Text(ENCODINGS[kind])


def packed_table(table: Any) -> bytes:
    """An Arrow table as bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpacked_table(content: bytes) -> Any:
    """The Arrow table that `packed_table` packed."""
    import pyarrow as pa

    return pa.ipc.open_stream(content).read_all()


def unpacked_records(content: bytes) -> list[ScoredRun]:
    """The records that a store takes."""
    return [wire.decode(record, ScoredRun) for record in msgspec.msgpack.decode(content, type=list[bytes])]
