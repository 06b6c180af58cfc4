"""Puts the messages that many spans repeat in one row, each of them once.

Every model call of a trace records the whole talk so far. `Talk` keeps what is new in each: the messages that were
not there before, and the answer. Spans of tools are joined to the calls in those messages.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from typing import Any

from referee.jsonvalue import digest
from referee.messages import Message, Part, Role, ToolCall, ToolResult


class Row:
    """A message of a trace: its words and calls, the results in it, who said it, and what else is known of it."""

    __slots__ = ("by_tool_span", "is_answer", "main", "message", "parts", "path", "results", "slots", "speaker")

    def __init__(self, message: Message, *, main: bool, speaker: str | None = None, path: tuple[str, ...] = ()) -> None:
        self.message = message
        self.results = [part for part in message.parts if isinstance(part, ToolResult)]
        self.parts: list[Part] = [part for part in message.parts if not isinstance(part, ToolResult)]
        self.slots = [Slot(self, index) for index, part in enumerate(self.parts) if isinstance(part, ToolCall)]
        self.main = main
        self.speaker = speaker
        self.path = path
        self.is_answer = False
        self.by_tool_span = False

    @property
    def role(self) -> Role:
        """The message's role."""
        return self.message.role


class Slot:
    """A call in a row, to which the span of its tool may be joined."""

    __slots__ = ("index", "row", "taken")

    def __init__(self, row: Row, index: int) -> None:
        self.row = row
        self.index = index
        self.taken = False

    @property
    def call(self) -> ToolCall:
        """The call as it stands now."""
        call = self.row.parts[self.index]
        assert isinstance(call, ToolCall)
        return call

    def put(self, call: ToolCall) -> None:
        """Put another version of the call in its place."""
        self.row.parts[self.index] = call


class Talk:
    """One conversation: the agent's own, or what goes on inside one of its tools.

    Args:
        rows: The rows of the whole trace, to which this talk adds its own.
        main: Whether this is the agent's own conversation, whose words are the run's.

    Example:
        >>> from referee.messages import Text
        >>> question, answer = Message("user", [Text("Weather?")]), Message("assistant", [Text("Sunny.")])
        >>> later, forecast = Message("user", [Text("And tomorrow?")]), Message("assistant", [Text("Rain.")])
        >>> talk = Talk([], main=True)
        >>> calls = talk.hear([question], [answer])
        >>> calls = talk.hear([question, answer, later], [forecast])
        >>> [row.message.text for row in talk.rows]
        ['Weather?', 'Sunny.', 'And tomorrow?', 'Rain.']
    """

    def __init__(self, rows: list[Row], *, main: bool) -> None:
        self.rows: list[Row] = []
        self.system: list[Message] = []
        #: How many rows stood in what the first model call was asked.
        self.opening = 0
        self._all = rows
        self._main = main
        self._heard = False
        self._places: dict[Any, list[int]] = {}
        self._by_id: dict[str, list[Slot]] = {}
        self._by_name: dict[tuple[str, ...], deque[Slot]] = {}

    def hear(
        self,
        asked: list[Message],
        answered: list[Message],
        *,
        speaker: str | None = None,
        path: tuple[str, ...] = (),
    ) -> list[Slot]:
        """Add what is new in one model call.

        Args:
            asked: The messages that the model was given.
            answered: What it answered.
            speaker: The agent that called it.
            path: The agents from the outermost to that one, when it is a sub-agent.

        Returns:
            The calls in the answer.
        """
        fresh = []
        place = 0
        for message in asked:
            if message.role == "system":
                self._hear_system(message)
                continue
            found = self._find(message, place)
            if found is None:
                fresh.append(message)
                continue
            row = self.rows[found]
            if row.by_tool_span and len(message.parts) > len(row.parts):
                self._complete(row, message, found)
            place = max(place, found + (0 if _is_part_of(message, row) else 1))
        for message in fresh:
            self.add(message, speaker=speaker if message.role == "assistant" else None, path=path)
        if not self._heard and (asked or answered):
            self._heard = True
            self.opening = len(self.rows)
            self._settle()
        slots: list[Slot] = []
        for message in answered:
            row = self.add(message, speaker=speaker, path=path)
            row.is_answer = True
            slots += row.slots
        return slots

    def add(self, message: Message, *, speaker: str | None = None, path: tuple[str, ...] = ()) -> Row:
        """Add a message that was not there before."""
        row = Row(message, main=self._main, speaker=speaker, path=path)
        for key in _keys(message):
            self._places.setdefault(key, []).append(len(self.rows))
        for slot in row.slots:
            self._offer(slot)
        self.rows.append(row)
        self._all.append(row)
        return row

    def add_call(self, call: ToolCall, *, speaker: str | None, path: tuple[str, ...]) -> Slot:
        """Add a call that only the span of its tool tells of."""
        row = self.add(Message("assistant", [call]), speaker=speaker, path=path)
        row.by_tool_span = True
        row.slots[0].taken = True
        return row.slots[0]

    def take(self, call: ToolCall) -> Slot | None:
        """The place of a call to which a tool's span belongs: by its id, else by name and arguments, else by name."""
        if call.id and (slot := self.take_id(call.id)):
            return slot
        for key in _names(call):
            if slot := _first_free(self._by_name.get(key), unless_id=call.id):
                return slot
        return None

    def take_id(self, call_id: str) -> Slot | None:
        """The place of the call with this id; of several the latest."""
        slots = self._by_id.get(call_id, [])
        while slots:
            slot = slots.pop()
            if not slot.taken:
                slot.taken = True
                return slot
        return None

    def _hear_system(self, message: Message) -> None:
        if message not in self.system[-_REMEMBERED:]:
            self.system.append(message)

    def _settle(self) -> None:
        """Take the calls of earlier turns, which have their results: no span of this trace belongs to them."""
        for row in self.rows:
            for result in row.results:
                _ = (result.id and self.take_id(result.id)) or _first_free(self._by_name.get((result.name or "",)))

    def _complete(self, row: Row, message: Message, place: int) -> None:
        """Give a row that only a tool's span told of the other parts of its message."""
        before = [part for part in message.parts if type(part) is not ToolCall]
        row.message = message
        row.parts[:0] = before
        row.by_tool_span = False
        for slot in row.slots:
            slot.index += len(before)
        for part in message.parts:
            if type(part) is ToolCall and not any(key in self._places for key in _keys(Message("assistant", [part]))):
                row.parts.append(part)
                self._offer(Slot(row, len(row.parts) - 1))
        for key in _keys(message):
            places = self._places.setdefault(key, [])
            if place not in places:
                insort(places, place)

    def _offer(self, slot: Slot) -> None:
        """Make a call's place known to the spans of tools."""
        call = slot.call
        if call.id:
            self._by_id.setdefault(call.id, []).append(slot)
        for key in _names(call):
            self._by_name.setdefault(key, deque()).append(slot)

    def _find(self, message: Message, start: int) -> int | None:
        """The row that this message repeats, at `start` or later."""
        found = []
        for key in _keys(message, narrow=True):
            places = self._places.get(key)
            if not places:
                continue
            at = bisect_left(places, start)
            if at < len(places):
                found.append(places[at])
            elif key[0] == "result id" and places[-1] > self._places.get(("call id", key[1]), [-1])[-1]:
                found.append(places[-1])  # the results of one answer may come in another order
        if found:
            return min(found)
        if start < len(self.rows) and message.role == "assistant":
            row = self.rows[start]
            if row.is_answer and _same_beginning(row.message.text, message.text):
                return start
        return None


