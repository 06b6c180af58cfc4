"""The description of the API: every screen's data as JSON and CSV, and every action, as OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from referee.studio.query import MOST_ROWS
from referee.studio.screen import TEXT, Action, Parameter, Screen

_FORMAT = Parameter("format", "How the answer is written.", {"type": "string", "enum": ["json", "csv"]}, is_needed=True)
_LIMIT = Parameter("limit", "How many rows of a list.", {"type": "integer", "minimum": 1, "maximum": MOST_ROWS})
_REFERENCES = "#/components/schemas/{name}"

_PROBLEM = {
    "type": "object",
    "properties": {"title": TEXT, "problem": {"type": "string"}, "next_page": {"type": "null"}},
    "required": ["title", "problem"],
}
#: What may go wrong everywhere, in words.
_REFUSALS = {
    "400": "A parameter is wrong; the answer says which and why.",
    "404": "The store has nothing of this name or number.",
    "503": "The store can't be read or written now.",
}
_GUARDS = {
    "401": "The Studio asks for a token, and none or a wrong one was sent.",
    "421": "The name in `Host` is not one that the Studio answers to.",
}
_SENDING = {
    "403": "It was sent from another site.",
    "413": "It is too long.",
    "415": "It is neither JSON nor a form.",
}


def description(screens: Sequence[Screen], actions: Iterable[Action], *, version: str) -> dict[str, Any]:
    """The OpenAPI description.

    Args:
        screens: The screens.
        actions: The actions that are allowed.
        version: Of the package.
    """
    actions = list(actions)
    answers = [*(screen.answer for screen in screens), *(action.answer for action in actions)]
    types = list(dict.fromkeys(kind for answer in answers for kind in answer.values()))
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCES)
    known = dict(zip(types, schemas))
    paths: dict[str, Any] = {screen.path: {"get": _of_screen(screen, known)} for screen in screens}
    for action in actions:
        paths[action.path] = {"post": _of_action(action, known)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Referee Studio",
            "version": version,
            "description": "What the pages of the Studio show, for programs.",
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _of_screen(screen: Screen, known: Mapping[Any, Any]) -> dict[str, Any]:
    answer = _object({"title": {"type": "string"}, "next_page": {"type": ["string", "null"]}}, screen.answer, known)
    found = {
        "description": "The data of the page, and its list as CSV.",
        "headers": {
            "Link": {"schema": {"type": "string"}, "description": "The next page of the list, where there is one."}
        },
        "content": {"application/json": {"schema": answer}, "text/csv": {"schema": {"type": "string"}}},
    }
    return {
        "operationId": screen.path.strip("/") or "overview",
        "summary": screen.words,
        "parameters": [_in_query(parameter) for parameter in (*screen.parameters, _LIMIT, _FORMAT)],
        "responses": {"200": found, **_refusals(_REFUSALS, "application/json", "text/csv"), **_plain(_GUARDS)},
    }


def _of_action(action: Action, known: Mapping[Any, Any]) -> dict[str, Any]:
    answer = _object({"address": {"type": "string"}}, action.answer, known)
    fields = {parameter.name: _field(parameter) for parameter in action.parameters}
    body = {
        "type": "object",
        "properties": fields,
        "required": [parameter.name for parameter in action.parameters if parameter.is_needed],
        "additionalProperties": False,
    }
    return {
        "operationId": action.path.strip("/").replace("/", "-"),
        "summary": action.words,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "It is done.", "content": {"application/json": {"schema": answer}}},
            **_refusals({**_REFUSALS, **_SENDING}, "application/json", "text/plain", "text/html"),
            **_plain(_GUARDS),
        },
    }


def _in_query(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.words,
        "required": parameter.is_needed,
        "schema": _values(parameter),
        **({"style": "form", "explode": True} if parameter.is_list else {}),
    }


def _values(parameter: Parameter) -> Any:
    return {"type": "array", "items": parameter.schema, "maxItems": 20} if parameter.is_list else parameter.schema


def _field(parameter: Parameter) -> dict[str, Any]:
    return {**_values(parameter), "description": parameter.words}


def _object(own: Mapping[str, Any], answer: Mapping[str, Any], known: Mapping[Any, Any]) -> dict[str, Any]:
    properties = {**own, **{name: known[kind] for name, kind in answer.items()}}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _refusals(words: Mapping[str, str], *media_types: str) -> dict[str, Any]:
    problem = {"$ref": _REFERENCES.format(name="Problem")}
    shapes = {
        media: {"schema": problem if media == "application/json" else {"type": "string"}} for media in media_types
    }
    return {status: {"description": text, "content": shapes} for status, text in words.items()}


def _plain(words: Mapping[str, str]) -> dict[str, Any]:
    content = {"text/plain": {"schema": {"type": "string"}}}
    return {status: {"description": text, "content": content} for status, text in words.items()}
