"""`referee run`: run a suite."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from referee.cli import EXIT_FAILED, EXIT_INCOMPLETE
from referee.cli.reports import write_reports
from referee.errors import OptionError
from referee.evaluate import Hooks, RecordedRuns, Report, SideBySide, read_report, run_evals_sync
from referee.evaluate.data import read_data
from referee.journal import Journal, set_aside
from referee.report import check_report_path
from referee.results import Evaluation, ItemResult, Record, ResultKey
from referee.suites import Suite, importing_from, load_suite

#: Where journals are kept, beside the suite.
JOURNALS = ".referee"
_POLL_SECONDS = 0.5


@click.command()
@click.argument("suite", type=click.Path(path_type=Path))
@click.option(
    "--filter",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    help="Only items whose id or one of whose tags matches; * and ? stand for any text. May be given again.",
)
@click.option("--resume", is_flag=True, help="Go on with the last run: only what is missing or has an error.")
@click.option("--only-failed", is_flag=True, help="Go on with the last run: also what did not pass.")
@click.option("--fail-fast", is_flag=True, help="Start no further item once one has an error or does not pass.")
@click.option(
    "--watch", is_flag=True, help="Run again whenever the suite, its data or the Python files beside it change."
)
@click.option(
    "--repeats", type=click.IntRange(min=1), help="How often each item is run, instead of the suite's number."
)
@click.option("--concurrency", type=click.IntRange(min=1), help="How many items are asked at once.")
@click.option("--model", help="The judge's model, instead of the suite's.")
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report: .md, .html, .xml (JUnit), .jsonl or .txt. May be given again.",
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Where results are kept while they come in. [default: {JOURNALS}/SUITE.jsonl beside the suite]",
)
@click.option(
    "--store",
    envvar="REFEREE_STORE",
    metavar="URL",
    help="Keep the run in a store: a SQLite file, or a PostgreSQL URL.",
)
def run(
    suite: Path,
    patterns: tuple[str, ...],
    resume: bool,
    only_failed: bool,
    fail_fast: bool,
    watch: bool,
    repeats: int | None,
    concurrency: int | None,
    model: str | None,
    outputs: tuple[Path, ...],
    journal: Path | None,
    store: str | None,
) -> None:
    """Run a suite: ask its target every item, score the answers, and say whether they pass.

    \b
    Examples:
      referee init && referee run suite.yaml
      referee run suite.yaml --filter 'refund*' --fail-fast
      referee run suite.yaml --only-failed -o report.html -o junit.xml

    \b
    Exit codes, the first that applies:
      2  wrong usage, or the suite can't be read
      1  a gate or a threshold failed
      3  errors kept the evaluation from being complete, or it was interrupted
      0  otherwise
    """
    if watch:
        _watch(suite)
        return
    if not suite.exists():
        raise OptionError(f"there is no suite {suite}; `referee init` writes one")
    loaded = load_suite(suite)
    if store:
        _open(store)
    reports = [check_report_path(path) for path in (*loaded.reports, *outputs)]
    overrides = {"repeats": repeats, "concurrency": concurrency, "model": model}
    arguments = loaded.arguments() | {name: value for name, value in overrides.items() if value is not None}
    if patterns:
        arguments["data"] = _matching(arguments, patterns)
    path = journal or _journal_path(loaded, filtered=bool(patterns))
    resumed: Any = "failed" if only_failed else resume
    with nullcontext(path) if resumed else NewJournal(path) as kept:
        report = _evaluated(loaded, arguments, path, journal=kept, resume=resumed, fail_fast=fail_fast)
    if store:
        _keep(path, store)
    _print(report)
    write_reports(report, reports)
    sys.exit(exit_code(report))


def exit_code(report: Report | SideBySide) -> int:
    """The exit code that a report stands for."""
    if report.verdict in ("failed", "scored"):
        return EXIT_FAILED
    return 0 if report.complete else EXIT_INCOMPLETE


def _evaluated(suite: Suite, arguments: dict[str, Any], path: Path, **options: Any) -> Report | SideBySide:
    """The report; of what is finished when the user interrupts."""
    try:
        with importing_from(suite.folder), _progress() as advance:
            hooks = Hooks(before_run=lambda evaluation: advance(len(evaluation.keys()), 0))
            told: dict[str, Any] = {"hooks": hooks, "on_item_complete": lambda result: advance(None, 1)}
            report: Report | SideBySide = run_evals_sync(**arguments, **options, **told)
            return report
    except KeyboardInterrupt:
        click.echo("interrupted; --resume goes on", err=True)
        return read_report(path)


def _open(store: str) -> None:
    """Fail now, and not after the run, when the store can't be opened."""
    from referee.storage import Store

    Store(store).close()


