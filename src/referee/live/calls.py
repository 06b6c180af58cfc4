"""Calls of agent functions, recorded as they happen: what goes in and comes out, and nothing of it changed."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, Protocol, TypeAlias, TypeVar

from referee.errors import OptionError
from referee.live.recording import NO_INPUT
from referee.live.requests import Request, current_request, entity_of
from referee.telemetry import current_operation

F = TypeVar("F", bound=Callable[..., Any])


class Receiver(Protocol):
    """Takes recorded calls: `Live`."""

    def receive(
        self,
        output: Any,
        given: Any,
        request: Request,
        *,
        around: Any = None,
        when: tuple[float, float] | None = None,
        make: Callable[[Any], Any] | None = None,
    ) -> None:
        """Take one call. Never waits and never raises."""
        ...


class Recorder:
    """Hands the calls of one function over to be scored.

    Args:
        receiver: Takes them.
        function: The function.
        input: The name of the parameter with the user's input; the first when empty, none when `None`.
        output: Makes of what the function gives something readable.
        entity: What the function is; its name when `None`.

    Raises:
        OptionError: The function has no such parameter.
    """

    __slots__ = ("entity", "given", "make", "receiver")

    def __init__(
        self,
        receiver: Receiver,
        function: Any,
        *,
        input: str | None,
        output: Callable[[Any], Any] | None,
        entity: Mapping[str, Any] | str | None,
    ) -> None:
        self.receiver = receiver
        self.make = output
        self.entity = entity_of(_name(function) if entity is None else entity)
        self.given = _argument(function, input)

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Note what is known when a call begins: its input, the request, the span around it, and the time."""
        return Call(
            self, self.given(args, kwargs), current_request(), current_operation(), time.time(), time.perf_counter()
        )


class Call:
    """One call of a recorded function."""

    __slots__ = ("_began", "_clock", "_given", "_operation", "_recorder", "_request")

    def __init__(
        self, recorder: Recorder, given: Any, request: Request, operation: Any, began: float, clock: float
    ) -> None:
        self._recorder = recorder
        self._given = given
        self._request = request
        self._operation = operation
        self._began = began
        self._clock = clock

    def end(self, output: Any) -> None:
        """Hand the call over: it ended well."""
        recorder, request = self._recorder, self._request
        if request.entity is None:
            request = Request(request.context, recorder.entity, request.source, request.thread_id, request.trace_id)
        recorder.receiver.receive(
            output,
            self._given,
            request,
            around=self._operation,
            when=(self._began, time.perf_counter() - self._clock),
            make=recorder.make,
        )


Begin: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Call]


def recording(function: F, begin: Begin) -> F:
    """A function of the same kind as the given one that has its calls recorded.

    Args:
        function: A function, method, or object that can be called.
        begin: Called with the arguments when a call begins; what it gives is told how the call ended.
    """
    kind = _implementation(function)
    wrapper = next((wrapper for is_kind, wrapper in _WRAPPERS if is_kind(kind)), _plain)
    return functools.wraps(function)(wrapper(function, begin))  # type: ignore[return-value]


def _implementation(function: Any) -> Any:
    """Where it stands whether a function is asynchronous: of an object that can be called, its method."""
    if inspect.isroutine(function) or isinstance(function, functools.partial):
        return function
    return type(function).__call__


def _plain(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        begun = begin(args, kwargs)
        output = function(*args, **kwargs)
        wrapper = _LATER.get(type(output))
        if wrapper is not None:
            return wrapper(lambda: output, lambda args, kwargs: begun)()
        begun.end(output)
        return output

    return call


def _coroutine(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        begun = begin(args, kwargs)
        output = await function(*args, **kwargs)
        begun.end(output)
        return output

    return call


def _generator(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        begun = begin(args, kwargs)
        tape = _Tape(function(*args, **kwargs))
        value = yield from tape  # type: ignore[func-returns-value]
        begun.end(_joined(tape.items) if value is None else value)
        return value

    return call


def _async_generator(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        begun = begin(args, kwargs)
        items: list[Any] = []
        source = function(*args, **kwargs)
        step = source.asend(None)
        while True:  # what `yield from` does, which async generators do not have
            try:
                item = await step
            except StopAsyncIteration:
                break
            items.append(item)
            try:
                sent = yield item
            except GeneratorExit:
                await source.aclose()
                raise
            except BaseException as error:  # thrown into the stream, which has to see it
                step = source.athrow(error)
            else:
                step = source.asend(sent)
        begun.end(_joined(items))

    return call


_Wrapper: TypeAlias = Callable[[Callable[..., Any], Begin], Callable[..., Any]]

_WRAPPERS: tuple[tuple[Callable[[Any], bool], _Wrapper], ...] = (
    (inspect.iscoroutinefunction, _coroutine),
    (inspect.isgeneratorfunction, _generator),
    (inspect.isasyncgenfunction, _async_generator),
)
#: What a plain function may give instead of an answer: something that gives the answer later.
_LATER: dict[type, _Wrapper] = {
    CoroutineType: _coroutine,
    GeneratorType: _generator,
    AsyncGeneratorType: _async_generator,
}


class _Tape:
    """A generator that remembers what it gave. `yield from` finds everything else in it too."""

    __slots__ = ("_source", "close", "items", "send", "throw")

    def __init__(self, source: Generator[Any, Any, Any]) -> None:
        self._source = source
        self.items: list[Any] = []
        self.throw = self._remembering(source.throw)
        self.send = self._remembering(source.send)
        self.close = source.close

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        item = next(self._source)
        self.items.append(item)
        return item

    def _remembering(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            item = method(*args)
            self.items.append(item)
            return item

        return call


def _joined(items: list[Any]) -> Any:
    """What a stream gave in all: its texts joined, or the list of its items."""
    return "".join(items) if items and all(isinstance(item, str) for item in items) else items


def _argument(function: Any, input: str | None) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Finds the user's input among the arguments of a call.

    Raises:
        OptionError: The function has no such parameter.
    """
    if input is None:
        return lambda args, kwargs: NO_INPUT
    parameters = [parameter for parameter in _parameters(function) if parameter.kind is not parameter.VAR_KEYWORD]
    if input:
        position = next((index for index, each in enumerate(parameters) if each.name == input), None)
    else:
        position = 1 if parameters and parameters[0].name in ("self", "cls") else 0
    if position is None or position >= len(parameters):
        if input:
            raise OptionError(f"scored: {_name(function)} has no parameter {input!r}; give input= one of its names")
        return lambda args, kwargs: NO_INPUT
    found = parameters[position]
    default = NO_INPUT if found.default is found.empty else found.default
    if found.kind is found.KEYWORD_ONLY:
        return lambda args, kwargs: kwargs.get(found.name, default)
    return lambda args, kwargs: args[position] if position < len(args) else kwargs.get(found.name, default)


def _parameters(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a built-in that does not say
        return []


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
