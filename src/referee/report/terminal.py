"""Reports on a terminal: failing items first, with reason and diff."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from referee.report.content import document_of
from referee.report.document import Block, Document, ItemProblems, Note, Problems, Table
from referee.terminal import visible

_STYLES = {"plain": "", "good": "green", "bad": "bold red", "warn": "yellow", "dim": "dim"}
#: How many failing items are shown in full; the rest is counted.
ITEMS_SHOWN = 10
_LINES_SHOWN = 30
_WIDTH = 120


def renderable(obj: Any) -> Group:
    """A report, several reports or a comparison for `rich`."""
    return _drawn(document_of(obj))


def as_text(obj: Any) -> str:
    """The same as plain text, without colours."""
    console = Console(width=_WIDTH, no_color=True, force_terminal=False, highlight=False)
    with console.capture() as capture:
        console.print(renderable(obj))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _drawn(document: Document) -> Group:
    head = Text.assemble((visible(document.title), "bold"), "  ", (visible(document.verdict), _STYLES[document.tone]))
    return Group(head, *(part for block in document.blocks for part in _block(block)))


def _block(block: Block) -> list[Any]:
    if isinstance(block, Note):
        return [Text(visible(block.text), _STYLES[block.tone])]
    if isinstance(block, Table):
        # The title apart from the table, which would wrap it to its own width.
        return [Text(visible(block.title), "bold"), _table(block)]
    return _problems(block)


def _table(table: Table) -> RichTable:
    drawn = RichTable(box=box.SIMPLE)
    for name in table.columns:
        drawn.add_column(Text(visible(name.removeprefix(">"))), justify="right" if name.startswith(">") else "left")
    for row in table.rows:
        drawn.add_row(*(Text(visible(cell.text), _STYLES[cell.tone]) for cell in row))
    return drawn


def _problems(block: Problems) -> list[Any]:
    drawn: list[Any] = [Text(""), Text(visible(block.title), "bold")]
    for item in block.items[:ITEMS_SHOWN]:
        drawn += _item(item)
    rest = len(block.items) - ITEMS_SHOWN
    if rest > 0:
        drawn.append(Text(f"  … and {rest} more", "dim"))
    return drawn


def _item(item: ItemProblems) -> list[Any]:
    drawn: list[Any] = [Text(f"  {visible(item.name)}", "bold")]
    for label, text in (("asked", item.asked), ("answered", item.answered)):
        if text:
            drawn.append(Padding(Text(f"{label}: {text}", "dim"), (0, 0, 0, 4)))
    for problem in item.problems:
        drawn.append(Padding(Text(visible(problem.title), _STYLES[problem.tone]), (0, 0, 0, 4)))
        lines = visible(problem.reason).splitlines()
        drawn += [Padding(Text(line), (0, 0, 0, 6)) for line in lines[:_LINES_SHOWN]]
        if len(lines) > _LINES_SHOWN:
            drawn.append(Padding(Text(f"… and {len(lines) - _LINES_SHOWN} more lines", "dim"), (0, 0, 0, 6)))
    return drawn
