"""`referee convert`: turn any readable format into Referee's JSON Lines, or into messages of OpenAI or Mastra."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click

from referee.cli import EXIT_INCOMPLETE, EXIT_USAGE
from referee.cli.options import Reading, Sources, echo_errors, reading_options
from referee.formats import WRITTEN, get_writer
from referee.formats.decoded import Counts
from referee.terminal import one_line


@click.command()
@reading_options
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write; standard output when not given.",
)
@click.option(
    "--to",
    "written",
    type=click.Choice(WRITTEN),
    default=WRITTEN[0],
    show_default=True,
    help="The format to write, one run a line. Only Referee's own keeps everything.",
)
@click.option(
    "--report", is_flag=True, help="Say on standard error what came in, what was kept and what was not understood."
)
def convert(
    reading: Reading,
    output: Path | None,
    written: str,
    report: bool,
) -> None:
    """Turn recorded runs of any readable format into Referee's JSON Lines, or into messages of OpenAI or Mastra.

    \b
    Examples:
      referee convert logs/ -o runs.jsonl --report
      referee convert answers.csv --input-column question --output-column answer -o runs.jsonl
    """
    sources = Sources(reading)
    encode = get_writer(written)
    with ExitStack() as stack:
        stream = stack.enter_context(output.open("wb")) if output else sys.stdout.buffer
        for run in sources:
            stream.write(encode(run) + b"\n")
        stream.flush()
    echo_errors(sources)
    if report:
        _echo_report(sources)
    if not sources.run_count:
        sys.exit(EXIT_USAGE)
    sys.exit(EXIT_INCOMPLETE if sources.error_count else 0)


def _echo_report(sources: Sources) -> None:
    total = Counts()
    for reader in sources.readers:
        total.add(reader.counts)
    click.echo(f"runs: {sources.run_count:,}; unreadable: {sources.error_count:,}", err=True)
    for name in ("messages", "tool_calls", "results"):
        received, kept = getattr(total, f"{name}_received"), getattr(total, f"{name}_kept")
        click.echo(f"{name.replace('_', ' ')}: received {received:,}, kept {kept:,}", err=True)
    for title, kinds in (
        ("kept as opaque parts", total.opaque),
        ("left out", total.dropped),
        ("noticed", total.problems),
    ):
        for kind, count in sorted(kinds.items()):
            click.echo(f"{title}: {count:,} x {one_line(kind)}", err=True)
