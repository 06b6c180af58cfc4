"""What an endpoint takes, learnt from its refusals: once for each model, and remembered."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from referee.judge.exchange import Reply, Request, Transport
from referee.judge.forms import json_schema
from referee.judge.limits import Places

#: How structured output can be asked for, the best first: a schema with limits, a bare schema, any JSON, words alone.
Structure: TypeAlias = Literal["strict", "bare", "json", "none"]
_STRUCTURES: tuple[Structure, ...] = ("strict", "bare", "json", "none")

_TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
_ABOUT_STRUCTURE = (
    "response_format",
    "json_schema",
    "json schema",
    "schema",
    "grammar",
    "structured output",
    "json_object",
)
_ABOUT_SUPPORT = (
    "unsupported",
    "not support",
    "unknown",
    "unrecognized",
    "unexpected",
    "not allowed",
    "not permitted",
    "extra inputs",
)


class Capabilities:
    """What one model at one endpoint takes.

    Args:
        newer_names: Begin with the newer name of the reply's limit, `max_completion_tokens`.

    Attributes:
        structure: How structured output is asked for.
        token_limit: The name of the parameter that limits the reply's tokens.
        temperature: Whether a temperature may be given.
    """

    def __init__(self, *, newer_names: bool = False) -> None:
        self.structure: Structure = "strict"
        self.token_limit = _TOKEN_LIMITS[newer_names]
        self.temperature = True

    def response_format(self, returns: Any) -> dict[str, Any] | None:
        """The `response_format` for an answer of this type; `None` leaves it out."""
        return _response_format(self.structure, returns)

    def learn(self, body: dict[str, Any], returns: Any, problem: str) -> None:
        """Take in why a request was refused, if it says so.

        Args:
            body: The request's body. Several requests may have been refused in the same way, so what was sent counts.
            returns: The type of its answer.
            problem: The endpoint's words.
        """
        words = problem.casefold()
        sent_limit = next((name for name in _TOKEN_LIMITS if name in body), None)
        if "temperature" in words and "temperature" in body:
            self.temperature = False
        elif sent_limit and sent_limit in words and any(phrase in words for phrase in _ABOUT_SUPPORT):
            self.token_limit = next(name for name in _TOKEN_LIMITS if name != sent_limit)
        elif "response_format" in body and any(phrase in words for phrase in _ABOUT_STRUCTURE):
            fitting = [each for each in _STRUCTURES if _response_format(each, returns) == body["response_format"]]
            refused = max(map(_STRUCTURES.index, fitting), default=len(_STRUCTURES) - 2)
            self.structure = _STRUCTURES[max(refused + 1, _STRUCTURES.index(self.structure))]


def _response_format(structure: Structure, returns: Any) -> dict[str, Any] | None:
    schema = json_schema(returns, strict=structure == "strict")
    if schema is None or structure == "none":
        return None
    if structure == "json":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


class FirstAlone:
    """Lets one request find out what the model takes while the others wait, so that not all of them are refused.

    Requests with and without a form are refused for other reasons, so each kind has a first one.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._answered: set[bool] = set()
        self._place = Places(1)

    async def send(self, request: Request) -> Reply:
        """Send the request, alone until there was a reply to one of its kind.

        Raises:
            JudgeError: There is no reply.
        """
        kind = json_schema(request.returns) is None
        if kind not in self._answered:
            async with self._place:
                if kind not in self._answered:
                    reply = await self._transport.send(request)
                    self._answered.add(kind)
                    return reply
        return await self._transport.send(request)
