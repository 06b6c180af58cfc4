"""Puts the messages that many spans repeat in one row, each of them once.

Every model call of a trace records the whole talk so far. `Talk` keeps what is new in each: the messages that were
not there before, and the answer. Spans of tools are joined to the calls in those messages.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any

from referee.jsonvalue import canonical, digest
from referee.messages import Message, Part, Role, ToolCall, ToolResult


class Row:
    """A message of a trace: its words and calls, the results in it, who said it, and when it first showed up."""

    __slots__ = ("is_answer", "main", "message", "parts", "path", "results", "slots", "speaker", "time")

    def __init__(
        self,
        message: Message,
        *,
        main: bool,
        time: float = 0,
        speaker: str | None = None,
        path: tuple[str, ...] = (),
    ) -> None:
        self.message = message
        self.results = [part for part in message.parts if isinstance(part, ToolResult)]
        self.parts: list[Part] = [part for part in message.parts if not isinstance(part, ToolResult)]
        self.slots = [Slot(self.parts, index) for index, part in enumerate(self.parts) if isinstance(part, ToolCall)]
        self.main = main
        self.time = time
        self.speaker = speaker
        self.path = path
        self.is_answer = False

    @property
    def role(self) -> Role:
        """The message's role."""
        return self.message.role


class Slot:
    """A call in the parts of a row, to which the span of its tool may be joined."""

    __slots__ = ("index", "parts", "taken")

    def __init__(self, parts: list[Part], index: int) -> None:
        self.parts = parts
        self.index = index
        self.taken = False

    @property
    def call(self) -> ToolCall:
        """The call as it stands now."""
        call = self.parts[self.index]
        assert isinstance(call, ToolCall)
        return call

    def put(self, call: ToolCall) -> None:
        """Put another version of the call in its place."""
        self.parts[self.index] = call


class Talk:
    """One conversation: the agent's own, or what goes on inside one of its tools.

    Args:
        main: Whether this is the agent's own conversation, whose words are the run's.

    Example:
        >>> from referee.messages import Text
        >>> question, answer = Message("user", [Text("Weather?")]), Message("assistant", [Text("Sunny.")])
        >>> later, forecast = Message("user", [Text("And tomorrow?")]), Message("assistant", [Text("Rain.")])
        >>> talk = Talk(main=True)
        >>> calls = talk.hear([question], [answer])
        >>> calls = talk.hear([question, answer, later], [forecast])
        >>> [row.message.text for row in talk.rows]
        ['Weather?', 'Sunny.', 'And tomorrow?', 'Rain.']
    """

    def __init__(self, *, main: bool) -> None:
        self.rows: list[Row] = []
        self.system: list[Message] = []
        #: The rows from before this turn, of the first model call's question.
        self.remembered: list[Row] = []
        self._main = main
        #: Where rows stand by what tells them from others; the first so many rows are in it.
        self._places: dict[Any, list[int]] = {}
        self._indexed = 0
        self._by_id: dict[str, list[Slot]] = {}
        #: Where each message object stands; a reader gives the same object for the same bytes.
        self._same: dict[int, list[int]] = {}
        #: The calls by name, once they are asked for by name.
        self._by_name: dict[tuple[Any, ...], deque[Slot]] | None = None
        #: What the model call before was asked, and the place after its last message.
        self._heard: Sequence[Message] = ()
        self._after = 0

    def hear(
        self,
        asked: Sequence[Message],
        answered: Sequence[Message],
        *,
        time: float = 0,
        speaker: str | None = None,
        path: tuple[str, ...] = (),
    ) -> list[Slot]:
        """Add what is new in one model call.

        Args:
            asked: The messages that the model was given.
            answered: What it answered.
            time: When it was called.
            speaker: The agent that called it.
            path: The agents from the outermost to that one, when it is a sub-agent.

        Returns:
            The calls in the answer.
        """
        first = not self.rows
        fresh = []
        known = place = 0
        if len(self._heard) <= len(asked) and all(map(is_, self._heard, asked)):
            known, place = len(self._heard), self._after
        for message in asked[known:]:
            if message.role == "system":
                self._hear_system(message)
                continue
            found = self._find(message, place)
            if found is None:
                fresh.append(message)
            else:
                place = max(place, found + (0 if _is_part_of(message, self.rows[found]) else 1))
        for message in fresh:
            self.add(message, time=time, speaker=speaker if message.role == "assistant" else None, path=path)
        self._heard = asked
        self._after = len(self.rows) if fresh else place
        if first:
            self._remember()
        slots: list[Slot] = []
        for message in answered:
            row = self.add(message, time=time, speaker=speaker, path=path)
            row.is_answer = True
            slots += row.slots
        return slots

    def add(self, message: Message, *, time: float = 0, speaker: str | None = None, path: tuple[str, ...] = ()) -> Row:
        """Add a message that was not there before."""
        row = Row(message, main=self._main, time=time, speaker=speaker, path=path)
        self._same.setdefault(id(message), []).append(len(self.rows))
        for slot in row.slots:
            if call_id := slot.call.id:
                self._by_id.setdefault(call_id, []).append(slot)
        self.rows.append(row)
        return row

    def _remember(self) -> None:
        """Tell the earlier turns from this one, which begins with the last question that the first call was asked."""
        start = len(self.rows)
        while start and self.rows[start - 1].role != "user":
            start -= 1
        while start and self.rows[start - 1].role == "user":
            start -= 1
        if any(row.role == "assistant" for row in self.rows[:start]):
            self.remembered = self.rows[:start]
            for row in self.remembered:  # no span of this trace belongs to their calls
                for slot in row.slots:
                    slot.taken = True

    def take(self, call: ToolCall) -> Slot | None:
        """The place of a call to which a tool's span belongs: by name and arguments, else by name. It is taken.

        All messages must have been heard.
        """
        if self._by_name is None:
            self._by_name = {}
            for slot in (slot for row in self.rows for slot in row.slots):
                for name in _names(slot.call):
                    self._by_name.setdefault(name, deque()).append(slot)
        exact, any_arguments = _names(call)
        return _first_free(self._by_name.get(exact), call.id) or _first_free(self._by_name.get(any_arguments), call.id)

    def take_id(self, call_id: str) -> Slot | None:
        """The place of the call with this id; of several the latest. It is taken."""
        return latest_free(self._by_id.get(call_id))

    def slots_by_id(self) -> dict[str, list[Slot]]:
        """The places of the calls that have an id, in order."""
        return self._by_id

    def _hear_system(self, message: Message) -> None:
        if message not in self.system[-_REMEMBERED:]:
            self.system.append(message)

    def _find(self, message: Message, start: int) -> int | None:
        """The row that this message repeats, at `start` or later."""
        same = self._same.get(id(message))
        if same is not None and (at := bisect_left(same, start)) < len(same):
            return same[at]
        for place in range(self._indexed, len(self.rows)):
            for key in _keys(self.rows[place].message):
                self._places.setdefault(key, []).append(place)
        self._indexed = len(self.rows)
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
            insort(self._same.setdefault(id(message), []), min(found))
            return min(found)
        if start < len(self.rows) and message.role == "assistant":
            row = self.rows[start]
            if row.is_answer and _same_beginning(row.message.text, message.text):
                return start
        return None


