"""Scores a batch of runs in an Arrow table, for engines that move tables: Ray Data, Spark, any other."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from referee.batch import score_runs
from referee.bulk.job import Reading
from referee.errors import OptionError, ReadError
from referee.formats.json_text import parse_json
from referee.formats.parts import PartReader, SpreadRunError
from referee.formats.sources import MAX_DOCUMENT_BYTES, RunReader
from referee.loading import load_scorer
from referee.outputs import row
from referee.pipeline import Scorer
from referee.runs import Run
from referee.steps import Asker

#: The status of a row that could not be read, in place of a score's.
UNREADABLE = "unreadable"


def score_batch(
    table: Any,
    scorers: Sequence[Any],
    *,
    column: str | None = "run",
    format: str | None = None,
    turns: str = "all",
    judge: Asker | str | None = None,
    concurrency: int = 8,
) -> Any:
    """Score the runs of an Arrow table, one run a row.

    It has no state and changes nothing, so that any engine may call it anywhere and call it again. Ids that repeat stay
    as they are: only who sees all batches can tell them apart.

    Args:
        table: A `pyarrow.Table` or `RecordBatch`.
        scorers: Scorers, or their specifications (`referee.load_scorer`), which can be sent to other machines.
        column: The column that holds the runs in any readable format: as JSON text, as bytes, or as structs. `None`
            takes the whole row as the run. A null in a struct is taken for a field that is not there.
        format: The format's name; detected row by row when `None`.
        turns: How a flat conversation becomes runs: `all`, `last` or `split`.
        judge: The judge for scorers that have none of their own.
        concurrency: How many runs are judged at once.

    Returns:
        A table, or a batch when a batch was given, with one row for each run and scorer and the columns `run_id`,
        `scorer_id`, `scorer_version`, `status`, `score`, `reason`, `error`. A row that can't be read gives one row at
        the end, with its number as `run_id`, the status `unreadable` and no score.

    Raises:
        OptionError: There is no such column, format or scorer, or no scorer at all.
        MissingExtraError: pyarrow is not installed.

    Example:
        >>> import pyarrow as pa
        >>> runs = pa.table({"run": ['{"id": "r1", "input": "Weather?", "output": "Sunny."}']})
        >>> scores = score_batch(runs, [{"checks.includes": {"expected": "sunny"}}])
        >>> scores.select(["run_id", "scorer_id", "score"]).to_pylist()
        [{'run_id': 'r1', 'scorer_id': 'check-includes', 'score': 1.0}]
    """
    if not scorers:
        raise OptionError("give at least one scorer")
    from referee.score_tables import as_batch, table_of_rows

    reader, runs = _read(_cells(table, column), Reading(format=format, turns=turns))
    scored = score_runs(runs, list(map(_loaded, scorers)), judge=judge, concurrency=concurrency)
    rows = [row(score) for _, scores in scored for score in scores]
    rows += [_unreadable(f"row {error.line}", str(error)) for error in reader.errors]
    more = reader.error_count - len(reader.errors)
    if more:
        rows.append(_unreadable("more rows", f"{more:,} more rows could not be read"))
    scores = table_of_rows(rows)
    return scores if hasattr(table, "to_batches") else as_batch(scores)


def _unreadable(place: str, problem: str) -> tuple[Any, ...]:
    return place, "", "", UNREADABLE, None, None, problem


def _loaded(scorer: Any) -> Scorer[Any, Any]:
    if isinstance(scorer, (str, dict)):
        return _loaded_once(msgspec.json.encode(scorer))
    return load_scorer(scorer)


@lru_cache(maxsize=256)
def _loaded_once(spec: bytes) -> Scorer[Any, Any]:
    return load_scorer(msgspec.json.decode(spec))


def _cells(table: Any, column: str | None) -> list[Any]:
    """What the rows hold: bytes of JSON, or plain records."""
    if column is None:
        return [_without_nulls(record) for record in table.to_pylist()]
    if column not in table.schema.names:
        raise OptionError(f"the table has no column {column!r}; its columns are: {', '.join(table.schema.names)}")
    return [_without_nulls(cell) for cell in table.column(column).to_pylist()]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(field) for name, field in value.items() if field is not None}
    return [_without_nulls(field) for field in value] if isinstance(value, list) else value


def _read(cells: Sequence[Any], reading: Reading) -> tuple[RunReader, list[Run]]:
    """The runs of the cells. Texts are read as the lines of a file, which is quickest, if each line stands alone."""
    if all(isinstance(cell, (str, bytes)) for cell in cells):
        stream = io.BytesIO(b"\n".join(map(_line, cells)))
        reader: RunReader = PartReader(
            stream,
            "",
            is_start=False,
            format=reading.chosen,
            likely=None,
            turns=reading.turns,
            max_line_bytes=MAX_DOCUMENT_BYTES,
        )
        with suppress(SpreadRunError):
            return reader, list(reader)
    reader = RunReader(
        [_parsed(cell) for cell in cells],
        reading.chosen,
        turns=reading.turns,
        on_error="collect",
        unique_ids=False,
    )
    return reader, list(reader)


def _line(cell: str | bytes) -> bytes:
    """JSON as one line: in JSON a line's end is only found between values. A blank cell must not be passed over."""
    line = (cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else cell).replace(b"\n", b" ")
    return line if line.strip() else b'""'


def _parsed(cell: Any) -> Any:
    """The record of a cell; a text that is no JSON stays one, which no format reads."""
    if not isinstance(cell, (str, bytes)):
        return cell
    with suppress(ReadError):
        return parse_json(_line(cell))
    return cell
