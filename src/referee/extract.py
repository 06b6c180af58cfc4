"""What a scorer reads of a list of messages: texts and tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from referee.messages import CALLED, Message, Text, ToolCall


def assistant_text(messages: Iterable[Message]) -> str:
    """The texts of all assistant messages in order, joined by a newline; blank ones are skipped.

    Example:
        >>> assistant_text([Message("assistant", [Text("One.")]), Message("assistant", [Text(" ")])])
        'One.'
    """
    return _joined("assistant", messages)


def user_texts(messages: Iterable[Message]) -> str:
    """The texts of the user messages in order, joined by a newline; blank ones are skipped."""
    return _joined("user", messages)


def _joined(role: str, messages: Iterable[Message]) -> str:
    texts = []
    for message in messages:
        if message.role == role:
            text = message.text
            if text and not text.isspace():
                texts.append(text)
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def final_text(messages: Sequence[Message]) -> str:
    """The answer: of the last assistant message with text, the text after its last tool call, else all its text.

    Example:
        >>> call = ToolCall(name="ferries")
        >>> final_text([Message("assistant", [Text("Let me look."), call, Text("At nine.")])])
        'At nine.'
    """
    for message in reversed(messages):
        if message.role != "assistant":
            continue
        text = message.text
        if text and not text.isspace():
            return _after_last_call(message) or text
    return ""


def _after_last_call(message: Message) -> str:
    parts = message.parts
    for index in range(len(parts) - 1, -1, -1):
        if type(parts[index]) is ToolCall:
            rest = "\n".join(part.text for part in parts[index + 1 :] if type(part) is Text)
            return "" if rest.isspace() else rest
    return ""


def first_user_text(messages: Iterable[Message]) -> str:
    """The text of the first user message, or `""`."""
    for message in messages:
        if message.role == "user":
            return message.text
    return ""


def invocations(messages: Iterable[Message]) -> tuple[ToolCall, ...]:
    """Every tool invocation in order, partial and unknown ones included."""
    return tuple([part for message in messages for part in message.parts if type(part) is ToolCall])


def tool_calls(every: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The invocations that are calls: a non-empty name, in state `result`, `error` or `call`."""
    return tuple([call for call in every if call.name and call.state in CALLED])
