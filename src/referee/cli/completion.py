"""`referee completion`: what makes a shell complete commands, options and names of scorers."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

_PROGRAM = "referee"
_VARIABLE = "_REFEREE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "fish", "zsh"]))
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands, options and names of scorers.

    \b
    Examples:
      eval "$(referee completion bash)"      # in ~/.bashrc
      eval "$(referee completion zsh)"       # in ~/.zshrc
      referee completion fish > ~/.config/fish/completions/referee.fish
    """
    from referee.cli import main

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, _PROGRAM, _VARIABLE).source())


def complete_scorers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of scorers that begin as what is written."""
    from referee.loading import scorer_names

    return [CompletionItem(name) for name in scorer_names() if name.startswith(incomplete)]
