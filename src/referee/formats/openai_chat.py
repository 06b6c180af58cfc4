"""OpenAI chat messages: bare lists, `{messages: [...]}` records, request/response pairs, streams, tau-bench runs.

Also what OpenAI-compatible servers make of them (Mistral, Groq, Gemini): empty ids, no `content`, no `type`, a failed
call whose text stands in an error.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from referee.errors import ReadError
from referee.formats.conversation import Conversation, arguments, json_result
from referee.formats.decoded import Decoded, Turns
from referee.jsonvalue import decode as decode_json
from referee.messages import File, Message, Opaque, Part, Reasoning, Role, Text, ToolCall
from referee.runs import Usage

NAME = "openai_chat"
TITLE = "OpenAI chat messages"

_ROLES: dict[Any, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
#: Where a record keeps its messages.
_MESSAGE_KEYS = ("messages", "traj")


def detect(record: Any) -> bool:
    """Whether a record looks like OpenAI chat messages."""
    if isinstance(record, list):
        messages = [message for message in record if isinstance(message, dict)]
        return bool(messages) and all(map(_is_message, messages))
    if not isinstance(record, dict):
        return False
    if any(isinstance(record.get(key), list) and _is_talk(record[key]) for key in _MESSAGE_KEYS):
        return True
    return _is_pair(record) or _is_completion(record) or _is_message(record) or _is_stream(record)


def _is_talk(messages: list[Any]) -> bool:
    return all(_is_message(message) for message in messages if isinstance(message, dict))


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        return False
    content = message.get("content")
    if content is None:
        return "parts" not in message
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(part, (dict, str)) for part in content)
    )


def _is_pair(record: dict[str, Any]) -> bool:
    request = record.get("request")
    return isinstance(request, dict) and isinstance(request.get("messages"), list) and "response" in record


def _is_completion(record: dict[str, Any]) -> bool:
    choices = record.get("choices")
    return isinstance(choices, list) and all(
        isinstance(choice, dict) and ("message" in choice or "delta" in choice) for choice in choices
    )


def _is_stream(record: dict[str, Any]) -> bool:
    text = record.get("stream")
    return isinstance(text, str) and '"choices"' in text and '"delta"' in text


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above."""
    talk = Conversation()
    fields: dict[str, Any] = {}
    if isinstance(record, list):
        _add_messages(talk, record)
    elif _is_pair(record):
        fields = _add_pair(talk, record)
    elif any(isinstance(record.get(key), list) for key in _MESSAGE_KEYS):
        key = next(key for key in _MESSAGE_KEYS if isinstance(record.get(key), list))
        _add_messages(talk, record[key])
        fields = _record_fields(record)
    elif _is_completion(record):
        fields = _add_response(talk, record)
    elif _is_stream(record):
        fields = _add_response(talk, _from_stream(record["stream"]))
    else:
        _add_messages(talk, [record])
    return talk.decoded(turns, **fields)


def _record_fields(record: dict[str, Any]) -> dict[str, Any]:
    """What a record says beside its messages."""
    fields: dict[str, Any] = {}
    if record.get("id") is not None:
        fields["id"] = str(record["id"])
    elif "task_id" in record:  # tau-bench: one task, several trials
        fields["id"] = (
            f"task-{record['task_id']}-trial-{record['trial']}" if "trial" in record else f"task-{record['task_id']}"
        )
    for name in ("ground_truth", "expected_trajectory", "expected_tool_calls"):
        if record.get(name) is not None:
            fields[name] = record[name]
    for name in ("context", "metadata"):
        if isinstance(record.get(name), dict):
            fields[name] = record[name]
    for name in ("thread_id", "trace_id", "model"):
        if isinstance(record.get(name), str):
            fields[name] = record[name]
    expected = record.get("expected")
    if isinstance(expected, dict) and isinstance(expected.get("tool_calls"), list):
        fields.setdefault("expected_tool_calls", _expected_calls(expected["tool_calls"]))
    if "traj" in record:
        fields.update(_tau_fields(record))
    return fields | _measured_fields(record)


