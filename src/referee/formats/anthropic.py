"""Anthropic Messages API: lists of messages, messages, request/response pairs, streams.

A user's message may hold tool results, and one of the assistant may hold calls that Anthropic's servers ran, with
their results.
"""

from __future__ import annotations

from typing import Any

from referee.formats.anthropic_lines import decode_line
from referee.formats.conversation import Conversation, arguments, json_result
from referee.formats.decoded import Decoded, Turns
from referee.formats.exchange import address, is_exchange, no_answer, streamed
from referee.formats.fields import integer, joined_texts, mapping, objects, role_of, sequence, text, type_name
from referee.formats.record import run_fields
from referee.formats.streams import events, is_stream, stream_of
from referee.messages import CallState, File, Opaque, Part, Reasoning, Role, Text, ToolCall
from referee.runs import Usage

__all__ = ["NAME", "TITLE", "decode", "decode_line", "detect"]

NAME = "anthropic"
TITLE = "Anthropic Messages API"

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
#: How an answer ends that is not cut short.
_FINISHED = ("end_turn", "tool_use", "stop_sequence")
_STREAM_MARK = '"message_start"'
#: Parts that no other provider's messages have.
_OWN = frozenset({"thinking", "redacted_thinking", "document", "search_result", "container_upload"})


def detect(record: Any) -> bool:
    """Whether a record looks like messages, a message, a pair or a stream of the Messages API."""
    if isinstance(record, list):
        return bool(record) and all(map(_is_message, record)) and any(map(_is_own, record))
    if not isinstance(record, dict):
        return False
    if _is_answer(record):
        return True
    if is_exchange(record, "messages"):
        return _is_own_pair(record)
    stream = stream_of(record)
    if stream is not None:
        return _STREAM_MARK in stream
    return isinstance(record.get("messages"), list) and _is_request(record)


def _is_message(message: Any) -> bool:
    return (
        isinstance(message, dict) and bool(role_of(message, _ROLES)) and isinstance(message.get("content"), (str, list))
    )


def _is_own(message: dict[str, Any]) -> bool:
    """Whether a message has parts that only this format has."""
    if "parts" in message or "tool_calls" in message or "kwargs" in message:
        return False
    for part in objects(message.get("content")):
        kind = part.get("type")
        if not isinstance(kind, str):
            continue
        if kind.endswith("tool_use") and "input" in part and "id" in part:
            return True
        if kind.endswith("tool_result") and "tool_use_id" in part:
            return True
        if kind in _OWN and ("signature" in part or "source" in part or "data" in part or "file_id" in part):
            return True
        if kind == "image" and isinstance(part.get("source"), dict):
            return True
    return False


def _is_request(record: dict[str, Any]) -> bool:
    """Whether `{messages: [...]}` is a request: with its own parts, or with the system prompt beside the messages."""
    messages = record["messages"]
    if not messages or not all(map(_is_message, messages)):
        return False
    beside = isinstance(record.get("system"), (str, list)) and "max_tokens" in record
    return beside or any(map(_is_own, messages))


def _is_answer(record: Any) -> bool:
    return (
        isinstance(record, dict) and record.get("type") == "message" and "stop_reason" in record and _is_message(record)
    )


