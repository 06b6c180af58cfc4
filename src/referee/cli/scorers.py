"""`referee scorers`: list the scorers, or explain one."""

from __future__ import annotations

import inspect

import click

from referee.cli.completion import complete_scorers
from referee.loading import factory_of, scorer_names, signature_text


@click.command()
@click.argument("name", required=False, shell_complete=complete_scorers)
def scorers(name: str | None) -> None:
    """List the scorers, or explain the one named.

    \b
    Examples:
      referee scorers
      referee scorers checks.includes
    """
    if name is None:
        width = max(map(len, scorer_names()))
        for known in scorer_names():
            click.echo(f"{known:<{width}}  {_first_line(known)}")
        return
    factory = factory_of(name)
    click.echo(f"{name}{signature_text(factory)}\n")
    click.echo(inspect.getdoc(factory) or "")


def _first_line(name: str) -> str:
    return (inspect.getdoc(factory_of(name)) or "").split("\n", 1)[0]
