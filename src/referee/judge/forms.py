"""The form of an answer: its JSON schema, its sketch for the prompt, and types that are made for one question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec

from referee.errors import OptionError

T = TypeVar("T")

#: The longest string that a grammar lets a model write, so that it can't fill its limit with one of them.
MAX_STRING = 1500

_SCALARS = (bool, int, float)


class Choice(msgspec.Struct, frozen=True):
    """An answer of one word, read from the log-probabilities of the reply's first token. Made by `one_of`.

    Attributes:
        word: The most probable word.
        probabilities: The probability of each word; they sum to 1.
    """

    word: str
    probabilities: dict[str, float]


@lru_cache(maxsize=256)
def one_of(*words: str) -> type[Choice]:
    """The type of an answer that is one of these words.

    Example:
        >>> words_of(one_of("yes", "no"))
        ('yes', 'no')
    """
    return cast(
        "type[Choice]", msgspec.defstruct("Choice", [], bases=(Choice,), namespace={"__words__": words}, frozen=True)
    )


def words_of(returns: Any) -> tuple[str, ...]:
    """The words that an answer of this type can be; empty unless `one_of` made it."""
    return cast("tuple[str, ...]", getattr(returns, "__words__", ()))


def one_for_each(reply: type[T], **asked: Sequence[str]) -> type[T]:
    """A type of reply whose lists have exactly one entry for each id that was asked about.

    Args:
        reply: A struct with one or more lists of structs that have an `id`.
        asked: The ids, by the name of the list. The entries are put into this order.

    Example:
        >>> Verdict = msgspec.defstruct("Verdict", [("id", str), ("verdict", str)])
        >>> Verdicts = msgspec.defstruct("Verdicts", [("verdicts", list[Verdict])])
        >>> two = one_for_each(Verdicts, verdicts=["s1", "s2"])
        >>> msgspec.json.decode('{"verdicts": [{"id": "s1", "verdict": "yes"}]}', type=two)
        Traceback (most recent call last):
            ...
        msgspec.ValidationError: verdicts needs exactly one entry for each of s1, s2; missing: s2
    """
    return cast("type[T]", _one_for_each(cast("Any", reply), tuple((name, tuple(ids)) for name, ids in asked.items())))


@lru_cache(maxsize=1024)
def _one_for_each(reply: Any, asked: tuple[tuple[str, tuple[str, ...]], ...]) -> Any:
    def check(self: Any) -> None:
        for name, ids in asked:
            _put_in_order(name, ids, getattr(self, name))

    namespace = {"__post_init__": check, "__asked__": dict(asked)}
    return msgspec.defstruct(
        reply.__name__, [], bases=(reply,), namespace=namespace, frozen=reply.__struct_config__.frozen
    )


def _put_in_order(name: str, ids: tuple[str, ...], entries: list[Any]) -> None:
    given = [entry.id.strip() for entry in entries]
    problems = {
        "missing": [wanted for wanted in ids if wanted not in given],
        "unknown": sorted({other for other in given if other not in ids}),
        "twice": sorted({wanted for wanted in ids if given.count(wanted) > 1}),
    }
    found = "; ".join(f"{kind}: {', '.join(which)}" for kind, which in problems.items() if which)
    if found:
        raise ValueError(
            f"{name} needs exactly one entry for each of {', '.join(ids)}; {found}" if ids else f"{name} must be empty"
        )
    entries.sort(key=lambda entry: ids.index(entry.id.strip()))


class _Scalar(msgspec.Struct, frozen=True):
    """The object around an answer that is a plain number or truth value: endpoints take schemas of objects only."""


def answer_type(returns: Any) -> Any:
    """The type that the reply's JSON object is read as; `None` for free text and single words."""
    return _answer_type(returns)


@lru_cache(maxsize=1024)
def _answer_type(returns: Any) -> Any:
    if returns is str or words_of(returns):
        return None
    if returns in _SCALARS:
        return msgspec.defstruct("Answer", [("value", returns)], bases=(_Scalar,), frozen=True)
    return returns


