"""OpenInference spans: messages flattened to attributes (`llm.input_messages.0.message.role`), values as text."""

from __future__ import annotations

from itertools import islice
from typing import Any

from referee.errors import ReadError
from referee.formats import genai
from referee.formats.conversation import arguments
from referee.formats.decoded import Counts, Decoded, Turns
from referee.formats.fields import integer, mapping, number, objects, text
from referee.formats.span_messages import MessageReader, messages_of, structured
from referee.formats.span_records import SpanRecord, as_span, is_spans, pieces, read_traces
from referee.formats.spans import Kind, Span
from referee.formats.trace_run import add_trace
from referee.messages import Message, Role, Text, ToolCall
from referee.runs import Usage

NAME = "openinference"
TITLE = "OpenInference spans"

__all__ = ["NAME", "TITLE", "decode", "detect", "interpret", "pieces"]

_KIND = "openinference.span.kind"
_KINDS: dict[Any, Kind] = {
    "LLM": "model",
    "TOOL": "tool",
    "AGENT": "agent",
    "CHAIN": "workflow",
    "PROMPT": "workflow",
    "DECISION": "workflow",
    "RETRIEVER": "processor",
    "RERANKER": "processor",
    "EMBEDDING": "processor",
    "GUARDRAIL": "processor",
    "EVALUATOR": "processor",
}
_HANDOFF = "handoff to "
#: Deeper flattened names are no message of a model.
_DEEPEST_NAME = 12
#: Fields by which applications name the question and the answer of the whole.
_QUESTIONS = ("input", "question", "query", "prompt", "task", "user_input", "new_message")
_ANSWERS = ("output", "answer", "response", "result", "content", "text", "final_output")


def detect(record: Any) -> bool:
    """Whether a record holds spans of which one of the first has an OpenInference kind."""
    if not is_spans(record):
        return False
    return any(
        isinstance(span, dict) and ("span_kind" in span or _has_kind(span.get("attributes")))
        for _, span in islice(pieces(record), 50)
    )


