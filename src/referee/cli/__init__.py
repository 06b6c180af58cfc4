"""The command line. Each command is a module of its own, loaded when it is used."""

from __future__ import annotations

import io
import sys
from difflib import get_close_matches
from importlib import import_module

import click

from referee import __version__
from referee.errors import RefereeError
from referee.terminal import visible

#: Each command's function, as `module:function`, and its one line of help.
COMMANDS = {
    "compare": ("referee.cli.compare:compare", "Compare two evaluations of the same items."),
    "completion": ("referee.cli.completion:completion", "Print what makes a shell complete commands."),
    "convert": ("referee.cli.convert:convert", "Turn recorded runs of any readable format into Referee's JSON Lines."),
    "datasets": ("referee.cli.datasets:datasets", "Data sets: versions, files, pins and purges."),
    "db": ("referee.cli.db:db", "The store itself: what it holds, whether it is sound, how it is kept small."),
    "doctor": ("referee.cli.doctor:doctor", "Say what is installed, and whether model and store can be used."),
    "experiments": ("referee.cli.experiments:experiments", "Experiments: figures, reports, events, baselines."),
    "init": ("referee.cli.init:init", "Write a suite that works, to start from."),
    "labels": ("referee.cli.labels:labels", "People's labels, and how far scorers agree with them."),
    "run": ("referee.cli.run:run", "Run a suite."),
    "score": ("referee.cli.score:score", "Score recorded runs."),
    "scorers": ("referee.cli.scorers:scorers", "List the scorers, or explain one."),
    "scores": ("referee.cli.scores:scores", "Scores of a store under any filter: pages, histograms, trends."),
    "show": ("referee.cli.show:show", "Print one run as a readable conversation."),
    "studio": ("referee.cli.studio:studio", "Show the experiments and scores of a store in the browser."),
}

#: Exit codes, the first that applies.
EXIT_USAGE = 2
EXIT_FAILED = 1
EXIT_INCOMPLETE = 3


class _Commands(click.Group):
    """Loads a command's module when the command is called, so that `referee --help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(COMMANDS)}."
            raise click.UsageError(f"{error.message} {hint}", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> object:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a narrow code page must not end a command
        try:
            return super().invoke(ctx)
        except RefereeError as error:
            click.echo(f"referee: {visible(str(error))}", err=True)
            ctx.exit(EXIT_USAGE)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="referee")
def main() -> None:
    """Evaluate AI agents: their words and their tool calls.

    Example: referee score runs.jsonl --scorer checks.no_tool_errors
    """
