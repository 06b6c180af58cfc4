"""Gemini: lists of contents, generateContent requests, responses and pairs, streams.

Fields are read in camelCase, as the API writes them, and in snake_case, as Google's Python library does.
"""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

from referee.formats.conversation import Conversation, arguments
from referee.formats.decoded import Decoded, Turns
from referee.formats.exchange import is_exchange, no_answer
from referee.formats.fields import integer, mapping, objects, role_of, sequence, text, type_name
from referee.formats.record import run_fields
from referee.formats.streams import events, is_stream, stream_of
from referee.items import snake_case
from referee.messages import File, Opaque, Part, Reasoning, Role, Text, ToolCall
from referee.runs import Usage

NAME = "gemini"
TITLE = "Gemini contents"

_ROLES: dict[str, Role] = {"user": "user", "model": "assistant", "function": "tool", "tool": "tool", "system": "system"}
_FINISHED = ("STOP", "FINISH_REASON_UNSPECIFIED", "stop")
_STREAM_MARK = '"candidates"'
#: The name under which code that the model ran itself is kept as a tool call.
_CODE_EXECUTION = "code_execution"


def detect(record: Any) -> bool:
    """Whether a record looks like contents, a request, a response, a pair or a stream."""
    if isinstance(record, list):
        return bool(record) and (_are_contents(record) or all(map(_is_response, record)))
    if not isinstance(record, dict):
        return False
    if is_exchange(record, "contents"):
        return True
    stream = stream_of(record)
    if stream is not None:
        return _STREAM_MARK in stream
    contents = record.get("contents")
    return _is_response(record) or _are_contents([record]) or (isinstance(contents, list) and _are_contents(contents))


def _are_contents(contents: list[Any]) -> bool:
    return all(map(_is_content, contents)) and any(content["parts"] for content in contents)


def _is_content(content: Any) -> bool:
    """Whether this is `{role, parts}` whose parts, unlike those of other formats, say their kind by their field."""
    if not isinstance(content, dict) or not isinstance(content.get("parts"), list) or "kind" in content:
        return False
    return _role(content) is not None and all(map(_is_part, content["parts"]))


def _role(content: dict[str, Any]) -> Role | None:
    return role_of(content, _ROLES) if "role" in content else "user"


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and not any(name in part for name in ("type", "part_kind", "kind", "content"))


