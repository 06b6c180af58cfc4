"""Reads an answer from a model's reply. What does not fit is an error, never a guess."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar, cast

import msgspec

from referee.errors import RefusedReplyError, UnreadableReplyError
from referee.judge.exchange import Reply
from referee.judge.forms import Choice, answer_type, json_schema, unwrapped, words_of

T = TypeVar("T")

#: How many places where an object might start are tried before the rest of a reply is given up.
_MOST_FALSE_STARTS = 100
#: The least probability that all the words asked for must have together for a choice to mean anything.
_LEAST_PROBABILITY = 0.05
_DECODER = json.JSONDecoder()
_OBJECT_START = re.compile(r"\{\s*[\"{\[]")
#: Strings (so that braces in them do not count) and braces.
_BRACES = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
#: What may stand around a word in a token.
_AROUND_A_WORD = " \t\r\n\"'`*.,:;!"


def read(reply: Reply, returns: type[T]) -> T:
    """The answer in a reply.

    A JSON object may stand in a code fence or after prose; of several that fit, the last counts. Case and surrounding
    space of a verdict are forgiven. Unknown fields are ignored.

    Args:
        reply: The reply.
        returns: The type of the answer.

    Raises:
        RefusedReplyError: The model refused, or a filter withheld its reply.
        UnreadableReplyError: The reply is cut off, empty, or does not fit.

    Example:
        >>> class Verdict(msgspec.Struct):
        ...     reason: str
        ...     supported: bool
        >>> read(Reply(text='Sure: {"reason": "It says so.", "supported": true}'), Verdict)
        Verdict(reason='It says so.', supported=True)
    """
    if reply.finish in ("refusal", "filter"):
        what = "the model refused to answer" if reply.finish == "refusal" else "a content filter withheld the reply"
        raise RefusedReplyError(what, raw_reply=reply.text, usage=reply.usage)
    if words_of(returns):
        return cast("T", _choice(reply, returns))
    if reply.finish == "length":
        raise _unreadable(reply, "the reply was cut off")
    if not reply.text.strip():
        raise _unreadable(reply, "the reply is empty")
    kind = answer_type(returns)
    if kind is None:
        return cast("T", reply.text.strip())
    return cast("T", unwrapped(_object(reply, kind)))


def _unreadable(reply: Reply, problem: str) -> UnreadableReplyError:
    return UnreadableReplyError(problem, raw_reply=reply.text, usage=reply.usage)


def _object(reply: Reply, kind: Any) -> Any:
    problem = "it holds no JSON object"
    found: list[Any] = []
    for text in _objects(reply.text):
        try:
            found.append(_converted(text, kind))
        except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as error:
            problem = str(error) or "it is nested too deeply"
    if not found:
        raise _unreadable(reply, problem)
    return found[-1]


def _objects(text: str) -> Iterator[str]:
    """The JSON objects in a text that stand in no other one, be it broken."""
    start, false_starts = text.find("{"), 0
    while start >= 0 and false_starts < _MOST_FALSE_STARTS:
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            false_starts += 1
            end = _end_of_broken(text, start)
        else:
            yield text[start:end]
        start = text.find("{", end)


def _end_of_broken(text: str, start: int) -> int:
    """Where an object that is no JSON ends, so that nothing inside it is taken for the answer; a brace in prose ends at once."""
    if not _OBJECT_START.match(text, start):
        return start + 1
    depth = 0
    for token in _BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)


def _converted(text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError:
        schema = json_schema(kind) or {}
        return msgspec.convert(_forgiven(msgspec.json.decode(text), schema, schema.get("$defs", {})), kind)


def _forgiven(value: Any, schema: dict[str, Any], definitions: dict[str, Any]) -> Any:
    """The value with the case and surrounding space of its enum words set right."""
    if "$ref" in schema:
        return _forgiven(value, definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if isinstance(value, str) and "enum" in schema:
        folded = value.strip().casefold()
        return next((word for word in schema["enum"] if str(word).casefold() == folded), value)
    if isinstance(value, list) and "items" in schema:
        return [_forgiven(item, schema["items"], definitions) for item in value]
    if isinstance(value, dict) and "properties" in schema:
        fields = schema["properties"]
        return {name: _forgiven(item, fields.get(name, {}), definitions) for name, item in value.items()}
    return value


def _choice(reply: Reply, returns: Any) -> Choice:
    """The most probable of the words asked for, by the log-probabilities of the first token."""
    words = words_of(returns)
    if reply.alternatives is None:
        raise _unreadable(reply, "the endpoint gave no log-probabilities; use verdicts='json' with this model")
    weights = dict.fromkeys(words, 0.0)
    for token, logprob in reply.alternatives:
        start = token.strip(_AROUND_A_WORD).casefold()
        fitting = [word for word in words if start and word.casefold().startswith(start)]
        if len(fitting) == 1:
            weights[fitting[0]] += math.exp(min(logprob, 0.0))
    total = sum(weights.values())
    if not total >= _LEAST_PROBABILITY:  # no number either
        raise _unreadable(reply, f"the reply is none of the words {', '.join(words)}")
    return Choice(
        word=max(words, key=lambda word: weights[word]),
        probabilities={word: weight / total for word, weight in weights.items()},
    )
