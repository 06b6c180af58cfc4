"""Alignment: pairs expected calls with calls, optimally, and says what is wrong with the rest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from referee.diffs import ArgumentDiff, CallDiff, ToolCallDiff
from referee.expectations.calls import ExpectedCall
from referee.expectations.comparison import Comparison, arguments_of, require_shallow
from referee.jsonvalue import equal, key
from referee.messages import ToolCall
from referee.pairing import common_subsequence, matching

#: `subsequence` in this order, with other calls between them; `exact` in this order, directly one after another; `any`.
Order: TypeAlias = Literal["subsequence", "exact", "any"]
#: Whether calls that are not expected may be there.
Extra: TypeAlias = Literal["allow", "forbid"]
#: `count` every call counts; `collapse_failed` a failed call that is directly followed by the same call does not;
#: `ignore_failed` no failed call does.
Retries: TypeAlias = Literal["count", "collapse_failed", "ignore_failed"]

#: Pairs of places: of the expected call, and of the call.
Pairs: TypeAlias = list[tuple[int, int]]

#: How many pairs of unmatched calls are compared to find the nearest ones; it bounds the time that a diff takes.
_MOST_COMPARED = 10_000
#: Up to so many pairs are compared one by one; more are looked up by keys, which cost more to make.
_FEW_PAIRS = 64


class Slot(msgspec.Struct, frozen=True):
    """A place for one call: the expected call, or several of which one will do. An optional one may stay empty."""

    options: tuple[ExpectedCall, ...]
    required: bool = True

    @property
    def name(self) -> str:
        """The tool, or the tools."""
        return " or ".join(option.name for option in self.options)


class Relation:
    """Which slot each call fits. Every pair is compared once.

    Args:
        slots: The expected calls.
        calls: The calls that count.
        comparison: How arguments are compared.

    Raises:
        ReadError: The arguments of a call are nested too deeply.

    Attributes:
        rows: For each slot an integer; its bit `call` says whether that call fits the slot.
    """

    __slots__ = ("calls", "comparison", "rows", "slots")

    def __init__(self, slots: Sequence[Slot], calls: Sequence[ToolCall], comparison: Comparison) -> None:
        require_shallow(calls)
        self.slots = slots
        self.calls = calls
        self.comparison = comparison
        self.rows = [0] * len(slots)
        options = [(index, option) for index, slot in enumerate(slots) for option in slot.options]
        if comparison.plain and len(options) * len(calls) > _FEW_PAIRS:
            options = self._look_up(options)
        self._compare(options)

    def _look_up(self, options: list[tuple[int, ExpectedCall]]) -> list[tuple[int, ExpectedCall]]:
        """Find the calls of all options that fit by equality, by their keys. Gives the other options back."""
        found: dict[Any, int] = {}
        for place, call in enumerate(self.calls):
            for name in (call.name, (call.name, key(arguments_of(call)))):
                found[name] = found.get(name, 0) | 1 << place
        others = []
        for index, option in options:
            if option.allowed_args is not None:
                others.append((index, option))
            else:
                name = option.name if option.any_args else (option.name, key(option.args))
                self.rows[index] |= found.get(name, 0)
        return others

    def _compare(self, options: list[tuple[int, ExpectedCall]]) -> None:
        by_name: dict[str, list[tuple[int, ExpectedCall]]] = {}
        for index, option in options:
            by_name.setdefault(option.name, []).append((index, option))
        for place, call in enumerate(self.calls):
            for index, option in by_name.get(call.name, ()):
                if self.comparison.fits(option, call):
                    self.rows[index] |= 1 << place

    def first_fit(self, slot: int, start: int = 0) -> int | None:
        """The first call from `start` that fits the slot."""
        later = self.rows[slot] >> start
        return start + (later & -later).bit_length() - 1 if later else None

    def pairs(self, order: Order, extra: Extra) -> Pairs:
        """The pairing with the most pairs that the order allows."""
        calls = len(self.calls)
        if order == "any":
            return matching(self.rows, calls)
        if order == "exact" and (extra == "allow" or calls == len(self.slots)):
            starts = (1 << calls) - 1
            for place, row in enumerate(self.rows):
                starts &= row >> place
            if starts:
                first = (starts & -starts).bit_length() - 1
                return [(place, first + place) for place in range(len(self.slots))]
        return common_subsequence(self.rows, calls)


def counted_calls(calls: Sequence[ToolCall], retries: Retries) -> list[int]:
    """The places of the calls that count.

    Example:
        >>> failed, ok = ToolCall("get", {"id": 1}, state="error"), ToolCall("get", {"id": 1}, state="result")
        >>> counted_calls([failed, failed, ok], "collapse_failed"), counted_calls([failed, ok, failed], "ignore_failed")
        ([2], [1])
    """
    if retries == "count":
        return list(range(len(calls)))
    require_shallow(calls)
    return [
        place
        for place, call in enumerate(calls)
        if not call.failed or (retries == "collapse_failed" and not _repeated(calls, place))
    ]


def _repeated(calls: Sequence[ToolCall], place: int) -> bool:
    if place + 1 == len(calls):
        return False
    call, following = calls[place], calls[place + 1]
    return call.name == following.name and equal(arguments_of(call), arguments_of(following))


class Aligner:
    """Makes a diff of a pairing.

    Args:
        relation: The slots, and the calls that count.
        pairs: The pairing.
        places: Where the calls that count stand among all the calls of the run.
        left_out: The calls of the run that do not count, with their places.
        ordered: Whether the order of the slots matters.
        extra: Whether other calls are allowed.
        contiguous: Whether other calls are allowed only before the first and after the last matched one.
    """

    def __init__(
        self,
        relation: Relation,
        pairs: Pairs,
        *,
        places: Sequence[int],
        left_out: Sequence[tuple[int, ToolCall]] = (),
        ordered: bool,
        extra: Extra,
        contiguous: bool = False,
    ) -> None:
        self._relation = relation
        self._matched = dict(pairs)
        self._span = min(self._matched.values(), default=0), max(self._matched.values(), default=0)
        self._places = places
        self._left_out = left_out
        self._ordered = ordered
        self._extra = extra
        self._contiguous = contiguous

    def diff(self) -> ToolCallDiff:
        """The diff."""
        relation = self._relation
        taken = set(self._matched.values())
        free_slots = [
            index for index, slot in enumerate(relation.slots) if slot.required and index not in self._matched
        ]
        free_calls = [place for place in range(len(relation.calls)) if place not in taken]
        moved = self._moved(free_slots, free_calls)
        taken.update(moved.values())
        changed = self._nearest(
            [index for index in free_slots if index not in moved], [place for place in free_calls if place not in taken]
        )
        taken.update(place for place, _ in changed.values())
        extra = [place for place in free_calls if place not in taken]
        return ToolCallDiff(
            lines=self._in_order(moved, changed, extra),
            expected=sum(slot.required for slot in relation.slots),
            matched=sum(relation.slots[index].required for index in self._matched),
            called=len(relation.calls),
        )

    def _moved(self, slots: list[int], calls: list[int]) -> dict[int, int]:
        """Right calls in another place: only an order can leave them unpaired."""
        if not self._ordered:
            return {}
        relation = self._relation
        unpaired = sum(1 << place for place in calls)
        pairs = matching([relation.rows[slot] & unpaired for slot in slots], len(relation.calls))
        return {slots[left]: call for left, call in pairs}

    def _nearest(self, slots: list[int], calls: list[int]) -> dict[int, tuple[int, list[ArgumentDiff]]]:
        """For each slot left a call of the same tool: those that differ least first, then those nearest in place."""
        relation = self._relation
        most = _MOST_COMPARED // max(1, len(slots))
        by_name: dict[str, list[int]] = {}
        for place in calls:
            by_name.setdefault(relation.calls[place].name, []).append(place)
        found = []
        for index in slots:
            options = {option.name: option for option in relation.slots[index].options}
            same_tool = sorted(place for name in options for place in _around(by_name.get(name, []), index, most))
            for place in sorted(same_tool, key=lambda place: abs(index - place))[:most]:
                call = relation.calls[place]
                arguments = list(relation.comparison.differences(options[call.name], call))
                found.append((len(arguments), abs(index - place), index, place, arguments))
        nearest: dict[int, tuple[int, list[ArgumentDiff]]] = {}
        taken = set()
        for _, _, index, place, arguments in sorted(found, key=lambda pair: pair[:4]):
            if index not in nearest and place not in taken:
                nearest[index] = place, arguments
                taken.add(place)
        return nearest

    def _in_order(
        self, moved: dict[int, int], changed: dict[int, tuple[int, list[ArgumentDiff]]], extra: list[int]
    ) -> list[CallDiff]:
        """Lines in the order of the slots; each extra call after the last matched slot whose call came before it."""
        anchors = sorted((self._places[place], index) for index, place in self._matched.items())
        lines: list[tuple[tuple[int, int, int], CallDiff]] = []
        for index, slot in enumerate(self._relation.slots):
            line = self._slot_line(index, slot, moved, changed)
            if line is not None:
                lines.append(((index, 0, 0), line))
        for place in extra:
            line = self._call_line("extra", place, allowed=self._allowed(place))
            lines.append((self._after(anchors, self._places[place]), line))
        for place, call in self._left_out:
            line = CallDiff("left_out", call.name, call=place, args=arguments_of(call))
            lines.append((self._after(anchors, place), line))
        return [line for _, line in sorted(lines, key=lambda keyed: keyed[0])]

    def _after(self, anchors: list[tuple[int, int]], place: int) -> tuple[int, int, int]:
        if not self._ordered:
            return len(self._relation.slots), 1, place
        before = bisect_left(anchors, (place,))
        return (anchors[before - 1][1] if before else -1), 1, place

    def _slot_line(
        self, index: int, slot: Slot, moved: dict[int, int], changed: dict[int, tuple[int, list[ArgumentDiff]]]
    ) -> CallDiff | None:
        expected = [option.entry for option in slot.options]
        if index in self._matched:
            return self._call_line("matched", self._matched[index], place=index, expected=expected)
        if index in moved:
            return self._call_line("moved", moved[index], place=index, expected=expected)
        if index in changed:
            place, arguments = changed[index]
            return self._call_line("changed", place, place=index, expected=expected, arguments=arguments)
        return CallDiff("missing", slot.name, index, expected=expected) if slot.required else None

    def _call_line(self, change: str, call: int, **fields: object) -> CallDiff:
        made = self._relation.calls[call]
        return CallDiff(change, made.name, call=self._places[call], args=arguments_of(made), **fields)  # type: ignore[arg-type]

    def _allowed(self, place: int) -> bool:
        if self._extra == "forbid":
            return False
        if not (self._contiguous and self._matched):
            return True
        return not self._span[0] < place < self._span[1]


def _around(places: list[int], middle: int, most: int) -> list[int]:
    """Of rising places those that can be among the `most` nearest to a place."""
    start = bisect_left(places, middle)
    return places[max(0, start - most) : start + most]
