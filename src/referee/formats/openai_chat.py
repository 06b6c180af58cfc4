"""OpenAI chat messages: bare lists, `{messages: [...]}` records, request/response pairs, streams, tau-bench runs.

Also what OpenAI-compatible servers make of them (Mistral, Groq, Gemini): empty ids, no `content`, no `type`, a failed
call whose text stands in an error.
"""

from __future__ import annotations

from typing import Any

import msgspec

from referee.formats.conversation import Conversation, arguments, json_result
from referee.formats.decoded import Decoded, Turns
from referee.formats.exchange import address, is_exchange, no_answer, streamed
from referee.formats.fields import joined_texts, mapping, objects, role_of, sequence, text, type_name
from referee.formats.openai_chat_lines import decode_line
from referee.formats.record import expected_calls, run_fields
from referee.formats.streams import events, is_stream, stream_of
from referee.messages import File, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from referee.runs import Run

__all__ = ["NAME", "TITLE", "add_message", "decode", "decode_line", "detect", "encode", "joined_chunks"]

NAME = "openai_chat"
TITLE = "OpenAI chat messages"

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
#: Where a record keeps its messages.
_MESSAGE_KEYS = ("messages", "traj")
#: How an answer ends that is not cut short.
_FINISHED = (None, "stop", "tool_calls", "function_call", "eos", "end_turn")
_STREAM_MARK = '"choices"'
_TEXTS = ("text", "input_text", "output_text")


def detect(record: Any) -> bool:
    """Whether a record looks like OpenAI chat messages."""
    if isinstance(record, list):
        return bool(record) and _is_talk(record)
    if not isinstance(record, dict):
        return False
    if any(isinstance(record.get(key), list) and _is_talk(record[key]) for key in _MESSAGE_KEYS):
        return True
    if is_exchange(record, "messages"):
        return _is_pair(record)
    if _is_completion(record) or _is_message(record):
        return True
    stream = stream_of(record)
    return stream is not None and _STREAM_MARK in stream and '"delta"' in stream


def _is_talk(messages: list[Any]) -> bool:
    """Whether these are messages, perhaps with something else between them, which is reported when it is read."""
    found = objects(messages)
    return all(map(_is_message, found)) and (bool(found) or not messages)


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or role_of(message, _ROLES) is None:
        return False
    content = message.get("content")
    if content is None:
        return "parts" not in message
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(part, (dict, str)) for part in content)
    )


def _is_pair(record: dict[str, Any]) -> bool:
    """Whether an exchange of messages is one of this API: by its answer, else by nothing that speaks of another's."""
    response = record["response"]
    if _is_completion(response) or streamed(record, _STREAM_MARK):
        return True
    other = mapping(response).get("type") in ("message", "error") or streamed(record, '"message_start"')
    return not other and "system" not in record["request"] and "/messages" not in address(record)


def _is_completion(record: Any) -> bool:
    choices = record.get("choices") if isinstance(record, dict) else None
    return isinstance(choices, list) and all(
        isinstance(choice, dict) and ("message" in choice or "delta" in choice) for choice in choices
    )


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above."""
    talk = Conversation()
    fields: dict[str, Any] = {}
    stream = stream_of(record)
    if not isinstance(record, dict):
        _add_messages(talk, record if isinstance(record, list) else [record])
    elif is_exchange(record, "messages"):
        fields = _add_pair(talk, record)
    elif any(isinstance(record.get(key), list) for key in _MESSAGE_KEYS):
        _add_messages(talk, next(record[key] for key in _MESSAGE_KEYS if isinstance(record.get(key), list)))
        fields = run_fields(record) | _tau_fields(record)
    elif _is_completion(record):
        fields = _add_response(talk, record)
    elif stream is not None:
        fields = _add_response(talk, _from_stream(talk, stream))
    else:
        _add_messages(talk, [record])
    return talk.decoded(turns, **fields)


def _tau_fields(record: dict[str, Any]) -> dict[str, Any]:
    """Task, trial, reward and gold actions of a tau-bench run."""
    if "traj" not in record:
        return {}
    metadata: dict[str, Any] = {key: record[key] for key in ("task_id", "trial", "reward") if key in record}
    fields: dict[str, Any] = {"metadata": metadata}
    if "task_id" in record and not record.get("id"):  # one task, several trials
        trial = f"-trial-{record['trial']}" if "trial" in record else ""
        fields["id"] = f"task-{record['task_id']}{trial}"
    task = mapping(mapping(record.get("info")).get("task"))
    if isinstance(task.get("actions"), list):
        fields["expected_tool_calls"] = expected_calls(task["actions"])
    if task.get("instruction"):
        metadata["instruction"] = task["instruction"]
    return fields


def _add_pair(talk: Conversation, record: dict[str, Any]) -> dict[str, Any]:
    """A recorded request and its response: the request's messages and what came back."""
    _add_messages(talk, sequence(record["request"]["messages"]))
    fields = run_fields(record)
    response = record["response"]
    if is_stream(response) and _STREAM_MARK in response:
        response = _from_stream(talk, response)
    if _is_completion(response):
        return _add_response(talk, response) | fields
    _add_failed_generation(talk, response)
    model = text(record["request"], "model")
    return fields | no_answer(talk, response) | ({"model": model} if model else {})


