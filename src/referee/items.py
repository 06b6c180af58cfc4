"""Items: what a data set asks of an agent, and what it expects."""

from __future__ import annotations

from typing import Any

import msgspec

from referee.jsonvalue import digest


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of a conversation that is judged on its own: its input, and scorers and gates for it alone."""

    input: Any
    gates: list[Any] = []
    scorers: list[Any] = []


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One case of a data set. Exactly one of `input`, `inputs` and `turns` is given.

    Attributes:
        id: Given, else a hash of the content; never the position.
        input: A text, or messages.
        inputs: Several user turns on one thread.
        turns: Several user turns, each judged on its own.
        ground_truth: The right answer.
        expected_trajectory: The expected steps, as plain data.
        expected_tool_calls: The expected tool calls, as plain data.
        scorers, gates: Scorers and gates for this item alone.
        context: The request context handed to the target.
        metadata: Anything else.
        tags: Words to group results by.
        tool_mocks: Results to give in place of real tools, by tool name.

    Example:
        >>> item = Item(input="What is the weather in Ghent?", tags=["weather"])
        >>> with_item_id(item).id == with_item_id(Item(input="What is the weather in Ghent?", tags=["weather"])).id
        True
    """

    id: str = ""
    input: Any = None
    inputs: list[Any] | None = None
    turns: list[Turn] | None = None
    ground_truth: Any = None
    expected_trajectory: Any = None
    expected_tool_calls: Any = None
    scorers: list[Any] = []
    gates: list[Any] = []
    context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    tags: list[str] = []
    tool_mocks: dict[str, Any] | None = None


def with_item_id(item: Item) -> Item:
    """The item itself when it has an id, else a copy with a hash of its content (scorers and gates left out)."""
    if item.id:
        return item
    plain = msgspec.to_builtins(msgspec.structs.replace(item, scorers=[], gates=[], turns=None))
    plain["turns"] = [msgspec.to_builtins(turn.input) for turn in item.turns or ()]
    return msgspec.structs.replace(item, id=digest(plain)[:16])