#: How far back a system message is compared with those before it.
_REMEMBERED = 20


def _names(call: ToolCall) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a call is found by when it has no id: first what says more."""
    return ((call.name, _content(call.args)), (call.name,))


def _content(value: Any) -> str | bytes:
    """The same for equal values alone."""
    try:
        return canonical(value)
    except UnicodeEncodeError:
        return digest(value)


def latest_free(slots: list[Slot] | None) -> Slot | None:
    """The last place that nothing was joined to; it is taken."""
    while slots:
        slot = slots.pop()
        if not slot.taken:
            slot.taken = True
            return slot
    return None


def merged_by_id(talks: list[Talk]) -> dict[str, list[Slot]]:
    """The places of the calls of several talks by their ids."""
    merged: dict[str, list[Slot]] = {}
    for talk in talks:
        for call_id, slots in talk.slots_by_id().items():
            merged.setdefault(call_id, []).extend(slots)
    return merged


def _first_free(slots: deque[Slot] | None, unless_id: str | None) -> Slot | None:
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
            yield ("call id", part.id) if part.id else ("call", part.name, _content(part.args))
        elif type(part) is ToolResult:
            calls = True
            yield ("result id", part.id) if part.id else ("result", part.name, _content(part.result))
    if narrow and calls:
        return
    text = message.text.strip()
    if text:
        yield (message.role, text)
    elif not calls:
        yield (message.role, _content(message.parts))


def _is_part_of(message: Message, row: Row) -> bool:
    """Whether a message repeats only the text, or only some calls, of an answer."""
    return row.role == "assistant" and len(message.parts) < len(row.parts)


def _same_beginning(one: str, other: str) -> bool:
    """Whether one text is the other with something cut off or put on at its end."""
    one, other = one.strip(), other.strip()
    return bool(one and other) and (one.startswith(other) or other.startswith(one))
