"""What is true of everything that an agent does for one request: told once, around the agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from referee.errors import OptionError


class Request(msgspec.Struct, frozen=True, gc=False):
    """What is known of the request that an agent serves."""

    context: Mapping[str, Any] | None = None
    entity: Mapping[str, Any] | None = None
    source: str | None = None
    thread_id: str | None = None
    trace_id: str | None = None


_NONE = Request()
_current: ContextVar[Request] = ContextVar("referee_live_request", default=_NONE)


@contextmanager
def request(
    *,
    context: Mapping[str, Any] | None = None,
    entity: Mapping[str, Any] | str | None = None,
    source: str | None = None,
    thread_id: str | None = None,
    trace_id: str | None = None,
) -> Iterator[None]:
    """Say what is true of all runs that begin inside the `with` block: what filters look at, and where runs belong.

    Inside another one, contexts are merged and the other arguments replace the outer ones.

    Args:
        context: The request's context; kept with the run, so leave secrets out.
        entity: What is run: its name, or an object with `name` and whatever else is known.
        source: Where the runs come from; `live` unless said.
        thread_id: The conversation.
        trace_id: The trace, as hexadecimal digits; unless given, that of the current OpenTelemetry span.

    Raises:
        OptionError: The context is no object.

    Example:
        >>> with request(context={"plan": "pro"}, thread_id="t-17"):
        ...     current_request().context
        {'plan': 'pro'}
    """
    if context is not None and not isinstance(context, Mapping):
        raise OptionError(f"request: context must be an object of names and values, not {type(context).__name__}")
    outer = _current.get()
    token = _current.set(
        Request(
            context=outer.context if context is None else {**(outer.context or {}), **context},
            entity=outer.entity if entity is None else entity_of(entity),
            source=source or outer.source,
            thread_id=thread_id or outer.thread_id,
            trace_id=trace_id or outer.trace_id,
        )
    )
    try:
        yield
    finally:
        _current.reset(token)


def current_request() -> Request:
    """What was said of the current request."""
    return _current.get()


def entity_of(entity: Mapping[str, Any] | str | None) -> Mapping[str, Any] | None:
    """An entity as an object; a text is its name."""
    return {"name": entity} if isinstance(entity, str) else entity