def _add_failed_generation(talk: Conversation, response: Any) -> None:
    """A call that the server refused lives on as text in the error: kept as an opaque part, for it was not issued."""
    failed = mapping(mapping(response).get("error")).get("failed_generation")
    if failed:
        talk.message("assistant", [Opaque("failed_generation", failed)])


def _from_stream(talk: Conversation, stream: str) -> dict[str, Any]:
    """A server-sent event stream as one completion."""
    chunks, cut = events(stream)
    if cut:
        talk.warn("the stream is cut", "the stream ends in the middle of an event")
    return joined_chunks(chunks)


def joined_chunks(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """The chunks of a stream as the completion they add up to.

    Example:
        >>> joined_chunks([{"choices": [{"delta": {"content": "Hel"}}]}, {"choices": [{"delta": {"content": "lo"}}]}])["choices"]
        [{'message': {'role': 'assistant', 'content': 'Hello'}}]
    """
    whole = {key: value for chunk in chunks for key, value in chunk.items() if key != "choices" and value is not None}
    texts: dict[str, list[str]] = {}
    calls: dict[Any, dict[str, Any]] = {}
    reason: dict[str, Any] = {}
    for chunk in chunks:
        for choice in objects(chunk.get("choices")):
            if choice.get("index", 0) == 0:
                _add_delta(mapping(choice.get("delta")), texts, calls)
                if choice.get("finish_reason") is not None:
                    reason = {"finish_reason": choice["finish_reason"]}
    message: dict[str, Any] = {"role": "assistant", **{key: "".join(pieces) for key, pieces in texts.items()}}
    if calls:
        message["tool_calls"] = [
            {"id": call["id"], "function": {"name": "".join(call["name"]), "arguments": "".join(call["arguments"])}}
            for call in calls.values()
        ]
    whole["choices"] = [{"message": message, **reason}]
    return whole


def _add_delta(delta: dict[str, Any], texts: dict[str, list[str]], calls: dict[Any, dict[str, Any]]) -> None:
    for key in ("content", "reasoning", "reasoning_content", "refusal"):
        if isinstance(delta.get(key), str):
            texts.setdefault(key, []).append(delta[key])
    for position, piece in enumerate(objects(delta.get("tool_calls"))):
        index = piece.get("index")
        if type(index) is not int:  # some servers send each call whole
            index = f"call {len(calls)}" if piece.get("id") else position
        call = calls.setdefault(index, {"id": None, "name": [], "arguments": []})
        call["id"] = call["id"] or piece.get("id")
        function = mapping(piece.get("function"))
        call["name"].append(text(function, "name") or "")
        call["arguments"].append(text(function, "arguments") or "")


def _add_response(talk: Conversation, response: dict[str, Any]) -> dict[str, Any]:
    choices = response["choices"]
    first = choices[0] if choices else {}
    if "delta" in first and "message" not in first:
        first = joined_chunks([response])["choices"][0]
    if isinstance(first.get("message"), dict):
        add_message(talk, {"role": "assistant", **first["message"]})
    if len(choices) > 1:
        talk.warn("several choices", f"the response holds {len(choices)} choices; the first one is the answer")
    fields = run_fields({name: response.get(name) for name in ("id", "model", "usage")})
    if isinstance(first.get("finish_reason"), str) and first["finish_reason"] not in _FINISHED:
        fields["metadata"] = {"finish_reason": first["finish_reason"]}
    return fields


def _add_messages(talk: Conversation, messages: list[Any]) -> None:
    for message in messages:
        if isinstance(message, dict):
            add_message(talk, message)
        else:
            talk.drop(type_name(message))


def add_message(talk: Conversation, message: dict[str, Any], *, speaker: str | None = None) -> None:
    """Add one message.

    Args:
        talk: The conversation.
        message: The message; one of a role that is not known is dropped and counted.
        speaker: The name of the agent whose messages these are, where the record says it elsewhere.
    """
    role = role_of(message, _ROLES)
    name = text(message, "name")
    if role is None:
        talk.drop(f"message of role {message.get('role')!r}")
    elif role == "tool":
        talk.tool_message()
        talk.result(text(message, "tool_call_id"), json_result(joined_texts(message.get("content"))), name=name)
    else:
        if role == "assistant" and speaker is not None:
            name = speaker
        talk.message(role, _parts(message), name=name, id=text(message, "id"))


def _parts(message: dict[str, Any]) -> list[Part]:
    parts: list[Part] = []
    thought = text(message, "reasoning_content", "reasoning")
    if thought is not None:
        parts.append(Reasoning(thought))
    content = message.get("content")
    if isinstance(content, str):
        if content:
            parts.append(Text(content))
    else:
        parts += map(_part, sequence(content))
    refusal = text(message, "refusal")
    if refusal is not None:
        parts.append(Opaque("refusal", refusal))
    for call in sequence(message.get("tool_calls")):
        parts.append(_call(call) if isinstance(call, dict) else Opaque("tool_call", call))
    if isinstance(message.get("function_call"), dict):
        parts.append(_call({"function": message["function_call"]}))
    return parts


def _part(part: Any) -> Part:
    if isinstance(part, str):
        return Text(part)
    if not isinstance(part, dict):
        return Opaque(type_name(part), part)
    kind = part.get("type")
    if kind is None or kind in _TEXTS:
        if isinstance(part.get("text"), str):
            return Text(part["text"])
    elif kind == "thinking":  # Mistral
        thoughts = part.get("thinking")
        said = "\n".join(text(thought, "text") or "" for thought in objects(thoughts))
        return Reasoning(thoughts if isinstance(thoughts, str) else said)
    elif kind == "image_url":
        image = part.get("image_url")
        return File("image", url=image if isinstance(image, str) else text(mapping(image), "url"))
    elif kind == "input_audio":
        audio = mapping(part.get("input_audio"))
        return File(f"audio/{text(audio, 'format') or '*'}", data=text(audio, "data"))
    elif kind == "file":
        file = mapping(part.get("file"))
        return File(name=text(file, "filename"), data=text(file, "file_data"), url=text(file, "file_id"))
    return Opaque(str(kind), part)


def _call(call: dict[str, Any]) -> ToolCall:
    """A call in either spelling: `{function: {name, arguments}}`, or a custom tool's `{custom: {name, input}}`."""
    function = mapping(call.get("function")) or mapping(call.get("custom")) or call
    given = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    args, invalid = arguments(given)
    return ToolCall(text(function, "name") or "", args, text(call, "id"), args_invalid=invalid)


def encode(run: Run) -> bytes:
    """One run as a JSON line of chat messages, without the line's end: `{id, messages, ...}`.

    The messages are one conversation: what was history and what was this turn's input is not told apart. A failed
    call's result is its error text; the failure itself, unfinished calls and how long tools took have no place in it.

    Example:
        >>> encode(Run(id="r1", input=[Message("user", [Text("Hi?")])], output=[Message("assistant", [Text("Hi.")])]))
        b'{"id":"r1","messages":[{"role":"user","content":"Hi?"},{"role":"assistant","content":"Hi."}]}'
    """
    messages = [
        encoded
        for section in (run.system, run.history, run.input, run.output)
        for message in section
        for encoded in _encoded(message)
    ]
    whole: dict[str, Any] = {"id": run.id or None, "messages": messages}
    for name in (
        "model",
        "ground_truth",
        "expected_tool_calls",
        "expected_trajectory",
        "context",
        "metadata",
        "thread_id",
        "trace_id",
        "started_at",
        "duration_ms",
        "cost",
    ):
        whole[name] = getattr(run, name)
    if run.usage is not None:
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        used = zip(names, msgspec.structs.astuple(run.usage), strict=True)
        whole["usage"] = {name: value for name, value in used if value is not None}
    return msgspec.json.encode({name: value for name, value in whole.items() if value is not None})


def _encoded(message: Message) -> list[dict[str, Any]]:
    """A message as one or more: in this format calls end a message, and their results follow it."""
    encoded: list[dict[str, Any]] = []
    parts: list[Part] = []
    calls: list[ToolCall] = []
    for part in message.parts:
        if type(part) is ToolResult:
            encoded.append(_tool_message(part.id, part.name, part.result))
        elif type(part) is ToolCall:
            calls.append(part)
        else:
            if calls:
                encoded += _spoken(message, parts, calls)
                parts, calls = [], []
            parts.append(part)
    if parts or calls or not message.parts:
        encoded += _spoken(message, parts, calls)
    return encoded


def _spoken(message: Message, parts: list[Part], calls: list[ToolCall]) -> list[dict[str, Any]]:
    content = [_encoded_part(part) for part in parts if type(part) not in (Reasoning, Opaque)]
    if len(content) == 1 and content[0]["type"] == "text":
        content = content[0]["text"]
    spoken: dict[str, Any] = {"role": message.role, "content": content or None}
    thoughts = "\n".join(part.text for part in parts if type(part) is Reasoning)
    if thoughts:
        spoken["reasoning_content"] = thoughts
    refusal = next((part.value for part in parts if type(part) is Opaque and part.kind == "refusal"), None)
    if refusal is not None:
        spoken["refusal"] = refusal
    for name in ("name", "id"):
        if getattr(message, name) is not None:
            spoken[name] = getattr(message, name)
    issued = [call for call in calls if call.called]
    if issued:
        spoken["tool_calls"] = [_encoded_call(call) for call in issued]
    answered = [call for call in issued if call.state != "call"]
    return [spoken, *(_tool_message(call.id, call.name, _outcome(call)) for call in answered)]


def _encoded_call(call: ToolCall) -> dict[str, Any]:
    args = call.args if call.args_invalid else msgspec.json.encode(call.args).decode()
    known = {"id": call.id} if call.id else {}
    return {**known, "type": "function", "function": {"name": call.name, "arguments": args}}


def _outcome(call: ToolCall) -> Any:
    return call.error if call.error is not None and call.result is None else call.result


def _tool_message(call_id: str | None, name: str | None, result: Any) -> dict[str, Any]:
    fields = {"tool_call_id": call_id, "name": name}
    content = result if isinstance(result, str) else msgspec.json.encode(result).decode()
    return {"role": "tool", **{key: value for key, value in fields.items() if value}, "content": content}


def _encoded_part(part: Part) -> dict[str, Any]:
    if type(part) is Text:
        return {"type": "text", "text": part.text}
    assert isinstance(part, File)
    media = part.media_type or ""
    if media.startswith("image"):
        url = part.url or f"data:{media};base64,{part.data}"
        return {"type": "image_url", "image_url": {"url": url}}
    if media.startswith("audio/") and part.data is not None:
        return {"type": "input_audio", "input_audio": {"format": media.removeprefix("audio/"), "data": part.data}}
    file = {"filename": part.name, "file_data": part.data, "file_id": part.url}
    return {"type": "file", "file": {name: value for name, value in file.items() if value is not None}}
