"""`referee show`: print one run as a readable conversation."""

from __future__ import annotations

import sys
from itertools import islice

import click
import msgspec
from rich.console import Console
from rich.text import Text as Styled

from referee.cli import EXIT_USAGE
from referee.cli.options import Reading, Sources, echo_errors, reading_options
from referee.errors import OptionError
from referee.messages import File, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from referee.runs import Run
from referee.terminal import visible

_STYLES = {"system": "magenta", "user": "cyan", "assistant": "green", "tool": "yellow"}


@click.command()
@reading_options
@click.option("--index", type=click.IntRange(min=0), help="The run's place among the runs, from 0.")
@click.option("--id", "run_id", help="The run's id.")
@click.option("--full", is_flag=True, help="Show long texts, arguments and results whole.")
def show(
    reading: Reading,
    index: int | None,
    run_id: str | None,
    full: bool,
) -> None:
    """Print one run as a readable conversation: the first, or the one named by --index or --id.

    \b
    Examples:
      referee show runs.jsonl --index 3
      referee show runs.jsonl --id task-12-trial-0 --full
    """
    if index is not None and run_id is not None:
        raise OptionError("give --index or --id, not both")
    sources = Sources(reading)
    found = _find(sources, index or 0, run_id)
    if found is None:
        echo_errors(sources)
        wanted = f"no run has the id {run_id}" if run_id else f"there is no run at index {index or 0}"
        click.echo(f"referee: {visible(wanted)}; {sources.run_count:,} runs were read", err=True)
        sys.exit(EXIT_USAGE)
    _print_run(Console(highlight=False, soft_wrap=True), found, None if full else 2000)


def _find(sources: Sources, index: int, run_id: str | None) -> Run | None:
    if run_id is not None:
        return next((run for run in sources if run.id == run_id), None)
    return next(islice(iter(sources), index, None), None)


def _print_run(console: Console, run: Run, most: int | None) -> None:
    console.print(Styled(f"run {visible(run.id)}", "bold"))
    facts = [
        ("model", run.model),
        ("duration", run.duration_ms and f"{run.duration_ms:g} ms"),
        ("cost", run.cost and f"${run.cost:g}"),
    ]
    for name, value in facts:
        if value:
            console.print(Styled(f"{name}: {visible(str(value))}", "dim"))
    sections = (("system", run.system), ("history", run.history), ("input", run.input), ("output", run.output))
    for name, messages in sections:
        if messages:
            console.print(Styled(f"── {name} " + "─" * (60 - len(name)), "dim"))
        for message in messages:
            _print_message(console, message, most)
    for name, value in (("ground truth", run.ground_truth), ("expected tool calls", run.expected_tool_calls)):
        if value is not None:
            console.print(Styled(f"{name}: {_cut(_json(value), most)}", "dim"))
    for warning in run.warnings:
        console.print(Styled(f"warning: {visible(warning)}", "yellow"))


def _print_message(console: Console, message: Message, most: int | None) -> None:
    speaker = message.role + (f" ({visible(message.name)})" if message.name else "")
    console.print(Styled(speaker, f"bold {_STYLES[message.role]}"))
    for part in message.parts:
        console.print(Styled("\n".join(f"  {line}" for line in _part_text(part, most).splitlines())))


def _part_text(part: Part, most: int | None) -> str:
    if isinstance(part, Text):
        return _cut(part.text, most)
    if isinstance(part, Reasoning):
        return f"[thinks] {_cut(part.text, most)}"
    if isinstance(part, ToolCall):
        return _call_text(part, most)
    if isinstance(part, ToolResult):
        return f"[result without a call] {_cut(_json(part.result), most)}"
    if isinstance(part, File):
        return f"[file {visible(part.name or part.media_type or '')}]"
    assert isinstance(part, Opaque)
    return f"[{visible(part.kind)}] {_cut(_json(part.value), most)}"


def _call_text(call: ToolCall, most: int | None) -> str:
    line = f"→ {visible(call.name) or '(no name)'}({_cut(_json(call.args), most)})"
    if call.failed:
        return f"{line}\n✗ {_cut(call.error or _json(call.result), most)}"
    if call.state == "result":
        return f"{line}\n← {_cut(_json(call.result), most)}"
    return f"{line}\n  ({call.state})"


def _json(value: object) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value, enc_hook=str).decode("utf-8", "replace")


def _cut(text: str, most: int | None) -> str:
    shown = visible(text)
    return (
        shown if most is None or len(shown) <= most else f"{shown[:most]}… ({len(text):,} characters, --full shows all)"
    )
