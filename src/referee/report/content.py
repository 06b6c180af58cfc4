"""From reports and comparisons to documents."""

from __future__ import annotations

from typing import Any

from referee.comparison import Comparison, ScoreComparison
from referee.evaluate.report import Report, SideBySide
from referee.evaluate.summary import Summary
from referee.evaluate.verdict import Verdict
from referee.report.document import Block, Cell, Document, Note, Table, Tone, counted, milliseconds, number
from referee.report.problems import item_problems
from referee.statistics import Interval

_TONES: dict[Verdict | None, Tone] = {"passed": "good", "scored": "warn", "failed": "bad", None: "plain"}
_CHANGES_SHOWN = 20


def document_of(obj: Report | SideBySide | Comparison) -> Document:
    """What a report, several reports or a comparison say."""
    if isinstance(obj, Report):
        return _of_report(obj)
    if isinstance(obj, SideBySide):
        return _of_targets(obj)
    return _of_comparison(obj)


def _of_report(report: Report) -> Document:
    blocks: list[Block | None] = [
        item_problems(report),
        _measures(report),
        _local(report),
        *_repeats(report),
        _tags(report),
        _figures(report),
        *_notes(report),
    ]
    return Document(
        report.name or "Evaluation",
        _verdict(report),
        _TONES[report.verdict],
        [block for block in blocks if block is not None],
    )


def _verdict(report: Report) -> str:
    failed = [gate.id for gate in (*report.gates, *report.local_gates) if not gate.passed]
    missed = [entry.id for entry in (*report.thresholds, *report.local_thresholds) if not entry.passed]
    if report.verdict == "failed":
        return f"failed: {_listed('gate', failed)} not held"
    if report.verdict == "scored":
        return f"scored: {_listed('threshold', missed)} not reached"
    return report.verdict or "no gate and no threshold, so no verdict"


def _listed(what: str, ids: list[str]) -> str:
    unique = list(dict.fromkeys(ids))
    shown = ", ".join(unique[:3]) + (f" and {len(unique) - 3} more" if len(unique) > 3 else "")
    return f"{what} {shown}" if len(unique) == 1 else f"{what}s {shown}"


def _measures(report: Report) -> Table | None:
    if not report.summary:
        return None
    outcomes = {gate.id: gate.passed for gate in report.gates} | {t.id: t.passed for t in report.thresholds}
    columns = [
        "",
        ">mean",
        f">{report.evaluation.confidence:.0%} interval",
        "must be",
        "",
        ">scored",
        ">not scorable",
        ">errors",
    ]
    bounds = {measure.id: measure.bounds for measure in report.evaluation.measures}
    rows = []
    for name, summary in report.summary.items():
        passed = outcomes.get(name)
        rows.append(
            [
                Cell(_measure_name(name, summary)),
                Cell(number(summary.mean)),
                Cell(_interval(summary.interval), "dim"),
                Cell(_asked(summary, str(bounds[name] or "")), "dim"),
                _outcome(passed, summary),
                Cell(f"{summary.scored} of {summary.attempted}", "warn" if summary.errors else "plain"),
                Cell(str(summary.not_scorable or "–"), "dim"),
                Cell(str(summary.errors or "–"), "bad" if summary.errors else "dim"),
            ]
        )
    return Table(
        f"{counted(len(report.results), 'result')} of {counted(len(report.evaluation.items), 'item')}", columns, rows
    )


def _measure_name(name: str, summary: Summary) -> str:
    place = f" ({summary.step})" if summary.step else f" ({summary.group})" if summary.group != "agent" else ""
    return f"{name}{place}" + (" ↓" if summary.lower_is_better else "")


def _interval(interval: Interval | None) -> str:
    return "–" if interval is None else f"{number(interval.low, 2)} to {number(interval.high, 2)}"


def _asked(summary: Summary, bounds: str) -> str:
    if not bounds:
        return ""
    return f"each {bounds}" if summary.role == "gate" else f"mean {bounds}"


