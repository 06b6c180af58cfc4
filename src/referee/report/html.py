"""Reports in HTML: one self-contained file without scripts, and a fragment for notebooks. All content is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from referee.evaluate.report import Report, SideBySide
from referee.messages import Message, ToolCall
from referee.report.content import document_of
from referee.report.document import Block, Document, ItemProblems, Note, Problems, Table
from referee.report.problems import measured
from referee.results import ItemResult
from referee.scores import Score
from referee.terminal import visible

_STYLE = """
.referee{font:15px/1.5 system-ui,sans-serif;color:var(--ink);--ink:#1c1c1f;--paper:#fff;--line:#d5d5da;--dim:#5d5d66;
--good:#17692b;--bad:#a8151c;--warn:#7d5000;--soft:#f4f4f6}
@media(prefers-color-scheme:dark){.referee{--ink:#ececf0;--paper:#17171a;--line:#3c3c43;--dim:#a6a6b0;--good:#6fd388;
--bad:#ff8d8d;--warn:#f0bb58;--soft:#232328}}
.referee h1{font-size:1.5em;margin:0 0 .2em}.referee h2{font-size:1.1em;margin:1.6em 0 .4em}
.referee table{border-collapse:collapse;margin:.4em 0}.referee .wide{overflow-x:auto}
.referee th,.referee td{border-bottom:1px solid var(--line);padding:.3em .7em;text-align:left;vertical-align:top}
.referee .n{text-align:right;font-variant-numeric:tabular-nums}.referee .good{color:var(--good)}
.referee .bad{color:var(--bad);font-weight:600}.referee .warn{color:var(--warn)}.referee .dim{color:var(--dim)}
.referee pre{background:var(--soft);padding:.6em .8em;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0}
.referee details{border-bottom:1px solid var(--line);padding:.4em 0}.referee summary{cursor:pointer}
.referee details>div{margin:.4em 0 .4em 1.2em}
"""
_PAGE_STYLE = "body{margin:2em auto;max-width:75em;padding:0 1.2em;background:#fff}@media(prefers-color-scheme:dark){body{background:#17171a}}"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_NOTEBOOK_ITEMS = 10


def as_page(obj: Any) -> str:
    """A whole page: what the terminal shows, then every result with its conversation and scores."""
    document = document_of(obj)
    everything = "".join(_result_list(report) for report in _reports(obj))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_text(document.title)}: {_text(document.verdict)}</title><style>{_PAGE_STYLE}{_STYLE}</style></head>"
        f'<body><main class="referee">{_drawn(document, None)}{everything}</main></body></html>\n'
    )


def fragment(obj: Any) -> str:
    """What a notebook shows."""
    return f'<div class="referee"><style>{_STYLE}</style>{_drawn(document_of(obj), _NOTEBOOK_ITEMS)}</div>'


def _reports(obj: Any) -> list[Report]:
    if isinstance(obj, Report):
        return [obj]
    return list(obj.values()) if isinstance(obj, SideBySide) else []


def _text(text: str) -> str:
    return escape(visible(text))


def _drawn(document: Document, most: int | None) -> str:
    head = f'<h1>{_text(document.title)}</h1><p class="{document.tone}">{_text(document.verdict)}</p>'
    return head + "".join(_block(block, most) for block in document.blocks)


def _block(block: Block, most: int | None) -> str:
    if isinstance(block, Note):
        return f'<p class="{block.tone}">{_text(block.text)}</p>'
    if isinstance(block, Table):
        return _table(block)
    return _problems(block, most)


def _table(table: Table) -> str:
    numbers = [name.startswith(">") for name in table.columns]
    head = "".join(
        f'<th scope="col"{" class=n" if is_number else ""}>{_text(name.removeprefix(">"))}</th>'
        for name, is_number in zip(table.columns, numbers)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td class="{cell.tone}{" n" if is_number else ""}">{_text(cell.text)}</td>'
            for cell, is_number in zip(row, numbers)
        )
        + "</tr>"
        for row in table.rows
    )
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<h2>{_text(table.title)}</h2><div class="wide">{body}</div>'


def _problems(block: Problems, most: int | None) -> str:
    shown = block.items if most is None else block.items[:most]
    more = f"<p>… and {len(block.items) - len(shown)} more</p>" if len(shown) < len(block.items) else ""
    return f"<h2>{_text(block.title)}</h2>{''.join(map(_item, shown))}{more}"


def _item(item: ItemProblems) -> str:
    talk = "".join(
        f'<p><span class="dim">{label}:</span> {_text(text)}</p>'
        for label, text in (("asked", item.asked), ("answered", item.answered))
        if text
    )
    problems = "".join(
        f'<p class="{problem.tone}">{_text(problem.title)}</p>'
        + (f"<pre>{_text(problem.reason)}</pre>" if problem.reason else "")
        for problem in item.problems
    )
    return f"<details open><summary>{_text(item.name)}</summary><div>{talk}{problems}</div></details>"


def _result_list(report: Report) -> str:
    title = f"all results of {report.target}" if report.target else "all results"
    return f"<h2>{_text(title)}</h2>{''.join(_result(report, result) for result in report.results)}"


def _result(report: Report, result: ItemResult) -> str:
    scores = measured(report, result)
    shown = ", ".join(f"{measure.id} {_value(score)}" for _, measure, score in scores[:4])
    error = f'<p class="bad">{_text(f"{result.error.error_class}: {result.error.message}")}</p>' if result.error else ""
    rows = "".join(
        f"<tr><td>{_text(_place(turn) + measure.id)}</td><td class=n>{_text(_value(score))}</td>"
        f"<td><pre>{_text(_reason(score))}</pre></td></tr>"
        for turn, measure, score in scores
    )
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    talk = "".join(_message(message) for message in (*result.run.input, *result.run.output)) if result.run else ""
    summary = f'{_text(result.name)} <span class="dim">{_text(shown)}</span>'
    return f"<details><summary>{summary}</summary><div>{error}{talk}{table}</div></details>"


def _place(turn: int | None) -> str:
    return f"turn {turn + 1}: " if turn is not None and turn >= 0 else ""


def _value(score: Score) -> str:
    return score.status.replace("_", " ") if score.score is None else f"{score.score:g}"


def _reason(score: Score) -> str:
    if score.error is not None:
        return f"{score.error.error_class}: {score.error.message}"
    return score.not_scorable.reason if score.not_scorable is not None else score.reason or ""


def _message(message: Message) -> str:
    said = f"<pre>{_text(message.text)}</pre>" if message.text else ""
    return f'<p class="dim">{_text(message.role)}</p>{said}{"".join(map(_call, message.tool_calls))}'


def _call(call: ToolCall) -> str:
    result = call.error if call.error is not None else call.result
    return f"<pre>{_text(f'{call.name}({_json(call.args)}) → {call.state}: {_json(result)}')}</pre>"


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)
