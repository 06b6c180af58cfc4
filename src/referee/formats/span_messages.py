"""Messages as they stand inside spans, in whatever spelling the instrumentation wrote them.

A span repeats its framework's own messages: GenAI parts, OpenAI chat messages and items, LangChain messages, Gemini
contents, AI SDK and Anthropic parts, and mixtures of them. One tolerant reader takes them all. A tool's result
stands as a `ToolResult` in its message; `feed` joins it to its call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from referee.formats.conversation import Conversation, arguments, check_length, json_result
from referee.formats.fields import as_text, joined_texts, mapping, objects, sequence, text, type_name
from referee.formats.python_literal import python_literal
from referee.jsonvalue import decode
from referee.messages import File, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult

_ROLES: dict[Any, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
#: The class of a LangChain message, where only the class tells its role.
_CLASSES: dict[str, Role] = {
    "SystemMessage": "system",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
#: How often text is decoded that holds JSON text that holds JSON text.
_DEEPEST_TEXT = 4


def structured(value: Any) -> Any:
    """The object or list that a text holds, as JSON or as Python's own text; any other value as it is.

    Example:
        >>> structured('{"city": "Ghent"}'), structured("{'city': 'Ghent'}"), structured("[draft]"), structured("7")
        ({'city': 'Ghent'}, {'city': 'Ghent'}, '[draft]', '7')
    """
    if isinstance(value, str) and value[:1] in ("{", "["):
        decoded = json_result(value)
        return python_literal(value) if isinstance(decoded, str) else decoded
    return value


def unwrapped(value: Any) -> Any:
    """What is inside JSON in JSON text in JSON text.

    Example:
        >>> unwrapped('"{\\\\"city\\\\": \\\\"Ghent\\\\"}"'), unwrapped('"Hello"'), unwrapped("Hello")
        ({'city': 'Ghent'}, 'Hello', 'Hello')
    """
    for _ in range(_DEEPEST_TEXT):
        if not isinstance(value, str) or value[:1] not in ('"', "{", "["):
            break
        try:
            value = decode(value)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return structured(value)
    return value


def messages_of(value: Any, default: Role = "user") -> list[Message]:
    """The messages that a value holds: a list of them, one of them, or plain text by the default role.

    A list in the list is one prompt of a batch (LangChain); its messages are taken like the others.

    Example:
        >>> messages_of([{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}])[0].text
        'Weather?'
        >>> messages_of({"type": "ai", "data": {"content": "Sunny."}})[0].role
        'assistant'
    """
    found: list[Message] = []
    for item in value if isinstance(value, list) else [value]:
        check_length(item if isinstance(item, list) else found)
        for raw in item if isinstance(item, list) else [item]:
            if isinstance(raw, dict):
                _add_message(raw, default, found)
            elif isinstance(raw, str):
                if raw:
                    found.append(Message(default, [Text(raw)]))
            elif raw is not None:
                found.append(Message("tool", [Opaque(type_name(raw), raw)]))
    return found


def feed(talk: Conversation, message: Message, name: str | None = None) -> None:
    """Add a message to a conversation: its words and calls as a message, its results to their calls.

    Args:
        talk: The conversation.
        message: The message, as `messages_of` gives it.
        name: Who speaks, where the message does not say.
    """
    results = [part for part in message.parts if type(part) is ToolResult]
    words = [part for part in message.parts if type(part) is not ToolResult] if results else message.parts
    if words or not results:
        talk.message(message.role, words, id=message.id, name=message.name or name, created_at=message.created_at)
    else:
        talk.tool_message()
    feed_results(talk, results)


def feed_results(talk: Conversation, results: list[ToolResult]) -> None:
    """Add results to a conversation, which joins them to their calls."""
    for result in results:
        error = result.result if result.is_error and isinstance(result.result, str) else None
        talk.result(result.id, result.result, name=result.name, is_error=result.is_error, error=error)


def _add_message(raw: dict[str, Any], default: Role, found: list[Message]) -> None:
    kind = raw.get("type")
    item = _ITEMS.get(kind) if isinstance(kind, str) else None
    if item is not None:
        item(raw, found)
        return
    message, role = _opened(raw)
    if role is None:
        named = message.get("role")
        if named is not None:
            found.append(Message("tool", [Opaque(f"message of role {named}", raw)]))
            return
        role = default
    content = message.get("parts", message.get("content"))
    if role == "tool" and _is_result(content):
        found.append(Message("tool", [_result_of(message)]))
        return
    parts: list[Part] = []
    if "reasoning_content" in message and text(message, "reasoning_content"):
        parts.append(Reasoning(message["reasoning_content"]))
    if isinstance(content, list):
        check_length(content, "a message of more than {most:,} parts")
        for part in content:
            _add_part(part, parts)
    else:
        _add_part(content, parts)
    if not _BESIDE.isdisjoint(message):
        _add_calls(message, parts)
    name = text(message, "name") if "name" in message and role != "tool" else None
    _append(found, role, parts, name, text(message, "id") if "id" in message else None)


def _opened(raw: dict[str, Any]) -> tuple[dict[str, Any], Role | None]:
    """A message without LangChain's wrappings, and its role."""
    message = raw
    if "content" not in raw and "parts" not in raw:
        for key in ("kwargs", "data", "message"):
            if isinstance(message.get(key), dict) and "content" not in message and "parts" not in message:
                message = {"type": message.get("type"), **message[key]}
    named = message.get("role")
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None and "role" not in message:
        kind = message.get("type")
        role = _ROLES.get(kind) if isinstance(kind, str) else None
        names = sequence(raw.get("id"))
        if role is None and names and isinstance(names[-1], str):
            role = _CLASSES.get(names[-1])
    return message, role


