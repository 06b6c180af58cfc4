"""Options and progress of scoring in bulk: worker processes, a cluster, going on after a break."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click
import msgspec

from referee.bulk.accounts import Accounts, SourceAccount
from referee.bulk.engine import BrokenOffError, Engine
from referee.bulk.job import Job
from referee.bulk.job import Reading as JobReading
from referee.bulk.payloads import STORE
from referee.bulk.shards import Input, is_packed
from referee.bulk.work import Work
from referee.cli.judging import Judging
from referee.cli.options import Reading, Sources
from referee.errors import OptionError, ReadError
from referee.pipeline import Scorer
from referee.tally import Tally

#: The exit code after an interrupt.
EXIT_INTERRUPTED = 130


class BulkOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a user said of how the work is spread."""

    workers: int | None
    order: str
    engine: str
    ray_address: str | None
    resume: bool

    @property
    def are_given(self) -> bool:
        """Whether runs are scored in bulk; else one by one in this process."""
        return self.workers is not None or self.engine != "local" or self.resume


_OPTIONS = (
    click.option(
        "--workers",
        type=click.IntRange(min=0),
        metavar="N",
        help="Score in so many processes; 0 is one for each processor.",
    ),
    click.option(
        "--order",
        type=click.Choice(["kept", "any"]),
        default="kept",
        show_default=True,
        help="Write scores in the order of the runs, or as they come from the workers.",
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Where the work is done: on this machine, or on a Ray cluster.",
    ),
    click.option(
        "--ray-address", metavar="ADDRESS", help="The Ray cluster's address; else RAY_ADDRESS, else a local one."
    ),
    click.option("--resume", is_flag=True, help="Go on with what an interrupted command has written to its outputs."),
)


def bulk_options(command: Callable[..., Any]) -> Any:
    """The options of scoring in bulk; the command gets them as `bulk`."""

    @wraps(command)
    def bulk_command(*args: Any, **options: Any) -> Any:
        bulk = BulkOptions(**{name: options.pop(name) for name in BulkOptions.__struct_fields__})
        return command(*args, bulk=bulk, **options)

    decorated: Any = bulk_command
    for decorate in reversed(_OPTIONS):
        decorated = decorate(decorated)
    return decorated


class BulkSources:
    """What was read of the sources named on the command line, with the errors."""

    def __init__(self, unknown: Sequence[ReadError], accounts: Accounts) -> None:
        self.readers: list[SourceAccount] = accounts.sources
        self.errors = [*unknown, *(error for source in accounts.sources for error in source.errors)]
        self.error_count = len(unknown) + sum(source.error_count for source in accounts.sources)


def score_in_bulk(
    reading: Reading,
    specs: Sequence[Any],
    scorers: Sequence[Scorer[Any, Any]],
    bulk: BulkOptions,
    *,
    outputs: Sequence[Path],
    store: str | None,
    lowest: int,
    judging: Judging,
    concurrency: int,
) -> tuple[Tally, BulkSources]:
    """Score the runs as the options say; give the sums.

    Raises:
        OptionError: The options don't go together.
        BrokenOffError: An output can't be written any more.
    """
    sources = Sources(reading)
    inputs = [
        Input(number, str(path), str(path)) if path is not None else Input(number, "-", "<stdin>")
        for number, reader in enumerate(sources.readers)
        for path in (reader.paths if reader.paths is not None else [None])
    ]
    how = {name: getattr(reading, name) for name in JobReading.__struct_fields__}
    job = Job(
        scorers=list(specs),
        versions=[scorer.version for scorer in scorers],
        reading=JobReading(**how),
        kinds=[path.suffix for path in outputs] + ([STORE] if store is not None else []),
        lowest=lowest,
        concurrency=concurrency,
    )
    work = Work(
        inputs,
        len(sources.readers),
        job,
        scorers,
        _engine(bulk, job, scorers, inputs, judging),
        outputs=outputs,
        store=store,
        keeps_order=bulk.order == "kept",
        resume=bulk.resume,
    )
    try:
        with _ended_by_sigterm(), work, _progress(inputs, work.accounts) as observe:
            work.run(observe)
    except KeyboardInterrupt:
        click.echo(f"referee: interrupted; {_written(work)}", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenOffError as error:
        raise BrokenOffError(f"{error}; {_written(work)}") from None
    return work.accounts.tally, BulkSources(sources.errors, work.accounts)


def _engine(
    bulk: BulkOptions, job: Job, scorers: Sequence[Scorer[Any, Any]], inputs: Sequence[Input], judging: Judging
) -> Engine:
    keeps_order = bulk.order == "kept"
    if bulk.engine == "ray":
        from referee.bulk.judging import JudgeSettings
        from referee.bulk.ray_engine import RayCluster

        if any(file.path == "-" for file in inputs):
            raise OptionError("--engine ray reads files: standard input can't be read by other machines")
        if judging.cache is not None:
            raise OptionError("--cache is a file that the machines of a cluster can't share: leave it out")
        settings = JudgeSettings(
            model=judging.model,
            base_url=judging.base_url,
            money=judging.max_cost,
            calls=judging.max_calls,
            concurrency=job.concurrency,
        )
        return RayCluster(
            job, scorers, address=bulk.ray_address, workers=bulk.workers, keeps_order=keeps_order, judging=settings
        )
    if bulk.ray_address is not None:
        raise OptionError("--ray-address belongs to --engine ray")
    judged = next((scorer.id for scorer in scorers if scorer.asks_judge), None)
    if judged is not None:
        raise OptionError(
            f"--workers is for scorers that ask no judge, and {judged} asks one: it waits for its endpoint, not for a "
            "processor. Leave out --workers; --concurrency says how many runs are judged at once"
        )
    from referee.bulk.workers import LocalWorkers

    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return LocalWorkers(job, (1 if bulk.workers is None else bulk.workers) or count, keeps_order=keeps_order)


def _written(work: Work) -> str:
    """How much is written, and how to go on."""
    done = f"the scores of {work.accounts.runs_done:,} runs are written"
    if not work.can_resume:
        return done
    words = [word for word in sys.argv[1:] if word != "--resume"]
    return f"{done}; go on with: {shlex.join(['referee', *words, '--resume'])}"


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Take the signal that ends a machine's jobs for an interrupt."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(inputs: Sequence[Input], accounts: Accounts) -> Iterator[Callable[[Accounts], None]]:
    """A progress line on a terminal: the share that is done, the rate, the time left."""
    if not sys.stderr.isatty():
        yield lambda accounts: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("scoring"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[runs]:,} runs, {task.fields[rate]:,.0f} a second, left"),
        TimeRemainingColumn(),
    )
    before, began = accounts.runs_done, time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("scoring", total=_total(inputs), runs=before, rate=0.0)

        def observe(accounts: Accounts) -> None:
            rate = (accounts.runs_done - before) / max(time.monotonic() - began, 1e-3)
            progress.update(task, completed=accounts.bytes_done, runs=accounts.runs_done, rate=rate)

        yield observe


def _total(inputs: Sequence[Input]) -> int | None:
    """How many bytes will be read; `None` when that is not known before."""
    total = 0
    for file in inputs:
        try:
            with Path(file.path).open("rb") as stream:
                if is_packed(stream.read(4)):
                    return None
                total += os.fstat(stream.fileno()).st_size
        except OSError:
            return None
    return total
