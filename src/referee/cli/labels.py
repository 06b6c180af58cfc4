"""`referee labels`: what people think, and how far scorers agree with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from referee.cli.stores import echo_json, echo_table, opened, say, store_options
from referee.errors import ReadError

if TYPE_CHECKING:
    from referee.agreement import Agreement, Kappa

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def labels() -> None:
    """People's labels in a store: add them, and see how far a scorer agrees.

    \b
    Examples:
      referee labels queue judge --author ann --store scores.db
      referee labels add 1 --score 17 --author ann --store scores.db
      referee labels agreement judge --cut 0.5 --store scores.db
    """


@labels.command()
@click.argument("value", type=float)
@click.option("--score", type=int, help="The number of the score that is labelled.")
@click.option("--run", type=int, help="The number of the run that is labelled, with --name.")
@click.option("--name", help="What is judged of the run: a scorer's id, or any other name.")
@click.option("--turn", type=click.IntRange(0), help="The turn of the run, from 0.")
@click.option("--author", required=True, help="Who says it.")
@click.option("--comment", help="Why.")
@store_options
def add(value: float, store: str | None, as_json: bool, **about: Any) -> None:
    """Label a score, or a run, with VALUE. An earlier label of the same author is replaced.

    \b
    Example:
      referee labels add 1 --score 17 --author ann --comment 'It says so.' --store scores.db
    """
    with opened(store) as kept:
        label = kept.labels.add(value, **about)
    if as_json:
        echo_json(label)
    else:
        say(f"label {label.number}: {label.scorer} of {label.run_id} is {label.value:g}, says {label.author}")


@labels.command("list")
@click.option("--scorer", help="Only of this scorer's question.")
@click.option("--author", help="Only by this person.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Show so many.")
@click.option("--before", type=int, help="Only those of a lower number.")
@store_options
def list_latest(
    scorer: str | None, author: str | None, limit: int, before: int | None, store: str | None, as_json: bool
) -> None:
    """List labels, the newest first.

    \b
    Example:
      referee labels list --author ann --store scores.db
    """
    with opened(store) as kept:
        found = kept.labels.latest(scorer=scorer, author=author, limit=limit, before=before)
    if as_json:
        echo_json(found)
        return
    rows = ((each.number, each.scorer, each.run_id, each.author, each.value, each.comment) for each in found)
    echo_table(("number", "scorer", "run", "author", "value", "comment"), rows, empty="There are no labels.")


@labels.command()
@click.argument("number", type=int)
@store_options
def remove(number: int, store: str | None, as_json: bool) -> None:
    """Remove a label.

    \b
    Example:
      referee labels remove 3 --store scores.db
    """
    with opened(store) as kept:
        kept.labels.remove(number)
    if as_json:
        echo_json({"removed": number})
    else:
        click.echo(f"removed label {number}")


@labels.command()
@click.argument("scorer")
@click.option("--author", required=True, help="Who is to label.")
@click.option("--version", help="Only scores of this version.")
@click.option("--experiment", help="Only scores of this experiment.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Show so many.")
@store_options
def queue(
    scorer: str,
    author: str,
    version: str | None,
    experiment: str | None,
    limit: int,
    store: str | None,
    as_json: bool,
) -> None:
    """List scores that a person has not labelled yet, without the scorer's own opinion.

    \b
    Example:
      referee labels queue rubric-scorer --author ann --store scores.db
    """
    with opened(store) as kept:
        found = kept.labels.queue(scorer, author=author, version=version, experiment=experiment, limit=limit)
    if as_json:
        echo_json(found)
        return
    rows = ((row.number, row.item, row.asked, row.answered) for row in found)
    echo_table(("score", "item", "asked", "answered"), rows, empty="There is nothing to label.")


@labels.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--author", help="Who says it, where a line does not.")
@store_options
def import_(file: Path, author: str | None, store: str | None, as_json: bool) -> None:
    """Read labels from FILE: JSON Lines or CSV with `score` (a number) or `run` and `name`, `value`, `author`, `comment`.

    \b
    Example:
      referee labels import labels.csv --author ann --store scores.db
    """
    from referee.suites.files import read_items

    lines = read_items(file)
    with opened(store) as kept:
        for place, line in enumerate(lines, 1):
            kept.labels.add(**_label(line, author, file, place))
    if as_json:
        echo_json({"labels": len(lines)})
    else:
        click.echo(f"{len(lines):,} labels")


def _label(line: Any, author: str | None, file: Path, place: int) -> dict[str, Any]:
    known = ("score", "run", "name", "turn", "value", "author", "comment")
    if not isinstance(line, dict) or set(line) - set(known):
        raise ReadError(f"label {place}: a label has {', '.join(known)}", source=str(file))
    found = {"author": author, **line}
    if found.get("value") is None or not found.get("author"):
        raise ReadError(f"label {place}: a label needs value and author", source=str(file))
    try:
        numbers = {name: int(found[name]) for name in ("score", "run", "turn") if found.get(name) is not None}
        return {**found, **numbers, "value": float(found["value"])}
    except (TypeError, ValueError) as error:
        raise ReadError(f"label {place}: {error}", source=str(file)) from None


def _agreement_options(command: F) -> F:
    options = (
        click.argument("scorer"),
        click.option("--version", help="The version of the scorer."),
        click.option("--experiment", help="Only scores of this experiment."),
        click.option("--author", help="Only labels by this person."),
        click.option("--cut", "cuts", multiple=True, type=float, help="Where a category begins. May be given again."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@labels.command()
@_agreement_options
@store_options
def agreement(
    scorer: str,
    version: str | None,
    experiment: str | None,
    author: str | None,
    cuts: tuple[float, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Show how far a scorer agrees with people.

    \b
    Example:
      referee labels agreement rubric-scorer --cut 0.5 --store scores.db
    """
    with opened(store) as kept:
        found = kept.labels.agreement(
            scorer, version=version, experiment=experiment, author=author, cuts=list(cuts) or None
        )
    if as_json:
        echo_json(found)
    else:
        _print(found)


