"""Attributes with dotted names, and messages flattened to them: `llm.input_messages.0.message.role` (OpenInference)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from referee.formats.fields import mapping, objects
from referee.formats.message_reader import MessageReader, Told
from referee.formats.span_messages import messages_of, structured
from referee.messages import Message, Role

#: Deeper flattened names are no message of a model.
_DEEPEST_NAME = 12
#: A number with more digits is no place in a list.
_MOST_DIGITS = 8


def nested(attributes: dict[str, Any], name: str) -> Any:
    """An attribute by its dotted name, flat or nested (as Phoenix exports it); `None` where it is not there.

    Example:
        >>> nested({"agent.name": "boss"}, "agent.name"), nested({"agent": {"name": "boss"}}, "agent.name")
        ('boss', 'boss')
    """
    if name in attributes:
        return attributes[name]
    path = _path(name)
    if path[0] not in attributes:
        return None
    value: Any = attributes
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


@lru_cache(maxsize=256)
def _path(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))


_NOTHING = Told([], -1, [])


def flattened(attributes: dict[str, Any], prefix: str, default: Role, reader: MessageReader) -> list[Message]:
    """The messages under a prefix, put together from their flattened fields.

    A model call repeats the fields of the call before and goes on from there: then only what is new is read.

    Args:
        attributes: The attributes of a span.
        prefix: What the names of the fields begin with, without the dot.
        default: The role of a message that names none.
        reader: Keeps what was read before.

    Example:
        >>> from referee.formats.decoded import Counts
        >>> fields = {"in.0.message.role": "user", "in.0.message.content": "Weather?"}
        >>> flattened(fields, "in", "user", MessageReader(Counts()))[0].text
        'Weather?'
    """
    start = prefix + "."
    fields = [item for item in attributes.items() if isinstance(item[0], str) and item[0].startswith(start)]
    if not fields:
        rows = objects(structured(nested(attributes, prefix)))
        return [message for row in rows for message in _of_row(row, default)]
    known = reader.flattened.get(prefix, _NOTHING)
    count = len(known.fields)
    fresh = _by_number(fields[count:], len(start)) if fields[:count] == known.fields else None
    if fresh is None or any(number <= known.last for number in fresh):
        known, count, fresh = _NOTHING, 0, _by_number(fields, len(start))
    found = [message for number in sorted(fresh) for message in _message(fresh[number], default, reader)]
    told = Told(fields, max(fresh, default=known.last), known.messages + found)
    if all(type(value) is str for _, value in fields[count:]):
        reader.flattened[prefix] = told
    return told.messages


def _by_number(fields: list[tuple[str, Any]], start: int) -> dict[int, list[tuple[str, Any]]]:
    """The fields of each message, by its number in their names, which begins at `start`; others are left out."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for name, value in fields:
        number, _, field = name[start:].partition(".")
        found.setdefault(number, []).append((field, value))
    return {int(number): given for number, given in found.items() if _is_place(number)}


def _is_place(number: str) -> bool:
    return number.isdecimal() and len(number) <= _MOST_DIGITS


def _message(fields: list[tuple[str, Any]], default: Role, reader: MessageReader) -> list[Message]:
    if all(type(value) is str for _, value in fields):
        return reader.made_of((default, *fields), lambda: _of_fields(fields, default))
    return _of_fields(fields, default)


#: The fields of a message and of its calls that nearly all have, with their names in a chat message.
_FIELDS = {f"message.{name}": name for name in ("role", "content", "name", "tool_call_id")}
_CALL_FIELDS = {
    "tool_call.id": "id",
    "tool_call.function.name": "name",
    "tool_call.function.arguments": "arguments",
}
_CALLS = "message.tool_calls."


def _of_fields(given: list[tuple[str, Any]], default: Role) -> list[Message]:
    plain = _plain(given)
    if plain is not None:
        return messages_of(plain, default)
    tree: dict[str, Any] = {}
    for field, value in given:
        _plant(tree, field.split(".", _DEEPEST_NAME), value)
    return _of_row(tree, default)


def _plain(given: list[tuple[str, Any]]) -> dict[str, Any] | None:
    """A message of the usual fields alone; `None` of any other."""
    message: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    for field, value in given:
        name = _FIELDS.get(field)
        if name is not None:
            message[name] = value
            continue
        number, _, rest = field.removeprefix(_CALLS).partition(".")
        name = _CALL_FIELDS.get(rest)
        if name is None or not field.startswith(_CALLS) or not _is_place(number):
            return None
        if value is not None:  # empty arguments are not recorded
            calls.setdefault(int(number), {"arguments": {}})[name] = value
    if calls:
        message["tool_calls"] = [calls[number] for number in sorted(calls)]
    return message


def _of_row(row: dict[str, Any], default: Role) -> list[Message]:
    message = row.get("message", row)
    return messages_of(_spelled_out(message), default) if isinstance(message, dict) else []


def _plant(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        branch = tree.setdefault(part, {})
        if not isinstance(branch, dict):
            return
        tree = branch
    tree[path[-1]] = value


def _in_order(tree: Any) -> list[dict[str, Any]]:
    """The items of a flattened list, by their numbers; a list as it is."""
    if isinstance(tree, dict):
        return objects([tree[key] for key in sorted(filter(_is_place, tree), key=int)])
    return objects(tree)


def _spelled_out(message: dict[str, Any]) -> dict[str, Any]:
    """A message with `message.`, `message_content.` and `tool_call.` taken off its fields' names."""
    plain = {name: _message_field(message, name) for name in ("role", "content", "name", "tool_call_id")}
    content = [_content(item) for item in _in_order(_message_field(message, "contents"))]
    if content:
        plain["content"] = content
    plain["tool_calls"] = [
        {
            "id": nested(call, "tool_call.id"),
            "name": nested(call, "tool_call.function.name"),
            # Empty arguments are not recorded.
            "arguments": nested(call, "tool_call.function.arguments") or {},
        }
        for call in _in_order(_message_field(message, "tool_calls"))
    ]
    called = _message_field(message, "function_call_name")
    if isinstance(called, str) and called:
        plain["tool_calls"].append(
            {"name": called, "arguments": _message_field(message, "function_call_arguments_json")}
        )
    return {name: value for name, value in plain.items() if value is not None}


def _message_field(message: dict[str, Any], name: str) -> Any:
    return message[name] if name in message else message.get(f"message.{name}")


def _content(item: dict[str, Any]) -> dict[str, Any]:
    content = mapping(item.get("message_content")) or {
        name.removeprefix("message_content."): value for name, value in item.items()
    }
    image = nested(content, "image.image.url") or nested(content, "image.url")
    return {"type": "image", "url": image} if isinstance(image, str) else content
