"""Calls that wait for their result, which comes in a later message."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from referee.messages import Part, ToolCall

#: Where a call stands: the parts of its message, and its index in them.
Place: TypeAlias = tuple[list[Part], int]


class WaitingCalls:
    """Finds the call that a result belongs to: by id, without an id by name and order.

    A call waits as long as its state is `call`. Nothing is looked up twice, however many calls and results there are.
    """

    __slots__ = ("_by_id", "_by_name", "_fresh", "_named", "_ordered", "_without_id")

    def __init__(self) -> None:
        # Parts that have been added since the last result, with the indices of those that are new.
        self._fresh: list[tuple[list[Part], range]] = []
        self._ordered: list[Place] = []
        self._by_id: dict[str, list[Place]] = {}
        # Only results without an id need these; so many of the ordered calls are in them.
        self._by_name: dict[tuple[str, bool], deque[Place]] = {}
        self._without_id: deque[Place] = deque()
        self._named = 0

    def add(self, parts: list[Part], start: int) -> None:
        """Let the calls among these parts wait, from `start` on."""
        self._fresh.append((parts, range(start, len(parts))))

    def take(self, call_id: str | None, name: str | None) -> Place | None:
        """The place of the call that a result belongs to, or `None`.

        Args:
            call_id: Finds the latest call of this id.
            name: Without an id, finds the first call of this name: of those without an id, else of those with one.
                Without a name too, the first call without an id.
        """
        self._arrange()
        if call_id:
            same_id = self._by_id.get(call_id)
            while same_id:
                place = same_id.pop()
                if _is_waiting(place):
                    return place
            return None
        self._arrange_by_name()
        if name is None:
            return _first_waiting(self._without_id)
        without_id = _first_waiting(self._by_name.get((name, False)))
        return without_id or _first_waiting(self._by_name.get((name, True)))

    def _arrange(self) -> None:
        for parts, indices in self._fresh:
            for index in indices:
                call = parts[index]
                if isinstance(call, ToolCall) and call.state == "call":
                    place = (parts, index)
                    self._ordered.append(place)
                    if call.id:
                        same_id = self._by_id.get(call.id)
                        if same_id is None:
                            self._by_id[call.id] = [place]
                        else:
                            same_id.append(place)
        self._fresh.clear()

    def _arrange_by_name(self) -> None:
        for place in self._ordered[self._named :]:
            call = _call(place)
            if not call.id:
                self._without_id.append(place)
            self._by_name.setdefault((call.name, bool(call.id)), deque()).append(place)
        self._named = len(self._ordered)


def _call(place: Place) -> ToolCall:
    parts, index = place
    call = parts[index]
    assert isinstance(call, ToolCall)
    return call


def _is_waiting(place: Place) -> bool:
    return _call(place).state == "call"


def _first_waiting(places: deque[Place] | None) -> Place | None:
    while places:
        place = places.popleft()
        if _is_waiting(place):
            return place
    return None
