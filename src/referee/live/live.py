"""Live scoring: scores what an agent does while it serves, in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

from referee.errors import OptionError
from referee.live import lifetime
from referee.live.background import Background, Settings
from referee.live.bindings import Binding, bind
from referee.live.calls import Recorder, recording
from referee.live.counts import Counts, Drop
from referee.live.ledger import Ledger
from referee.live.recording import NO_INPUT
from referee.live.requests import Request, current_request, entity_of
from referee.live.submission import Submission
from referee.live.writer import EXPERIMENT, ScoreStore
from referee.steps import Asker
from referee.telemetry import Telemetry, current_operation

F = TypeVar("F", bound=Callable[..., Any])

_log = logging.getLogger("referee.live")


class Live:
    """Scores what an agent does while it serves, in the background.

    The agent is never held up and never sees an error of ours. What there is no room or time for is dropped, counted,
    and told to `on_drop`. Threads start when the first run is accepted; after a `fork` each process has its own.

    Args:
        scorers: By a name of your choice, a scorer, anything that `load_scorer` takes, or an object with `scorer` and,
            if you like, `filter` (`referee.live.filters.compile_filter`), which is applied first, and `sampling`
            (`{"type": "ratio", "rate": 0.1}`), which is decided by the trace's id, or by the run's where there is no trace.
        store: Where runs and scores are kept: a store's address or a `referee.storage.Store`, which a child process
            writes to; or another object with its `save`, which is called in a background thread.
        judge: The judge for scorers that have none of their own.
        queue_size: How many runs may wait for one scorer. Further ones are dropped.
        concurrency: How many runs one asynchronous scorer works on at once. A judge's own limits hold besides.
        timeout: Seconds that one score may take; then it is an error.
        exit_timeout: Seconds that `flush`, `close` and the end of the program wait for what is not scored.
        on_drop: Told of dropped runs, in a background thread, a few times a second at most. It should return soon:
            scores are saved by the same thread.
        telemetry: Where OpenTelemetry's spans, events and metrics go; the application's global providers when `None`.

    Raises:
        OptionError: A scorer, filter, sampling or number is wrong, or a scorer asks a judge and none can be found.
        StoreError: The store can't be opened.

    Example:
        >>> from referee import checks
        >>> live = Live(scorers={"sunny": checks.includes("sunny")})
        >>> @live.scored
        ... def agent(question):
        ...     return "It is sunny."
        >>> agent("How is the weather?")
        'It is sunny.'
        >>> live.close()
        True
        >>> live.counts["sunny"].received, live.counts["sunny"].scored
        (1, 1)
    """

    def __init__(
        self,
        scorers: Mapping[str, Any],
        *,
        store: ScoreStore | str | Path | None = None,
        judge: Asker | str | None = None,
        queue_size: int = 1000,
        concurrency: int = 8,
        timeout: float = 120.0,
        exit_timeout: float = 10.0,
        on_drop: Callable[[Drop], None] | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        for option, value in (("queue_size", queue_size), ("concurrency", concurrency)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise OptionError(f"Live: {option} must be a whole number of at least 1, not {value!r}")
        for option, seconds in (("timeout", timeout), ("exit_timeout", exit_timeout)):
            if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
                raise OptionError(f"Live: {option} must be a number of seconds above 0, not {seconds!r}")
        self._bindings: dict[str, Binding] = bind(scorers, judge)
        self._room = queue_size
        self.exit_timeout = exit_timeout
        self._settings = Settings(
            store=_prepared(store, self._bindings),
            telemetry=telemetry,
            on_drop=on_drop,
            concurrency=concurrency,
            timeout=timeout,
        )
        self._background: Background | None = None
        self._closed = False
        self._begin()
        lifetime.born(self)

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def counts(self) -> dict[str, Counts]:
        """What became of the runs so far in this process, by the scorers' names."""
        return self._ledger.counts()

    @overload
    def scored(self, function: F) -> F: ...
    @overload
    def scored(
        self,
        *,
        input: str | None = ...,
        output: Callable[[Any], Any] | None = ...,
        entity: Mapping[str, Any] | str | None = ...,
    ) -> Callable[[F], F]: ...
    def scored(
        self,
        function: Any = None,
        *,
        input: str | None = "",
        output: Callable[[Any], Any] | None = None,
        entity: Mapping[str, Any] | str | None = None,
    ) -> Any:
        """Have every call of a function scored: plain, `async`, a generator or an `async` generator.

        What it gives and raises is untouched. A call that raises, is cancelled, or is a stream that is not read to its
        end is not scored. The texts of a stream are joined. Of the arguments, a wrong number of them is noticed when the
        coroutine is awaited or the stream is begun.

        Args:
            function: The function, when used as `@live.scored`.
            input: The name of the parameter with the user's input; the first one unless given; `None` for none.
            output: Makes of what the function gives (of a stream the list of its items) a text, messages or a `Run`.
            entity: What the function is; its name unless given. Filters see it.

        Raises:
            OptionError: It is no function, or has no such parameter.
        """

        def decorate(target: F) -> F:
            if isinstance(target, (staticmethod, classmethod)):
                return type(target)(decorate(target.__func__))
            if not callable(target) or isinstance(target, type):
                raise OptionError(
                    f"scored: expected a function, not {target!r}; for agents of frameworks see docs/live.md"
                )
            return recording(target, Recorder(self, target, input=input, output=output, entity=entity).begin)

        return decorate if function is None else decorate(function)

    def submit(
        self,
        run: Any,
        *,
        input: Any = NO_INPUT,
        run_id: str | None = None,
        context: Mapping[str, Any] | None = None,
        entity: Mapping[str, Any] | str | None = None,
        source: str | None = None,
        thread_id: str | None = None,
        trace_id: str | None = None,
    ) -> None:
        """Hand over a run to be scored. Never waits and never raises.

        Args:
            run: A `Run`, or what an agent gave: a text, messages, or a result that `to_run` reads. Of a whole
                conversation the last turn is the run.
            input: What the agent was given, where the output does not say.
            run_id: The run's id. A store keeps one score of a scorer for each id. Without one, the id of the `Run`,
                else a new one.
            context, entity, source, thread_id, trace_id: As in `referee.live.request`, and before what was said there.
        """
        said = current_request()
        told = Request(
            context=context if context is not None else said.context,
            entity=entity_of(entity) if entity is not None else said.entity,
            source=source or said.source,
            thread_id=thread_id or said.thread_id,
            trace_id=trace_id or said.trace_id,
        )
        self.receive(run, input, told, run_id=run_id, around=current_operation())

    def receive(
        self,
        output: Any,
        given: Any,
        request: Request,
        *,
        run_id: str | None = None,
        around: Any = None,
        when: tuple[float, float] | None = None,
        make: Callable[[Any], Any] | None = None,
    ) -> None:
        """Take one call. Never waits and never raises. The arguments are those of `referee.live.submission.Submission`."""
        ledger = self._ledger
        if not ledger.arrive():
            return
        try:
            background = self._started()
            if background is not None:
                background.put(Submission(output, given, request, run_id, around, when, make))
                return
        except Exception:  # such as no further thread at the end of the program
            _log.exception("a run could not be taken")
        ledger.withdraw()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until what was accepted so far is scored and saved.

        Args:
            timeout: Seconds to wait; `exit_timeout` when `None`.

        Returns:
            Whether nothing is pending.
        """
        return self._ledger.wait(self.exit_timeout if timeout is None else timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Take no more runs, wait like `flush`, drop what is not scored by then, and end threads and processes.

        It is called at the end of the program. Runs that are submitted later are dropped.

        Args:
            timeout: Seconds to wait; `exit_timeout` when `None`. What is scored by then may take a few more to be saved.

        Returns:
            Whether everything that was accepted is finished.
        """
        self._ledger.close()
        self.flush(timeout)
        with self._starting:
            background, self._background, self._closed = self._background, None, True
        if background is not None:
            background.stop(_LAST_WRITE)
        self._ledger.end()
        lifetime.ended(self)
        return not self._ledger.cut_short

    def after_fork(self) -> None:
        """Start afresh in a forked child: what was accepted before is scored by its parent."""
        background = self._background
        if background is not None:
            background.forget()
        self._begin()

    def _begin(self) -> None:
        self._ledger = Ledger(self._bindings, self._room)
        self._starting = threading.RLock()
        self._background = None

    def _started(self) -> Background | None:
        """What works in the background, started if it is not; `None` once it is closed."""
        background = self._background
        if background is None:
            with self._starting:
                background = self._background
                if background is None and not self._closed:
                    background = self._background = Background(self._bindings, self._ledger, self._settings)
                    lifetime.started(self)
        return background


#: Seconds that the last writes may take when it is closed.
_LAST_WRITE = 2.0


def _prepared(store: Any, bindings: Mapping[str, Binding]) -> ScoreStore | str | None:
    """The address of a store that a child process can write to, with the scorers registered; another store as it is."""
    if isinstance(store, (str, Path)):
        from referee.storage.store import Store

        with Store(store) as opened:
            return _prepared(opened, bindings)
    database = getattr(store, "database", None)
    if database is None:
        if store is not None and not callable(getattr(store, "save", None)):
            raise OptionError(f"Live: store must be an address, a Store or an object with its save, not {store!r}")
        return store  # type: ignore[no-any-return]
    store.save([], experiment=EXPERIMENT, scorers=[binding.scorer for binding in bindings.values()])
    return str(database.url.render_as_string(hide_password=False))
