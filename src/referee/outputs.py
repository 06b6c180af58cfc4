"""Files of scores: JSON Lines, CSV, Markdown, Parquet. Each writer takes scores as they come."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from referee.errors import OptionError
from referee.runs import Run
from referee.scores import Score
from referee.terminal import one_line

#: The columns of a table of scores; JSON Lines have every field of `Score`.
COLUMNS = ("run_id", "scorer_id", "scorer_version", "status", "score", "reason", "error")
PARQUET = ".parquet"
#: A cell that starts with one of these is a formula to spreadsheet programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff0b", "\uff0d", "\uff1d", "\uff20")
_LONGEST_CELL = (1 << 31) - 1


class ScoreWriter(AbstractContextManager["ScoreWriter"], Protocol):
    """Writes scores to one file. A context manager; the file is complete when it is left."""

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Write the scores of a run."""
        ...


class Encoding(Protocol):
    """Scores as the bytes of a file that can be written piece by piece.

    Attributes:
        header: What the file starts with.
    """

    header: bytes

    def encode(self, scores: Sequence[Score]) -> bytes:
        """The scores of a run."""
        ...

    def renamed(self, content: bytes, old: Sequence[str], new: Sequence[str]) -> bytes:
        """The encoded scores of some runs, all with the same number of scores, under other run ids."""
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
    require_output(path)
    try:
        if path.suffix == PARQUET:
            from referee.score_tables import ParquetWriter

            return ParquetWriter(path)
        return TextWriter(path, ENCODINGS[path.suffix])
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> OptionError:
    return OptionError(f"{path}: can't be written: {error.strerror}")


def require_output(path: Path) -> None:
    """Make sure that a file's suffix says how it is written.

    Raises:
        OptionError: It does not.
    """
    if path.suffix not in ENCODINGS and path.suffix != PARQUET:
        raise OptionError(f"{path}: the output is told by its suffix, one of {', '.join((*ENCODINGS, PARQUET))}")


def row(score: Score) -> tuple[Any, ...]:
    """A score as a row of `COLUMNS`."""
    problem = score.reason
    if score.not_scorable is not None:
        problem = score.not_scorable.reason
    error = f"{score.error.error_class}: {score.error.message}" if score.error else None
    return score.run_id, score.scorer_id, score.scorer_version, score.status, score.score, problem, error


class TextWriter:
    """Writes a file in one of the encodings."""

    def __init__(self, path: Path, encoding: Encoding) -> None:
        self._path = path
        self._file = path.open("wb", buffering=1 << 20)
        self._encode = encoding.encode
        self._file.write(encoding.header)

    def __enter__(self) -> TextWriter:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Write the scores of a run.

        Raises:
            OptionError: The file can't be written any more: the disk is full.
        """
        try:
            self._file.write(self._encode(scores))
        except OSError as error:
            raise _unwritable(self._path, error) from None


class JsonLines:
    """One score a line, with every field."""

    header = b""

    def encode(self, scores: Sequence[Score]) -> bytes:
        """The scores of a run."""
        return b"".join([b'{"status":"%s",%s\n' % (score.status.encode(), _json(score)[1:]) for score in scores])

    def renamed(self, content: bytes, old: Sequence[str], new: Sequence[str]) -> bytes:
        """The lines with the run's id, the first field after the status, replaced."""
        lines = content.splitlines(keepends=True)
        for place, before, after in _differing(len(lines), old, new):
            was, now = (b'"run_id":' + _json(run_id) for run_id in (before, after))
            lines[place] = lines[place].replace(was, now, 1)
        return b"".join(lines)


_encode_json = msgspec.json.Encoder(enc_hook=str).encode


def _json(value: Any) -> bytes:
    try:
        return _encode_json(value)
    except UnicodeEncodeError:  # a lone surrogate in what a scorer of one's own gave
        plain = msgspec.to_builtins(value, enc_hook=str)
        text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace")  # which is JSON's escape too


class Csv:
    """A table with a header. A text that a spreadsheet would take for a formula gets an apostrophe in front."""

    def __init__(self) -> None:
        self.header = _csv_bytes([COLUMNS])

    def encode(self, scores: Sequence[Score]) -> bytes:
        """The scores of a run."""
        return _csv_bytes([[_cell(value) for value in row(score)] for score in scores])

    def renamed(self, content: bytes, old: Sequence[str], new: Sequence[str]) -> bytes:
        """The rows with another first cell."""
        limit = csv.field_size_limit(_LONGEST_CELL)
        try:
            rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
        finally:
            csv.field_size_limit(limit)
        for place, _, after in _differing(len(rows), old, new):
            rows[place][0] = _cell(after)
        return _csv_bytes(rows)


def _csv_bytes(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


class Markdown:
    """A Markdown table; content is escaped and on one line."""

    def __init__(self) -> None:
        shown = ("run", "scorer", "status", "score", "reason")
        self.header = f"| {' | '.join(shown)} |\n|{' --- |' * len(shown)}\n".encode()

    def encode(self, scores: Sequence[Score]) -> bytes:
        """The scores of a run."""
        lines = []
        for score in scores:
            run_id, scorer_id, _, status, value, reason, error = row(score)
            number = "" if value is None else f"{value:g}"
            cells = (run_id, scorer_id, status, number, error or reason or "")
            lines.append(f"| {' | '.join(markdown_text(cell) for cell in cells)} |\n")
        return "".join(lines).encode("utf-8", "backslashreplace")

    def renamed(self, content: bytes, old: Sequence[str], new: Sequence[str]) -> bytes:
        """The rows with another first cell."""
        lines = content.splitlines(keepends=True)
        for place, before, after in _differing(len(lines), old, new):
            was, now = (
                f"| {markdown_text(run_id)} |".encode("utf-8", "backslashreplace") for run_id in (before, after)
            )
            lines[place] = now + lines[place][len(was) :]
        return b"".join(lines)


def _differing(rows: int, old: Sequence[str], new: Sequence[str]) -> list[tuple[int, str, str]]:
    """The numbers of the rows whose run has another id now, with both ids."""
    each = rows // len(old)
    return [
        (place, before, after)
        for number, (before, after) in enumerate(zip(old, new, strict=True))
        if before != after
        for place in range(number * each, (number + 1) * each)
    ]


def markdown_text(text: str) -> str:
    """Text as Markdown that shows as it is: on one line, nothing in it is a mark, a tag or a link.

    Example:
        >>> print(markdown_text("<b>| *x*"))
        &lt;b&gt;\\| \\*x\\*
    """
    return one_line(text, 300).translate(_MARKDOWN)


#: The encodings of text files, by the file's suffix.
ENCODINGS: dict[str, Encoding] = {".jsonl": JsonLines(), ".csv": Csv(), ".md": Markdown()}