def _outcome(passed: bool | None, summary: Summary) -> Cell:
    if passed is None:
        return Cell("")
    words = ("held", "NOT HELD") if summary.role == "gate" else ("reached", "NOT REACHED")
    bad: Tone = "bad" if summary.role == "gate" else "warn"
    return Cell(words[0], "good") if passed else Cell(words[1], bad)


def _local(report: Report) -> Note | None:
    passed = [gate.passed for gate in report.local_gates] + [entry.passed for entry in report.local_thresholds]
    if not passed:
        return None
    failed = passed.count(False)
    held = f"{len(passed) - failed} of {len(passed)} held"
    return Note(f"gates and thresholds of single items and turns: {held}", "bad" if failed else "good")


def _repeats(report: Report) -> list[Block]:
    repeats = report.repeats
    if repeats is None:
        return []
    columns = ["", *(f">{entry.k}" for entry in repeats.passes)]
    rows = [
        [Cell("pass@k: at least one of k passes"), *(Cell(number(entry.at_least_one)) for entry in repeats.passes)],
        [Cell("pass^k: all of k pass"), *(Cell(number(entry.all)) for entry in repeats.passes)],
        [Cell("items with so many repeats", "dim"), *(Cell(str(entry.items), "dim") for entry in repeats.passes)],
    ]
    shown = f"{len(repeats.flaky)} of {repeats.items} repeated items are flaky"
    examples = ", ".join(f"{entry.item_id} ({entry.passed} of {entry.repeats})" for entry in repeats.flaky[:5])
    note = Note(f"{shown}: {examples}" if examples else shown, "warn" if repeats.flaky else "good")
    return [Table("repeats", columns, rows), note]


def _tags(report: Report) -> Table | None:
    if not report.tags:
        return None
    names = list(report.summary)
    rows = [[Cell(tag), *(Cell(number(means[name])) for name in names)] for tag, means in report.tags.items()]
    return Table("means by tag", ["", *(f">{name}" for name in names)], rows)


def _figures(report: Report) -> Note | None:
    agent, judge = report.agent, report.judge
    parts = []
    if agent.duration_ms is not None:
        parts.append(f"agent: {milliseconds(agent.duration_ms)} a run, slowest {milliseconds(agent.slowest_ms)}")
    if agent.cost is not None:
        parts.append(f"${agent.cost[0]:.4g} for {agent.cost[1]} of {agent.runs} runs")
    if agent.tokens is not None:
        parts.append(f"{agent.tokens[0]:,} tokens in {agent.tokens[1]} of {agent.runs} runs")
    if judge is not None:
        cost = f", ${judge.cost:.4g}" if judge.cost is not None else ""
        parts.append(f"judge: {judge.calls:,} calls, {judge.input_tokens + judge.output_tokens:,} tokens{cost}")
    return Note("; ".join(parts), "dim") if parts else None


def _notes(report: Report) -> list[Note]:
    notes = []
    if report.missing:
        notes.append(Note(f"incomplete: {counted(report.missing, 'result')} missing", "bad"))
    if report.errors:
        notes.append(
            Note(
                f"the target failed for {counted(report.errors, 'result')}, which counts against every coverage", "bad"
            )
        )
    notes += [
        Note(f"{threshold.id}: {threshold.reason}", "warn") for threshold in report.thresholds if not threshold.passed
    ]
    notes += [Note(f"{error.step}: {error.error_class}: {error.message}", "bad") for error in report.hook_errors]
    return notes


