"""Comparison of one call's arguments with the expected ones: what differs, and where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from referee.diffs import ArgumentDiff
from referee.errors import ReadError
from referee.expectations.calls import MAX_DEPTH, ExpectedCall
from referee.expectations.matchers import Matcher, Rules
from referee.expectations.paths import EVERY, Path, below, find
from referee.jsonvalue import deeper_than, equal, key
from referee.messages import ToolCall
from referee.pairing import maximum_matching

#: `exact` the arguments are equal; `subset` the expected ones are among them, inside objects too; `ignore` any will do.
ArgsMode: TypeAlias = Literal["exact", "subset", "ignore"]

#: In the lists of allowed values: the argument may be absent.
ABSENT = ""


class Comparison:
    """How the arguments of expected calls and calls are compared.

    Args:
        mode: `exact`, `subset` or `ignore`.
        rules: Matchers by path; elsewhere values compare by JSON equality.
        forbidden: Paths that no call may have.

    Attributes:
        plain: Arguments fit when they are equal, and only then.
    """

    __slots__ = ("_forbidden", "_mode", "_rules", "plain")

    def __init__(self, mode: ArgsMode = "exact", rules: Rules | None = None, forbidden: Sequence[Path] = ()) -> None:
        self._mode = mode
        self._rules = rules
        self._forbidden = forbidden
        self.plain = mode == "exact" and rules is None and not forbidden

    def fits(self, expected: ExpectedCall, call: ToolCall) -> bool:
        """Whether the call has the expected arguments. The names of the tools are not compared."""
        if self.plain and expected.args is not msgspec.UNSET:
            return equal(expected.args, arguments_of(call))
        if not self._forbidden and (self._mode == "ignore" or expected.any_args):
            return True
        return next(self.differences(expected, call), None) is None

    def differences(self, expected: ExpectedCall, call: ToolCall) -> Iterator[ArgumentDiff]:
        """The arguments that differ; none if they fit. The names of the tools are not compared."""
        actual = arguments_of(call)
        for path in self._forbidden:
            for where, value in find(actual, path):
                yield ArgumentDiff(where, "forbidden", actual=value)
        if self._mode == "ignore" or expected.any_args:
            return
        if expected.allowed_args is not None:
            yield from self._allowed(expected.allowed_args, actual, "", self._rules)
        else:
            yield from self._values(expected.args, actual, "", self._rules)

    def _values(self, expected: Any, actual: Any, path: str, rules: Rules | None) -> Iterator[ArgumentDiff]:
        if rules is not None and rules.matcher is not None:
            yield from self._matched(expected, actual, path, rules, rules.matcher)
        elif rules is None and equal(expected, actual):
            return
        elif isinstance(expected, dict) and isinstance(actual, dict):
            for name, value in expected.items():
                inner = rules and rules.below(name)
                if name not in actual:
                    yield ArgumentDiff(below(path, name), "missing", expected=value)
                elif inner is not None or not equal(value, actual[name]):
                    yield from self._values(value, actual[name], below(path, name), inner)
            yield from self._surplus(expected, actual, path)
        elif isinstance(expected, list) and isinstance(actual, list):
            for index, (one, other) in enumerate(zip(expected, actual)):
                yield from self._values(one, other, below(path, index), rules and rules.below(index))
            for index in range(len(actual), len(expected)):
                yield ArgumentDiff(below(path, index), "missing", expected=expected[index])
            for index in range(len(expected), len(actual)):
                yield ArgumentDiff(below(path, index), "unexpected", actual=actual[index])
        elif not equal(expected, actual):
            yield ArgumentDiff(path, "changed", expected, actual)

    def _surplus(self, expected: dict[str, Any], actual: dict[str, Any], path: str) -> Iterator[ArgumentDiff]:
        if self._mode == "exact":
            for name, value in actual.items():
                if name not in expected:
                    yield ArgumentDiff(below(path, name), "unexpected", actual=value)

    def _matched(self, expected: Any, actual: Any, path: str, rules: Rules, matcher: Matcher) -> Iterator[ArgumentDiff]:
        if matcher.fits is None:
            fits = self._same_elements(expected, actual, rules)
        else:
            fits = matcher.fits(expected, actual)
        if not fits:
            yield ArgumentDiff(path, "changed", expected, actual, matcher.rule)

    def _same_elements(self, expected: Any, actual: Any, rules: Rules) -> bool:
        """Whether two lists have the same elements in any order; matchers and `subset` hold for the elements too."""
        if not (isinstance(expected, list) and isinstance(actual, list)):
            return equal(expected, actual)
        if len(expected) != len(actual):
            return False
        inner = rules.below(EVERY)
        if inner is None and self._mode == "exact":
            return Counter(map(key, expected)) == Counter(map(key, actual))

        def match(left: int, right: int) -> bool:
            return next(self._values(expected[left], actual[right], "", inner), None) is None

        return len(maximum_matching(len(expected), len(actual), match)) == len(expected)

    def _allowed(self, allowed: Any, actual: Any, path: str, rules: Rules | None) -> Iterator[ArgumentDiff]:
        """Compare an object with one that has a list of allowed values for each name."""
        if not isinstance(actual, dict):
            yield ArgumentDiff(path, "changed", allowed, actual, "one of the allowed values")
            return
        for name, options in allowed.items():
            where, inner = below(path, name), rules and rules.below(name)
            if name in actual:
                yield from self._one_of(options, actual[name], where, inner)
            elif ABSENT not in options:
                many = len(options) > 1
                yield ArgumentDiff(
                    where, "missing", options if many else options[0], rule="one of them" if many else None
                )
        yield from self._surplus(allowed, actual, path)

    def _one_of(self, options: list[Any], actual: Any, path: str, rules: Rules | None) -> Iterator[ArgumentDiff]:
        for option in options:
            if next(self._option(option, actual, path, rules), None) is None:
                return
        values = [option for option in options if option != ABSENT]
        if not values:
            yield ArgumentDiff(path, "unexpected", actual=actual)
        elif len(values) == 1:
            yield from self._option(values[0], actual, path, rules)
        else:
            yield ArgumentDiff(path, "changed", values, actual, "one of them")

    def _option(self, option: Any, actual: Any, path: str, rules: Rules | None) -> Iterator[ArgumentDiff]:
        if isinstance(option, dict):
            yield from self._allowed(option, actual, path, rules)
        elif isinstance(option, list) and any(isinstance(element, dict) for element in option):
            if not isinstance(actual, list) or len(actual) != len(option):
                yield ArgumentDiff(path, "changed", option, actual)
                return
            for index, (one, other) in enumerate(zip(option, actual)):
                yield from self._option(one, other, below(path, index), rules and rules.below(index))
        else:
            yield from self._values(option, actual, path, rules)


def arguments_of(call: ToolCall) -> Any:
    """The arguments of a call; an empty object where the source has none."""
    return {} if call.args is None else call.args


def require_shallow(calls: Sequence[ToolCall]) -> None:
    """Refuse calls whose arguments could exhaust the stack.

    Raises:
        ReadError: The arguments of a call are nested deeper than `MAX_DEPTH` levels.
    """
    if not deeper_than([call.args for call in calls], MAX_DEPTH):  # one look at all of them is enough as a rule
        return
    for call in calls:
        if deeper_than(call.args, MAX_DEPTH):
            raise ReadError(f"the arguments of a call of {call.name} are nested deeper than {MAX_DEPTH} levels")