def _has_kind(attributes: Any) -> bool:
    if isinstance(attributes, dict):
        return _KIND in attributes or "openinference" in attributes
    return any(item.get("key") == _KIND for item in objects(attributes))


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read a list of spans or OTLP exports; each trace becomes a run. Spans of other vocabularies may stand among them.

    Raises:
        ReadError: There is no span.
    """
    counts = Counts()
    decoded = Decoded([], counts)
    for records in read_traces(record, counts):
        reader = MessageReader(counts)
        add_trace(decoded, [interpret(span, reader) for span in records], turns)
    if not decoded.runs:
        raise ReadError("holds no spans")
    return decoded


def interpret(record: SpanRecord, reader: MessageReader) -> Span:
    """What a span stands for, in this vocabulary or in OpenTelemetry's own.

    Args:
        record: The span as recorded.
        reader: Reads its messages.
    """
    attributes = record.attributes
    named = attributes.get(_KIND) or _nested(attributes, "openinference.span.kind")
    kind = _KINDS.get(named.upper()) if isinstance(named, str) else None
    if kind is None or (kind == "model" and _has_genai_messages(attributes)):
        return genai.interpret(record, reader)
    span = as_span(record, kind)
    span.thread_id = _text(attributes, "session.id")
    span.metadata = _metadata(attributes)
    if kind == "tool":
        _add_tool(span, record)
    elif kind == "model":
        _add_model(span, attributes, reader)
    else:
        if kind == "agent":
            span.actor = _text(attributes, "agent.name", "graph.node.name")
        span.asked = _asked(attributes, reader)
        span.answered = _answered(attributes)
        span.usage = _usage(attributes)
    return span


def _has_genai_messages(attributes: dict[str, Any]) -> bool:
    """Whether the span speaks both vocabularies; then the one that keeps messages as they are is the better."""
    return "gen_ai.output.messages" in attributes and "llm.output_messages.0.message.role" not in attributes


def _nested(attributes: dict[str, Any], name: str) -> Any:
    """An attribute by its dotted name, flat or nested (as Phoenix exports it)."""
    if name in attributes:
        return attributes[name]
    value: Any = attributes
    for part in name.split("."):
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _text(attributes: dict[str, Any], *names: str) -> str | None:
    return next((value for name in names if isinstance(value := _nested(attributes, name), str) and value), None)


def _metadata(attributes: dict[str, Any]) -> dict[str, Any]:
    metadata = structured(_nested(attributes, "metadata"))
    kept = dict(metadata) if isinstance(metadata, dict) else {}
    user = _text(attributes, "user.id")
    if user:
        kept.setdefault("user_id", user)
    return kept


def _add_tool(span: Span, record: SpanRecord) -> None:
    attributes = record.attributes
    given = _nested(attributes, "input.value")
    returned = structured(_nested(attributes, "output.value"))
    if record.name.startswith(_HANDOFF) and _text(attributes, "tool.name") is None:
        span.kind = "handoff"
        span.tool = handoff_call(record.name.removeprefix(_HANDOFF))
        return
    args, invalid = _tool_arguments(given, structured(_nested(attributes, "tool.parameters")))
    message = tool_message(returned)
    result = returned
    failed = record.failed
    if message is not None:  # LangChain's own message around the result
        result = structured(message.get("content"))
        failed = failed or message.get("status") == "error"
    elif isinstance(returned, dict) and "response" in returned and set(returned) <= {"id", "name", "response"}:  # ADK
        message = returned
        result = returned["response"]
    span.tool = ToolCall(
        name=_text(attributes, "tool.name") or record.name,
        args=args,
        args_invalid=invalid,
        id=_text(attributes, "tool.id", "tool_call.id", "gen_ai.tool.call.id")
        or text(mapping(message), "tool_call_id", "id"),
        state="error" if failed else "call" if record.ended is None and returned is None else "result",
        result=result,
        error=record.error,
    )
    if _text(attributes, "mcp.method.name"):
        span.step_type = "mcp_tool_call"


def handoff_call(agent: str) -> ToolCall:
    """The call by which the OpenAI Agents SDK hands over to an agent, unless it was given another name.

    Example:
        >>> handoff_call("Refunds desk").name
        'transfer_to_refunds_desk'
    """
    slug = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in agent).lower()
    return ToolCall(name=f"transfer_to_{slug}", args={}, state="result")


def _tool_arguments(given: Any, parameters: Any) -> tuple[Any, bool]:
    """A tool's arguments as an object, and whether they are text only: one-argument tools may lose the argument's name."""
    if isinstance(given, str):
        given = structured(given)
        if isinstance(given, str):
            args, _ = arguments(given)
            return args, isinstance(args, str)
    if isinstance(given, dict) and isinstance(given.get("kwargs"), dict) and isinstance(given.get("args"), list):
        # smolagents: the values by place and those by name; the parameters say which places have which names.
        named = dict(zip(mapping(parameters), given["args"], strict=False))
        return {**named, **given["kwargs"]} if len(named) == len(given["args"]) else given, False
    return given, False


def tool_message(value: Any) -> dict[str, Any] | None:
    """The fields of a LangChain tool message, however it is wrapped; `None` for any other value.

    Example:
        >>> tool_message({"type": "tool", "data": {"content": "rain", "tool_call_id": "c1"}})
        {'content': 'rain', 'tool_call_id': 'c1'}
    """
    for key in ("data", "kwargs"):
        if isinstance(value, dict) and isinstance(value.get(key), dict):
            value = value[key]
    return value if isinstance(value, dict) and "content" in value and "tool_call_id" in value else None


def _add_model(span: Span, attributes: dict[str, Any], reader: MessageReader) -> None:
    span.asked = _flattened(attributes, "llm.input_messages", "user", reader)
    span.answered = _flattened(attributes, "llm.output_messages", "assistant", reader)
    span.model = _text(attributes, "llm.response.model_name", "llm.model_name", "llm.request.model_name")
    span.usage = _usage(attributes)
    span.cost = number({"cost": _nested(attributes, "llm.cost.total")}, "cost")
    span.finish_reason = _text(attributes, "llm.finish_reason")


def _usage(attributes: dict[str, Any]) -> Usage | None:
    counted = {name: _nested(attributes, f"llm.token_count.{name}") for name in ("prompt", "completion", "total")}
    usage = Usage(integer(counted, "prompt"), integer(counted, "completion"), integer(counted, "total"))
    return usage if usage != Usage() else None


def _flattened(attributes: dict[str, Any], prefix: str, default: Role, reader: MessageReader) -> list[Message]:
    """The messages under a prefix, put together from their flattened fields."""
    start = prefix + "."
    length = len(start)
    fields: dict[str, list[tuple[str, Any]]] = {}
    for name, value in attributes.items():
        if isinstance(name, str) and name.startswith(start):
            number, _, field = name[length:].partition(".")
            fields.setdefault(number, []).append((field, value))
    if not fields:
        rows = objects(structured(_nested(attributes, prefix)))
        return [message for row in rows for message in _of_row(row, default)]
    messages: list[Message] = []
    for number in sorted((number for number in fields if number.isdecimal() and len(number) < 9), key=int):
        given = fields[number]
        if all(isinstance(value, str) for _, value in given):
            messages += reader.made_of((default, *given), lambda given=given: _of_fields(given, default))  # type: ignore[misc]
        else:
            messages += _of_fields(given, default)
    return messages


def _of_fields(given: list[tuple[str, Any]], default: Role) -> list[Message]:
    tree: dict[str, Any] = {}
    for field, value in given:
        _plant(tree, field.split(".", _DEEPEST_NAME), value)
    return _of_row(tree, default)


def _of_row(row: dict[str, Any], default: Role) -> list[Message]:
    message = row.get("message", row)
    return messages_of(_spelled_out(message), default) if isinstance(message, dict) else []


def _plant(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        branch = tree.setdefault(part, {})
        if not isinstance(branch, dict):
            return
        tree = branch
    tree[path[-1]] = value


def _in_order(tree: Any) -> list[dict[str, Any]]:
    """The items of a flattened list, by their numbers; a list as it is."""
    if isinstance(tree, dict):
        numbered = sorted((int(key), value) for key, value in tree.items() if key.isdecimal() and len(key) < 9)
        return objects([value for _, value in numbered])
    return objects(tree)


def _spelled_out(message: dict[str, Any]) -> dict[str, Any]:
    """A message with `message.`, `message_content.` and `tool_call.` taken off its fields' names."""
    plain = {name: _message_field(message, name) for name in ("role", "content", "name", "tool_call_id")}
    content = [_content(item) for item in _in_order(_message_field(message, "contents"))]
    if content:
        plain["content"] = content
    plain["tool_calls"] = [
        {
            "id": _nested(call, "tool_call.id"),
            "name": _nested(call, "tool_call.function.name"),
            # Empty arguments are not recorded.
            "arguments": _nested(call, "tool_call.function.arguments") or {},
        }
        for call in _in_order(_message_field(message, "tool_calls"))
    ]
    called = _message_field(message, "function_call_name")
    if isinstance(called, str) and called:
        plain["tool_calls"].append(
            {"name": called, "arguments": _message_field(message, "function_call_arguments_json")}
        )
    return {name: value for name, value in plain.items() if value is not None}


