"""Items: what a data set asks of an agent, and what it expects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.fingerprint import fingerprint
from referee.jsonvalue import digest


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of a conversation that is judged on its own: its input, and scorers and gates for it alone."""

    input: Any
    gates: Sequence[Any] = []
    scorers: Sequence[Any] = []


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
        tool_mocks: Results to give in place of real tools, by tool name: a value, `{"$error": "message"}`, or a
            function of the arguments.

    Example:
        >>> item = Item(input="What is the weather in Ghent?", tags=["weather"])
        >>> with_item_id(item).id == with_item_id(Item(input="What is the weather in Ghent?", tags=["weather"])).id
        True
    """

    id: str = ""
    input: Any = None
    inputs: Sequence[Any] | None = None
    turns: Sequence[Turn] | None = None
    ground_truth: Any = None
    expected_trajectory: Any = None
    expected_tool_calls: Any = None
    scorers: Sequence[Any] = []
    gates: Sequence[Any] = []
    context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    tags: Sequence[str] = []
    tool_mocks: dict[str, Any] | None = None

    @property
    def user_turns(self) -> list[Any]:
        """The inputs of all turns, one for an item that is no conversation."""
        if self.turns is not None:
            return [turn.input for turn in self.turns]
        return [self.input] if self.inputs is None else list(self.inputs)


def unshared(value: Any) -> Any:
    """The value with its lists and dictionaries copied, however deep; whatever else it holds is shared.

    Example:
        >>> given = [{"role": "user", "content": "Hi"}]
        >>> unshared(given)[0] is given[0], unshared(given) == given
        (False, True)
    """
    if type(value) is dict:
        return {key: unshared(item) for key, item in value.items()}
    return [unshared(item) for item in value] if type(value) is list else value


def with_own_data(item: Item) -> Item:
    """A copy whose data an agent may change as it likes: the next one that is asked gets the item as it was."""
    fields = {name: getattr(item, name) for name in Item.__struct_fields__ if name not in ("scorers", "gates", "turns")}
    try:
        own = msgspec.structs.replace(item, **{name: unshared(value) for name, value in fields.items()})
        if item.turns is None:
            return own
        turns = [msgspec.structs.replace(turn, input=unshared(turn.input)) for turn in item.turns]
        return msgspec.structs.replace(own, turns=turns)
    except RecursionError:  # nested too deeply, or it contains itself
        return item


def item_version(item: Item) -> str:
    """A hash of the item's content: id, scorers and gates left out."""
    content = {name: getattr(item, name) for name in Item.__struct_fields__ if name not in ("id", "scorers", "gates")}
    content["turns"] = [turn.input for turn in item.turns or ()]
    return digest(fingerprint(content))[:16]


def with_item_id(item: Item) -> Item:
    """The item itself when it has an id, else a copy with a hash of its content (scorers and gates left out)."""
    return item if item.id else msgspec.structs.replace(item, id=item_version(item))


def read_item(data: Mapping[str, Any]) -> Item:
    """An item from plain data, its names in snake_case or camelCase.

    Raises:
        OptionError: A name is unknown (tells the nearest one), or a value has the wrong type.

    Example:
        >>> read_item({"input": "Weather?", "groundTruth": "Sunny."}).ground_truth
        'Sunny.'
        >>> read_item({"input": "Weather?", "ground_thruth": "Sunny."})
        Traceback (most recent call last):
            ...
        referee.errors.OptionError: an item has no field 'ground_thruth'; did you mean ground_truth?
    """
    fields = _known(data, Item.__struct_fields__, "an item")
    if fields.get("turns") is not None:
        fields["turns"] = [_read_turn(turn) for turn in _listed(fields, "turns")]
    for name in ("inputs", "scorers", "gates", "tags"):
        if fields.get(name) is not None:
            fields[name] = _listed(fields, name)
        elif name != "inputs":
            fields.pop(name, None)
    for name in ("context", "metadata", "tool_mocks"):
        if not isinstance(fields.get(name), (Mapping, type(None))):
            raise OptionError(f"{name} must be an object, not {type(fields[name]).__name__}")
    if isinstance(fields.get("id"), int):
        fields["id"] = str(fields["id"])
    if not isinstance(fields.get("id") or "", str):
        raise OptionError(f"id must be a text, not {type(fields['id']).__name__}")
    return Item(**{**fields, "id": fields.get("id") or ""})


def _read_turn(turn: Any) -> Turn:
    if isinstance(turn, Turn):
        return turn
    if not isinstance(turn, Mapping):
        raise OptionError(f"a turn is an object with an input, not {type(turn).__name__}")
    fields = _known(turn, Turn.__struct_fields__, "a turn")
    if "input" not in fields:
        raise OptionError("a turn needs an input")
    for name in ("scorers", "gates"):
        fields[name] = _listed(fields, name) if fields.get(name) is not None else []
    return Turn(**fields)


def _listed(fields: Mapping[str, Any], name: str) -> list[Any]:
    value = fields[name]
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise OptionError(f"{name} must be a list, not {type(value).__name__}")
    return list(value)


def _known(data: Mapping[str, Any], names: Sequence[str], what: str) -> dict[str, Any]:
    fields = {}
    for key, value in data.items():
        name = snake_case(str(key))
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"its fields are {', '.join(names)}"
            raise OptionError(f"{what} has no field {key!r}; {hint}")
        fields[name] = value
    return fields


def snake_case(name: str) -> str:
    """A camelCase name in snake_case.

    Example:
        >>> snake_case("expectedToolCalls"), snake_case("input")
        ('expected_tool_calls', 'input')
    """
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)
