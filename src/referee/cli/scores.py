"""`referee scores`: scores of a store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click
import msgspec

from referee.cli.stores import echo_json, echo_table, opened, say, store_options

F = TypeVar("F", bound=Callable[..., Any])
_OUTCOMES = ("error", "not_scorable", "failed", "passed", "unbounded")
_BAR = 40


@click.group()
def scores() -> None:
    """Scores of a store: pages, counts, histograms and trends under any filter.

    \b
    Examples:
      referee scores list --scorer answer-relevancy-scorer --below 0.5 --order lowest --store scores.db
      referee scores trend answer-relevancy-scorer --store scores.db
    """


def filter_options(command: F) -> F:
    """The options that say which scores are meant; given to the command as one `ScoreFilter`."""
    day = click.DateTime(["%Y-%m-%d"])
    options = (
        click.option("--experiment", help="Only of this experiment; or recorded, or live."),
        click.option("--kind", type=click.Choice(["experiment", "recorded", "live"]), help="Only of this kind."),
        click.option("--scorer", help="Only of this scorer's id."),
        click.option("--version", help="Only of this version of the scorer."),
        click.option("--outcome", "outcomes", multiple=True, type=click.Choice(_OUTCOMES), help="Only these outcomes."),
        click.option("--at-least", type=float, help="Only values of at least this."),
        click.option("--at-most", type=float, help="Only values of at most this."),
        click.option("--above", type=float, help="Only values above this."),
        click.option("--below", type=float, help="Only values below this."),
        click.option("--since", type=day, help="Only from this day on, UTC."),
        click.option("--until", type=day, help="Only up to this day, UTC."),
        click.option("--run", help="Only of the run of this id."),
        click.option("--item", help="Only of the item of this id."),
        click.option("--thread", help="Only of this thread."),
        click.option("--trace", help="Only of this trace."),
        click.option("--tag", help="Only of items with this tag."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _filter(given: dict[str, Any]) -> Any:
    from referee.storage.filters import ScoreFilter

    plain: dict[str, Any] = {
        name: value.date() if isinstance(value, datetime) else value for name, value in given.items()
    }
    return ScoreFilter(**plain)


@scores.command("list")
@click.option(
    "--order",
    default="newest",
    show_default=True,
    type=click.Choice(["newest", "oldest", "lowest", "highest"]),
    help="Which come first.",
)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Show so many.")
@click.option("--after", help="Go on after this position, printed as next.")
@filter_options
@store_options
def list_page(order: Any, limit: int, after: str | None, store: str | None, as_json: bool, **given: Any) -> None:
    """List scores, page by page.

    \b
    Example:
      referee scores list --outcome failed --order lowest --store scores.db
    """
    with opened(store) as kept:
        page = kept.scores.page(_filter(given), order=order, limit=limit, after=after)
    if as_json:
        echo_json(page)
        return
    rows = (
        (row.number, row.experiment, row.item, row.scorer, row.outcome, row.value, _shown(row.reason))
        for row in page.rows
    )
    columns = ("number", "experiment", "item", "scorer", "outcome", "value", "reason")
    echo_table(columns, rows, empty="No score fits.")
    click.echo(f"{len(page.rows)} of {page.total:,}{'' if page.is_exact else ' or more'} scores")
    if page.next is not None:
        click.echo(f"next: --after {page.next}")


def _shown(reason: str | None, most: int = 60) -> str | None:
    return reason if reason is None or len(reason) <= most else f"{reason[: most - 1]}…"


@scores.command()
@click.argument("number", type=int)
@store_options
def show(number: int, store: str | None, as_json: bool) -> None:
    """Show one score with its steps and the run it is of.

    \b
    Example:
      referee scores show 17 --store scores.db
    """
    with opened(store) as kept:
        found = kept.scores.get(number)
    if as_json:
        echo_json(found)
        return
    row = found.row
    say(f"{row.scorer} {row.version}  {row.outcome}  {'' if row.value is None else f'{row.value:g}'}")
    say(f"experiment {row.experiment}, item {row.item}, run {row.run_id}, {row.at:%Y-%m-%d %H:%M}")
    for title, text in (("asked", found.run.user_text), ("answered", found.run.final_text), ("reason", row.reason)):
        if text:
            say(f"\n{title}:\n{text}")


@scores.command()
@filter_options
@store_options
def facets(store: str | None, as_json: bool, **given: Any) -> None:
    """Count the scores by experiment, scorer, version and outcome.

    \b
    Example:
      referee scores facets --since 2026-11-01 --store scores.db
    """
    with opened(store) as kept:
        found = kept.scores.facets(_filter(given))
    if as_json:
        echo_json(found)
        return
    rows = [
        (name, facet.value, facet.count)
        for name in ("experiments", "scorers", "versions", "outcomes")
        for facet in getattr(found, name)
    ]
    echo_table(("facet", "value", "scores"), rows, empty="No score fits.")
    if not found.is_exact:
        click.echo("There are more: these are the counts of some of them.")


@scores.command()
@filter_options
@store_options
def histogram(store: str | None, as_json: bool, **given: Any) -> None:
    """Show how the values lie in their range.

    \b
    Example:
      referee scores histogram --scorer completeness-scorer --store scores.db
    """
    with opened(store) as kept:
        found = kept.scores.histogram(_filter(given))
    if as_json:
        echo_json(found)
        return
    most = max([1, *(each.count for each in found.bins)])
    for each in found.bins:
        name = f"{each.low:g}" if each.low == each.high else f"{each.low:g} to {each.high:g}"
        click.echo(f"{name:>14}  {'█' * round(each.count / most * _BAR)} {each.count:,}".rstrip())
    click.echo(f"errors {found.errors:,}, not scorable {found.not_scorable:,}")


@scores.command()
@click.argument("scorer")
@click.option("--experiment", help="Only of this experiment; or recorded, or live.")
@click.option("--kind", type=click.Choice(["experiment", "recorded", "live"]), help="Only of this kind.")
@click.option("--version", help="Only of this version.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only from this day on, UTC.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="Only up to this day, UTC.")
@store_options
def trend(scorer: str, store: str | None, as_json: bool, **given: Any) -> None:
    """Show a scorer's mean from day to day, each version for itself.

    \b
    Example:
      referee scores trend completeness-scorer --kind live --store scores.db
    """
    with opened(store) as kept:
        found = kept.scores.trend(scorer, _filter(given))
    if as_json:
        echo_json(found)
        return
    for series in found:
        say(f"{series.scorer} {series.version}{', lower is better' if series.lower_is_better else ''}")
        rows = ((str(p.day), p.figures.mean, p.figures.scored, p.figures.errors) for p in series.points)
        echo_table(("day", "mean", "scored", "errors"), rows, empty="")
    if len(found) > 1:
        click.echo("These are several versions of the scorer: their numbers are not measured alike.")
    if not found:
        click.echo("No score fits.")


@scores.command()
@filter_options
@store_options
def export(store: str | None, as_json: bool, **given: Any) -> None:
    """Print all scores that fit as JSON Lines.

    \b
    Example:
      referee scores export --experiment nightly-2 --store scores.db > scores.jsonl
    """
    from referee.storage.scores import LONGEST_PAGE

    with opened(store) as kept:
        after = None
        while True:
            page = kept.scores.page(_filter(given), order="oldest", limit=LONGEST_PAGE, after=after)
            for row in page.rows:
                click.echo(msgspec.json.encode(row).decode())
            after = page.next
            if after is None:
                return
