"""One run of a framework's agent, watched from its begin to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from referee.live.live import Live
from referee.live.recording import NO_INPUT
from referee.live.requests import Request, current_request, entity_of
from referee.telemetry import current_operation


class Observation:
    """A run that has begun: notes the request, the span around it and the time. A run that never ends is not scored.

    Args:
        live: Scores the run once it has ended.
        agent: The agent's name, unless `referee.live.request` says what is run.
        thread_id: The conversation, unless `referee.live.request` names it.
        trace_id: The trace, unless `referee.live.request` names it.
    """

    __slots__ = ("_began", "_clock", "_ended", "_live", "_operation", "_request")

    def __init__(
        self, live: Live, *, agent: str | None = None, thread_id: str | None = None, trace_id: str | None = None
    ) -> None:
        said = current_request()
        self._live = live
        self._request = Request(
            context=said.context,
            entity=said.entity or entity_of(agent),
            source=said.source,
            thread_id=said.thread_id or thread_id,
            trace_id=said.trace_id or trace_id,
        )
        self._operation = current_operation()
        self._began = time.time()
        self._clock = time.perf_counter()
        self._ended = False

    def end(
        self,
        output: Any,
        given: Any = NO_INPUT,
        *,
        run_id: str | None = None,
        make: Callable[[Any], Any] | None = None,
    ) -> None:
        """Hand the run over to be scored, the first time. Never waits and never raises.

        Args:
            output: What the agent gave.
            given: What it was given, where the output does not say.
            run_id: The run's id; a new one when `None`.
            make: Makes of the output something readable, in the background.
        """
        if self._ended:
            return
        self._ended = True
        self._live.receive(
            output,
            given,
            self._request,
            run_id=run_id,
            around=self._operation,
            when=(self._began, time.perf_counter() - self._clock),
            make=make,
        )
