"""Plans: steps in order, with groups of calls in any order, alternatives, and optional steps.

A plan is compiled to steps, a step to its alternatives, an alternative to slots that may be filled in any order: groups
inside groups ask for no order among themselves. One step's calls all come before the next step's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from referee.display import shown
from referee.errors import OptionError
from referee.expectations.alignment import Extra, Pairs, Relation, Slot
from referee.expectations.calls import read_expected_call
from referee.pairing import matching

#: Groups that multiply (alternatives inside a group in any order) are refused beyond this.
MAX_ALTERNATIVES = 1000

_GROUPS = ("any_order", "one_of", "optional")

_Alternative: TypeAlias = tuple[Slot, ...]


class Plan:
    """The compiled plan: `slots` lists every slot once; a step is a list of alternatives, each a list of slot numbers."""

    __slots__ = ("slots", "steps")

    def __init__(self, steps: Sequence[Sequence[_Alternative]]) -> None:
        self.slots: list[Slot] = []
        self.steps: list[list[list[int]]] = []
        for alternatives in steps:
            numbered = []
            for alternative in alternatives:
                # Required slots first: what a growing matching has filled once stays filled.
                slots = sorted(alternative, key=lambda slot: not slot.required)
                numbered.append(list(range(len(self.slots), len(self.slots) + len(slots))))
                self.slots += slots
            self.steps.append(numbered)

    def required(self, alternative: list[int]) -> list[int]:
        """The slots of an alternative that must be filled."""
        return [slot for slot in alternative if self.slots[slot].required]


def read_plan(steps: Any) -> Plan:
    """The plan that a list of steps and groups describes.

    Raises:
        OptionError: A step is neither a name, nor `{name, args}`, nor a group; or there are too many combinations.

    Example:
        >>> plan = read_plan(["login", {"any_order": ["weather", {"one_of": ["news", "sports"]}]}, {"optional": "save"}])
        >>> [slot.name for slot in plan.slots], [slot.required for slot in plan.slots]
        (['login', 'weather', 'news or sports', 'save'], [True, True, True, False])
    """
    if isinstance(steps, (str, Mapping)) or not isinstance(steps, Sequence):
        raise OptionError(f"a plan must be a list of steps, not {shown(steps)}")
    return Plan([_alternatives(step, f"step {number}") for number, step in enumerate(steps, 1)])


def _alternatives(step: Any, where: str) -> list[_Alternative]:
    group = next((key for key in _GROUPS if isinstance(step, Mapping) and key in step), None)
    if group is None:
        return [(Slot((read_expected_call(step, where),)),)]
    if len(step) > 1:
        raise OptionError(f"{where}: a group has one field, {group}, and no other: {shown(step)}")
    if group == "optional":
        return _optional(_alternatives(step[group], f"{where}.optional"))
    members = step[group]
    if isinstance(members, (str, Mapping)) or not isinstance(members, Sequence) or not members:
        raise OptionError(f"{where}.{group} must be a list of steps, not {shown(members)}")
    inner = [_alternatives(member, f"{where}.{group}[{index}]") for index, member in enumerate(members)]
    return _one_of(inner) if group == "one_of" else _any_order(inner, where)


def _optional(alternatives: list[_Alternative]) -> list[_Alternative]:
    if len(alternatives) == 1 and len(alternatives[0]) == 1:
        return [(Slot(alternatives[0][0].options, required=False),)]
    return [*alternatives, ()]


def _one_of(members: list[list[_Alternative]]) -> list[_Alternative]:
    """The members' alternatives; single calls become one slot that takes any of them, so that groups do not multiply."""
    together = [alternative for member in members for alternative in member]
    single = [alternative[0] for alternative in together if len(alternative) == 1 and alternative[0].required]
    others = [alternative for alternative in together if len(alternative) != 1 or not alternative[0].required]
    merged = [(Slot(tuple(option for slot in single for option in slot.options)),)] if single else []
    return merged + others


def _any_order(members: list[list[_Alternative]], where: str) -> list[_Alternative]:
    count = 1
    for member in members:
        count *= len(member)
    if count > MAX_ALTERNATIVES:
        raise OptionError(f"{where}: its groups combine in {count:,} ways; at most {MAX_ALTERNATIVES:,} are compared")
    return [tuple(slot for alternative in choice for slot in alternative) for choice in product(*members)]


