"""LangChain and LangGraph messages: `messages_to_dict`, `model_dump`, `dumpd` constructors, states, stream events.

Messages may stand in a list, under `messages`, or in a state's `values`. Live messages and states are read too.
"""

from __future__ import annotations

from typing import Any

from referee.formats.conversation import Conversation, arguments, json_result
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import joined_texts, mapping, objects, sequence, text, total, type_name
from referee.formats.live import plain
from referee.formats.record import run_fields, usage_of
from referee.messages import File, Opaque, Part, Reasoning, Role, Text, ToolCall
from referee.runs import Usage

NAME = "langchain"
TITLE = "LangChain and LangGraph messages"

_ROLES: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_KINDS = frozenset({*_ROLES, "chat", "remove"})
_FILES = frozenset({"image", "image_url", "file", "audio", "video", "text-plain"})
#: The modes of stream events, the one that tells most first.
_MODES = ("values", "updates", "messages")


def detect(record: Any) -> bool:
    """Whether a record looks like messages of LangChain, or holds them."""
    if isinstance(record, list):
        return bool(record) and (all(map(_is_message, record)) or all(map(_is_event, record)))
    if not isinstance(record, dict):
        return False
    if _is_message(record):
        return True
    messages = mapping(record.get("values", record)).get("messages")
    return isinstance(messages, list) and bool(messages) and all(map(_is_message, messages))


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict) or ("role" in item and item.get("type") != "chat"):
        return False
    if item.get("lc") == 1:
        return item.get("type") == "constructor" and _class_name(item).endswith(("Message", "MessageChunk"))
    kind = item.get("type")
    if not isinstance(kind, str) or not (kind in _KINDS or kind.endswith("MessageChunk")):
        return False
    return "content" in item or "content" in mapping(item.get("data"))


def _class_name(item: dict[str, Any]) -> str:
    path = item.get("id")
    return path[-1] if isinstance(path, list) and path and isinstance(path[-1], str) else ""


def _is_event(item: Any) -> bool:
    return isinstance(item, dict) and item.get("mode") in _MODES and isinstance(item.get("data"), (dict, list))


def record_of(obj: Any) -> Any:
    """The record that a live message, list of messages or state is; of a state, its messages alone."""
    if isinstance(obj, dict):
        return {"messages": plain(obj["messages"])}
    if hasattr(obj, "values") and hasattr(obj, "config"):  # a snapshot of a state
        values = {"messages": plain(obj.values.get("messages", []))}
        return {"values": values, "config": plain(obj.config), "created_at": plain(obj.created_at)}
    return plain(obj)


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above."""
    talk = Conversation()
    fields: dict[str, Any] = {}
    if isinstance(record, dict) and isinstance(record.get("values"), dict):
        messages = sequence(record["values"].get("messages"))
        configured = mapping(mapping(record.get("config")).get("configurable"))
        known = {"thread_id": text(configured, "thread_id"), "started_at": text(record, "created_at")}
        fields = {name: value for name, value in known.items() if value is not None}
    elif isinstance(record, dict) and isinstance(record.get("messages"), list):
        messages = record["messages"]
        fields = run_fields(record)
    elif isinstance(record, list):
        messages = _of_events(record) if record and all(map(_is_event, record)) else record
    else:
        messages = [record]
    usages = _add_messages(talk, messages, fields)
    usage = total(usages)
    if usage is not None and turns == "all":
        fields.setdefault("usage", usage)
    return talk.decoded(turns, **fields)


def _of_events(events: list[dict[str, Any]]) -> list[Any]:
    """The messages that stream events tell of: the last state, else what the updates added, else the pieces."""
    states = [event["data"] for event in events if event["mode"] == "values" and "messages" in event["data"]]
    if states:
        return sequence(states[-1]["messages"])
    nodes = [node for event in events if event["mode"] == "updates" for node in mapping(event["data"]).values()]
    added = [message for node in nodes for message in sequence(mapping(node).get("messages"))]
    if added:
        return added
    pieces = [piece for event in events if event["mode"] == "messages" for piece in objects(event["data"])[:1]]
    return [_joined_pieces(same) for same in _by_id(pieces)]


def _by_id(pieces: list[dict[str, Any]]) -> list[list[tuple[str, dict[str, Any]]]]:
    """The pieces of each message, opened; a piece without an id is a message of its own."""
    groups: dict[Any, list[tuple[str, dict[str, Any]]]] = {}
    for piece in pieces:
        kind, data = _opened(piece)
        groups.setdefault(text(data, "id") or len(groups), []).append((kind, data))
    return list(groups.values())


def _joined_pieces(pieces: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The message that its pieces add up to."""
    whole: dict[str, Any] = {}
    contents: list[str] = []
    calls: dict[Any, dict[str, list[str]]] = {}
    for _, data in pieces:
        whole |= {name: value for name, value in data.items() if value}
        content = joined_texts(data.get("content"))
        contents.append(content if isinstance(content, str) else "")
        for piece in objects(data.get("tool_call_chunks")):
            call = calls.setdefault(str(piece.get("index")), {"name": [], "args": [], "id": []})
            for name, found in call.items():
                found.append(text(piece, name) or "")
    kind = pieces[0][0]
    whole |= {"type": kind, "content": "".join(contents)}
    if calls:
        whole["tool_calls"] = [{name: "".join(found) for name, found in call.items()} for call in calls.values()]
    return whole


