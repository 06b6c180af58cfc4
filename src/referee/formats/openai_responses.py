"""OpenAI Responses API: lists of items, responses, request/response pairs, streams.

An answer of the model is several items (reasoning, messages, calls). Items that follow each other become one message,
like the same answer in the chat format; a second message item begins a new one.
"""

from __future__ import annotations

from typing import Any

import msgspec

from referee.formats.conversation import Conversation, arguments, json_result
from referee.formats.decoded import Decoded, Turns
from referee.formats.exchange import address, is_exchange, no_answer, streamed
from referee.formats.fields import joined_texts, mapping, objects, role_of, sequence, text, type_name
from referee.formats.record import run_fields, usage_of
from referee.formats.streams import events, is_stream, stream_of
from referee.messages import CallState, File, Opaque, Part, Reasoning, Role, Text, ToolCall

NAME = "openai_responses"
TITLE = "OpenAI Responses API"

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
#: What a call of one of OpenAI's own tools says beside its arguments.
_NOT_ARGUMENTS = frozenset(
    {
        *("id", "type", "status", "call_id", "name", "output", "outputs", "result", "results", "error"),
        *("agent", "caller", "container_id", "created_by", "execution", "namespace", "pending_safety_checks"),
    }
)
#: A part of the answer that came while the response was being made.
_UNFINISHED = frozenset({"in_progress", "incomplete", "searching", "interpreting", "generating"})
#: Parts of content that only this format's messages have.
_OWN_PARTS = ("input_text", "output_text", "input_image", "input_file")
_STREAM_MARK = '"response.'


def detect(record: Any) -> bool:
    """Whether a record looks like items, a response, a pair or a stream of the Responses API."""
    if isinstance(record, list):
        return any(_is_item(item) for item in record) and all(
            _is_item(item) or (isinstance(item, dict) and role_of(item, _ROLES) is not None) for item in record
        )
    if not isinstance(record, dict):
        return False
    if _is_response(record):
        return True
    if is_exchange(record, "input"):
        return (
            _is_response(record["response"]) or streamed(record, _STREAM_MARK) or address(record).endswith("/responses")
        )
    stream = stream_of(record)
    if stream is not None:
        return _STREAM_MARK in stream
    return any(isinstance(record.get(key), list) and detect(record[key]) for key in ("items", "messages", "input"))


def _is_item(item: Any) -> bool:
    """Whether this is surely an item; `{role, content}` alone may be any format's message."""
    if not isinstance(item, dict):
        return False
    kind = item.get("type")
    if kind == "message":
        return role_of(item, _ROLES) is not None and "content" in item and "stop_reason" not in item
    if not isinstance(kind, str):
        content = item.get("content")
        return isinstance(content, list) and role_of(item, _ROLES) is not None and any(map(_is_own_part, content))
    if kind == "reasoning":
        return "summary" in item
    return (
        kind.endswith(("_call", "_call_output")) and ("call_id" in item or "id" in item) and "role" not in item
    ) or (
        kind
        in ("mcp_list_tools", "mcp_approval_request", "item_reference", "compaction", "program", "tool_search_output")
        and ("id" in item or "call_id" in item)
    )


def _is_own_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _OWN_PARTS