def _message_field(message: dict[str, Any], name: str) -> Any:
    return message[name] if name in message else message.get(f"message.{name}")


def _content(item: dict[str, Any]) -> dict[str, Any]:
    content = mapping(item.get("message_content")) or {
        name.removeprefix("message_content."): value for name, value in item.items()
    }
    image = _nested(content, "image.image.url") or _nested(content, "image.url")
    return {"type": "image", "url": image} if isinstance(image, str) else content


def _asked(attributes: dict[str, Any], reader: MessageReader) -> list[Message]:
    value = structured(_nested(attributes, "input.value"))
    return worded(value, "user") or _flattened(attributes, "llm.input_messages", "user", reader)


def _answered(attributes: dict[str, Any]) -> list[Message]:
    return worded(structured(_nested(attributes, "output.value")), "assistant")


def worded(value: Any, role: Role) -> list[Message]:
    """The messages in what a span was given or gave back: text, messages, or text in a field of a usual name.

    Args:
        value: The input or output.
        role: Whose words they are: `user` of an input, `assistant` of an output.

    Example:
        >>> worded({"task": "Weather?"}, "user")[0].text, worded({"rows": 7}, "assistant")
        ('Weather?', [])
    """
    if isinstance(value, str):
        return [Message(role, [Text(value)])] if value.strip() else []
    if isinstance(value, dict):
        if isinstance(value.get("messages"), list):
            return messages_of(value["messages"], role)
        if isinstance(value.get("content"), dict):  # an event of Google ADK
            return messages_of(value["content"], role)
        for name in _QUESTIONS if role == "user" else _ANSWERS:
            found = value.get(name)
            if isinstance(found, str) and found.strip():
                return [Message(role, [Text(found)])]
            if isinstance(found, dict) and "parts" in found:
                return messages_of(found, role)
    if isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value):
        return messages_of(value, role)
    return []
