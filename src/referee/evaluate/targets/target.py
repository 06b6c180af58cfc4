"""What a target is to the engine: something that answers one turn of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from referee.evaluate.mocks import ToolMocks
from referee.items import Item
from referee.messages import Message


@dataclass(slots=True)
class Thread:
    """One conversation.

    Attributes:
        id: Unique in the evaluation; the thread or session id for agents that remember.
        messages: Everything said before this turn.
        state: The target's own, kept from turn to turn.
    """

    id: str
    messages: list[Message] = field(default_factory=list)
    state: Any = None


@dataclass(frozen=True, slots=True)
class Call:
    """One turn that a target is asked to answer.

    Attributes:
        input: The turn's input as the item gives it.
        messages: The turn's input as messages.
        thread: The conversation.
        item: The item.
        repeat: Which of the item's repeats, from 0.
        options: The evaluation's `target_options`.
        mocks: What stands in for tools; `None` when they run as they are.
    """

    input: Any
    messages: list[Message]
    thread: Thread
    item: Item
    repeat: int
    options: Mapping[str, Any]
    mocks: ToolMocks | None

    @property
    def text(self) -> str:
        """The texts of the turn's messages."""
        return "\n".join(message.text for message in self.messages)


@runtime_checkable
class Target(Protocol):
    """A target. `referee.evaluate.as_target` makes one of agents and functions."""

    @property
    def mocks_tools(self) -> bool:
        """Whether it can run with tool mocks."""
        ...

    @property
    def converses(self) -> bool:
        """Whether it can answer several turns on one thread."""
        ...

    async def answer(self, call: Call) -> Any:
        """The answer: text, messages in a readable format, or a `Run`."""
        ...

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise an `OptionError` when it can't take these options; called before anything runs."""
        ...
