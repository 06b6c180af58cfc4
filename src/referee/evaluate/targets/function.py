"""Targets that are functions, sync or async."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from referee.errors import OptionError
from referee.evaluate.targets.target import Call
from referee.evaluate.threads import in_thread

#: What a function may ask for by the names of its parameters, beside its input.
_OFFERED: dict[str, Callable[[Call], Any]] = {
    "history": lambda call: list(call.thread.messages),
    "thread_id": lambda call: call.thread.id,
    "context": lambda call: call.item.context,
    "item": lambda call: call.item,
    "repeat": lambda call: call.repeat,
    "tool_mocks": lambda call: call.mocks,
}


class FunctionTarget:
    """A function of the input.

    It may also name parameters of the list above, each given by its name; the evaluation's `target_options` are given
    as keyword arguments too.
    """

    converses = True

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - the object's own method is looked at, not called
        )
        self.signature = _signature(function)
        parameters = list(self.signature.parameters.values())
        if not parameters or parameters[0].kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
            raise OptionError(
                f"a target takes the input as its first argument; {_name(function)} takes {self.signature}"
            )
        self.wanted = [parameter.name for parameter in parameters[1:] if parameter.name in _OFFERED]

    @property
    def mocks_tools(self) -> bool:
        """Whether the function asks for the mocks."""
        return "tool_mocks" in self.wanted

    def check(self, options: Mapping[str, Any]) -> None:
        """The options must be parameters of the function.

        Raises:
            OptionError: They are not, or the function wants more.
        """
        try:
            self.signature.bind(None, **dict.fromkeys(self.wanted), **options)
        except TypeError as error:
            raise OptionError(f"the target {_name(self.function)}: {error}; it takes {self.signature}") from None

    async def answer(self, call: Call) -> Any:
        """Call the function; a synchronous one in a thread of its own."""
        given = {name: _OFFERED[name](call) for name in self.wanted}
        if self.is_async:
            return await self.function(call.input, **given, **call.options)
        answer = await in_thread(lambda: self.function(call.input, **given, **call.options))
        return await answer if inspect.isawaitable(answer) else answer


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # a built-in that does not say
        return inspect.Signature([inspect.Parameter("input", inspect.Parameter.POSITIONAL_ONLY)])


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
