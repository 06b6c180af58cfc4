"""Recorded HTTP exchanges: `{request, response}`, with the status and address beside them."""

from __future__ import annotations

from typing import Any

from referee.formats.conversation import Conversation
from referee.formats.fields import mapping
from referee.formats.streams import is_stream


def is_exchange(record: Any, content: str) -> bool:
    """Whether a record is an exchange whose request has this field, as text or a list."""
    if not isinstance(record, dict) or "response" not in record:
        return False
    request = record.get("request")
    return isinstance(request, dict) and isinstance(request.get(content), (list, str))


def address(record: dict[str, Any]) -> str:
    """The address that the request went to, without its query; empty where it is not recorded."""
    for name in ("uri", "url"):
        value = record.get(name)
        if isinstance(value, str):
            return value.partition("?")[0]
    return ""


def streamed(record: dict[str, Any], mark: str) -> bool:
    """Whether the response is a stream that contains this mark of a provider."""
    response = record.get("response")
    return is_stream(response) and mark in response


def no_answer(talk: Conversation, response: Any) -> dict[str, Any]:
    """Note that a response holds no answer: the request failed, or the response is something else.

    Returns:
        The fields of the run that say so.
    """
    problem = error_text(response)
    if problem is None:
        talk.warn("response not understood", "the response holds no answer of the model")
        return {}
    talk.warn("the request failed", f"the request failed: {problem}")
    return {"metadata": {"error": problem}}


def error_text(response: Any) -> str | None:
    """The message of a failed request, wherever the server put it."""
    body = mapping(response)
    error = body.get("error") or body.get("message") or body.get("detail")
    if isinstance(error, dict):
        error = error.get("message") or error.get("code") or error.get("type")
    return str(error) if isinstance(error, (str, int)) and error else None
