"""The steps of a sample of an Inspect log, from its events."""

from __future__ import annotations

from typing import Any

from referee.formats.decoded import Counts
from referee.formats.fields import mapping, objects, text
from referee.formats.record import usage_of
from referee.formats.spans import MADE_ID, Kind, Span, grow, nanoseconds
from referee.formats.trace_steps import trajectory
from referee.messages import ToolCall
from referee.trajectory import Trajectory

#: Parts of an evaluation that are not the agent's doing.
_NOT_THE_AGENT = frozenset({"init", "scorers", "scorer"})


def steps_of_events(events: list[Any]) -> Trajectory | None:
    """The steps: agents and solvers, model calls and tool calls, nested as the events are; `None` without any."""
    reader = _Events()
    for event in objects(events):
        reader.take(event)
    return trajectory(grow(reader.spans.values(), Counts()), {}, {}, Counts()) if reader.acts else None


class _Events:
    """Turns events into spans. Newer logs have spans with ids; older ones steps that begin and end like brackets."""

    def __init__(self) -> None:
        self.spans: dict[str, Span] = {}
        self.acts = False
        self._open: list[str] = []
        self._outside: set[str] = set()

    def take(self, event: dict[str, Any]) -> None:
        """Take in the next event."""
        kind = event.get("event")
        if kind == "span_begin":
            self._begin(event, text(event, "id") or "", text(event, "parent_id"))
        elif kind == "span_end":
            self._end(event, text(event, "id") or "")
        elif kind == "step":
            if event.get("action") == "begin":
                self._open.append(f"{MADE_ID}{len(self.spans)}")
                self._begin(event, self._open[-1], self._open[-2] if len(self._open) > 1 else None)
            elif self._open:
                self._end(event, self._open.pop())
        elif kind in ("model", "tool"):
            above = text(event, "span_id") or (self._open[-1] if self._open else None)
            if above not in self._outside:
                self._act(event, kind, above)

    def _begin(self, event: dict[str, Any], id: str, parent: str | None) -> None:
        if parent in self._outside or event.get("type") in _NOT_THE_AGENT:
            self._outside.add(id)
            return
        kind: Kind = "agent" if event.get("type") == "agent" else "other"
        if event.get("type") in ("solver", "solvers"):
            kind = "workflow"
        name = text(event, "name") or ""
        self.spans[id] = Span(
            id=id,
            parent_id=parent,
            name=name,
            kind=kind,
            actor=name or None,
            started=nanoseconds(event.get("timestamp")),
        )

    def _end(self, event: dict[str, Any], id: str) -> None:
        if id in self.spans:
            self.spans[id].ended = nanoseconds(event.get("timestamp"))

    def _act(self, event: dict[str, Any], kind: str, above: str | None) -> None:
        self.acts = True
        span = Span(
            id=f"{MADE_ID}{len(self.spans)}",
            parent_id=above,
            kind="model" if kind == "model" else "tool",
            started=nanoseconds(event.get("timestamp")),
            ended=nanoseconds(event.get("completed")),
        )
        self.spans[span.id] = span
        if kind == "tool":
            error = mapping(event.get("error"))
            span.failed = bool(error)
            span.tool = ToolCall(
                name=text(event, "function") or "",
                args=event.get("arguments"),
                id=text(event, "id"),
                state="error" if error else "result",
                result=event.get("result"),
                error=text(error, "message", "type"),
            )
            return
        output = mapping(event.get("output"))
        span.name = text(event, "model") or ""
        span.model = text(output, "model") or span.name or None
        span.usage = usage_of(output["usage"]) if isinstance(output.get("usage"), dict) else None
        choices = objects(output.get("choices"))
        span.finish_reason = text(choices[0], "stop_reason") if choices else None
