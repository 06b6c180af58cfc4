"""A submission: one call of an agent that was handed over to be scored, and the run that becomes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from referee.execution import step_error
from referee.live import wire
from referee.live.filters import Facts
from referee.live.recording import NO_INPUT, recorded_run
from referee.live.steps import READING
from referee.runs import Run
from referee.scores import StepError

#: How deep lists and objects are copied when they are handed over: the list of messages, and each message.
_COPIED_LEVELS = 3


class Submission:
    """What was handed over. It is read only when a scorer needs it, once, in the background.

    Attributes:
        id: The run's id.
        facts: What is known of the run beside its messages.
        trace_id: The trace, as hexadecimal digits.
        operation: The span of the agent's run (`opentelemetry.trace.SpanContext`), where there is one.

    Args:
        output: What the agent gave.
        given: What it was given.
        when: When the call began, in seconds since 1970, and how many seconds it took.
        make: Makes of the output something readable.
    """

    __slots__ = (
        "_frame",
        "_given",
        "_lock",
        "_make",
        "_output",
        "_read",
        "_when",
        "facts",
        "id",
        "operation",
        "trace_id",
    )

    def __init__(
        self,
        output: Any,
        given: Any = NO_INPUT,
        *,
        id: str,
        facts: Facts,
        trace_id: str | None = None,
        operation: Any = None,
        when: tuple[float, float] | None = None,
        make: Callable[[Any], Any] | None = None,
    ) -> None:
        self.id = id
        self.facts = facts
        self.trace_id = trace_id
        self.operation = operation
        self._output = snapshot(output, _COPIED_LEVELS)
        self._given = snapshot(given, _COPIED_LEVELS)
        self._when = when
        self._make = make
        self._lock = threading.Lock()
        self._read: Run | StepError | None = None
        self._frame: bytes | None = None

    def read(self) -> Run | StepError:
        """The run, or why what the agent gave can't be read. Worked out at the first call."""
        with self._lock:
            if self._read is None:
                try:
                    output = self._output if self._make is None else self._make(self._output)
                    self._read = self._identified(recorded_run(output, self._given))
                except Exception as error:
                    self._read = step_error(READING, error)
                self._output = self._given = None
            return self._read

    def frame(self, run: Run) -> bytes:
        """Its run as bytes for another process, made once for all scorers there."""
        if self._frame is None:
            self._frame = wire.encode(run)
        return self._frame

    @property
    def bare_run(self) -> Run:
        """The run without its messages, for the score of a run that can't be read."""
        return self._identified(Run())

    def _identified(self, run: Run) -> Run:
        facts = self.facts
        known: dict[str, Any] = {"id": self.id}
        if facts.context is not None:
            known["context"] = {**(run.context or {}), **facts.context}
        if facts.thread_id is not None:
            known["thread_id"] = facts.thread_id
        if self.trace_id is not None:
            known["trace_id"] = self.trace_id
        if self.operation is not None:
            known["span_id"] = format(self.operation.span_id, "016x")
        origin = {name: value for name, value in (("source", facts.source), ("entity", facts.entity)) if value}
        if origin:
            known["metadata"] = {**(run.metadata or {}), **origin}
        if self._when is not None:
            began, seconds = self._when
            known["started_at"] = run.started_at or datetime.fromtimestamp(began, UTC).isoformat()
            known["duration_ms"] = round(seconds * 1000, 3) if run.duration_ms is None else run.duration_ms
        return msgspec.structs.replace(run, **known)


def snapshot(value: Any, levels: int) -> Any:
    """A copy of the outer lists and objects: agents go on with the list of messages that they gave.

    Example:
        >>> talk = [{"role": "user", "content": "Hi"}]
        >>> kept = snapshot(talk, 2)
        >>> talk.append({"role": "assistant", "content": "Hello"}); talk[0]["content"] = "Bye"
        >>> kept
        [{'role': 'user', 'content': 'Hi'}]
    """
    if levels == 0:
        return value
    if type(value) is list:
        return [snapshot(item, levels - 1) if type(item) in _CONTAINERS else item for item in value]
    if type(value) is dict:
        return {key: snapshot(item, levels - 1) if type(item) in _CONTAINERS else item for key, item in value.items()}
    return value


_CONTAINERS: frozenset[type] = frozenset({dict, list})


def entity_of(entity: Mapping[str, Any] | str | None) -> Mapping[str, Any] | None:
    """An entity as an object; a text is its name."""
    return {"name": entity} if isinstance(entity, str) else entity