def fulfilling_pairs(plan: Plan, relation: Relation, extra: Extra) -> Pairs | None:
    """Pairs of slots and calls that fulfil the plan, or `None` if nothing does. Decides exactly, never by greed.

    With other calls allowed, ending each step as early as possible leaves the most calls to the later steps, so the
    earliest end is always right. Without other calls every call must have a slot, and every way to cut the calls into
    steps is followed.
    """
    return _with_extra(plan, relation) if extra == "allow" else _without_extra(plan, relation)


def _with_extra(plan: Plan, relation: Relation) -> Pairs | None:
    pairs: Pairs = []
    start = 0
    for step in plan.steps:
        ends = [_earliest(relation, plan.required(alternative), start) for alternative in step]
        possible = [found for found in ends if found is not None]
        if not possible:
            return None
        start, found = min(possible, key=lambda one: one[0])
        pairs += found
    return pairs


def _earliest(relation: Relation, slots: list[int], start: int) -> tuple[int, Pairs] | None:
    """The earliest end of calls from `start` that fill all the slots, and the pairs."""
    firsts = [relation.first_fit(slot, start) for slot in slots]
    if None in firsts:
        return None
    # No slot can be filled before its first call; from there the window doubles until it suffices.
    low = high = max((place + 1 for place in firsts if place is not None), default=start)
    best = _filled(relation, slots, start, high)
    while len(best) < len(slots):
        if high == len(relation.calls):
            return None
        low, high = high + 1, min(len(relation.calls), 2 * high - start)
        best = _filled(relation, slots, start, high)
    while low < high:
        middle = (low + high) // 2
        pairs = _filled(relation, slots, start, middle)
        if len(pairs) == len(slots):
            high, best = middle, pairs
        else:
            low = middle + 1
    return high, best


def _filled(relation: Relation, slots: list[int], start: int, end: int) -> Pairs:
    """The most pairs of these slots and the calls of a window."""
    window = (1 << end - start) - 1
    found = matching([relation.rows[slot] >> start & window for slot in slots], end - start)
    return [(slots[slot], start + call) for slot, call in found]


def _without_extra(plan: Plan, relation: Relation) -> Pairs | None:
    calls = len(relation.calls)
    reached: dict[int, Pairs] = {0: []}
    for step in plan.steps:
        further: dict[int, Pairs] = {}
        for start, pairs in reached.items():
            for alternative in step:
                required = len(plan.required(alternative))
                for end in range(start + required, min(start + len(alternative), calls) + 1):
                    if (
                        end not in further
                        and (found := _covered(relation, alternative, required, start, end)) is not None
                    ):
                        further[end] = pairs + found
        reached = further
    return reached.get(calls)


def _covered(relation: Relation, alternative: list[int], required: int, start: int, end: int) -> Pairs | None:
    """Pairs that give every call of the window a slot and every required slot a call.

    A matching that covers the required slots and one that covers the calls can always be joined into one that does
    both (N. S. Mendelsohn and A. L. Dulmage, 1958); growing the first one finds it.
    """
    if len(_filled(relation, alternative[:required], start, end)) < required:
        return None
    pairs = _filled(relation, alternative, start, end)
    return pairs if len(pairs) == end - start else None


class _Attempt(NamedTuple):
    """What one alternative of a step makes of the calls from `start`."""

    alternative: list[int]
    places: dict[int, int]
    missing: int
    start: int
    end: int

    def cost(self, extra: Extra) -> tuple[int, int, int]:
        """Few missing calls, then few calls without a slot where that matters, then an early end."""
        surplus = self.end - self.start - 2 * len(self.places) if extra == "forbid" else 0
        return self.missing, surplus, self.end


def nearest_order(plan: Plan, relation: Relation, extra: Extra) -> list[int]:
    """For a plan that is not fulfilled: slots in an order that the plan allows and that is near the calls.

    Each step takes the alternative that costs least; its slots stand in the order of the calls they find. Aligning the
    calls with this order shows what is wrong.
    """
    order: list[int] = []
    start = 0
    for step in plan.steps:
        attempts = [_attempt(plan, relation, alternative, start) for alternative in step]
        best = min(attempts, key=lambda attempt: attempt.cost(extra))
        order += sorted(best.alternative, key=lambda slot: (best.places.get(slot, len(relation.calls)), slot))
        start = best.end
    return order


def _attempt(plan: Plan, relation: Relation, alternative: list[int], start: int) -> _Attempt:
    required = plan.required(alternative)
    earliest = _earliest(relation, required, start)
    if earliest is not None:
        return _Attempt(alternative, dict(earliest[1]), 0, start, earliest[0])
    places = dict(_filled(relation, required, start, len(relation.calls)))
    return _Attempt(alternative, places, len(required) - len(places), start, start)
