"""Comparison of the steps taken with the steps expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from referee.display import printable
from referee.jsonvalue import equal
from referee.pairing import longest_common_subsequence, maximum_matching
from referee.scores import rounded
from referee.trajectories.expectation import ExpectedStep, Ordering
from referee.trajectory import Step

#: What a step beyond the expected ones costs in strict order, as a share of one expected step.
_SURPLUS = 0.5
#: What each name costs that occurs more often than it may.
_REPETITION = 0.1


class StepComparison(msgspec.Struct, frozen=True):
    """How the steps taken compare with the expected ones.

    Attributes:
        score: 0 to 1, rounded to two decimals.
        ordering: How the order counted.
        matched: Pairs of places: of the expected step, and of the step taken.
        expected_steps, actual_steps: The names of both, in order.
        missing_steps, extra_steps: The names of those without a partner.
        repeated_steps: Names that occur more than once and more often than expected, where that is not allowed.
    """

    score: float
    ordering: Ordering
    matched: list[tuple[int, int]]
    expected_steps: list[str]
    actual_steps: list[str]
    missing_steps: list[str]
    extra_steps: list[str]
    repeated_steps: list[str]

    @property
    def reason(self) -> str:
        """The figures in a sentence."""
        if not self.expected_steps:
            return f"no steps were expected; taken: {_listed(self.actual_steps)}"
        order = {"strict": "at their places", "relaxed": "in order", "unordered": "in any order"}[self.ordering]
        parts = [f"{len(self.matched)} of {len(self.expected_steps)} expected steps {order}"]
        for title, names in (
            ("missing", self.missing_steps),
            ("extra", self.extra_steps),
            ("repeated", self.repeated_steps),
        ):
            if names:
                parts.append(f"{title}: {_listed(names)}")
        return "; ".join(parts)


def compare_steps(
    expected: Sequence[ExpectedStep], actual: Sequence[Step], ordering: Ordering, *, allow_repeated_steps: bool = True
) -> StepComparison:
    """Pair the expected steps with those taken, as many as possible, and score the result.

    Args:
        expected: The expected steps; none expects that no steps were taken.
        actual: The steps taken.
        ordering: `strict` pairs position by position, and every surplus step costs half an expected one; `relaxed`
            takes the longest common subsequence, `unordered` the maximum matching.
        allow_repeated_steps: `False` subtracts 0.1 for each name that occurs more than once and more often than
            expected.

    Example:
        >>> steps = [Step(name="plan"), Step(name="search"), Step(name="reply")]
        >>> compare_steps([ExpectedStep("search"), ExpectedStep("plan")], steps, "relaxed").score
        0.5
    """

    def match(left: int, right: int) -> bool:
        return fits(expected[left], actual[right])

    if ordering == "strict":
        pairs = [(place, place) for place in range(min(len(expected), len(actual))) if match(place, place)]
    elif ordering == "relaxed":
        pairs = longest_common_subsequence(len(expected), len(actual), match)
    else:
        pairs = maximum_matching(len(expected), len(actual), match)
    repeated = [] if allow_repeated_steps else _repeated(expected, actual)
    score = _share(len(pairs), len(expected), len(actual), ordering) - _REPETITION * len(repeated)
    paired = {left for left, _ in pairs}, {right for _, right in pairs}
    return StepComparison(
        score=rounded(max(0.0, score)),
        ordering=ordering,
        matched=pairs,
        expected_steps=[step.name for step in expected],
        actual_steps=[step.name for step in actual],
        missing_steps=[step.name for place, step in enumerate(expected) if place not in paired[0]],
        extra_steps=[step.name for place, step in enumerate(actual) if place not in paired[1]],
        repeated_steps=repeated,
    )


def fits(expected: ExpectedStep, actual: Step) -> bool:
    """Whether a step has the expected name, and the type and every typed field that are given.

    Example:
        >>> fits(ExpectedStep("search", fields={"success": True}), Step(name="search", step_type="tool_call"))
        False
    """
    return is_called(expected, actual) and all(
        name in actual.fields and equal(value, actual.fields[name]) for name, value in expected.fields.items()
    )


def is_called(expected: ExpectedStep, actual: Step) -> bool:
    """Whether a step has the expected name, and the type where it is given."""
    return actual.name == expected.name and expected.step_type in (None, actual.step_type)


def _share(matched: int, expected: int, actual: int, ordering: Ordering) -> float:
    if not expected:
        return 0.0 if actual else 1.0
    surplus = max(0, actual - expected) if ordering == "strict" else 0
    return (matched - _SURPLUS * surplus) / expected


def _repeated(expected: Sequence[ExpectedStep], actual: Sequence[Step]) -> list[str]:
    allowed = Counter(step.name for step in expected)
    taken = Counter(step.name for step in actual)
    return [name for name, count in taken.items() if count > max(1, allowed[name])]


def _listed(names: Sequence[str], most: int = 12) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return printable(", ".join(names[:most])) + more