def _is_response(record: Any) -> bool:
    return isinstance(record, dict) and record.get("object") == "response" and isinstance(record.get("output"), list)


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above."""
    talk = Conversation()
    fields: dict[str, Any] = {}
    stream = stream_of(record)
    if isinstance(record, list):
        add_items(talk, record)
    elif stream is not None:
        fields = _add_response(talk, _from_stream(talk, stream))
    elif _is_response(record):
        fields = _add_response(talk, record)
    elif is_exchange(record, "input"):
        fields = _add_pair(talk, record)
    else:
        items = next((record[key] for key in ("items", "messages", "input") if isinstance(record.get(key), list)), None)
        add_items(talk, [record] if items is None else items)
        fields = run_fields(record) if items is not None else {}
    return talk.decoded(turns, **fields)


def _add_pair(talk: Conversation, record: dict[str, Any]) -> dict[str, Any]:
    request = record["request"]
    fields = run_fields(record)
    _add_instructions(talk, request)
    if request.get("previous_response_id"):
        talk.warn("earlier turns elsewhere", "the earlier turns of this conversation are not in the record")
    add_input(talk, request["input"])
    response = record["response"]
    if is_stream(response) and _STREAM_MARK in response:
        response = _from_stream(talk, response)
    if not _is_response(response):
        model = text(request, "model")
        return fields | no_answer(talk, response) | ({"model": model} if model else {})
    return _add_response(talk, response) | fields


def _add_instructions(talk: Conversation, record: dict[str, Any]) -> None:
    instructions = record.get("instructions")
    if isinstance(instructions, str) and instructions:
        talk.message("system", [Text(instructions)], counted=False)
    elif isinstance(instructions, list):
        add_items(talk, instructions)


def add_input(talk: Conversation, given: Any) -> None:
    """Add an input: plain text of the user, or items."""
    if isinstance(given, str):
        talk.message("user", [Text(given)])
    else:
        add_items(talk, sequence(given))


def _add_response(talk: Conversation, response: dict[str, Any]) -> dict[str, Any]:
    if not talk.messages:
        _add_instructions(talk, response)
    add_items(talk, response["output"])
    fields = {
        name: value for name, value in (("id", text(response, "id")), ("model", text(response, "model"))) if value
    }
    usage = mapping(response.get("usage"))
    if usage:
        fields["usage"] = usage_of(usage)  # type: ignore[assignment]
    reason = mapping(response.get("incomplete_details")).get("reason")
    if response.get("status") == "failed":
        fields |= no_answer(talk, response)
    elif reason or text(response, "status") in _UNFINISHED:
        fields["metadata"] = {"finish_reason": reason or response["status"]}  # type: ignore[assignment]
    return fields


def add_items(talk: Conversation, items: list[Any], speaker: str | None = None) -> None:
    """Add items in order.

    Args:
        talk: The conversation.
        items: The items; what is no item is dropped and counted.
        speaker: The agent that they come from.
    """
    for item in items:
        if isinstance(item, dict):
            add_item(talk, item, speaker)
        else:
            talk.drop(type_name(item))


def add_item(talk: Conversation, item: dict[str, Any], speaker: str | None = None) -> None:
    """Add one item. A call or reasoning goes to the answer that is being given, an output to its call."""
    kind = item.get("type")
    if kind in (None, "message"):
        _add_message(talk, item, speaker)
    elif isinstance(kind, str) and kind.endswith("_output"):
        talk.tool_message()
        add_output(talk, item, output_of(item))
    elif kind == "configuration_update" or kind == "additional_tools":
        talk.message("system", [Opaque(kind, item)])
    elif kind == "mcp_approval_response":
        talk.message("user", [Opaque(kind, item)])
    else:
        _add_to_answer(talk, [_answer_part(item, kind)], speaker)


def output_of(item: dict[str, Any]) -> Any:
    """The result that an output item carries."""
    return next((item[name] for name in ("output", "tools", "result") if name in item), None)


def add_output(talk: Conversation, item: dict[str, Any], output: Any) -> None:
    """Add an output item's result, given as the framework has it, or as the item carries it."""
    value = json_result(joined_texts(output))
    failed = item.get("status") == "failed"
    error = value if failed and isinstance(value, str) else None
    talk.result(text(item, "call_id", "id"), value, name=text(item, "name"), is_error=failed, error=error)


def _add_message(talk: Conversation, item: dict[str, Any], speaker: str | None) -> None:
    role = role_of(item, _ROLES)
    if role is None:
        talk.drop(f"item of role {item.get('role')!r}")
        return
    content = item.get("content")
    parts: list[Part] = [_content_part(part) for part in sequence(content)]
    if isinstance(content, str) and content:
        parts = [Text(content)]
    if role == "assistant" and not _is_said(talk):
        _add_to_answer(talk, parts, speaker, id=text(item, "id"))
    else:
        talk.message(role, parts, id=text(item, "id"), name=speaker if role == "assistant" else None)


def _is_said(talk: Conversation) -> bool:
    """Whether the answer that is being given has its text already."""
    return talk.answering and any(type(part) is Text for part in talk.messages[-1].parts)


def _add_to_answer(talk: Conversation, parts: list[Part], speaker: str | None, id: str | None = None) -> None:
    """Extend the answer that is being given, or begin one when another spoke last."""
    last = talk.messages[-1] if talk.answering else None
    if last is None or last.name != speaker:
        talk.message("assistant", parts, id=id, name=speaker)
        return
    if id is not None and last.id is None:
        talk.messages[-1] = msgspec.structs.replace(last, id=id)
    talk.extend(parts)


def _content_part(part: Any) -> Part:
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict):
        return Opaque(type_name(part), part)
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text", "summary_text") and isinstance(part.get("text"), str):
        return Text(part["text"])
    if kind in ("reasoning_text", "thinking") and isinstance(part.get("text"), str):
        return Reasoning(part["text"])
    if kind in ("input_image", "image_url"):
        return File("image", url=text(part, "image_url") or text(part, "file_id"))
    if kind == "input_file":
        return File(name=text(part, "filename"), url=text(part, "file_url", "file_id"), data=text(part, "file_data"))
    if kind == "input_audio":
        audio = mapping(part.get("input_audio"))
        return File(f"audio/{text(audio, 'format') or '*'}", data=text(audio, "data"))
    return Opaque(str(kind), part)