def _is_own_pair(record: dict[str, Any]) -> bool:
    response = record["response"]
    failed = isinstance(response, dict) and response.get("type") == "error" and isinstance(response.get("error"), dict)
    return (
        _is_answer(response)
        or failed
        or streamed(record, _STREAM_MARK)
        or address(record).endswith(("/v1/messages", "/v1/messages/count_tokens"))
        or _is_request(record["request"])
    )


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above."""
    talk = Conversation()
    fields: dict[str, Any] = {}
    stream = stream_of(record)
    if isinstance(record, list):
        _add_messages(talk, record)
    elif stream is not None:
        fields = _add_answer(talk, _from_stream(talk, stream))
    elif _is_answer(record):
        fields = _add_answer(talk, record)
    elif is_exchange(record, "messages"):
        fields = _add_pair(talk, record)
    elif isinstance(record, dict) and isinstance(record.get("messages"), list):
        _add_request(talk, record)
        fields = run_fields(record)
    else:
        _add_messages(talk, [record])
    return talk.decoded(turns, **fields)


def _add_pair(talk: Conversation, record: dict[str, Any]) -> dict[str, Any]:
    request = record["request"]
    _add_request(talk, request)
    fields = run_fields(record)
    response = record["response"]
    if is_stream(response) and _STREAM_MARK in response:
        response = _from_stream(talk, response)
    if not _is_answer(response):
        model = text(request, "model")
        return fields | no_answer(talk, response) | ({"model": model} if model else {})
    return _add_answer(talk, response) | fields


def _add_request(talk: Conversation, request: dict[str, Any]) -> None:
    system = request.get("system")
    parts: list[Part] = [_part(part) for part in sequence(system)]
    if isinstance(system, str) and system:
        parts = [Text(system)]
    if parts:
        talk.message("system", parts, counted=False)
    _add_messages(talk, sequence(request["messages"]))


def _add_answer(talk: Conversation, answer: dict[str, Any]) -> dict[str, Any]:
    _add_message(talk, answer)
    fields: dict[str, Any] = {name: text(answer, name) for name in ("id", "model") if text(answer, name)}
    if isinstance(answer.get("usage"), dict):
        fields["usage"] = _usage(answer["usage"])
    reason = text(answer, "stop_reason")
    if reason is not None and reason not in _FINISHED:
        fields["metadata"] = {"finish_reason": reason}
    return fields


def _usage(usage: dict[str, Any]) -> Usage:
    """Input counts what was read from and written to the cache, which the API counts apart."""
    given = integer(usage, "input_tokens")
    cached = [integer(usage, name) or 0 for name in ("cache_creation_input_tokens", "cache_read_input_tokens")]
    return Usage(None if given is None else given + sum(cached), integer(usage, "output_tokens"))


def _add_messages(talk: Conversation, messages: list[Any]) -> None:
    for message in messages:
        if isinstance(message, dict):
            _add_message(talk, message)
        else:
            talk.drop(type_name(message))


def _add_message(talk: Conversation, message: dict[str, Any]) -> None:
    role = role_of(message, _ROLES)
    if role is None:
        talk.drop(f"message of role {message.get('role')!r}")
        return
    content = message.get("content")
    parts: list[Part] = []
    results: list[dict[str, Any]] = []
    if isinstance(content, str):
        if content:
            parts.append(Text(content))
    elif isinstance(content, list):
        cut = message.get("stop_reason") == "max_tokens"
        for part in content:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text" and isinstance(part.get("text"), str):
                parts.append(Text(part["text"]))
            elif isinstance(kind, str) and kind.endswith("tool_result"):
                results.append(part)
            else:
                parts.append(_part(part, cut))
    if role != "user":
        talk.message(role, parts, id=text(message, "id"))
        _add_results(talk, results)
        return
    _add_results(talk, results)  # they answer the calls before this message
    if parts or not results:
        talk.message(role, parts, id=text(message, "id"))
    else:
        talk.tool_message()


def _add_results(talk: Conversation, results: list[dict[str, Any]]) -> None:
    for part in results:
        content = part.get("content")
        if isinstance(content, str) and part.get("is_error") is not True:
            talk.result(text(part, "tool_use_id"), json_result(content))
            continue
        failed = part.get("is_error") is True or str(mapping(content).get("type")).endswith("_error")
        value = json_result(joined_texts(content))
        error = None
        if failed:
            error = value if isinstance(value, str) else text(mapping(content), "error_message", "error_code")
        talk.result(text(part, "tool_use_id"), value, is_error=failed, error=error)


def _part(part: Any, cut: bool = False) -> Part:
    """One part of a message that is no result; `cut` when the answer was cut by its length."""
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict):
        return Opaque(type_name(part), part)
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"])
    if kind == "thinking" and isinstance(part.get("thinking"), str):
        return Reasoning(part["thinking"])
    if isinstance(kind, str) and kind.endswith("tool_use"):
        return _call(part, cut)
    if kind in ("image", "document") and isinstance(part.get("source"), dict):
        return _file(part, kind)
    if kind == "container_upload":
        return File(url=text(part, "file_id"))
    return Opaque(str(kind), part)


def _call(part: dict[str, Any], cut: bool) -> ToolCall:
    """A call. The arguments of a stream are text; where the stream or the answer was cut, they never became whole."""
    args, invalid = arguments(part.get("input"))
    state: CallState = "partial" if invalid and cut else "call"
    return ToolCall(
        text(part, "name") or "", args, text(part, "id"), state, args_invalid=invalid and state != "partial"
    )


def _file(part: dict[str, Any], kind: str) -> File:
    source = part["source"]
    media = text(source, "media_type") or ("image" if kind == "image" else None)
    data = text(source, "data") if source.get("type") in ("base64", "text") else None
    return File(media, text(part, "title"), text(source, "url", "file_id"), data)


def _from_stream(talk: Conversation, stream: str) -> dict[str, Any]:
    """The message that a stream's events add up to."""
    found, cut = events(stream)
    message: dict[str, Any] = {}
    parts: dict[Any, dict[str, Any]] = {}
    ended = False
    for event in found:
        kind = event.get("type")
        if kind == "message_start":
            message = dict(mapping(event.get("message")))
        elif kind == "content_block_start":
            parts[event.get("index")] = dict(mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            _add_delta(parts.setdefault(event.get("index"), {}), mapping(event.get("delta")))
        elif kind == "message_delta":
            message |= mapping(event.get("delta"))
            message["usage"] = {**mapping(message.get("usage")), **mapping(event.get("usage"))}
        elif kind == "error":
            talk.warn(
                "the request failed", f"the stream failed: {text(mapping(event.get('error')), 'message', 'type')}"
            )
        ended = ended or kind == "message_stop"
    if cut or not ended:
        talk.warn("the stream is cut", "the stream ends before the message is complete")
        message["stop_reason"] = message.get("stop_reason") or "max_tokens"
    return {
        "role": "assistant",
        "stop_reason": None,
        **message,
        "type": "message",
        "content": list(map(_whole, parts.values())),
    }


#: Where the pieces of a part wait until the stream has ended.
_PIECES = "the pieces of this part"
#: Which field of a part each kind of piece goes to, and the piece's own name for it.
_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("input", "partial_json"),
}


def _add_delta(part: dict[str, Any], delta: dict[str, Any]) -> None:
    place, name = _DELTAS.get(str(delta.get("type")), (None, ""))
    piece = delta.get(name)
    if place is None or not isinstance(piece, str):
        return
    part.setdefault(_PIECES, {}).setdefault(place, []).append(piece)


def _whole(part: dict[str, Any]) -> dict[str, Any]:
    """A part with the pieces that came for it."""
    pieces = part.pop(_PIECES, {})
    for place, found in pieces.items():
        given = "".join(found)
        before = part.get(place)
        part[place] = before + given if isinstance(before, str) else given or before
    return part
