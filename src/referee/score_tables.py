"""Scores as Arrow tables, and Parquet files of them. Needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from referee.errors import MissingExtraError
from referee.outputs import COLUMNS, row
from referee.runs import Run
from referee.scores import Score

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise MissingExtraError("a table of scores", package="pyarrow", extra="parquet") from None

#: The columns of a table of scores.
SCHEMA = pa.schema([(name, pa.float64() if name == "score" else pa.string()) for name in COLUMNS])
#: How many rows a group of a Parquet file has.
ROWS_A_GROUP = 10_000


def score_table(scores: Iterable[Score]) -> Any:
    """A `pyarrow.Table` of scores, one a row.

    Example:
        >>> score_table([Score("run-1", "check-includes", 1.0)]).to_pylist()[0]["score"]
        1.0
    """
    return table_of_rows([row(score) for score in scores])


def table_of_rows(rows: Sequence[Sequence[Any]]) -> Any:
    """A `pyarrow.Table` of rows with the cells of `COLUMNS`."""
    columns = list(zip(*rows)) or [()] * len(COLUMNS)
    arrays = [_array(column, field.type) for column, field in zip(columns, SCHEMA)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def as_batch(table: Any) -> Any:
    """A table as one `pyarrow.RecordBatch`."""
    columns = [column.combine_chunks() for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def _array(values: Sequence[Any], type: Any) -> Any:
    try:
        return pa.array(values, type)
    except UnicodeEncodeError:  # lone surrogates
        texts = [value if value is None else value.encode("utf-8", "backslashreplace").decode() for value in values]
        return pa.array(texts, type)


def with_run_ids(table: Any, ids: Sequence[str]) -> Any:
    """The scores of some runs, all with the same number of scores, under these run ids."""
    each = table.num_rows // len(ids)
    return table.set_column(0, SCHEMA.field(0), _array([name for name in ids for _ in range(each)], pa.string()))


class ParquetWriter:
    """Writes a Parquet file in groups of 10,000 rows, however the rows come in."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA)
        self._rows: list[tuple[Any, ...]] = []
        self._tables: list[Any] = []
        self._waiting = 0

    def __enter__(self) -> ParquetWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._take_rows()
        self._flush(self._waiting)
        self._writer.close()

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Write the scores of a run."""
        self._rows += map(row, scores)
        if len(self._rows) >= ROWS_A_GROUP:
            self._take_rows()

    def write_table(self, table: Any) -> None:
        """Write a table of scores."""
        self._tables.append(table)
        self._waiting += table.num_rows
        if self._waiting >= ROWS_A_GROUP:
            self._flush(self._waiting - self._waiting % ROWS_A_GROUP)

    def _take_rows(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self.write_table(table_of_rows(rows))

    def _flush(self, count: int) -> None:
        """Write so many of the rows that wait."""
        if not self._waiting:
            return
        table = pa.concat_tables(self._tables).combine_chunks()
        for start in range(0, count, ROWS_A_GROUP):
            self._writer.write_table(table.slice(start, min(ROWS_A_GROUP, count - start)))
        self._tables = [table.slice(count)]
        self._waiting -= count