#: Where calls stand beside a message's content.
_BESIDE = frozenset({"tool_calls", "additional_kwargs", "invalid_tool_calls", "function_call"})


def _append(found: list[Message], role: Role, parts: list[Part], name: str | None, id: str | None) -> None:
    """Add a message; one that holds nothing but results is a tool's, whoever is named as its speaker."""
    if parts and type(parts[0]) is ToolResult and all(type(part) is ToolResult for part in parts):
        role = "tool"
    found.append(Message(role, parts, id, name))


def _is_result(content: Any) -> bool:
    """Whether the content of a tool's message is one result as a whole, and not a list of parts that are results."""
    return not (isinstance(content, list) and any(part.get("type") in _PARTS for part in objects(content)))


def _result_of(message: dict[str, Any]) -> ToolResult:
    content = message.get("content")
    return ToolResult(
        structured(joined_texts(content)),
        text(message, "tool_call_id", "id"),
        text(message, "name", "function"),
        message.get("status") == "error",
    )


def _add_calls(message: dict[str, Any], parts: list[Part]) -> None:
    """The calls that stand beside a message's content."""
    calls = sequence(message.get("tool_calls"))
    extra = mapping(message.get("additional_kwargs"))
    calls = [*(calls or sequence(extra.get("tool_calls"))), *sequence(message.get("invalid_tool_calls"))]
    parts += [call_of(call) if isinstance(call, dict) else Opaque("tool_call", call) for call in calls]
    function = message.get("function_call")
    if isinstance(function, dict) and function.get("name"):
        parts.append(call_of(function))


def call_of(call: dict[str, Any]) -> ToolCall:
    """A call in any spelling: `{function: {name, arguments}}`, `{name, args}`, `{toolName, input}`.

    Example:
        >>> call_of({"id": "c1", "function": {"name": "book", "arguments": '{"seat": 4}'}})
        ToolCall(name='book', args={'seat': 4}, id='c1', state='call', result=None, error=None, is_error=False, args_invalid=False, agent_path=(), duration_ms=None)
    """
    function = call.get("function")
    called = function if isinstance(function, str) else None  # Inspect names the tool there
    if not isinstance(function, dict):
        function = call
    given = None
    for key in ("arguments", "args", "input"):
        if key in function:
            given = function[key]
            break
    args, invalid = arguments(given)
    if invalid and not isinstance(read := python_literal(args), str):
        args, invalid = read, False
    return ToolCall(
        called or text(function, "name", "toolName") or "",
        args,
        text(call, "id", "call_id", "toolCallId"),
        args_invalid=invalid,
    )


def _add_part(part: Any, parts: list[Part]) -> None:
    if isinstance(part, dict):
        kind = part.get("type")
        read = _PARTS.get(kind) if isinstance(kind, str) else _untyped(part)
        made = read(part) if read else Opaque(str(kind), part)
        if made is not None:
            parts.append(made)
    elif isinstance(part, str):
        if part:
            parts.append(Text(part))
    elif part is not None:
        parts.append(Opaque(type_name(part), part))


