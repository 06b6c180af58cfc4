"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from referee.errors import ReadError
from referee.formats import FORMATS, read_runs
from referee.formats.sources import RunReader

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_LINE_BYTES = 32 * 1024 * 1024


def reading_options(command: F) -> F:
    """The arguments and options of a command that reads runs."""
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
        )
    ):
        command = decorate(command)
    return command


class Sources:
    """The runs of all the sources named on the command line, with the errors and counts of reading them."""

    def __init__(self, runs: tuple[str, ...], format: str | None, turns: Any, max_line_bytes: int) -> None:
        self._readers: list[RunReader] = []
        self.errors: list[ReadError] = []
        for source in runs:
            try:
                reader = read_runs(source, format, turns=turns, on_error="collect", max_line_bytes=max_line_bytes)
            except ReadError as error:
                self.errors.append(error)
            else:
                self._readers.append(reader)

    def __iter__(self) -> Any:
        for reader in self._readers:
            yield from reader
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


def echo_errors(sources: Sources, most: int = 20) -> None:
    """Say on standard error what could not be read, one line each."""
    for error in sources.errors[:most]:
        click.echo(f"referee: {error}", err=True)
    if sources.error_count > most:
        click.echo(f"referee: and {sources.error_count - most:,} more that could not be read", err=True)