def _expected_calls(calls: list[Any]) -> list[Any]:
    """Expected calls as `{name, args}`, from entries that say `arguments` or `kwargs`."""
    named = []
    for call in calls:
        args = (
            next((call[key] for key in ("args", "arguments", "kwargs") if key in call), None)
            if isinstance(call, dict)
            else None
        )
        named.append(call if args is None else {"name": call.get("name"), "args": arguments(args)[0]})
    return named


def _tau_fields(record: dict[str, Any]) -> dict[str, Any]:
    """Reward and gold actions of a tau-bench run."""
    info = record.get("info")
    task = info.get("task") if isinstance(info, dict) else None
    metadata: dict[str, Any] = {key: record[key] for key in ("task_id", "trial", "reward") if key in record}
    fields: dict[str, Any] = {"metadata": metadata}
    if isinstance(task, dict):
        if isinstance(task.get("actions"), list):
            fields["expected_tool_calls"] = _expected_calls(task["actions"])
        if task.get("instruction"):
            metadata["instruction"] = task["instruction"]
    return fields


def _measured_fields(record: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if isinstance(record.get("usage"), dict):
        fields["usage"] = _usage(record["usage"])
    for ours, names in (("duration_ms", ("duration_ms", "latency_ms")), ("cost", ("cost", "cost_usd"))):
        for name in names:
            value = record.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                fields.setdefault(ours, float(value))
    return fields


def _usage(usage: dict[str, Any]) -> Usage:
    def number(name: str) -> int | None:
        return usage[name] if type(usage.get(name)) is int else None

    return Usage(number("prompt_tokens"), number("completion_tokens"), number("total_tokens"))


def _add_pair(talk: Conversation, record: dict[str, Any]) -> dict[str, Any]:
    """A recorded request and its response: the request's messages and what came back."""
    _add_messages(talk, record["request"]["messages"])
    fields = {key: value for key, value in _record_fields(record).items() if key not in ("usage",)}
    response = record["response"]
    if isinstance(response, str):
        response = _from_stream(response) if response.lstrip().startswith("data:") else response
    if isinstance(response, dict) and _is_completion(response):
        fields.update(_add_response(talk, response) | {key: fields[key] for key in ("id",) if key in fields})
        return fields
    problem = _error_text(response)
    if problem is not None:
        talk.warn("the request failed", f"the request failed: {problem}")
        fields["metadata"] = {**fields.get("metadata", {}), "error": problem}
        _add_failed_generation(talk, response)
    else:
        talk.warn("response not understood", "the response holds no choices")
    model = record["request"].get("model")
    if isinstance(model, str):
        fields.setdefault("model", model)
    return fields


def _error_text(response: Any) -> str | None:
    if not isinstance(response, dict):
        return None
    error = response.get("error", response.get("message"))
    if isinstance(error, dict):
        error = error.get("message") or error.get("code")
    return str(error) if error else None


def _add_failed_generation(talk: Conversation, response: dict[str, Any]) -> None:
    """A call that the server refused lives on as text in the error: kept as an opaque part, for it was not issued."""
    error = response.get("error")
    failed = error.get("failed_generation") if isinstance(error, dict) else None
    if failed:
        talk.message("assistant", [Opaque("failed_generation", failed)])


def _from_stream(text: str) -> Any:
    """A server-sent event stream as one completion."""
    chunks = []
    for match in re.finditer(r"^data:[ ]?(.*)$", text, re.MULTILINE):
        data = match.group(1).strip()
        if data and data != "[DONE]":
            try:
                chunks.append(decode_json(data))
            except (msgspec.DecodeError, RecursionError):
                raise ReadError("an event of the stream is no JSON", field="response") from None
    return joined_chunks([chunk for chunk in chunks if isinstance(chunk, dict)])


def joined_chunks(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The chunks of a stream as the completion they add up to.

    Example:
        >>> joined_chunks([{"choices": [{"delta": {"content": "Hel"}}]}, {"choices": [{"delta": {"content": "lo"}}]}])["choices"]
        [{'message': {'role': 'assistant', 'content': 'Hello'}}]
    """
    whole: dict[str, Any] = {
        key: value for chunk in chunks for key, value in chunk.items() if key != "choices" and value is not None
    }
    message: dict[str, Any] = {"role": "assistant"}
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for choice in chunk.get("choices") or ():
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                delta = choice.get("delta")
                if isinstance(delta, dict):
                    _add_delta(delta, message, calls)
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    whole["choices"] = [{"message": message}]
    return whole


def _add_delta(delta: dict[str, Any], message: dict[str, Any], calls: dict[int, dict[str, Any]]) -> None:
    for key in ("content", "reasoning", "reasoning_content", "refusal"):
        if isinstance(delta.get(key), str):
            message[key] = message.get(key, "") + delta[key]
    for position, part in enumerate(delta.get("tool_calls") or ()):
        index = part.get("index", len(calls) if part.get("id") else position)
        call = calls.setdefault(index, {"function": {"name": "", "arguments": ""}})
        if part.get("id"):
            call["id"] = part["id"]
        function = part.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""


def _add_response(talk: Conversation, response: dict[str, Any]) -> dict[str, Any]:
    choices = response["choices"]
    first = choices[0] if choices else {}
    if isinstance(first, dict) and "delta" in first and "message" not in first:
        first = joined_chunks([response])["choices"][0]
    if isinstance(first, dict) and isinstance(first.get("message"), dict):
        _add_message(talk, {"role": "assistant", **first["message"]})
    fields: dict[str, Any] = {}
    if len(choices) > 1:
        talk.warn("several choices", f"the response holds {len(choices)} choices; the first one is the answer")
    if isinstance(first, dict) and first.get("finish_reason") not in (None, "stop", "tool_calls", "function_call"):
        fields["metadata"] = {"finish_reason": first["finish_reason"]}
    if isinstance(response.get("model"), str):
        fields["model"] = response["model"]
    if response.get("id"):
        fields["id"] = str(response["id"])
    return fields | _measured_fields(response)


def _add_messages(talk: Conversation, messages: list[Any]) -> None:
    for message in messages:
        if isinstance(message, dict):
            _add_message(talk, message)
        else:
            talk.drop("null" if message is None else type(message).__name__)


def _add_message(talk: Conversation, message: dict[str, Any]) -> None:
    role = _ROLES.get(message.get("role")) if isinstance(message.get("role"), str) else None
    if role is None:
        talk.drop(f"message of role {message.get('role')!r}")
    elif role == "tool":
        talk.tool_message()
        name = message.get("name")
        content = message.get("content")
        if isinstance(content, list):
            content = _plain_content(content)
        talk.result(
            message.get("tool_call_id") or None, json_result(content), name=name if isinstance(name, str) else None
        )
    else:
        name = message.get("name")
        talk.message(role, _parts(message), name=name if isinstance(name, str) else None, id=message.get("id") or None)


def _plain_content(content: list[Any]) -> Any:
    """The text of a tool's content parts, or the parts themselves when some are no text."""
    texts = [
        part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None for part in content
    ]
    return "\n".join(texts) if all(isinstance(text, str) for text in texts) else content  # type: ignore[arg-type]


def _parts(message: dict[str, Any]) -> list[Part]:
    parts: list[Part] = []
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str) and message[key]:
            parts.append(Reasoning(message[key]))
            break
    content = message.get("content")
    if isinstance(content, str):
        if content:
            parts.append(Text(content))
    elif isinstance(content, list):
        for part in content:
            _add_part(part, parts)
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        parts.append(Opaque("refusal", message["refusal"]))
    parts += [
        _call(call) if isinstance(call, dict) else Opaque("tool_call", call) for call in message.get("tool_calls") or ()
    ]
    if isinstance(message.get("function_call"), dict):
        parts.append(_call({"function": message["function_call"]}))
    return parts


def _add_part(part: Any, parts: list[Part]) -> None:
    if isinstance(part, str):
        parts.append(Text(part))
        return
    kind = part.get("type") if isinstance(part, dict) else None
    if (
        kind in ("text", "input_text", "output_text", None)
        and isinstance(part, dict)
        and isinstance(part.get("text"), str)
    ):
        parts.append(Text(part["text"]))
    elif kind == "thinking":  # Mistral
        thoughts = part.get("thinking")
        texts = (
            [thought.get("text", "") for thought in thoughts if isinstance(thought, dict)]
            if isinstance(thoughts, list)
            else [str(thoughts)]
        )
        parts.append(Reasoning("\n".join(texts)))
    elif kind == "image_url":
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        parts.append(File("image", url=url if isinstance(url, str) else None))
    elif kind == "input_audio" and isinstance(part.get("input_audio"), dict):
        audio = part["input_audio"]
        parts.append(File(f"audio/{audio.get('format', '*')}", data=audio.get("data")))
    elif kind == "file" and isinstance(part.get("file"), dict):
        file = part["file"]
        parts.append(File(name=file.get("filename"), data=file.get("file_data"), url=file.get("file_id")))
    else:
        parts.append(Opaque(str(kind), part))


def _call(call: dict[str, Any]) -> ToolCall:
    """A call in either spelling: `{function: {name, arguments}}`, or a custom tool's `{custom: {name, input}}`."""
    function = call.get("function")
    if not isinstance(function, dict):
        custom = call.get("custom")
        if isinstance(custom, dict):
            return ToolCall(name=str(custom.get("name") or ""), args=custom.get("input"), id=call.get("id") or None)
        function = call
    args, invalid = arguments(function.get("arguments", function.get("args")))
    name = function.get("name")
    return ToolCall(
        name=name if isinstance(name, str) else "", args=args, id=call.get("id") or None, args_invalid=invalid
    )


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: str


class _Call(msgspec.Struct, gc=False):
    function: _Function
    id: str | None = None


class _Message(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    role: str
    content: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _ExpectedCall(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: Any


class _Expected(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    tool_calls: list[_ExpectedCall] | None = None


class _Tokens(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None


class _Record(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The plain record, which most files hold: decoded straight into these types, many times faster than the rest."""

    messages: list[_Message]
    id: str | None = None
    model: str | None = None
    created: Any = None
    usage: _Tokens | None = None
    expected: _Expected | None = None
    ground_truth: Any = None
    expected_tool_calls: Any = None


_decode_record = msgspec.json.Decoder(_Record).decode


def decode_line(line: bytes, turns: Turns = "all") -> Decoded | None:
    """Read a line of the plain record form; `None` when it is not exactly that, for `decode` to look at."""
    try:
        record = _decode_record(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    talk = _plain_talk(record.messages)
    if talk is None:
        return None
    fields: dict[str, Any] = {}
    for name in ("id", "model", "ground_truth", "expected_tool_calls"):
        value = getattr(record, name)
        if value is not None:
            fields[name] = value
    if record.expected is not None and record.expected.tool_calls is not None and record.expected_tool_calls is None:
        fields["expected_tool_calls"] = [
            {"name": call.name, "args": call.arguments} for call in record.expected.tool_calls
        ]
    if record.usage is not None:
        fields["usage"] = Usage(record.usage.prompt_tokens, record.usage.completion_tokens, record.usage.total_tokens)
    return talk.decoded(turns, **fields)


def _plain_talk(messages: list[_Message]) -> Conversation | None:
    """The conversation of plain messages, or `None` when a result needs more than its id to be joined.

    It goes from the last message to the first, so that a call finds its result already there and is made once.
    """
    talk = Conversation()
    counts = talk.counts
    results: dict[str, str | None] = {}
    kept: list[Message] = []
    for message in reversed(messages):
        role = _ROLES.get(message.role)
        if role == "tool":
            if not message.tool_call_id or message.tool_call_id in results:
                return None
            results[message.tool_call_id] = message.content
            counts.results_received += 1
            continue
        if role is None:
            return None
        parts: list[Part] = []
        for call in reversed(message.tool_calls or ()):
            counts.tool_calls_received += 1
            try:
                args = decode_json(call.function.arguments)
            except (msgspec.DecodeError, RecursionError):
                return None
            if call.id and call.id in results:
                parts.append(ToolCall(call.function.name, args, call.id, "result", json_result(results.pop(call.id))))
            else:
                parts.append(ToolCall(call.function.name, args, call.id or None))
        if message.content:
            parts.append(Text(message.content))
        if len(parts) > 1:
            parts.reverse()
        kept.append(Message(role, parts))
    if results:
        return None
    kept.reverse()
    talk.messages = kept
    counts.messages_received = counts.messages_kept = len(messages)
    counts.tool_calls_kept = counts.tool_calls_received
    counts.results_kept = counts.results_received
    return talk
