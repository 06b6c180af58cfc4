"""What `referee score` prints at the end."""

from __future__ import annotations

import json

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from referee.cli.options import Outcome
from referee.report.document import counted
from referee.tally import ScorerTally, Tally
from referee.terminal import one_line, visible

#: How wide a table is that goes to a file or a pipe.
FILE_WIDTH = 120


def summary_data(tally: Tally, sources: Outcome) -> str:
    """The summary as JSON."""
    scorers = {
        entry.scorer_id: {
            "mean": entry.mean,
            "scored": entry.scored,
            "attempted": entry.attempted,
            "coverage": entry.coverage,
            "not_scorable": entry.not_scorable,
            "errors": entry.errors,
            "lowest": entry.lowest,
            "highest": entry.highest,
        }
        for entry in tally.scorers
    }
    lowest = [{"run_id": low.run_id, "quality": low.quality, "problems": low.problems} for low in tally.lowest_runs]
    content = {
        "runs": tally.runs,
        "unreadable": sources.error_count,
        "errors": [str(error) for error in sources.errors],
        "scorers": scorers,
        "lowest_runs": lowest,
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


def print_summary(tally: Tally, sources: Outcome) -> None:
    """Print means with their coverage, the lowest runs, and what reading lost."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    unreadable = f", {sources.error_count:,} unreadable" if sources.error_count else ""
    console.print(Text(f"{counted(tally.runs, 'run')}{unreadable}", "bold"))
    table = Table(box=box.SIMPLE)
    table.add_column("scorer", no_wrap=True)
    for name in ("mean", "scored", "not scorable", "errors", "lowest", "highest"):
        table.add_column(name, justify="right", no_wrap=True)
    for entry in tally.scorers:
        table.add_row(*map(Text, _row(entry)))
    console.print(table)
    for entry in tally.scorers:
        if entry.first_error:
            console.print(Text(f"first error of {entry.scorer_id}: {one_line(str(entry.first_error))}", "red"))
    if tally.lowest_runs:
        console.print(Text.assemble(("lowest runs", "bold"), ("  (referee show SOURCE --id ID shows one)", "dim")))
        for low in tally.lowest_runs:
            console.print(Text(f"  {visible(low.run_id)}  ({low.quality:.2f})"))
            for problem in low.problems:
                console.print(Text(f"      {one_line(problem)}", "dim"))
    for line in _reading_notes(sources):
        console.print(Text(line, "yellow"))


def _row(entry: ScorerTally) -> tuple[str, ...]:
    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    return (
        entry.scorer_id,
        number(entry.mean),
        f"{entry.scored:,} of {entry.attempted:,}",
        f"{entry.not_scorable:,}",
        f"{entry.errors:,}",
        number(entry.lowest),
        number(entry.highest),
    )


def _reading_notes(sources: Outcome) -> list[str]:
    notes = []
    for reader in sources.readers:
        counts = reader.counts
        if counts.tool_calls_received != counts.tool_calls_kept:
            notes.append(f"received {counts.tool_calls_received:,} tool calls, kept {counts.tool_calls_kept:,}")
        notes += [f"{count:,} x {one_line(kind)}" for kind, count in sorted(counts.problems.items())]
        notes += [
            f"{count:,} parts of unknown type {one_line(kind)}, kept as they are"
            for kind, count in sorted(counts.opaque.items())
        ]
    return notes