def _opened(item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A message's kind and its fields, whichever of the three forms it has."""
    kind: Any
    if item.get("lc") == 1:
        kind, data = _class_name(item), mapping(item.get("kwargs"))
    elif isinstance(item.get("data"), dict):
        kind, data = item.get("type"), item["data"]
    else:
        kind, data = item.get("type"), item
    if not isinstance(kind, str):
        return "", data
    short = kind.removesuffix("Chunk").removesuffix("Message").lower()
    return (text(data, "role") or short if short == "chat" else short), data


def _add_messages(talk: Conversation, messages: list[Any], fields: dict[str, Any]) -> list[Usage]:
    """Add messages; gives what each model call used, and adds the model's name to the fields."""
    usages = []
    for item in messages:
        if not isinstance(item, dict):
            talk.drop(type_name(item))
            continue
        kind, data = _opened(item)
        role = _ROLES.get(kind)
        if role is None:
            talk.drop(f"message of type {kind!r}")
        elif role == "tool":
            _add_result(talk, data)
        else:
            _add_message(talk, role, data)
            model = text(mapping(data.get("response_metadata")), "model_name", "model")
            if model:
                fields["model"] = model
            if isinstance(data.get("usage_metadata"), dict):
                usages.append(usage_of(data["usage_metadata"]))
    return usages


def _add_result(talk: Conversation, data: dict[str, Any]) -> None:
    talk.tool_message()
    value = json_result(joined_texts(data.get("content")))
    failed = data.get("status") == "error"
    error = value if failed and isinstance(value, str) else None
    talk.result(text(data, "tool_call_id"), value, name=text(data, "name"), is_error=failed, error=error)


def _add_message(talk: Conversation, role: Role, data: dict[str, Any]) -> None:
    calls = _calls(data)
    places = {call.id: index for index, call in enumerate(calls) if call.id}
    placed: set[int | None] = set()
    parts: list[Part] = []
    results: list[dict[str, Any]] = []
    content = data.get("content")
    blocks: list[Any] = [content] if isinstance(content, str) and content else sequence(content)
    for block in blocks:
        kind = str(block.get("type")) if isinstance(block, dict) else ""
        if kind.endswith("tool_result"):
            results.append(block)
        elif kind in ("tool_use", "tool_call", "function_call", "invalid_tool_call"):
            # The same call stands in `tool_calls`, decoded; here is its place.
            ids = (text(block, "call_id"), text(block, "id"))
            place = next((places.pop(known) for known in ids if known in places), None)
            parts.append(_call(block) if place is None else calls[place])
            placed.add(place)
        elif kind != "tool_call_chunk":
            parts.append(_part(block, kind))
    parts += [call for index, call in enumerate(calls) if index not in placed]
    talk.message(role, parts, id=text(data, "id"), name=text(data, "name"))
    for result in results:
        failed = result.get("status") == "error" or result.get("is_error") is True
        value = json_result(joined_texts(result.get("output", result.get("content"))))
        talk.result(text(result, "tool_call_id", "tool_use_id"), value, is_error=failed)


def _calls(data: dict[str, Any]) -> list[ToolCall]:
    """The calls of a message: those whose arguments LangChain could read, then those it could not."""
    calls = [_call(call) for call in objects(data.get("tool_calls"))]
    calls += [_call(call) for call in objects(data.get("invalid_tool_calls"))]
    if not calls:
        given = objects(mapping(data.get("additional_kwargs")).get("tool_calls"))
        calls = [_call({**mapping(call.get("function")), "id": call.get("id")}) for call in given]
    return calls


def _call(call: dict[str, Any]) -> ToolCall:
    name = next((name for name in ("args", "arguments", "input") if name in call), "args")
    args, invalid = arguments(call.get(name))
    return ToolCall(text(call, "name") or "", args, text(call, "id", "call_id"), args_invalid=invalid)


def _part(block: Any, kind: str) -> Part:
    if isinstance(block, str):
        return Text(block)
    if not isinstance(block, dict):
        return Opaque(type_name(block), block)
    if kind in ("text", "output_text", "input_text") and isinstance(block.get("text"), str):
        return Text(block["text"])
    if kind in ("reasoning", "thinking"):
        thoughts = [text(thought, "text") or "" for thought in objects(block.get("summary"))]
        return Reasoning(text(block, "reasoning", "thinking", "text") or "\n".join(thoughts))
    if kind in ("server_tool_call", "server_tool_use"):
        args, invalid = arguments(block.get("args", block.get("input")))
        return ToolCall(text(block, "name") or "", args, text(block, "id"), args_invalid=invalid)
    if kind in _FILES:
        return _file(block, kind)
    return Opaque(kind, block)


def _file(block: dict[str, Any], kind: str) -> File:
    image = block.get("image_url")
    source = mapping(block.get("source")) or block
    media = text(block, "mime_type") or text(source, "media_type") or {"image_url": "image"}.get(kind, kind)
    url = image if isinstance(image, str) else text(mapping(image), "url") or text(source, "url", "file_id")
    return File(media, text(block, "title", "filename"), url, text(source, "base64", "data"))
