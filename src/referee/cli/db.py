"""`referee db`: the store itself."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from referee.cli import EXIT_FAILED
from referee.cli.stores import echo_json, echo_table, opened, say, store_options
from referee.errors import OptionError


@click.group()
def db() -> None:
    """The store itself: what it holds, whether it is sound, and how it is kept small.

    A store of an earlier release is migrated when a command opens it.

    \b
    Examples:
      referee db info --store scores.db
      referee db prune --older-than 90 --store scores.db
    """


@db.command()
@store_options
def info(store: str | None, as_json: bool) -> None:
    """Show the address, schema version, size and rows of the store.

    \b
    Example:
      referee db info --store scores.db
    """
    with opened(store) as kept:
        found = kept.info()
    if as_json:
        echo_json(found)
        return
    click.echo(f"{found.address}: {found.database}, schema {found.schema}, {found.bytes:,} bytes")
    echo_table(("table", "rows"), found.rows.items(), empty="")


@db.command()
@store_options
def check(store: str | None, as_json: bool) -> None:
    """Look whether everything in the store fits together. Exits with 1 when it does not.

    \b
    Example:
      referee db check --store scores.db
    """
    with opened(store) as kept:
        problems = kept.check()
    if as_json:
        echo_json({"problems": problems})
    else:
        click.echo("\n".join(problems) or "everything fits together")
    sys.exit(EXIT_FAILED if problems else 0)


@db.command()
@store_options
def vacuum(store: str | None, as_json: bool) -> None:
    """Give the room of what was removed back.

    \b
    Example:
      referee db vacuum --store scores.db
    """
    with opened(store) as kept:
        before = kept.info().bytes
        problems = kept.vacuum()
        after = kept.info().bytes
    if as_json:
        echo_json({"bytes_before": before, "bytes_after": after, "problems": problems})
        return
    click.echo(f"{before:,} bytes before, {after:,} now")
    for problem in problems:
        click.echo(f"referee: {problem}", err=True)


@db.command()
@click.option("--older-than", type=click.IntRange(1), metavar="DAYS", help="Remove what is older than so many days.")
@click.option("--before", type=click.DateTime(["%Y-%m-%d"]), help="Remove what is older than this day, UTC.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
def prune(older_than: int | None, before: datetime | None, yes: bool, store: str | None, as_json: bool) -> None:
    """Remove old runs and scores, and experiments that began before. Baselines are kept.

    \b
    Example:
      referee db prune --older-than 90 --yes --store scores.db
    """
    if (older_than is None) == (before is None):
        raise OptionError("say how old: --older-than DAYS or --before YYYY-MM-DD")
    first = before.date() if before else (datetime.now(UTC) - timedelta(days=older_than or 0)).date()
    with opened(store) as kept:
        if not yes:
            click.confirm(f"Remove everything before {first} from {kept.database.shown}?", abort=True, err=True)
        removed = kept.remove_before(first)
    if as_json:
        echo_json(removed)
        return
    click.echo(f"removed {removed.experiments:,} experiments, {removed.runs:,} runs and {removed.scores:,} scores")
    for key in removed.kept:
        say(f"kept {key}: it is its data set's baseline")


@db.command("import")
@click.argument("journals", nargs=-1, required=True, type=click.Path(path_type=Path))
@store_options
def import_(journals: tuple[Path, ...], store: str | None, as_json: bool) -> None:
    """Read journals of `referee run` into the store. Reading one again leaves the same results.

    \b
    Example:
      referee db import .referee/suite.jsonl --store scores.db
    """
    from referee.experiments import import_journal

    with opened(store, create=True) as kept:
        keys = [key for journal in journals for key in import_journal(kept, journal)]
    if as_json:
        echo_json({"experiments": keys})
    else:
        click.echo("\n".join(keys))