def _keep(journal: Path, store: str) -> None:
    """Read the run's journal into a store."""
    from referee.experiments import import_journal

    for key in import_journal(store, journal):
        click.echo(f"kept as {key} in {store.rpartition('@')[2]}", err=True)


def _matching(arguments: dict[str, Any], patterns: tuple[str, ...]) -> list[Any]:
    data = arguments["data"]
    for target in (arguments["target"], *(arguments["targets"] or {}).values()):
        if data is None and isinstance(target, RecordedRuns):
            data = target.items
    if data is None:
        raise OptionError("the suite has no data to filter")
    found = [
        item
        for item in read_data(data)
        if any(fnmatchcase(name, pattern) for name in (item.id, *item.tags) for pattern in patterns)
    ]
    if not found:
        raise OptionError(f"no item's id or tag matches {' or '.join(map(repr, patterns))}")
    return found


def _journal_path(suite: Suite, *, filtered: bool) -> Path:
    folder = suite.folder / JOURNALS
    try:
        folder.mkdir(exist_ok=True)
        ignore = folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{folder}: {error.strerror}; say --journal FILE") from None
    return folder / f"{suite.path.stem}{'.filtered' if filtered else ''}.jsonl"


class NewJournal:
    """A journal that begins with the plan, when everything was checked: a mistake in a suite costs no earlier run.

    Then the last run's journal is kept under another name, to compare with.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.evaluation: Evaluation | None = None
        self.results: dict[ResultKey, ItemResult] = {}
        self._journal: Journal | None = None

    def append(self, record: Record) -> None:
        """Write down a plan or a result."""
        if self._journal is None:
            if self.path.exists():
                set_aside(self.path, self.path.with_suffix(".previous.jsonl"))
            self._journal = Journal(self.path)
        self._journal.append(record)

    def __enter__(self) -> NewJournal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()


def _print(report: Report | SideBySide) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    console.print(report)


@contextmanager
def _progress() -> Iterator[Callable[[int | None, int], None]]:
    """A progress line on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda total, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("running"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("running", total=None)

        def advance(total: int | None, done: int) -> None:
            progress.update(task, total=total, advance=done)

        yield advance


def _watch(suite: Path) -> None:
    """Run the suite in a fresh process each time one of its files changes, until interrupted."""
    command = [sys.executable, "-m", "referee", *(word for word in sys.argv[1:] if word != "--watch")]
    try:
        while True:
            before = _stamps(suite)
            subprocess.run(command, check=False)  # noqa: S603 - this program itself
            click.echo("waiting for a change; Ctrl-C ends", err=True)
            while _stamps(suite) == before:
                time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        return


def _stamps(suite: Path) -> dict[Path, int]:
    """When each of the suite's files was changed last; of a suite that can't be read just now only itself."""
    try:
        files = load_suite(suite).files
    except ValueError:
        files = [suite]
    stamps = {}
    for file in files:
        with suppress(OSError):  # not there, or just being replaced
            stamps[file] = file.stat().st_mtime_ns
    return stamps
