"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, Protocol

import click
import msgspec

from referee.errors import ReadError
from referee.formats import FORMATS, Counts, read_runs
from referee.formats.sources import RunReader
from referee.runs import Run
from referee.terminal import visible

DEFAULT_LINE_BYTES = 32 * 1024 * 1024


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a user said of the runs to read: where they are, and how they are read (`referee.read_runs`)."""

    runs: tuple[str, ...]
    format: str | None
    turns: Any
    max_line_bytes: int
    input_column: str | None
    output_column: str | None
    id_column: str | None


def reading_options(command: Callable[..., Any]) -> Any:
    """The arguments and options of a command that reads runs; the command gets them as one `Reading`, first."""

    @wraps(command)
    def reading_command(**options: Any) -> Any:
        reading = Reading(**{name: options.pop(name) for name in Reading.__struct_fields__})
        return command(reading, **options)

    decorated: Any = reading_command
    for decorate in reversed(
        (
            click.argument("runs", nargs=-1, required=True, metavar="RUNS..."),
            click.option(
                "--format",
                "format",
                type=click.Choice(sorted(FORMATS)),
                help="The format of the runs; detected when not given.",
            ),
            click.option(
                "--turns",
                type=click.Choice(["all", "last", "split"]),
                default="all",
                show_default=True,
                help="How a conversation becomes runs: one run, one run of the last user message, one run per user turn.",
            ),
            click.option(
                "--max-line-bytes",
                type=click.IntRange(min=1),
                default=DEFAULT_LINE_BYTES,
                show_default=True,
                help="A longer line is an error of that line.",
            ),
            click.option(
                "--input-column",
                metavar="NAME",
                help="Read a table (CSV, JSON objects): the column with what the agent was asked; else 'input'.",
            ),
            click.option(
                "--output-column",
                metavar="NAME",
                help="Read a table: the column with what the agent answered; else 'output'.",
            ),
            click.option(
                "--id-column",
                metavar="NAME",
                help="Read a table: the column with the run's id; else 'id'.",
            ),
        )
    ):
        decorated = decorate(decorated)
    return decorated


class Sources:
    """The runs of all the sources named on the command line, with the errors and counts of reading them.

    Raises:
        OptionError: The options of reading contradict each other.
    """

    def __init__(self, reading: Reading) -> None:
        self._readers: list[RunReader] = []
        self.errors: list[ReadError] = []
        options = msgspec.structs.asdict(reading)
        for source in options.pop("runs"):
            try:
                reader = read_runs(source, on_error="collect", **options)
            except ReadError as error:
                self.errors.append(error)
            else:
                self._readers.append(reader)

    def __iter__(self) -> Iterator[Run]:
        for reader in self._readers:
            yield from reader
            self.errors += reader.errors

    def batches(self) -> Iterator[list[Run]]:
        """The runs in the batches of their readers."""
        for reader in self._readers:
            yield from reader.batches()
            self.errors += reader.errors

    @property
    def run_count(self) -> int:
        """How many runs were read so far."""
        return sum(reader.run_count for reader in self._readers)

    @property
    def error_count(self) -> int:
        """How many lines, records and sources could not be read."""
        known = sum(reader.error_count - len(reader.errors) for reader in self._readers)
        return len(self.errors) + known

    @property
    def readers(self) -> list[RunReader]:
        """The readers, one a source."""
        return self._readers


class Counted(Protocol):
    """What was received and kept of one source."""

    counts: Counts


class Outcome(Protocol):
    """What came of reading the sources: what could not be read, and the counts of each source."""

    @property
    def errors(self) -> Sequence[ReadError]:
        """The first of what could not be read."""

    @property
    def error_count(self) -> int:
        """How much could not be read."""

    @property
    def readers(self) -> Sequence[Counted]:
        """The counts, one a source."""


def echo_errors(sources: Outcome, most: int = 20) -> None:
    """Say on standard error what could not be read, one line each."""
    for error in sources.errors[:most]:
        click.echo(f"referee: {visible(str(error))}", err=True)
    if sources.error_count > most:
        click.echo(f"referee: and {sources.error_count - most:,} more that could not be read", err=True)
