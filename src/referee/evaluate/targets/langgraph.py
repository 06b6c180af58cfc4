"""LangGraph graphs and LangChain runnables as targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable

from referee.errors import OptionError
from referee.evaluate.targets.chat import chat_messages
from referee.evaluate.targets.target import Call
from referee.jsonvalue import canonical


def adapt(obj: Any) -> GraphTarget | RunnableTarget | None:
    """A target of a compiled graph or a runnable; `None` for other objects of the packages."""
    if not isinstance(obj, Runnable):
        return None
    return GraphTarget(obj) if hasattr(obj, "checkpointer") and hasattr(obj, "aget_state") else RunnableTarget(obj)


def _check(options: Mapping[str, Any]) -> None:
    if "input" in options:
        raise OptionError("input: given by the conversation itself")
    if not isinstance(options.get("config", {}), Mapping):
        raise OptionError("config must be a mapping")


def _config(call: Call) -> dict[str, Any]:
    """The caller's configuration with the thread's id, which graphs and histories remember by."""
    config = dict(call.options.get("config") or {})
    given = config.get("configurable") or {}
    return {**config, "configurable": {"thread_id": call.thread.id, "session_id": call.thread.id, **given}}


def _rest(call: Call) -> dict[str, Any]:
    return {name: value for name, value in call.options.items() if name != "config"}


class GraphTarget:
    """A compiled LangGraph graph with `messages` in its state. `target_options` go to `ainvoke`: `config`, `context`, ...

    Data that is no message is given to the graph as its state. A graph with a checkpointer remembers by thread; any
    other one is given the whole conversation.
    """

    mocks_tools = False
    converses = True

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def check(self, options: Mapping[str, Any]) -> None:
        """The options must not be what the conversation itself needs.

        Raises:
            OptionError: They are.
        """
        _check(options)

    async def answer(self, call: Call) -> Any:
        """Run the graph and give the messages it added, or what else its state says."""
        earlier: list[BaseMessage] = call.thread.state or []
        if isinstance(call.input, Mapping) and "role" not in call.input:
            state, said = dict(call.input), list(call.input.get("messages") or ())
        else:
            said = chat_messages(call.messages)
            state = {"messages": said if self.graph.checkpointer else [*earlier, *said]}
        result = await self.graph.ainvoke(state, config=_config(call), **_rest(call))
        messages = result.get("messages") if isinstance(result, Mapping) else None
        if not messages:
            return _as_text(result)
        call.thread.state = list(messages)
        return self._added(list(messages), earlier, said)

    def _added(self, messages: list[Any], earlier: list[Any], said: list[Any]) -> list[Any]:
        """The messages that a turn added to the state, without what was said to it.

        A graph may shorten or replace what was in its state before.
        """
        kept = len(messages) >= len(earlier) and all(map(self._is, messages, earlier))
        new = (message for message in messages if not any(self._is(message, other) for other in earlier))
        added = messages[len(earlier) :] if kept else list(new)
        asked = [_said(message) for message in said]
        return added[len(asked) :] if [_said(message) for message in added[: len(asked)]] == asked else added

    def _is(self, message: Any, other: Any) -> bool:
        """Whether it is the other message: the same object or id. What a checkpointer without ids read is just alike."""
        name = getattr(message, "id", None)
        if name is None and self.graph.checkpointer:
            return bool(message == other)
        return message is other or (name is not None and name == getattr(other, "id", None))


def _said(message: Any) -> tuple[str, Any]:
    (read,) = convert_to_messages([message])
    return read.type, read.content


class RunnableTarget:
    """A LangChain runnable. `target_options` go to `ainvoke`.

    A chat model is given the whole conversation, anything else the input as the item gives it.
    """

    mocks_tools = False
    converses = True

    def __init__(self, runnable: Runnable[Any, Any]) -> None:
        self.runnable = runnable

    def check(self, options: Mapping[str, Any]) -> None:
        """The options must not be what the conversation itself needs.

        Raises:
            OptionError: They are.
        """
        _check(options)

    async def answer(self, call: Call) -> Any:
        """Run it and give its message or text."""
        given = call.input
        if isinstance(self.runnable, BaseChatModel):
            given = chat_messages([*call.thread.messages, *call.messages])
        result = await self.runnable.ainvoke(given, config=_config(call), **_rest(call))  # type: ignore[arg-type]
        return [result] if isinstance(result, BaseMessage) else _as_text(result)


def _as_text(result: Any) -> Any:
    """What is no message as text, data as JSON; a state with messages as it is."""
    if isinstance(result, Mapping) and not result.get("messages"):
        return canonical(dict(result)).decode()
    return result