def unwrapped(answer: Any) -> Any:
    """The answer without the object that `answer_type` put around a plain value."""
    return answer.value if isinstance(answer, _Scalar) else answer  # type: ignore[attr-defined]


def json_schema(returns: Any, *, strict: bool = True) -> dict[str, Any] | None:
    """The JSON schema of an answer, in the strict form of OpenAI-compatible endpoints; `None` for free text.

    Every object is closed and all its fields are required. Unlike `strict=False`, it also has the limits that only some
    endpoints take: lengths of strings and lists, ranges of numbers.
    """
    return _json_schema(returns, strict)


@lru_cache(maxsize=1024)
def _json_schema(returns: Any, strict: bool) -> dict[str, Any] | None:
    kind = answer_type(returns)
    if kind is None:
        return None
    try:
        schema = msgspec.json.schema(kind)
    except (TypeError, NameError) as error:
        raise OptionError(f"a judge can't be asked for {returns!r}: {error}") from None
    definitions = schema.pop("$defs", {})
    root = definitions.pop(schema.pop("$ref").rpartition("/")[2]) if "$ref" in schema else schema
    for name, ids in getattr(kind, "__asked__", {}).items():
        root["properties"][name] |= {"minItems": len(ids), "maxItems": len(ids)}
    if definitions:
        root["$defs"] = definitions
    return cast("dict[str, Any]", _endpoint_form(root, strict))


_LIMITS = (
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "format",
)


def _endpoint_form(node: Any, strict: bool) -> Any:
    if isinstance(node, list):
        return [_endpoint_form(item, strict) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: {name: _endpoint_form(item, strict) for name, item in value.items()}
        if key in ("properties", "$defs")
        else _endpoint_form(value, strict)
        for key, value in node.items()
        if key not in ("title", "default") and (strict or key not in _LIMITS)
    }
    if "enum" in kept:
        if all(isinstance(word, str) for word in kept["enum"]):
            kept.setdefault("type", "string")
    elif kept.get("type") == "string" and strict:
        kept.setdefault("maxLength", MAX_STRING)
    if "properties" in kept:
        kept["required"] = list(kept["properties"])
        kept["additionalProperties"] = False
    return kept


def form(returns: Any) -> str:
    """What a reply must look like, for the end of the prompt.

    Example:
        >>> class Verdict(msgspec.Struct):
        ...     reason: str
        ...     supported: bool
        >>> print(form(Verdict))
        Reply with one JSON object of this form and nothing else: {"reason": "...", "supported": true or false}
        >>> print(form(one_of("yes", "no")))
        Reply with one word, yes or no, and nothing else.
    """
    return _form(returns)


@lru_cache(maxsize=1024)
def _form(returns: Any) -> str:
    words = words_of(returns)
    if words:
        return f"Reply with one word, {' or '.join(words)}, and nothing else."
    schema = json_schema(returns)
    if schema is None:
        return ""
    return f"Reply with one JSON object of this form and nothing else: {_sketch(schema, schema.get('$defs', {}))}"


def _sketch(node: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in node:
        return _sketch(definitions[node["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in node:
        return " or ".join(_sketch(option, definitions) for option in node["anyOf"])
    if "enum" in node:
        return " or ".join(msgspec.json.encode(word).decode() for word in node["enum"])
    if "properties" in node:
        fields = (f'"{name}": {_sketch(item, definitions)}' for name, item in node["properties"].items())
        return f"{{{', '.join(fields)}}}"
    if node.get("type") == "array":
        count = f" ({node['minItems']} in all)" if node.get("minItems") else ""
        return f"[{_sketch(node.get('items', {}), definitions)}, ...]{count}"
    return {"boolean": "true or false", "integer": "a whole number", "number": "a number", "null": "null"}.get(
        node.get("type", ""), '"..."'
    )