def _answer_part(item: dict[str, Any], kind: Any) -> Part:
    if kind in ("function_call", "mcp_call"):
        return _named_call(item)
    if kind == "custom_tool_call":
        given, invalid = arguments(item.get("input"))
        return ToolCall(text(item, "name") or "", given, text(item, "call_id", "id"), args_invalid=invalid)
    if kind == "reasoning":
        thoughts = objects(item.get("summary")) or objects(item.get("content"))
        return Reasoning("\n".join(text(thought, "text") or "" for thought in thoughts))
    if isinstance(kind, str) and kind.endswith("_call"):
        return _own_tool_call(item, kind.removesuffix("_call"))
    if kind == "program":  # code that calls tools
        return ToolCall("program", {"code": item.get("code")}, text(item, "call_id", "id"))
    return Opaque(str(kind), item)


def _named_call(item: dict[str, Any]) -> ToolCall:
    """A call of a function, or of a tool of an MCP server, which carries its result."""
    args, invalid = arguments(item.get("arguments"))
    output, error = item.get("output"), item.get("error")
    state: CallState = "call"
    if text(item, "status") in _UNFINISHED and (invalid or not item.get("arguments")):
        state = "partial"
    elif error:
        state = "error"
    elif output is not None:
        state = "result"
    return ToolCall(
        name=text(item, "name") or "",
        args=args,
        id=text(item, "call_id", "id"),
        state=state,
        result=json_result(output),
        error=_error_text(error),
        is_error=bool(error),
        args_invalid=invalid and state != "partial",
    )


def _error_text(error: Any) -> str | None:
    if isinstance(error, dict):
        return text(error, "message", "code", "type")
    return error if isinstance(error, str) and error else None


def _own_tool_call(item: dict[str, Any], name: str) -> ToolCall:
    """A call of one of OpenAI's own tools: its arguments are the item's other fields.

    The output of a tool that the client runs (`computer`, `local_shell`, `shell`, `apply_patch`, `tool_search`) is a
    later item with its `call_id`; the others are run by OpenAI and carry what the response shows of their result.
    """
    args = {key: value for key, value in item.items() if key not in _NOT_ARGUMENTS}
    single = next(iter(args)) if len(args) == 1 else None
    if single in ("action", "operation", "arguments") and isinstance(args[single], dict):
        args = args[single]
    result = next((item[key] for key in ("output", "outputs", "results", "result") if item.get(key) is not None), None)
    status = item.get("status")
    state: CallState = "call"
    if status == "failed" or item.get("error"):
        state = "error"
    elif "call_id" not in item and status == "completed":
        state = "result"
    call_id = text(item, "call_id", "id")
    return ToolCall(name, args, call_id, state, result, _error_text(item.get("error")), is_error=state == "error")


def _from_stream(talk: Conversation, stream: str) -> dict[str, Any]:
    """The response that a stream's events add up to."""
    found, cut = events(stream)
    response: dict[str, Any] = {"object": "response", "output": []}
    items: dict[Any, dict[str, Any]] = {}
    deltas: dict[tuple[Any, Any], list[str]] = {}
    for event in found:
        given = event.get("response")
        if isinstance(given, dict):
            response = {**response, **given}
        elif isinstance(event.get("item"), dict):
            items[event.get("output_index")] = dict(event["item"])
        elif isinstance(event.get("delta"), str):
            deltas.setdefault((event.get("output_index"), event.get("type")), []).append(event["delta"])
        elif event.get("type") == "error":
            response |= {"status": "failed", "error": event}
    if text(response, "status") in (None, *_UNFINISHED) and items:
        cut = cut or response.get("incomplete_details") is None
        for (index, kind), pieces in deltas.items():
            _add_pieces(items.get(index, {}), kind, "".join(pieces))
        response["output"] = list(items.values())
    if cut:
        talk.warn("the stream is cut", "the stream ends before the response is complete")
    return response if isinstance(response["output"], list) else {**response, "output": []}


def _add_pieces(item: dict[str, Any], kind: Any, given: str) -> None:
    """Add what came for an item to it, when the stream ended before the item was done."""
    if item.get("status") != "in_progress" or not isinstance(kind, str):
        return
    if kind.endswith("_call_arguments.delta"):
        item["arguments"] = given
    elif kind == "response.output_text.delta":
        item["content"] = [{"type": "output_text", "text": given}]
    elif kind == "response.custom_tool_call_input.delta":
        item["input"] = given