#: How far back a system message is compared with those before it.
_REMEMBERED = 20


def _names(call: ToolCall) -> tuple[tuple[str, ...], ...]:
    """What a call is found by when it has no id: first what says more."""
    return ((call.name, digest(call.args)), (call.name,))


def _first_free(slots: deque[Slot] | None, unless_id: str | None = None) -> Slot | None:
    """The first slot that nothing was joined to; it is taken. One with an id other than `unless_id` is no match."""
    while slots and slots[0].taken:
        slots.popleft()
    if not slots or (unless_id and slots[0].call.id and slots[0].call.id != unless_id):
        return None
    slot = slots.popleft()
    slot.taken = True
    return slot


def _keys(message: Message, *, narrow: bool = False) -> Iterator[tuple[Any, ...]]:
    """What tells a message from others. With `narrow`, a message with calls is told by its calls alone."""
    calls = False
    for part in message.parts:
        if type(part) is ToolCall:
            calls = True
            key: tuple[Any, ...] = ("call", part.name, digest(part.args))
            yield ("call id", part.id) if part.id else key
        elif type(part) is ToolResult:
            calls = True
            key = ("result", part.name, digest(part.result))
            yield ("result id", part.id) if part.id else key
    if narrow and calls:
        return
    text = message.text.strip()
    if text:
        yield (message.role, text)
    elif not calls:
        yield (message.role, digest(message.parts))


def _is_part_of(message: Message, row: Row) -> bool:
    """Whether a message repeats only the text, or only some calls, of an answer."""
    return row.role == "assistant" and len(message.parts) < len(row.parts)


def _same_beginning(one: str, other: str) -> bool:
    """Whether one text is the other with something cut off or put on at its end."""
    one, other = one.strip(), other.strip()
    return bool(one and other) and (one.startswith(other) or other.startswith(one))
