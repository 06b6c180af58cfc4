"""Readers: from files, bytes or Python objects to runs.

A format is a module with `NAME`, `TITLE`, `detect(record)` and `decode(record, turns)`. Some have more:
`decode_line(line, turns)` is a fast way for JSON Lines; `pieces(record)` takes records apart of which one run may be
spread over the lines of a file (spans), and `decode` then gets a list of pieces that belong together; `records(stream)`
reads a file that is no JSON (zip, CSV) record by record. To add a format, write its module and add its line to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

from referee.errors import OptionError, ReadError
from referee.formats.decoded import Counts, Decoded, Turns
from referee.formats.live import as_record
from referee.runs import Run

#: Every format's module, in the order in which they are tried; the first that recognises a record reads it.
FORMATS = {
    "referee": "referee.formats.referee_runs",
    "langfuse": "referee.formats.langfuse",
    "openai_agents_trace": "referee.formats.openai_agents_trace",
    "openinference": "referee.formats.openinference",
    "otel": "referee.formats.otel",
    "inspect_log": "referee.formats.inspect_log",
    "adk": "referee.formats.adk",
    "mastra": "referee.formats.mastra",
    "openai_responses": "referee.formats.openai_responses",
    "openai_agents": "referee.formats.openai_agents",
    "anthropic": "referee.formats.anthropic",
    "gemini": "referee.formats.gemini",
    "langchain": "referee.formats.langchain",
    "pydantic_ai": "referee.formats.pydantic_ai",
    "autogen": "referee.formats.autogen",
    "crewai": "referee.formats.crewai",
    "bfcl": "referee.formats.bfcl",
    "openai_chat": "referee.formats.openai_chat",
    "table": "referee.formats.table",
}
#: The formats that can be written too; their modules have `encode(run)`.
WRITTEN = ("referee", "openai_chat", "mastra")
#: Formats whose records have little of their own, so that they come last.
_TAKE_THE_REST = frozenset({"openai_chat", "table"})

__all__ = [
    "FORMATS",
    "WRITTEN",
    "Counts",
    "Decoded",
    "Format",
    "Turns",
    "as_record",
    "decode_record",
    "detect_format",
    "get_format",
    "get_writer",
    "read_runs",
    "to_run",
]


class Format(Protocol):
    """The shape of a format's module."""

    NAME: str
    TITLE: str

    def detect(self, record: Any) -> bool:
        """Whether this format recognises a decoded record."""
        ...

    def decode(self, record: Any, turns: Turns = "all") -> Decoded:
        """Read a decoded record."""
        ...


@cache
def get_format(name: str) -> Format:
    """The format of this name.

    Raises:
        OptionError: There is none.
    """
    if name not in FORMATS:
        raise OptionError(f"there is no format {name!r}; there are: {', '.join(FORMATS)}")
    module: Any = import_module(FORMATS[name])
    return module  # type: ignore[no-any-return]


def get_writer(name: str) -> Callable[[Run], bytes]:
    """The function that writes a run as a line of this format, without the line's end.

    Raises:
        OptionError: There is no such format, or it is only read.

    Example:
        >>> get_writer("openai_chat")(to_run([{"role": "user", "content": "Hi"}]))[:6]
        b'{"id":'
    """
    if name not in WRITTEN:
        raise OptionError(f"the format {name!r} can't be written; these can: {', '.join(WRITTEN)}")
    module: Any = get_format(name)
    writer: Callable[[Run], bytes] = module.encode
    return writer


def detect_format(record: Any, likely: Format | None = None) -> Format | None:
    """The first format that recognises a decoded record, or `None`.

    Args:
        record: The record.
        likely: The format of the record before: it is asked first, unless it takes what other formats leave.

    Raises:
        ReadError: The record is nested too deeply.
    """
    try:
        if likely is not None and likely.NAME not in _TAKE_THE_REST and likely.detect(record):
            return likely
        for name in FORMATS:
            candidate = get_format(name)
            if candidate.detect(record):
                return candidate
    except RecursionError:
        raise ReadError("is nested too deeply") from None
    return None


def decode_record(chosen: Format, record: Any, turns: Turns = "all") -> Decoded:
    """Read a decoded record in a format.

    Raises:
        ReadError: The record is not readable in this format; it only looks like it, or is nested too deeply.
    """
    try:
        return chosen.decode(record, turns)
    except ReadError:
        raise
    except RecursionError:
        raise ReadError("is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ReadError(f"is no valid {chosen.NAME} record: {type(error).__name__}: {error}") from None


def to_run(obj: Any, format: str | None = None, *, turns: Turns = "all") -> Run:
    """Make a run of a Python object: a list of messages, a record in any readable shape, or a framework's own object.

    Results and messages of Pydantic AI, the OpenAI Agents SDK and LangChain are read as they are in memory.

    Args:
        obj: The object. A `Run` is returned as it is.
        format: The format's name; detected when `None`.
        turns: How a flat conversation becomes a run: `all` or `last`.

    Returns:
        The run. What the reader noticed is in its `warnings`.

    Raises:
        ReadError: The object is in no known format, or holds more or fewer than one run.
        OptionError: There is no such format.

    Example:
        >>> run = to_run([{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Sunny."}])
        >>> run.output_text
        'Sunny.'
    """
    if isinstance(obj, Run):
        return obj
    record = as_record(obj)
    chosen = get_format(format) if format else detect_format(record)
    if chosen is None:
        raise ReadError(f"this {type(obj).__name__} is in no known format; the formats are: {', '.join(FORMATS)}")
    runs = decode_record(chosen, record, turns).runs
    if len(runs) != 1:
        raise ReadError(f"expected one run and found {len(runs)}: use read_runs")
    return runs[0]


def read_runs(
    source: str | Path | IO[bytes] | Iterable[Any],
    format: str | None = None,
    *,
    turns: Turns = "all",
    on_error: str = "warn",
    max_line_bytes: int = 32 * 1024 * 1024,
    input_column: str | None = None,
    output_column: str | None = None,
    id_column: str | None = None,
) -> Any:
    """Iterate over the runs of a file, a folder, a glob, a binary stream, or an iterable of records.

    Nothing is lost in silence: a line that can't be read is listed in `errors` of the returned reader, and its
    `counts` say what was received and what was kept.

    Args:
        source: A path (`.gz` and `.zst` are unpacked; a folder is walked; `*` and `?` match names; `-` is standard
            input), a binary stream, or an iterable of decoded records.
        format: The format's name; detected record by record when `None`.
        turns: How a flat conversation becomes runs: `all`, `last` or `split`.
        on_error: `warn` goes on and gives one Python warning at the end; `raise` stops at the first bad line;
            `collect` goes on and only fills `errors`.
        max_line_bytes: A longer line is an error of that line.
        input_column, output_column, id_column: The columns of a table (CSV, or JSON objects). Any of them makes the
            source a table; those not given are `input`, `output` and `id`.

    Returns:
        A `referee.formats.sources.RunReader`.

    Raises:
        ReadError: The source does not exist or holds nothing; with `on_error="raise"` also for a bad line.
        OptionError: There is no such format, or a column is named for a format that is no table.
    """
    from referee.formats.sources import RunReader

    chosen: str | Format | None = format
    if any(column is not None for column in (input_column, output_column, id_column)):
        from referee.formats.table import Table

        if format not in (None, "table"):
            raise OptionError(f"columns are named only for a table, not for the format {format!r}")
        chosen = Table(input_column, output_column, id_column)
    return RunReader(source, chosen, turns=turns, on_error=on_error, max_line_bytes=max_line_bytes)
