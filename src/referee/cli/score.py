"""`referee score`: score recorded runs."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from referee.batch import numbered, score_runs
from referee.cli import EXIT_FAILED, EXIT_INCOMPLETE, EXIT_USAGE
from referee.cli.bulk import BulkOptions, bulk_options, score_in_bulk
from referee.cli.completion import complete_scorers
from referee.cli.judging import Judging, estimated, judge_options, make_judge
from referee.cli.options import Outcome, Reading, Sources, echo_errors, reading_options
from referee.cli.summary import print_summary, summary_data
from referee.errors import OptionError
from referee.loading import load_scorers_file, parse_scorer, parse_spec, read_specs
from referee.outputs import ScoreWriter, open_output
from referee.pipeline import Scorer
from referee.runs import Run
from referee.scores import TOLERANCE, Score
from referee.tally import Tally

if TYPE_CHECKING:
    from referee.storage import ScoredRun

#: So many runs are kept in a store at once.
STORE_BATCH = 500


class Bound(click.ParamType[tuple[str, float]]):
    """`ID=NUMBER`."""

    name = "ID=NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """The id and the number."""
        if isinstance(value, tuple):
            return value
        scorer_id, _, number = str(value).rpartition("=")
        try:
            bound = float(number)
        except ValueError:
            bound = math.nan
        if not scorer_id or not math.isfinite(bound):
            self.fail(f"expected ID=NUMBER, like completeness-scorer=0.8, not {value!r}", param, ctx)
        return scorer_id, bound


class StoreWriter:
    """Keeps runs and their scores in a store, a batch at a time. Keeping the same again changes nothing."""

    def __init__(self, url: str, scorers: Sequence[Scorer[Any, Any]]) -> None:
        from referee.storage import ScoredRun, Store

        self._store = Store(url)
        self._record = ScoredRun
        self._scorers = scorers
        self._batch: list[ScoredRun] = []

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._save()
        self._store.close()

    def write(self, run: Run, scores: Sequence[Score]) -> None:
        """Keep a run and its scores."""
        self._batch.append(self._record(run=run, scores=list(scores)))
        if len(self._batch) >= STORE_BATCH:
            self._save()

    def _save(self) -> None:
        self._store.save(self._batch, scorers=self._scorers)
        self._batch = []


@click.command()
@reading_options
@click.option(
    "--scorer",
    "-s",
    "words",
    multiple=True,
    metavar="NAME[=VALUE]",
    shell_complete=complete_scorers,
    help="A scorer: NAME, NAME=VALUE or NAME={json options}. May be given again.",
)
@click.option(
    "--scorers", "files", multiple=True, type=click.Path(path_type=Path), help="A YAML or JSON file that lists scorers."
)
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every score to a file: .jsonl, .csv, .md or .parquet. May be given again.",
)
@click.option(
    "--fail-under", multiple=True, type=Bound(), help="Exit with 1 when the scorer's mean is below this number."
)
@click.option(
    "--fail-over", multiple=True, type=Bound(), help="Exit with 1 when the scorer's mean is above this number."
)
@click.option(
    "--lowest", type=click.IntRange(min=0), default=5, show_default=True, help="Show so many of the lowest runs."
)
@click.option(
    "--concurrency", type=click.IntRange(min=1), default=8, show_default=True, help="How many runs are judged at once."
)
@judge_options
@bulk_options
@click.option("--store", metavar="URL", help="Keep runs and scores in a store: a SQLite file, or a PostgreSQL URL.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def score(
    reading: Reading,
    words: tuple[str, ...],
    files: tuple[Path, ...],
    outputs: tuple[Path, ...],
    fail_under: tuple[tuple[str, float], ...],
    fail_over: tuple[tuple[str, float], ...],
    lowest: int,
    concurrency: int,
    judging: Judging,
    bulk: BulkOptions,
    store: str | None,
    as_json: bool,
) -> None:
    """Score recorded runs: files, folders, globs, or - for standard input.

    \b
    Examples:
      referee score runs.jsonl -s checks.no_tool_errors
      referee score runs/ -s checks.includes=sunny -s completeness -o scores.csv
      referee score runs.jsonl --scorers scorers.yaml --fail-under check-includes=0.9
      referee score runs.jsonl -s answer_relevancy --model openai/gpt-5-mini --max-cost 0.50
      referee score big.jsonl -s checks.no_tool_errors --workers 0 -o scores.parquet

    \b
    Exit codes, the first that applies:
    130  interrupted, with --workers or --engine
      2  wrong usage, or nothing could be read, or an output could not be written
      1  a --fail-under or --fail-over was missed
      3  some lines could not be read, or a scorer had errors
      0  otherwise
    """
    scorers = numbered(
        [scorer for file in files for scorer in load_scorers_file(file)] + [parse_scorer(word) for word in words]
    )
    if not scorers:
        raise OptionError("give at least one --scorer or --scorers; 'referee scorers' lists them")
    for name, _ in (*fail_under, *fail_over):
        if name not in {scorer.id for scorer in scorers}:
            raise OptionError(
                f"--fail-under and --fail-over name a scorer's id, one of {', '.join(scorer.id for scorer in scorers)}; not {name!r}"
            )
    if judging.dry_run:
        _estimate(Sources(reading), scorers, judging)
    tally: Tally
    sources: Outcome
    if bulk.are_given:
        specs = [spec for file in files for spec in read_specs(file)] + [parse_spec(word) for word in words]
        tally, sources = score_in_bulk(
            reading,
            specs,
            scorers,
            bulk,
            outputs=outputs,
            store=store,
            lowest=lowest,
            judging=judging,
            concurrency=concurrency,
        )
    else:
        judge, tally, sources = make_judge(judging), Tally(scorers, keep_lowest=lowest), Sources(reading)
        with ExitStack() as stack:
            writers: list[ScoreWriter] = [stack.enter_context(open_output(path)) for path in outputs]
            if store is not None:
                writers.append(stack.enter_context(StoreWriter(store, scorers)))
            _add_all(tally, writers, _shown(score_runs(sources, scorers, judge=judge, concurrency=concurrency)))
    echo_errors(sources)
    if as_json:
        click.echo(summary_data(tally, sources))
    elif tally.runs:
        print_summary(tally, sources)
    sys.exit(_exit_code(tally, sources, fail_under, fail_over))


def _estimate(sources: Sources, scorers: Sequence[Scorer[Any, Any]], judging: Judging) -> NoReturn:
    click.echo(estimated(sources, scorers, judging.model))
    echo_errors(sources)
    sys.exit(0 if sources.run_count else EXIT_USAGE)


def _add_all(tally: Tally, writers: Sequence[ScoreWriter], scored: Iterable[tuple[Run, list[Score]]]) -> None:
    for run, scores in scored:
        tally.add(run, scores)
        for writer in writers:
            writer.write(run, scores)


def _shown(scored: Iterable[tuple[Run, list[Score]]]) -> Iterator[tuple[Run, list[Score]]]:
    """The scored runs, with a progress line on a terminal."""
    if not sys.stderr.isatty():
        yield from scored
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("scoring"), MofNCompleteColumn(), TextColumn("runs"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("scoring", total=None)
        for one in scored:
            yield one
            progress.advance(task)


def _exit_code(
    tally: Tally, sources: Outcome, under: Sequence[tuple[str, float]], over: Sequence[tuple[str, float]]
) -> int:
    if not tally.runs:
        return EXIT_USAGE
    missed = False
    for bounds, is_floor in ((under, True), (over, False)):
        for name, bound in bounds:
            problem = _missed(tally, name, bound, is_floor=is_floor)
            if problem:
                click.echo(f"referee: {problem}", err=True)
                missed = True
    if missed:
        return EXIT_FAILED
    return EXIT_INCOMPLETE if sources.error_count or tally.errors else 0


def _missed(tally: Tally, name: str, bound: float, *, is_floor: bool) -> str | None:
    """Why a bound is missed; a mean over survivors cannot reach it, nothing scorable cannot miss it."""
    found = next(entry for entry in tally.scorers if entry.scorer_id == name)
    if found.errors:
        return f"{name}: {found.errors} of {found.attempted} runs had an error, so its mean stands for {found.coverage:.0%} of them"
    if found.mean is None:
        return None
    if is_floor and found.mean < bound - TOLERANCE:
        return f"{name}: the mean {found.mean:.4g} is below {bound:g}"
    if not is_floor and found.mean > bound + TOLERANCE:
        return f"{name}: the mean {found.mean:.4g} is above {bound:g}"
    return None
