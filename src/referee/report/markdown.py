"""Reports in Markdown, for a pull request."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from referee.report.content import document_of
from referee.report.document import Block, ItemProblems, Note, Problems, Table, Tone
from referee.terminal import visible

_SIGNS: dict[Tone, str] = {"plain": "", "good": "✅ ", "bad": "❌ ", "warn": "⚠️ ", "dim": ""}
ITEMS_SHOWN = 20
#: Characters that Markdown or the HTML inside it would read as markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&$])")

_MARKUP_IN_HTML = re.compile(r"[\\`*_\[\]|~]")


def as_markdown(obj: Any) -> str:
    """A report, several reports or a comparison as GitHub's Markdown. Content cannot become markup, links or mentions.

    Example:
        >>> from referee import checks, run_evals_sync
        >>> report = run_evals_sync(target=str, data=["sunny"], gates=[checks.includes("sunny")], name="Weather")
        >>> print(as_markdown(report).splitlines()[0])
        ### ✅ Weather: passed
    """
    document = document_of(obj)
    lines = [f"### {_SIGNS[document.tone]}{escaped(document.title)}: {escaped(document.verdict)}", ""]
    for block in document.blocks:
        lines += [*_block(block), ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """The text on one line, with everything escaped that could be markup; a mention gets an invisible break.

    Example:
        >>> escaped("a|b <b>*c*</b>")
        'a\\\\|b \\\\<b\\\\>\\\\*c\\\\*\\\\</b\\\\>'
    """
    return _unlinked(_MARKUP.sub(r"\\\1", _line(text)))


def _block(block: Block) -> list[str]:
    if isinstance(block, Note):
        return [f"{_SIGNS[block.tone]}{escaped(block.text)}"]
    if isinstance(block, Table):
        return _table(block)
    return _problems(block)


def _table(table: Table) -> list[str]:
    names = [escaped(name.removeprefix(">")) or " " for name in table.columns]
    rules = ["---:" if name.startswith(">") else "---" for name in table.columns]
    rows = [[f"{_SIGNS[cell.tone]}{escaped(cell.text)}" for cell in row] for row in table.rows]
    return [f"**{escaped(table.title)}**", "", *(f"| {' | '.join(row)} |" for row in (names, rules, *rows))]


def _problems(block: Problems) -> list[str]:
    lines = [f"**{escaped(block.title)}**"]
    for item in block.items[:ITEMS_SHOWN]:
        lines += ["", *_item(item)]
    if len(block.items) > ITEMS_SHOWN:
        lines += ["", f"… and {len(block.items) - ITEMS_SHOWN} more"]
    return lines


def _item(item: ItemProblems) -> list[str]:
    lines = [f"<details><summary>{_html(item.name)}</summary>", ""]
    lines += [
        f"- {label}: {escaped(text)}" for label, text in (("asked", item.asked), ("answered", item.answered)) if text
    ]
    for problem in item.problems:
        lines.append(f"- {_SIGNS[problem.tone]}{escaped(problem.title)}")
        if problem.reason:
            lines += ["", *_fenced(problem.reason)]
    return [*lines, "", "</details>"]


def _html(text: str) -> str:
    """The text inside an HTML element: neither HTML nor Markdown can start in it."""
    return _unlinked(_MARKUP_IN_HTML.sub(lambda found: f"&#{ord(found.group())};", escape(_line(text))))


def _line(text: str) -> str:
    return " ".join(visible(text).split())


def _unlinked(text: str) -> str:
    """The text with an invisible break in what GitHub makes a mention or a link of."""
    return text.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def _fenced(text: str) -> list[str]:
    """The text in a fence that is longer than any in it."""
    shown = visible(text)
    longest = max((len(found) for found in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"  {fence}text", *(f"  {line}" for line in shown.splitlines()), f"  {fence}", ""]
