"""Builds runs from a flat conversation. Every reader of messages uses it.

It joins each tool result to its call, counts what came in and what was kept, and cuts the conversation into runs.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import msgspec

from referee.errors import ReadError
from referee.formats.decoded import Counts, Decoded, Turns, increase
from referee.formats.waiting import WaitingCalls
from referee.jsonvalue import decode
from referee.messages import Message, Opaque, Part, Role, ToolCall, ToolResult
from referee.runs import Run, with_id

#: No conversation is so long, and no message; a record with more is refused before it takes too much memory.
MOST_MESSAGES = 50_000
#: What a record says of all its turns together.
_OF_THE_WHOLE = frozenset({"usage", "cost", "duration_ms"})


class Conversation:
    """Collects the messages of one conversation in the source's order.

    Example:
        >>> talk = Conversation()
        >>> talk.message("assistant", [ToolCall(name="forecast", id="c1")])
        >>> talk.result("c1", {"sky": "clear"})
        >>> talk.decoded().runs[0].tool_calls[0].result
        {'sky': 'clear'}
    """

    __slots__ = ("_waiting", "answering", "counts", "messages", "warnings")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        #: Whether the last that was added is the assistant's: no other message and no result has come since.
        self.answering = False
        self.counts = Counts()
        self.warnings: list[str] = []
        self._waiting = WaitingCalls()

    def message(
        self,
        role: Role,
        parts: list[Part],
        *,
        id: str | None = None,
        name: str | None = None,
        created_at: str | None = None,
        counted: bool = True,
    ) -> None:
        """Add a message. Its calls in state `call` wait for results that come later.

        Args:
            role: Who speaks.
            parts: What is said, in order.
            id, name, created_at: As in `Message`.
            counted: False for a message that the source does not count as one: a further one made of the same
                message of the source, or instructions that stand beside the messages.
        """
        if counted:
            self.counts.messages_received += 1
            self.counts.messages_kept += 1
        check_length(self.messages)
        check_length(parts, "a message of more than {most:,} parts")
        self.messages.append(Message(role, parts, id, name, created_at))
        self.answering = role == "assistant"
        self._register(parts, 0)

    def extend(self, parts: list[Part]) -> None:
        """Add a message of the source to the last one: an item of the same answer."""
        self.tool_message()
        whole = self.messages[-1].parts
        start = len(whole)
        whole += parts
        self._register(whole, start)

    def _register(self, parts: list[Part], start: int) -> None:
        """Count the calls and opaque parts from `start` on; calls without a result begin to wait."""
        counts = self.counts
        waits = False
        for index in range(start, len(parts)):
            part = parts[index]
            if isinstance(part, ToolCall):
                counts.tool_calls_received += 1
                counts.tool_calls_kept += 1
                waits = waits or part.state == "call"
                if part.args_invalid:
                    self.warn("arguments are no JSON", f"the arguments of {part.name or 'a call'} are no JSON")
                if part.state == "unknown":
                    name = part.name or "a call"
                    self.warn("unknown state of a call", f"{name} is in no known state and counts as no call")
            elif isinstance(part, Opaque):
                increase(counts.opaque, part.kind)
        if waits:
            self._waiting.add(parts, start)

    def result(
        self,
        call_id: str | None,
        value: Any,
        *,
        name: str | None = None,
        is_error: bool = False,
        error: str | None = None,
        duration_ms: float | None = None,
    ) -> None:
        """Add a tool's result that came after its call.

        It is joined by id to the latest call before it that has no result; without an id, by name and order. A result
        without a call is kept as a message of role `tool` and reported.
        """
        self.counts.results_received += 1
        self.counts.results_kept += 1
        self.answering = False
        found = self._waiting.take(call_id, name)
        if found is None:
            check_length(self.messages)
            self.messages.append(Message("tool", [ToolResult(value, call_id, name, is_error)]))
            self.warn("result without a call", f"the result {call_id or name or 'without id'} has no call")
            return
        parts, index = found
        call = parts[index]
        assert isinstance(call, ToolCall)
        parts[index] = ToolCall(
            call.name,
            call.args,
            call.id,
            "error" if is_error or error is not None else "result",
            value,
            error,
            is_error,
            call.args_invalid,
            call.agent_path,
            call.duration_ms if duration_ms is None else duration_ms,
        )

    def tool_message(self) -> None:
        """Count a message that carries nothing but results; it lives on in the calls."""
        self.counts.messages_received += 1
        self.counts.messages_kept += 1

    def drop(self, kind: str) -> None:
        """Count something of a message's place that is no message."""
        check_length(range(self.counts.messages_received))
        self.counts.messages_received += 1
        increase(self.counts.dropped, kind)
        self.warn(f"not understood: {kind}", f"{kind} is no message and was left out")

    def warn(self, kind: str, sentence: str) -> None:
        """Note a problem: counted by kind in the report, told in a sentence on the run."""
        increase(self.counts.problems, kind)
        if self.warnings and self.warnings[-1] == sentence:
            sentence = self.warnings[-1]  # a sentence that is said a million times is kept once
        self.warnings.append(sentence)

    def take_history(self, stop: int) -> list[Message]:
        """Take the messages before `stop` out, where the source says that they are remembered; system messages stay."""
        earlier = self.messages[:stop]
        self.messages[:stop] = [message for message in earlier if message.role == "system"]
        return [message for message in earlier if message.role != "system"]

    def decoded(self, turns: Turns = "all", **fields: Any) -> Decoded:
        """Cut the conversation into runs.

        Args:
            turns: How to cut it.
            fields: Further fields of the run; with `split` they go to every run.
        """
        return Decoded([with_id(run) for run in self._cut(turns, fields)], self.counts)

    def assembled(self, **fields: Any) -> Decoded:
        """One run whose sections the source names itself (input, history, system, output)."""
        if self.warnings:
            fields["warnings"] = self.warnings
        return Decoded([with_id(Run(**fields))], self.counts)

    def _cut(self, turns: Turns, fields: dict[str, Any]) -> list[Run]:
        talk = self.messages
        if any(message.role == "system" for message in talk):
            system = [message for message in talk if message.role == "system"]
            talk = [message for message in talk if message.role != "system"]
            fields["system"] = [*fields.get("system", ()), *system]
        if self.warnings:
            fields["warnings"] = self.warnings
        history = fields.pop("history", [])
        if turns == "all":
            start = next((index for index, message in enumerate(talk) if message.role == "assistant"), len(talk))
            return [Run(input=talk[:start], output=talk[start:], history=history, **fields)]
        starts = [index for index, message in enumerate(talk) if message.role == "user"]
        if turns == "last":
            start = starts[-1] if starts else 0
            stop = start + 1 if starts else 0
            return [Run(input=talk[start:stop], output=talk[stop:], history=[*history, *talk[:start]], **fields)]
        return self._split(talk, history, fields)

    def _split(self, talk: list[Message], history: list[Message], fields: dict[str, Any]) -> list[Run]:
        """One run per user turn; user messages in a row are one turn."""
        starts = [
            index
            for index, message in enumerate(talk)
            if message.role == "user" and (index == 0 or talk[index - 1].role != "user")
        ]
        if not starts or starts[0] != 0:
            starts.insert(0, 0)
        if len(starts) > 1:  # they belong to the whole conversation, and no turn's share is known
            fields = {name: value for name, value in fields.items() if name not in _OF_THE_WHOLE}
        runs = []
        for start, end in zip(starts, [*starts[1:], len(talk)], strict=True):
            stop = next((index for index in range(start, end) if talk[index].role != "user"), end)
            runs.append(Run(input=talk[start:stop], output=talk[stop:end], history=[*history, *talk[:start]], **fields))
        return runs


def check_length(items: Sized, problem: str = "more than {most:,} messages in one conversation") -> None:
    """Refuse more messages, or parts of a message, than any conversation has.

    Raises:
        ReadError: There are.
    """
    if len(items) > MOST_MESSAGES:
        raise ReadError(f"holds {problem.format(most=MOST_MESSAGES)}")


def arguments(raw: Any) -> tuple[Any, bool]:
    """Tool arguments as JSON values, and whether they were text that is no JSON.

    Example:
        >>> arguments('{"city": "Ghent"}'), arguments("{city"), arguments("")
        (({'city': 'Ghent'}, False), ('{city', True), ({}, False))
    """
    if not isinstance(raw, str):
        return raw, False
    if not raw:
        return {}, False
    try:
        return decode(raw), False
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return raw, True


def json_result(text: Any) -> Any:
    """A tool's result that a format can only carry as text: JSON objects and arrays are decoded, other text stays.

    Example:
        >>> json_result('{"error": "no seat"}'), json_result("4"), json_result("[draft")
        ({'error': 'no seat'}, '4', '[draft')
    """
    if isinstance(text, str) and text[:1] in ("{", "["):
        try:
            return decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return text
    return text
