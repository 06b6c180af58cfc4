"""`referee experiments`: experiments of a store."""

from __future__ import annotations

from pathlib import Path

import click

from referee.cli.stores import echo_json, echo_table, opened, say, store_options


@click.group()
def experiments() -> None:
    """Experiments of a store: figures, results, events, baselines.

    An experiment is named by its key, the beginning of its key, or its name (then the newest of that name).

    \b
    Examples:
      referee experiments list --store scores.db
      referee compare nightly-1 nightly-2 --store scores.db
    """


@experiments.command("list")
@click.option("--dataset", help="Only those of this data set.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Show so many.")
@click.option("--before", help="Only those older than this one.")
@store_options
def list_latest(dataset: str | None, limit: int, before: str | None, store: str | None, as_json: bool) -> None:
    """List experiments, the newest first.

    \b
    Example:
      referee experiments list --dataset weather --store scores.db
    """
    with opened(store) as kept:
        number = None if dataset is None else kept.datasets.get(dataset).number
        found = kept.experiments.latest(kind="experiment", dataset=number, limit=limit, before=before)
    if as_json:
        echo_json(found)
        return
    rows = (
        (row.key, row.name, row.status, row.verdict, row.results, row.failed_results or None, row.created_at)
        for row in found
    )
    columns = ("key", "name", "status", "verdict", "results", "failed", "created")
    echo_table(columns, rows, empty="There are no experiments; `referee run SUITE --store URL` makes one.")


@experiments.command()
@click.argument("name")
@store_options
def show(name: str, store: str | None, as_json: bool) -> None:
    """Show an experiment: how far it is, its verdict, and the figures of each scorer.

    \b
    Example:
      referee experiments show nightly-2 --store scores.db
    """
    with opened(store) as kept:
        row = kept.experiments.get(name)
        columns = kept.experiments.columns(row.key)
        baseline = kept.experiments.baseline(row.key)
    if as_json:
        echo_json({"experiment": row, "columns": columns, "baseline": baseline})
        return
    planned = "" if row.planned is None else f" of {row.planned:,}"
    say(f"{row.key}  {row.status or row.kind}  {row.verdict or 'no verdict'}  {row.results:,}{planned} results")
    rows = (
        (
            column.scorer if column.turn is None else f"{column.scorer} (turn {column.turn + 1})",
            column.figures.mean,
            None if (i := column.figures.interval) is None else f"{i.low:.3g} to {i.high:.3g}",
            column.figures.scored,
            column.figures.errors,
            column.figures.not_scorable,
            column.figures.failed,
        )
        for column in columns
    )
    named = ("scorer", "mean", "95 % interval", "scored", "errors", "not scorable", "failed")
    echo_table(named, rows, empty="It has no scores yet.")
    if baseline is not None:
        say(f"baseline: {baseline.key}")


@experiments.command()
@click.argument("name")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write it: .md, .html, .xml, .jsonl, .txt."
)
@store_options
def report(name: str, output: Path | None, store: str | None, as_json: bool) -> None:
    """Print the report of an experiment, as `referee run` does, or write it to a file.

    \b
    Example:
      referee experiments report nightly-2 -o report.html --store scores.db
    """
    from referee.experiments import report_of
    from referee.report import check_report_path, write_report

    path = None if output is None else check_report_path(output)
    with opened(store) as kept:
        found = report_of(kept, name)
    if path is not None:
        write_report(found, path)
    if as_json:
        echo_json(
            {"verdict": found.verdict, "summary": dict(found.summary), "gates": found.gates, "missing": found.missing}
        )
    elif path is None:
        click.echo(str(found))


@experiments.command()
@click.argument("name")
@click.option("--after", type=click.IntRange(0), default=0, help="Only events of a higher number.")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="Show so many.")
@store_options
def events(name: str, after: int, limit: int, store: str | None, as_json: bool) -> None:
    """List what happened to an experiment, in order.

    \b
    Example:
      referee experiments events nightly-2 --store scores.db
    """
    with opened(store) as kept:
        found = kept.experiments.events(name, after=after, limit=limit)
    if as_json:
        echo_json(found)
        return
    rows = ((event.number, event.at, event.event, event.details or None) for event in found)
    echo_table(("number", "at", "event", "details"), rows, empty="Nothing happened.")


@experiments.command()
@click.argument("dataset")
@click.argument("experiment", required=False)
@click.option("--remove", is_flag=True, help="Measure each experiment against the one before it again.")
@store_options
def baseline(dataset: str, experiment: str | None, remove: bool, store: str | None, as_json: bool) -> None:
    """Say what experiments of DATASET are measured against, or show it.

    \b
    Example:
      referee experiments baseline weather nightly-1 --store scores.db
    """
    with opened(store) as kept:
        if remove or experiment is not None:
            kept.datasets.set_baseline(dataset, None if remove else experiment)
        row = kept.datasets.get(dataset)
    if as_json:
        echo_json(row)
    else:
        click.echo(row.baseline or "the finished experiment before each")


@experiments.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
def delete(name: str, yes: bool, store: str | None, as_json: bool) -> None:
    """Delete an experiment with all its runs and scores.

    \b
    Example:
      referee experiments delete nightly-1 --yes --store scores.db
    """
    with opened(store) as kept:
        row = kept.experiments.get(name)
        if not yes:
            click.confirm(f"Delete {row.key} with {row.results:,} results?", abort=True, err=True)
        removed = kept.remove_experiment(row.key)
    if as_json:
        echo_json(removed)
    else:
        click.echo(
            f"deleted {removed.runs:,} runs and {removed.scores:,} scores; `referee db vacuum` gives the room back"
        )