@labels.command()
@_agreement_options
@click.option(
    "--weights",
    type=click.Choice(["none", "linear", "quadratic"]),
    default="none",
    show_default=True,
    help="Which kappa counts.",
)
@click.option(
    "--fewest", type=click.IntRange(1), default=20, show_default=True, help="So many labelled scores are needed."
)
@store_options
def calibrate(
    scorer: str,
    version: str | None,
    experiment: str | None,
    author: str | None,
    cuts: tuple[float, ...],
    weights: Any,
    fewest: int,
    store: str | None,
    as_json: bool,
) -> None:
    """Keep a scorer's agreement, for gates that demand `min_agreement`.

    \b
    Example:
      referee labels calibrate rubric-scorer --store scores.db
    """
    with opened(store) as kept:
        found = kept.labels.calibrate(
            scorer,
            version=version,
            experiment=experiment,
            author=author,
            cuts=list(cuts) or None,
            weights=weights,
            fewest=fewest,
        )
    if as_json:
        echo_json(found)
        return
    say(f"{found.scorer} {found.version} is calibrated on {found.pairs} labels")
    _print(found.agreement)


def _print(found: Agreement) -> None:
    click.echo(f"{found.pairs} labelled scores, {found.disputed} disputed")
    if found.observed is not None:
        click.echo(f"same category: {found.observed:.1%}")
    for name, kappa in (("kappa", found.kappa), ("linear", found.linear_kappa), ("quadratic", found.quadratic_kappa)):
        click.echo(f"{name:<10} {_kappa(kappa)}")
    for name, value in (("Pearson", found.pearson), ("Spearman", found.spearman)):
        click.echo(f"{name:<10} {'undefined' if value is None else f'{value:.3f}'}")
    columns = ("scorer \\ people", *found.categories)
    rows = ((category, *line) for category, line in zip(found.categories, found.matrix))
    echo_table(columns, rows, empty="")


def _kappa(kappa: Kappa) -> str:
    if kappa.value is None or kappa.interval is None:
        return "undefined"
    return f"{kappa.value:.3f} ({kappa.interval.low:.3f} to {kappa.interval.high:.3f})"
