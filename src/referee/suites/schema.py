"""The JSON Schema of a suite, for editors."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from referee.evaluate.measures import GROUPS
from referee.items import Item, Turn
from referee.loading import factory_of, scorer_names
from referee.suites.spec import TARGETS, SuiteSpec

_REF = "#/$defs/{name}"


def suite_schema() -> dict[str, Any]:
    """The JSON Schema of a suite file.

    Example:
        >>> "gates" in suite_schema()["properties"]
        True
    """
    kinds = [SuiteSpec, Item, Turn, *TARGETS.values()]
    _, found = msgspec.json.schema_components(kinds, ref_template=_REF)
    for definition in found.values():
        definition["additionalProperties"] = False
    suite = found.pop("SuiteSpec")
    entry = {"$ref": "#/$defs/entry"}
    entries = {"type": "array", "items": entry}
    groups = {group: entries for group in GROUPS if group != "steps"}
    groups |= {"steps": {"type": "object", "additionalProperties": entries}}
    grouped = {"type": "object", "properties": groups, "additionalProperties": False}
    target = {"anyOf": [{"type": "string"}, *({"$ref": _REF.format(name=kind.__name__)} for kind in TARGETS.values())]}
    items = {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Item"}]}}
    for role in ("gates", "scorers"):
        suite["properties"][role] = {"anyOf": [entries, grouped]}
        for definition in ("Item", "Turn"):
            found[definition]["properties"][role] = entries
    suite["properties"]["target"] = target
    suite["properties"]["targets"] = {"type": "object", "additionalProperties": target}
    suite["properties"]["data"] = {"anyOf": [{"type": "string"}, items]}
    definitions = {**found, "entry": _entry(), "scorer": _scorer()}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **suite, "title": "Suite", "$defs": definitions}


def _scorer() -> dict[str, Any]:
    """A scorer by name, by name with options, or one's own."""
    names = scorer_names()
    with_options = {name: _options(name) for name in names}
    own = {"type": "string", "pattern": "^[^:]+:[^:]+$"}
    return {
        "anyOf": [
            {"enum": names},
            own,
            {
                "type": "object",
                "properties": with_options,
                "patternProperties": {":": {}},
                "additionalProperties": False,
                "minProperties": 1,
                "maxProperties": 1,
            },
        ]
    }


def _options(name: str) -> dict[str, Any]:
    parameters = inspect.signature(factory_of(name)).parameters.values()
    named: dict[str, Any] = {
        parameter.name: {} for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL
    }
    described = (inspect.getdoc(factory_of(name)) or "").split("\n", 1)[0]
    by_name = {"type": "object", "properties": named}
    return {"description": described, "anyOf": [by_name, {"type": ["array", "string", "number", "boolean", "null"]}]}


def _entry() -> dict[str, Any]:
    """A gate or scorer, alone or with what is asked of it."""
    number = {"type": "number"}
    bounds = {"min": number, "max": number, "confidence": number, "min_coverage": number}
    fields = {
        "scorer": {"$ref": "#/$defs/scorer"},
        "threshold": {"anyOf": [number, {"type": "object", "properties": bounds, "additionalProperties": False}]},
        "min_coverage": number,
        "min": number,
        "max": number,
        "passes": {"type": "string", "pattern": "^\\s*\\d+\\s+of\\s+\\d+\\s*$"},
    }
    asked = {"type": "object", "properties": fields, "required": ["scorer"], "additionalProperties": False}
    return {"anyOf": [{"$ref": "#/$defs/scorer"}, asked]}
