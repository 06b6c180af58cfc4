"""Files of scores: JSON Lines, CSV, Markdown, Parquet. Each writer takes scores as they come."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

from referee.errors import MissingExtraError, OptionError
from referee.runs import Run
from referee.scores import Score
from referee.terminal import one_line

#: The columns of a table of scores; JSON Lines have every field of `Score`.
COLUMNS = ("run_id", "scorer_id", "scorer_version", "status", "score", "reason", "error")
#: A cell that starts with one of these is a formula to spreadsheet programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ROWS_A_GROUP = 10_000


class ScoreWriter(AbstractContextManager["ScoreWriter"], Protocol):
    """Writes scores to one file. A context manager; the file is complete when it is left."""

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Write the scores of a run."""
        ...


_MARKDOWN = str.maketrans(
    {letter: f"\\{letter}" for letter in "\\`*_{}[]()#+!|~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def open_output(path: Path) -> ScoreWriter:
    """A writer for the file's suffix: `.jsonl`, `.csv`, `.md` or `.parquet`.

    Raises:
        OptionError: Another suffix, or the file can't be written.
        MissingExtraError: Parquet without pyarrow.
    """
    writers: dict[str, Callable[[Path], ScoreWriter]] = {
        ".jsonl": JsonLines,
        ".csv": Csv,
        ".md": Markdown,
        ".parquet": Parquet,
    }
    if path.suffix not in writers:
        raise OptionError(f"{path}: the output is told by its suffix, one of {', '.join(writers)}")
    try:
        return writers[path.suffix](path)
    except OSError as error:
        raise OptionError(f"{path}: can't be written: {error.strerror}") from None


def row(score: Score) -> tuple[Any, ...]:
    """A score as a row of `COLUMNS`."""
    problem = score.reason
    if score.not_scorable is not None:
        problem = score.not_scorable.reason
    error = f"{score.error.error_class}: {score.error.message}" if score.error else None
    return score.run_id, score.scorer_id, score.scorer_version, score.status, score.score, problem, error


class _TextFile:
    """A text file that is closed when the writer is left."""

    def __init__(self, path: Path) -> None:
        self._file: IO[str] = path.open("w", encoding="utf-8", errors="backslashreplace", newline="")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class JsonLines:
    """One score a line, with every field."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=1 << 20)
        self._encode = msgspec.json.Encoder(enc_hook=str).encode

    def __enter__(self) -> JsonLines:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Write the scores of a run."""
        encode = self._encode
        self._file.write(
            b"".join(b'{"status":"%s",%s\n' % (score.status.encode(), encode(score)[1:]) for score in scores)
        )


class Csv(_TextFile):
    """A table with a header. A text that a spreadsheet would take for a formula gets an apostrophe in front."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._writer = csv.writer(self._file)
        self._writer.writerow(COLUMNS)

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Write the scores of a run."""
        self._writer.writerows([[_cell(value) for value in row(score)] for score in scores])


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


class Markdown(_TextFile):
    """A Markdown table; content is escaped and on one line."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        shown = ("run", "scorer", "status", "score", "reason")
        self._file.write(f"| {' | '.join(shown)} |\n|{' --- |' * len(shown)}\n")

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Write the scores of a run."""
        for score in scores:
            run_id, scorer_id, _, status, value, reason, error = row(score)
            number = "" if value is None else f"{value:g}"
            cells = (run_id, scorer_id, status, number, error or reason or "")
            self._file.write(f"| {' | '.join(markdown_text(cell) for cell in cells)} |\n")


def markdown_text(text: str) -> str:
    """Text as Markdown that shows as it is: on one line, nothing in it is a mark, a tag or a link.

    Example:
        >>> print(markdown_text("<b>| *x*"))
        &lt;b&gt;\\| \\*x\\*
    """
    return one_line(text, 300).translate(_MARKDOWN)


class Parquet:
    """A Parquet file of `COLUMNS`, written in groups of 10,000 rows."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("Parquet output", package="pyarrow", extra="parquet") from None
        self._schema = pa.schema([(name, pa.float64() if name == "score" else pa.string()) for name in COLUMNS])
        self._table = pa.Table.from_pylist
        self._writer = pq.ParquetWriter(path, self._schema)
        self._rows: list[dict[str, Any]] = []

    def __enter__(self) -> Parquet:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Write the scores of a run."""
        self._rows += [dict(zip(COLUMNS, map(_encodable, row(score)))) for score in scores]
        if len(self._rows) >= _ROWS_A_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._table(self._rows, schema=self._schema))
            self._rows = []


def _encodable(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
