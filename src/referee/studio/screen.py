"""Screens and actions: what can be asked of the Studio, and with which parameters. The pages and the API are made of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import msgspec

from referee.storage.store import Store
from referee.studio.page import Page
from referee.studio.query import Query
from referee.studio.workers import Workers

TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1, "maxLength": 2000}
WHOLE: Mapping[str, Any] = {"type": "integer", "minimum": 0, "maximum": 2**62}
LONG_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1, "maxLength": 500_000}
NUMBER: Mapping[str, Any] = {"type": "number"}

PageFunction: TypeAlias = Callable[[Store, Query], Page]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an address or a field of a form.

    Attributes:
        name: Its name.
        words: What it says.
        schema: The JSON Schema of one value.
        is_list: Whether it may come more than once.
        is_needed: Whether it must be given.
    """

    name: str
    words: str
    schema: Mapping[str, Any] = field(default_factory=lambda: TEXT)
    is_list: bool = False
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class Screen:
    """A page by its path.

    Attributes:
        path: Its path.
        words: What it shows.
        make: Makes it.
        parameters: What its address may say.
        answer: The names of its data and their types.
    """

    path: str
    words: str
    make: PageFunction
    parameters: Sequence[Parameter] = ()
    answer: Mapping[str, Any] = field(default_factory=dict)


class Desk(NamedTuple):
    """What actions work with."""

    store: Store
    workers: Workers


class Done(NamedTuple):
    """What an action did: where to look at it, and the answer for programs."""

    address: str
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that changes the store, by its path. It is sent, never linked to.

    Attributes:
        path: Its path.
        words: What it does.
        do: Does it.
        parameters: The fields of its form.
        answer: The names of its answer and their types.
    """

    path: str
    words: str
    do: Callable[[Desk, Query], Done]
    parameters: Sequence[Parameter]
    answer: Mapping[str, Any] = field(default_factory=dict)


#: Where the list begins, and the score that is opened beside it.
POSITION_PARAMETERS = (
    Parameter("after", "The place in the list to begin after: from `next_page`."),
    Parameter("before", "The place in the list to end before."),
)


def parameters_of(type: Any, renamed: Mapping[str, str] | None = None) -> tuple[Parameter, ...]:
    """The fields of a filter as parameters, described by the attributes of its docstring.

    Args:
        type: The filter.
        renamed: By the name of a field, the name of its parameter.
    """
    renamed = renamed or {}
    properties = _resolved(msgspec.json.schema(type))["properties"]
    words = _described(type.__doc__ or "")
    found = []
    for name, given in properties.items():
        schema = _of_values(given)
        is_list = schema.get("type") == "array"
        one = schema["items"] if is_list else schema
        found.append(
            Parameter(renamed.get(name, name), words.get(name, ""), one if one != {"type": "string"} else TEXT, is_list)
        )
    return tuple(found)


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    return schema if reference is None else dict(schema["$defs"][reference.rpartition("/")[2]])


def _of_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without `null`: a parameter that is not given is left out."""
    choices = [dict(one) for one in given.get("anyOf", [given]) if one.get("type") != "null"]
    schema = {key: value for key, value in choices[0].items() if key != "default"}
    if None in schema.get("enum", ()):
        schema["enum"] = [value for value in schema["enum"] if value is not None]
    return schema


def _described(docstring: str) -> dict[str, str]:
    _, _, attributes = docstring.partition("Attributes:")
    found: dict[str, str] = {}
    for names, words in re.findall(r"^\s*(\w+(?:, \w+)*): (.+)$", attributes, re.MULTILINE):
        found |= dict.fromkeys(names.split(", "), words)
    return found


def load(package: str, place: str) -> Any:
    """What stands at a place of a package, written `module:NAME`; the module is loaded now."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"{package}.{module}"), name)