def _of_targets(reports: SideBySide) -> Document:
    names = list(dict.fromkeys(name for report in reports.values() for name in report.summary))
    rows = [
        [Cell("verdict"), *(Cell(report.verdict or "–", _TONES[report.verdict]) for report in reports.values())],
        *(
            [Cell(name), *(Cell(_mean_and_interval(report.summary.get(name))) for report in reports.values())]
            for name in names
        ),
        [Cell("errors"), *(Cell(str(report.errors)) for report in reports.values())],
        [Cell("time a run"), *(Cell(milliseconds(report.agent.duration_ms)) for report in reports.values())],
        [Cell("cost"), *(Cell(_cost(report)) for report in reports.values())],
    ]
    blocks: list[Block] = [Table("targets side by side", ["", *(f">{name}" for name in reports)], rows)]
    for name, report in reports.items():
        problems = item_problems(report)
        if problems is not None:
            blocks.append(type(problems)(f"{name}: {problems.title}", problems.items))
        blocks += [Note(f"{name}: {note.text}", note.tone) for note in _notes(report)]
    first = next(iter(reports.values()))
    title = first.evaluation.name or "Evaluation"
    return Document(title, reports.verdict or "no verdict", _TONES[reports.verdict], blocks)


def _mean_and_interval(summary: Summary | None) -> str:
    if summary is None:
        return "–"
    interval = f" ({_interval(summary.interval)})" if summary.interval is not None else ""
    return f"{number(summary.mean)}{interval}"


def _cost(report: Report) -> str:
    return "–" if report.agent.cost is None else f"${report.agent.cost[0]:.4g}"


def _of_comparison(comparison: Comparison) -> Document:
    columns = [
        "",
        ">first",
        ">second",
        ">difference",
        f">{comparison.confidence:.0%} interval",
        ">p",
        ">detectable",
        ">items",
        "",
    ]
    rows = [_comparison_row(entry) for entry in comparison.scores.values()]
    blocks: list[Block] = [Table("score by score, paired by item", columns, rows)]
    blocks += [_changes(entry) for entry in comparison.scores.values() if entry.changes]
    for entry in comparison.scores.values():
        if not entry.same_scorer:
            blocks.append(Note(f"{entry.id}: its version differs; it may be the scorer that changed", "warn"))
        if entry.unpaired:
            blocks.append(
                Note(f"{entry.id}: {counted(entry.unpaired, 'item')} with a score in only one report", "warn")
            )
    for name, only in (("first", comparison.only_first), ("second", comparison.only_second)):
        if only:
            blocks.append(Note(f"{counted(len(only), 'item')} only in the {name} report", "warn"))
    worse = comparison.worse
    better = [entry.id for entry in comparison.scores.values() if entry.outcome == "better"]
    words = [f"worse: {', '.join(worse)}"] if worse else []
    words += [f"better: {', '.join(better)}"] if better else []
    tone: Tone = "bad" if worse else "good" if better else "plain"
    title = f"{comparison.first.name or 'first'} → {comparison.second.name or 'second'}"
    return Document(title, "; ".join(words) or "no difference shown", tone, blocks)


def _comparison_row(entry: ScoreComparison) -> list[Cell]:
    tone: dict[Any, Tone] = {"better": "good", "worse": "bad"}
    return [
        Cell(entry.id + (" ↓" if entry.lower_is_better else "")),
        Cell(number(entry.first)),
        Cell(number(entry.second)),
        Cell(f"{entry.difference:+.3f}"),
        Cell(_interval(entry.interval), "dim"),
        Cell(f"{entry.p_value:.4f}", "dim"),
        Cell(number(entry.detectable), "dim"),
        Cell(str(entry.items), "dim"),
        Cell(entry.outcome if entry.outcome in tone else "not shown", tone.get(entry.outcome, "dim")),
    ]


def _changes(entry: ScoreComparison) -> Table:
    shown = entry.changes[:_CHANGES_SHOWN]
    sign = -1 if entry.lower_is_better else 1
    rows = [
        [
            Cell(change.item_id),
            Cell(number(change.first)),
            Cell(number(change.second)),
            Cell("better", "good") if sign * (change.second - change.first) > 0 else Cell("worse", "bad"),
        ]
        for change in shown
    ]
    more = f", the first {len(shown)}" if len(entry.changes) > len(shown) else ""
    return Table(
        f"{entry.id}: {counted(len(entry.changes), 'item')} changed{more}", ["item", ">first", ">second", ""], rows
    )