def _is_response(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    candidates = record.get("candidates")
    return isinstance(_field(record, "promptFeedback"), dict) or (
        isinstance(candidates, list)
        and all(isinstance(one, dict) and ("content" in one or _field(one, "finishReason")) for one in candidates)
    )


def _field(record: dict[str, Any], name: str) -> Any:
    """A field by its camelCase name, or by the same name in snake_case."""
    if name in record:
        return record[name]
    return record.get(_snake(name))


_snake = cache(snake_case)


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above."""
    talk = Conversation()
    fields: dict[str, Any] = {}
    stream = stream_of(record)
    if stream is not None:
        fields = _add_response(talk, _from_stream(talk, stream))
    elif isinstance(record, list) and record and all(map(_is_response, record)):
        fields = _add_response(talk, _joined(record))
    elif isinstance(record, list):
        _add_contents(talk, record)
    elif is_exchange(record, "contents"):
        fields = _add_pair(talk, record)
    elif _is_response(record):
        fields = _add_response(talk, record)
    elif isinstance(record, dict) and isinstance(record.get("contents"), list):
        _add_request(talk, record)
        fields = run_fields(record)
    else:
        _add_contents(talk, [record])
    return talk.decoded(turns, **fields)


def _add_pair(talk: Conversation, record: dict[str, Any]) -> dict[str, Any]:
    _add_request(talk, record["request"])
    fields = run_fields(record)
    response = record["response"]
    if is_stream(response) and _STREAM_MARK in response:
        response = _from_stream(talk, response)
    elif isinstance(response, list) and response and all(map(_is_response, response)):
        response = _joined(response)
    if not _is_response(response):
        return fields | no_answer(talk, response)
    return _add_response(talk, response) | fields


def _add_request(talk: Conversation, request: dict[str, Any]) -> None:
    system = _field(request, "systemInstruction")
    if isinstance(system, str) and system:
        talk.message("system", [Text(system)], counted=False)
    elif isinstance(system, dict):
        talk.message("system", [_part(part) for part in sequence(system.get("parts"))], counted=False)
    contents = request["contents"]
    if isinstance(contents, str):
        talk.message("user", [Text(contents)])
    else:
        _add_contents(talk, contents)


def _add_response(talk: Conversation, response: dict[str, Any]) -> dict[str, Any]:
    candidates = objects(response.get("candidates"))
    first = candidates[0] if candidates else {}
    if len(candidates) > 1:
        talk.warn("several choices", f"the response holds {len(candidates)} candidates; the first one is the answer")
    if candidates:
        _add_content(talk, {**mapping(first.get("content")), "role": "model"})
    fields: dict[str, Any] = {}
    for ours, theirs in (("id", "responseId"), ("model", "modelVersion")):
        value = _field(response, theirs)
        if isinstance(value, str) and value:
            fields[ours] = value
    usage = mapping(_field(response, "usageMetadata"))
    if usage:
        fields["usage"] = _usage(usage)
    reason = _field(first, "finishReason") or _field(mapping(_field(response, "promptFeedback")), "blockReason")
    if isinstance(reason, str) and reason not in _FINISHED:
        fields["metadata"] = {"finish_reason": reason}
    return fields


def _usage(usage: dict[str, Any]) -> Usage:
    """Output counts the tokens of thoughts, input those of what the model's own tools gave it."""

    def number(*names: str) -> int | None:
        found = [value for name in names if (value := integer(usage, name, _snake(name))) is not None]
        return sum(found) if found else None

    return Usage(
        number("promptTokenCount", "toolUsePromptTokenCount"),
        number("candidatesTokenCount", "thoughtsTokenCount"),
        number("totalTokenCount"),
    )


def _add_contents(talk: Conversation, contents: list[Any]) -> None:
    for content in contents:
        if isinstance(content, dict):
            _add_content(talk, content)
        else:
            talk.drop(type_name(content))


def _add_content(talk: Conversation, content: dict[str, Any]) -> None:
    role = _role(content)
    if role is None:
        talk.drop(f"content of role {content.get('role')!r}")
        return
    parts: list[Part] = []
    results: list[dict[str, Any]] = []
    for part in sequence(content.get("parts")):
        if isinstance(part, dict) and isinstance(_result_of(part), dict):
            results.append(part)
        else:
            parts.append(_part(part))
    if role == "assistant":
        talk.message(role, _joined_texts(parts))
        _add_results(talk, results)
        return
    _add_results(talk, results)
    if parts or not results:
        talk.message(role, parts)
    else:
        talk.tool_message()


def _joined_texts(parts: list[Part]) -> list[Part]:
    """The model's text comes in pieces, which belong together without anything between them."""
    joined: list[Part] = []
    for kind, group in groupby(parts, type):
        if kind is Text:
            joined.append(Text("".join(part.text for part in group)))  # type: ignore[union-attr]
        elif kind is Reasoning:
            joined.append(Reasoning("".join(part.text for part in group)))  # type: ignore[union-attr]
        else:
            joined += group
    return joined


def _result_of(part: dict[str, Any]) -> Any:
    return _field(part, "functionResponse") or _field(part, "codeExecutionResult") or _field(part, "toolResponse")


def _add_results(talk: Conversation, parts: list[dict[str, Any]]) -> None:
    for part in parts:
        result = _result_of(part)
        if _field(part, "codeExecutionResult"):
            failed = text(result, "outcome") not in (None, "OUTCOME_OK", "OUTCOME_UNSPECIFIED")
            error = text(result, "output") if failed else None
            talk.result(text(result, "id"), result.get("output"), name=_CODE_EXECUTION, is_error=failed, error=error)
            continue
        value = result.get("response")
        if isinstance(value, dict) and set(value) == {"error"}:
            problem = value["error"]
            error = problem if isinstance(problem, str) else None
            talk.result(text(result, "id"), problem, name=text(result, "name"), is_error=True, error=error)
        else:
            name = text(result, "name") or _field(result, "toolType")
            talk.result(text(result, "id"), _unwrapped(value), name=name if isinstance(name, str) else None)


def _unwrapped(response: Any) -> Any:
    """A function's own result: the API wants an object, and libraries wrap anything else as `{output}` or `{result}`."""
    if isinstance(response, dict) and len(response) == 1:
        for name in ("output", "result"):
            if name in response:
                return response[name]
    return response


def _part(part: Any) -> Part:
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict):
        return Opaque(type_name(part), part)
    if isinstance(part.get("text"), str):
        return Reasoning(part["text"]) if part.get("thought") is True else Text(part["text"])
    call = _field(part, "functionCall") or _field(part, "toolCall")
    if isinstance(call, dict):
        args, invalid = arguments(call.get("args", {}))
        name = text(call, "name", "toolType", "tool_type") or ""
        return ToolCall(name, args, text(call, "id"), args_invalid=invalid)
    code = _field(part, "executableCode")
    if isinstance(code, dict):
        return ToolCall(
            _CODE_EXECUTION, {key: code[key] for key in ("code", "language") if key in code}, text(code, "id")
        )
    data = _field(part, "inlineData") or _field(part, "fileData")
    if isinstance(data, dict):
        return File(
            text(data, "mimeType", "mime_type"),
            text(data, "displayName", "display_name"),
            text(data, "fileUri", "file_uri"),
            text(data, "data"),
        )
    return Opaque(next((key for key in part if key not in ("thought", "thoughtSignature")), "empty part"), part)


def _from_stream(talk: Conversation, stream: str) -> dict[str, Any]:
    found, cut = events(stream)
    if cut:
        talk.warn("the stream is cut", "the stream ends in the middle of an event")
    return _joined(found)


def _joined(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """The response that a stream's pieces add up to."""
    whole: dict[str, Any] = {}
    first: dict[str, Any] = {}
    parts: list[Any] = []
    for piece in pieces:
        whole |= {key: value for key, value in piece.items() if value is not None}
        for candidate in objects(piece.get("candidates")):
            if candidate.get("index", 0) == 0:
                first |= {key: value for key, value in candidate.items() if value is not None}
                parts += sequence(mapping(candidate.get("content")).get("parts"))
    if first:
        whole["candidates"] = [{**first, "content": {"role": "model", "parts": parts}}]
    return whole
