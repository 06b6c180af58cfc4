"""`referee datasets`: data sets of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from referee.cli.stores import echo_json, echo_table, opened, say, store_options
from referee.errors import OptionError, ReadError


@click.group()
def datasets() -> None:
    """Data sets of a store: versions, files, pins and purges.

    A name may say a version: weather is the latest, weather@3 the third, weather@release a pinned one.

    \b
    Examples:
      referee datasets import weather items.jsonl --store scores.db
      referee datasets diff weather@1 weather@2 --store scores.db
    """


@datasets.command("list")
@store_options
def list_all(store: str | None, as_json: bool) -> None:
    """List the data sets.

    \b
    Example:
      referee datasets list --store scores.db
    """
    with opened(store) as kept:
        found = kept.datasets.all()
    if as_json:
        echo_json(found)
        return
    rows = ((row.name, row.version, row.items, row.baseline, _pins(row.pins), row.description) for row in found)
    columns = ("name", "version", "items", "baseline", "pins", "description")
    echo_table(columns, rows, empty="There are no data sets; `referee datasets import NAME FILE` makes one.")


def _pins(pins: dict[str, int]) -> str:
    return ", ".join(f"{name}={version}" for name, version in pins.items())


@datasets.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Show so many items.")
@click.option("--after", type=click.IntRange(0), default=0, help="Go on after this position, printed as next.")
@store_options
def show(name: str, limit: int, after: int, store: str | None, as_json: bool) -> None:
    """Show the items of a version.

    \b
    Example:
      referee datasets show weather@3 --limit 5 --store scores.db
    """
    with opened(store) as kept:
        page = kept.datasets.page(name, after=after, limit=limit)
    if as_json:
        echo_json(page)
        return
    rows = ((item.id, _shown(item.user_turns), _shown(item.ground_truth), ", ".join(item.tags)) for item in page.items)
    echo_table(("id", "input", "ground truth", "tags"), rows, empty="This version has no items.")
    click.echo(f"{len(page.items)} of {page.total:,} items of version {page.version}")
    if page.next is not None:
        click.echo(f"next: --after {page.next}")


def _shown(value: Any, most: int = 60) -> str | None:
    if value is None:
        return None
    if isinstance(value, list):
        value = " / ".join(_asked(turn) for turn in value)
    line = " ".join(str(value).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _asked(turn: Any) -> str:
    """What one input asks: a text as it is, of messages what the users say."""
    if not isinstance(turn, list):
        return str(turn)
    from referee import to_run

    try:
        return to_run(turn).input_text
    except ReadError:
        return str(turn)


@datasets.command("import")
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--note", default="", help="Why, for the history.")
@click.option("--replace", is_flag=True, help="Remove the items that are not in the file.")
@click.option("--runs", is_flag=True, help="The file holds recorded runs: make an item of each.")
@click.option("--keep-answers", is_flag=True, help="With --runs: take the answers for the right ones.")
@store_options
def import_(
    name: str, file: Path, note: str, replace: bool, runs: bool, keep_answers: bool, store: str | None, as_json: bool
) -> None:
    """Add the items of FILE, and change those whose id is there: JSON Lines, CSV, JSON or YAML.

    The data set is made when there is none. Importing the same again changes nothing.

    \b
    Examples:
      referee datasets import weather items.jsonl --note 'more cities' --store scores.db
      referee datasets import hard runs.jsonl --runs --store scores.db
    """
    items = _items_of_runs(file, keep_answers=keep_answers) if runs else _items_of_file(file)
    with opened(store, create=True) as kept:
        kept.datasets.create(name)
        before = kept.datasets.get(name).version
        version = kept.datasets.put(name, items, note=note, replace=replace)
        row = kept.datasets.get(name)
    if as_json:
        echo_json({"name": name, "version": version, "changed": version != before, "items": row.items})
    elif version == before:
        click.echo(f"{name} is at version {version} with {row.items:,} items, as before")
    else:
        click.echo(f"{name} is now at version {version} with {row.items:,} items")


def _items_of_file(file: Path) -> list[Any]:
    from referee.suites.files import read_items

    return read_items(file)


def _items_of_runs(file: Path, *, keep_answers: bool) -> list[Any]:
    from referee.datasets import item_from_run
    from referee.formats import read_runs

    return [item_from_run(run, keep_answer=keep_answers) for run in read_runs(file, on_error="raise")]


@datasets.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@store_options
def export(name: str, file: Path, store: str | None, as_json: bool) -> None:
    """Write the items of a version to FILE: .jsonl or .csv.

    \b
    Example:
      referee datasets export weather@release items.csv --store scores.db
    """
    from referee.datasets import to_csv, to_jsonl

    if file.suffix not in (".jsonl", ".csv"):
        raise OptionError(f"{file}: items are written as .jsonl or .csv")
    with opened(store) as kept:
        found = kept.datasets.read(name)
    try:
        if file.suffix == ".csv":
            file.write_text(to_csv(found.items), encoding="utf-8", newline="")
        else:
            file.write_bytes(b"".join(to_jsonl(found.items)))
    except OSError as error:
        raise OptionError(f"{file}: {error.strerror}") from None
    if as_json:
        echo_json({"name": found.name, "version": found.version, "items": len(found.items), "digest": found.digest})
    else:
        say(f"{len(found.items):,} items of {found.name}@{found.version}, digest {found.digest}")


@datasets.command()
@click.argument("name")
@store_options
def history(name: str, store: str | None, as_json: bool) -> None:
    """List the versions, the latest first.

    \b
    Example:
      referee datasets history weather --store scores.db
    """
    with opened(store) as kept:
        found = kept.datasets.history(name)
    if as_json:
        echo_json(found)
        return
    rows = ((v.version, v.at, v.added, v.changed, v.removed, v.items, v.digest[:12], v.note) for v in found)
    columns = ("version", "at", "added", "changed", "removed", "items", "digest", "note")
    echo_table(columns, rows, empty="It has no versions yet.")


@datasets.command()
@click.argument("before")
@click.argument("after")
@store_options
def diff(before: str, after: str, store: str | None, as_json: bool) -> None:
    """Show what changed from one version to another.

    \b
    Example:
      referee datasets diff weather@1 weather@2 --store scores.db
    """
    with opened(store) as kept:
        found = kept.datasets.diff(before, after)
    if as_json:
        echo_json(found)
        return
    for item in found.added:
        say(f"+ {item}")
    for item in found.removed:
        say(f"- {item}")
    for change in found.changed:
        say(f"~ {change.id}: {', '.join(change.fields)}")
    if not found:
        click.echo("nothing changed")


@datasets.command()
@click.argument("name")
@click.argument("pin")
@click.option("--remove", is_flag=True, help="Take the pin away.")
@store_options
def pin(name: str, pin: str, remove: bool, store: str | None, as_json: bool) -> None:
    """Give a version a name of its own: `referee datasets pin weather@3 release`.

    \b
    Example:
      referee datasets pin weather@3 release --store scores.db
    """
    with opened(store) as kept:
        if remove:
            kept.datasets.unpin(name, pin)
        else:
            kept.datasets.pin(name, pin)
        row = kept.datasets.get(name)
    if as_json:
        echo_json(row)
    else:
        click.echo(_pins(row.pins) or "no pins")


@datasets.command()
@click.argument("name")
@click.argument("items", nargs=-1, required=True)
@click.option("--note", default="", help="Why, for the history.")
@store_options
def remove(name: str, items: tuple[str, ...], note: str, store: str | None, as_json: bool) -> None:
    """Remove items by their ids. Earlier versions keep them; `purge` erases.

    \b
    Example:
      referee datasets remove weather ghent bruges --store scores.db
    """
    with opened(store) as kept:
        version = kept.datasets.remove(name, list(dict.fromkeys(items)), note=note)
    if as_json:
        echo_json({"name": name, "version": version})
    else:
        click.echo(f"{name} is now at version {version}")


@datasets.command()
@click.argument("name")
@click.argument("item")
@click.option(
    "--journal", "journals", multiple=True, type=click.Path(path_type=Path), help="A journal beside the known."
)
@click.option("--cache", "caches", multiple=True, type=click.Path(path_type=Path), help="A cache of a judge.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_options
def purge(
    name: str,
    item: str,
    journals: tuple[Path, ...],
    caches: tuple[Path, ...],
    yes: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Erase an item's content everywhere: all versions, runs, scores' words, labels' comments, journals and caches.

    Versions, numbers and dates stay. It can't be undone.

    \b
    Example:
      referee datasets purge weather ghent --yes --store scores.db
    """
    if not yes:
        click.confirm(f"Erase the content of {item} in {name} and everywhere else, for good?", abort=True, err=True)
    with opened(store) as kept:
        purged = kept.purge(name, item, journals=journals, judge_caches=caches)
        problems = kept.vacuum()
    if as_json:
        echo_json({"purged": purged, "problems": problems})
        return
    click.echo(
        f"erased: {purged.contents} contents, {purged.runs} runs, words of {purged.scores} scores, "
        f"{purged.journal_results} results in journals, {purged.judge_replies} replies of judges"
    )
    for problem in problems:
        click.echo(f"referee: {problem}", err=True)
