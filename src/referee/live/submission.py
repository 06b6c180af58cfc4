"""A submission: one call of an agent that was handed over to be scored, and the run that becomes of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec

from referee.errors import ReadError
from referee.execution import step_error
from referee.live import wire
from referee.live.filters import Facts
from referee.live.recording import recorded_run
from referee.live.requests import Request
from referee.live.steps import READING
from referee.runs import Run
from referee.scores import StepError
from referee.telemetry import operation_of

_NO_RUN = Run()


class Submission:
    """What was handed over. Made in the agent's time, so it only keeps; it is read once, in the background.

    Args:
        output: What the agent gave.
        given: What it was given.
        request: What is known of the request.
        run_id: The run's id, if it was told.
        around: The span in which the agent ran (`opentelemetry.trace.SpanContext`), where there is one.
        when: When the call began, in seconds since 1970, and how many seconds it took.
        make: Makes of the output something readable.
    """

    def __init__(
        self,
        output: Any,
        given: Any,
        request: Request,
        run_id: str | None = None,
        around: Any = None,
        when: tuple[float, float] | None = None,
        make: Callable[[Any], Any] | None = None,
    ) -> None:
        self._output = snapshot(output)
        self._given = snapshot(given)
        self._request = request
        #: The run's id. Empty until it is known.
        self.id = str(run_id) if run_id else output.id if type(output) is Run else ""
        self._around = around
        self._when = when
        self._make = make
        self._lock = threading.Lock()
        self._read: Run | StepError | None = None
        self._frame: bytes | None = None

    @cached_property
    def trace_id(self) -> str | None:
        """The trace, as hexadecimal digits."""
        told = self._request.trace_id or self._recorded.trace_id
        if told:
            return str(told)
        return format(self._around.trace_id, "032x") if self._around is not None else None

    @cached_property
    def operation(self) -> Any:
        """The span of the agent's run (`opentelemetry.trace.SpanContext`), where there is one."""
        recorded = self._recorded
        return operation_of(recorded.trace_id, recorded.span_id) or (None if self._request.trace_id else self._around)

    @cached_property
    def facts(self) -> Facts:
        """What is known of the run beside its messages."""
        request, recorded = self._request, self._recorded
        thread_id = request.thread_id or recorded.thread_id
        return Facts(
            context=request.context if request.context is not None else recorded.context,
            entity=request.entity,
            source=request.source or "live",
            thread_id=str(thread_id) if thread_id else None,
        )

    @cached_property
    def _recorded(self) -> Run:
        """The run that was handed over, if it was one."""
        return self._output if isinstance(self._output, Run) else _NO_RUN

    def read(self) -> Run | StepError:
        """The run, or why what the agent gave can't be read. Worked out at the first call."""
        with self._lock:
            if self._read is None:
                try:
                    output = self._output if self._make is None else self._make(self._output)
                    self._read = self._identified(recorded_run(output, self._given))
                except BaseException as error:  # `make` is the user's, and must not end our threads
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
        try:
            return self._identified(Run())
        except Exception:  # a context that is no object, of a run that can't be read for that
            return Run(id=self.id)

    def _identified(self, run: Run) -> Run:
        facts = self.facts
        known: dict[str, Any] = {"id": self.id}
        if facts.context is not None:
            if not isinstance(facts.context, Mapping):
                raise ReadError(
                    f"the context must be an object of names and values, not {type(facts.context).__name__}"
                )
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


def snapshot(value: Any) -> Any:
    """A copy of a list of messages and of each message, also inside an object: agents go on with the list that they gave.

    Example:
        >>> talk = [{"role": "user", "content": "Hi"}]
        >>> kept = snapshot(talk)
        >>> talk.append({"role": "assistant", "content": "Hello"}); talk[0]["content"] = "Bye"
        >>> kept
        [{'role': 'user', 'content': 'Hi'}]
    """
    if type(value) is list:
        return [item.copy() if type(item) is dict else item for item in value]
    if type(value) is dict:
        return {key: snapshot(item) if type(item) is list else item for key, item in value.items()}
    return value
