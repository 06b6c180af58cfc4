"""`referee compare`: two evaluations of the same items."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from referee.cli import EXIT_FAILED
from referee.cli.reports import write_reports
from referee.comparison import compare as compare_reports
from referee.errors import OptionError
from referee.evaluate import Report
from referee.report import check_report_path


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="1 minus the accepted chance to call noise a difference.",
)
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the comparison: .md, .html or .txt. May be given again.",
)
@click.option(
    "--store", envvar="REFEREE_STORE", metavar="URL", help="Where to look for experiments: a SQLite file or a URL."
)
@click.option(
    "--fail-on-regression/--no-fail-on-regression",
    default=True,
    show_default=True,
    help="Exit with 1 when a score got worse by more than noise.",
)
def compare(
    first: Path,
    second: Path,
    confidence: float,
    outputs: tuple[Path, ...],
    store: str | None,
    fail_on_regression: bool,
) -> None:
    """Compare two evaluations, item by item: journals or JSON Lines reports of `referee run`, or experiments of a store.

    \b
    Examples:
      referee compare .referee/suite.previous.jsonl .referee/suite.jsonl
      referee compare nightly-1 nightly-2 --store scores.db

    \b
    Exit codes, the first that applies:
      2  wrong usage, or a file can't be read
      1  a score got worse by more than noise
      0  otherwise
    """
    from rich.console import Console

    reports = [check_report_path(path, (".html", ".md", ".txt")) for path in outputs]
    found = compare_reports(_report(first, store), _report(second, store), confidence=confidence)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    console.print(found)
    write_reports(found, reports)
    sys.exit(EXIT_FAILED if found.worse and fail_on_regression else 0)


def _report(name: Path, store: str | None) -> Report | Path:
    """What a word stands for: a file, else an experiment of the store."""
    if name.is_file():
        return name
    if store is None:
        raise OptionError(
            f"there is no file {name}; `referee run` writes .referee/SUITE.jsonl and keeps the run before as "
            "SUITE.previous.jsonl; an experiment of a store needs --store"
        )
    from referee.cli.stores import opened
    from referee.experiments import report_of

    with opened(store) as kept:
        return report_of(kept, str(name))
