"""What a run did, step by step, as a timeline: its recorded trajectory, else the calls and texts of its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from referee.messages import Text, ToolCall
from referee.runs import Run
from referee.studio.fields import Field, Fields
from referee.trajectory import Step

#: So many steps are shown, and so deep.
MOST_STEPS, DEEPEST = 500, 20
#: The width of the bars, in pixels.
BAR_WIDTH = 240


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: how deep it lies, what it is, and when it took place; `bar` is where its bar begins and how long it is."""

    depth: int
    name: str
    kind: str
    duration_ms: float | None
    bar: tuple[int, int] | None
    fields: Field | None
    failed: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """The steps of a run.

    Attributes:
        steps: The first of them.
        total: How many there are.
        is_recorded: Whether the source told the steps; else they are read off the messages, which tell no times.
        is_timed: Whether the steps have times.
        duration_ms: Of the whole.
    """

    steps: list[StepView]
    total: int
    is_recorded: bool
    is_timed: bool
    duration_ms: float | None


def timeline_of(run: Run, fields: Fields) -> Timeline | None:
    """The timeline of a run; `None` when it did nothing that is known."""
    recorded = run.trajectory is not None and bool(run.trajectory.steps)
    steps = list(run.trajectory.steps) if recorded and run.trajectory else _steps_of_messages(run)
    if not steps:
        return None
    placed = list(_placed(steps, 0, 0.0))
    whole = max((begin + (step.duration_ms or 0) for _, begin, step in placed), default=0.0)
    return Timeline(
        steps=[
            StepView(
                depth=depth,
                name=step.name,
                kind=(step.step_type or "").replace("_", " "),
                duration_ms=step.duration_ms,
                bar=_bar(begin, step.duration_ms, whole),
                fields=fields.of(step.fields, "run.trajectory" if recorded else "run.output") if step.fields else None,
                failed=step.fields.get("success") is False or bool(step.fields.get("error")),
            )
            for depth, begin, step in placed[:MOST_STEPS]
        ],
        total=len(placed),
        is_recorded=recorded,
        is_timed=whole > 0,
        duration_ms=run.trajectory.total_duration_ms if recorded and run.trajectory else run.duration_ms,
    )


def _placed(steps: Sequence[Step], depth: int, begin: float) -> Iterator[tuple[int, float, Step]]:
    """Every step with its depth and its begin. Sources tell durations alone, so steps follow one another."""
    for step in steps:
        yield depth, begin, step
        if depth < DEEPEST:
            yield from _placed(step.children, depth + 1, begin)
        begin += step.duration_ms or 0


def _bar(begin: float, duration: float | None, whole: float) -> tuple[int, int] | None:
    if duration is None or whole <= 0:
        return None
    return round(begin / whole * BAR_WIDTH), max(2, round(duration / whole * BAR_WIDTH))


def _steps_of_messages(run: Run) -> list[Step]:
    found = []
    for message in run.output:
        for part in message.parts:
            if isinstance(part, ToolCall):
                kept = {"args": part.args, "success": False if part.failed else None}
                found.append(
                    Step(
                        name=" › ".join((*part.agent_path, part.name or "(no name)")),
                        step_type="tool_call",
                        fields={name: value for name, value in kept.items() if value is not None},
                        duration_ms=part.duration_ms,
                    )
                )
            elif isinstance(part, Text) and part.text.strip():
                found.append(Step(name="answer", step_type="text", fields={"text": part.text}))
    return found
