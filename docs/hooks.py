"""Hooks of the documentation site: the page of the command line is made of the commands' own help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from referee.cli import main

_MARK = "<!-- commands -->"
_WIDTH = 100


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help of every command in the place of the mark."""
    return markdown.replace(_MARK, "\n".join(_pages(main, "referee", None))) if _MARK in markdown else markdown


def _pages(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=_WIDTH, max_content_width=_WIDTH)
    depth = "##" if parent is None or parent.parent is None else "###"
    yield f"{depth} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            if found is not None:
                yield from _pages(found, each, context)
