"""Messages: what was said and which tools were called.

A `Message` has a role and ordered parts. A `ToolCall` is a part and carries its own result, so a scorer never
has to look for it in a later message.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
CallState: TypeAlias = Literal["result", "error", "call", "partial", "unknown"]

#: States in which an invocation counts as a call.
CALLED: frozenset[str] = frozenset({"result", "error", "call"})


class Text(msgspec.Struct, frozen=True, tag="text", gc=False):
    """Words for the reader."""

    text: str


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning", gc=False):
    """The model's thinking. Never counted as text of the answer."""

    text: str


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call", omit_defaults=True, gc=False):
    """One invocation of a tool.

    Attributes:
        name: The tool's name. Empty when the source has none; such an invocation is no call.
        args: Decoded JSON arguments. A string that was not JSON stays that string, and `args_invalid` is true.
        id: The source's id of the call, or `None`.
        state: `result` finished; `error` failed; `call` issued without a result; `partial` arguments never
            completed; `unknown` the source says something else, or nothing. Only the first three are calls.
        result: What the tool gave back. `None` also when there is no result: read `state`.
        error: The message of the failure, where the source has one.
        is_error: The source flags the result as a failure.
        args_invalid: The arguments were text that is not JSON.
        agent_path: Names of the agents from the outermost to the one that called, when a sub-agent did.
        duration_ms: How long the tool took.

    Example:
        >>> ToolCall(name="get_weather", args={"city": "Ghent"}, state="result", result="rain").called
        True
    """

    name: str
    args: Any = None
    id: str | None = None
    state: CallState = "call"
    result: Any = None
    error: str | None = None
    is_error: bool = False
    args_invalid: bool = False
    agent_path: tuple[str, ...] = ()
    duration_ms: float | None = None

    @property
    def called(self) -> bool:
        """Whether this invocation counts as a call: it has a name and was issued."""
        return bool(self.name) and self.state in CALLED

    @property
    def failed(self) -> bool:
        """Whether the tool failed: state `error`, the error flag, or a truthy `error`/`isError` in an object result."""
        if self.state == "error" or self.is_error:
            return True
        result = self.result
        return type(result) is dict and bool(result.get("error") or result.get("isError"))


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True, gc=False):
    """A tool's result whose call is not in the source. Reported by the reader, and kept."""

    result: Any = None
    id: str | None = None
    name: str | None = None
    is_error: bool = False


class File(msgspec.Struct, frozen=True, tag="file", omit_defaults=True, gc=False):
    """An image, sound, document or other data. `url` may be a `data:` URL."""

    media_type: str | None = None
    name: str | None = None
    url: str | None = None
    data: str | None = None


class Opaque(msgspec.Struct, frozen=True, tag="opaque", gc=False):
    """A part of a type that the reader does not know, kept as it came."""

    kind: str
    value: Any = None


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | File | Opaque


class Message(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One turn of talk.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        parts: Text, reasoning, tool calls, files and opaque parts in the order of the source.
        id: The source's id.
        name: The speaker, where the source names one.
        created_at: ISO 8601 time, where the source has one.

    Example:
        >>> Message(role="user", parts=[Text("Hello"), Text("there")]).text
        'Hello\\nthere'
    """

    role: Role
    parts: list[Part] = []
    id: str | None = None
    name: str | None = None
    created_at: str | None = None

    @property
    def text(self) -> str:
        """The text parts in order, joined by a newline. Reasoning is never text."""
        texts = [part.text for part in self.parts if type(part) is Text]
        return texts[0] if len(texts) == 1 else "\n".join(texts)

    @property
    def tool_calls(self) -> list[ToolCall]:
        """All tool invocations of this message, partial and unknown ones included."""
        return [part for part in self.parts if type(part) is ToolCall]