def _untyped(part: dict[str, Any]) -> Callable[[dict[str, Any]], Part | None] | None:
    """How to read a part without a type: Gemini's, where one field is set and the others may be null."""
    if part.get("thought") is True and isinstance(part.get("text"), str):
        return _reasoning
    for names, read in _GEMINI:
        if any(part.get(name) is not None for name in names):
            return read
    return None


def _text(part: dict[str, Any]) -> Part | None:
    content = part.get("text", part.get("content"))
    if isinstance(content, str):
        return Text(content) if content else None
    return None if content is None else as_text(content)


def _reasoning(part: dict[str, Any]) -> Part | None:
    content = next(
        (part[key] for key in ("content", "thinking", "text", "summary", "reasoning") if part.get(key)), None
    )
    content = joined_texts(content)
    return Reasoning(content) if isinstance(content, str) else None if content is None else Opaque("reasoning", part)


def _file(part: dict[str, Any]) -> Part:
    source = next(
        (part[key] for key in ("image_url", "image", "source", "inline_data", "file_data", "file") if part.get(key)),
        part,
    )
    if isinstance(source, str):
        source = {"url": source}
    source = mapping(source)
    return File(
        text(source, "mime_type", "media_type", "mediaType") or text(part, "mime_type", "media_type", "modality"),
        text(source, "filename", "display_name", "name"),
        text(source, "uri", "url", "file_uri", "file_id"),
        text(source, "data", "content", "file_data"),
    )


def _call(part: dict[str, Any]) -> Part:
    # A server-side tool keeps its arguments in an object of its own; Gemini's call is one field of the part.
    inner = mapping(part.get("function_call") or part.get("functionCall") or part.get("server_tool_call"))
    if not inner and "server_tool_call" not in part:
        return call_of(part)
    call = {**part, **inner}
    call.pop("function_call", None)
    return call_of({"name": text(part, "name"), "arguments": inner} if "server_tool_call" in part else call)


def _result(part: dict[str, Any]) -> ToolResult:
    inner = mapping(part.get("function_response") or part.get("functionResponse")) or part
    value = None
    for key in ("response", "result", "output", "content", "server_tool_call_response"):
        if key in inner:
            value = inner[key]
            break
    failed = inner.get("is_error") is True or inner.get("isError") is True
    if isinstance(value, dict) and value.keys() == {"type", "value"} and isinstance(value["type"], str):  # AI SDK v5
        failed = failed or value["type"].startswith("error")
        value = value["value"]
    return ToolResult(
        structured(joined_texts(value)),
        text(inner, "id", "tool_call_id", "toolCallId", "tool_use_id", "call_id"),
        text(inner, "name", "toolName"),
        failed,
    )


_PARTS: dict[str, Callable[[dict[str, Any]], Part | None]] = {
    **dict.fromkeys(("text", "input_text", "output_text"), _text),
    **dict.fromkeys(("thinking", "reasoning"), _reasoning),
    **dict.fromkeys(("tool_call", "server_tool_call", "tool-call", "tool_use", "server_tool_use"), _call),
    **dict.fromkeys(("tool_call_response", "server_tool_call_response", "tool-result", "tool_result"), _result),
    **dict.fromkeys(("uri", "blob", "file", "binary", "image", "image_url", "input_image", "audio", "document"), _file),
    **dict.fromkeys(("image-url", "audio-url", "video-url", "document-url"), _file),
}
_GEMINI: tuple[tuple[tuple[str, ...], Callable[[dict[str, Any]], Part | None]], ...] = (
    (("function_call", "functionCall"), _call),
    (("function_response", "functionResponse"), _result),
    (("text",), _text),
    (("inline_data", "file_data"), _file),
    (("content",), _text),
)


def _call_item(item: dict[str, Any], found: list[Message]) -> None:
    found.append(Message("assistant", [call_of(item)]))


def _result_item(item: dict[str, Any], found: list[Message]) -> None:
    found.append(Message("tool", [_result(item)]))


def _reasoning_item(item: dict[str, Any], found: list[Message]) -> None:
    part = _reasoning(item)
    if part is not None:
        found.append(Message("assistant", [part]))


#: Items that are no messages but stand in a row with them (OpenAI Responses).
_ITEMS: dict[str, Callable[[dict[str, Any], list[Message]], None]] = {
    "function_call": _call_item,
    "function_call_output": _result_item,
    "reasoning": _reasoning_item,
}
