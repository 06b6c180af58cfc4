"""What the commands about stores share: which store is meant, and how an answer is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from referee.errors import OptionError
from referee.terminal import visible

if TYPE_CHECKING:
    from referee.storage import Store

F = TypeVar("F", bound=Callable[..., Any])

ENVIRONMENT = "REFEREE_STORE"


def store_options(command: F) -> F:
    """The options of a command about a store: which one, and whether the answer is printed as JSON."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")(command)
    return click.option(
        "--store",
        "store",
        envvar=ENVIRONMENT,
        metavar="URL",
        help=f"The store: a SQLite file, or a PostgreSQL URL. [default: ${ENVIRONMENT}]",
    )(command)


@contextmanager
def opened(url: str | None, *, create: bool = False) -> Iterator[Store]:
    """The store of `--store`.

    Args:
        url: Its address.
        create: Make it when it is not there; otherwise that is an error.

    Raises:
        OptionError: No address is given, or there is no such file.
    """
    from referee.storage import Store

    if not url:
        raise OptionError(f"say which store is meant: --store scores.db, or set {ENVIRONMENT}")
    if not create and "://" not in url and not Path(url).is_file():
        raise OptionError(f"there is no store {url}; `referee score` and `referee run` write one with --store {url}")
    with Store(url) as store:
        yield store


def say(text: str) -> None:
    """Print a sentence that names what a store holds, which may be hostile to a terminal."""
    click.echo(visible(text))


def echo_json(value: Any) -> None:
    """Print a value as JSON, indented."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def echo_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str) -> None:
    """Print rows under their columns, as wide as they need; a sentence when there are none.

    Args:
        columns: The columns' names.
        rows: Their cells; `None` is printed as nothing, a number with four digits.
        empty: What is printed when there are no rows.
    """
    cells = [[_cell(cell) for cell in row] for row in rows]
    if not cells:
        click.echo(empty)
        return
    widths = [max(len(line[place]) for line in [list(columns), *cells]) for place in range(len(columns))]
    for line in [list(columns), *cells]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if hasattr(value, "isoformat"):
        return str(value.strftime("%Y-%m-%d %H:%M"))
    return " ".join(visible(str(value)).split())
