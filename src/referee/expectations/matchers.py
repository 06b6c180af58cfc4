"""Matchers: other ways than equality to compare one argument, found by its path."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.expectations.paths import EVERY, Path, Segment, parse_path
from referee.jsonvalue import equal, is_finite_number
from referee.patterns import compile_pattern, finder
from referee.scores import TOLERANCE

#: A matcher as users write it: a word, `{"abs_tol": x}`, `{"regex": p}`, or a function `(expected, actual) -> bool`.
MatcherSpec: TypeAlias = str | Mapping[str, Any] | Callable[[Any, Any], Any]

_WORDS = ("unordered_list", "coerce", "ignore_case")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII).fullmatch
_INTEGER = re.compile(r"[+-]?\d{1,4000}", re.ASCII).fullmatch


class Matcher(msgspec.Struct, frozen=True):
    """How two values are compared: `rule` says it in words. Without `fits` they are lists without an order."""

    rule: str
    fits: Callable[[Any, Any], bool] | None = None


class Rules:
    """The matchers at and below one place of the arguments."""

    __slots__ = ("children", "matcher")

    def __init__(self, matcher: Matcher | None = None, children: dict[Segment, Rules] | None = None) -> None:
        self.matcher = matcher
        self.children = children or {}

    def below(self, segment: Segment) -> Rules | None:
        """The matchers at and below one more segment, `None` if there are none. An index goes before `[*]`."""
        own = self.children.get(segment)
        every = self.children.get(EVERY) if isinstance(segment, int) else None
        return _merged(own, every)

    def add(self, path: Path, matcher: Matcher) -> None:
        """Put a matcher at a path."""
        place = self
        for segment in path:
            place = place.children.setdefault(segment, Rules())
        place.matcher = matcher


def _merged(first: Rules | None, second: Rules | None) -> Rules | None:
    if first is None or second is None:
        return first or second
    children = dict(second.children)
    for segment, rules in first.children.items():
        merged = _merged(rules, children.get(segment))
        assert merged is not None
        children[segment] = merged
    return Rules(first.matcher or second.matcher, children)


def compile_matchers(matchers: Mapping[str, MatcherSpec] | None) -> Rules | None:
    """The matchers of a check, ready to walk down the arguments with.

    Args:
        matchers: A matcher for each path.

    Raises:
        OptionError: A path or a matcher is wrong.

    Example:
        >>> rules = compile_matchers({"filter.tags": "ignore_case"})
        >>> rules.below("filter").below("tags").matcher.fits("A", "a")
        True
    """
    if not matchers:
        return None
    if not isinstance(matchers, Mapping):
        raise OptionError(f"matchers are {{path: matcher}}, not {type(matchers).__name__}")
    rules = Rules()
    for path, spec in matchers.items():
        rules.add(parse_path(path), _compile(path, spec))
    return rules


def _compile(path: str, spec: MatcherSpec) -> Matcher:
    if spec == "unordered_list":
        return Matcher("in any order")
    if spec == "coerce":
        return Matcher(
            "as text, number or boolean", lambda expected, actual: equal(_coerced(expected), _coerced(actual))
        )
    if spec == "ignore_case":
        return Matcher("ignoring case", lambda expected, actual: equal(_folded(expected), _folded(actual)))
    if isinstance(spec, Mapping) and set(spec) == {"abs_tol"}:
        return _within(path, spec["abs_tol"])
    if isinstance(spec, Mapping) and set(spec) == {"regex"}:
        return _found_by(spec["regex"])
    if callable(spec):
        return _own(path, spec)
    raise OptionError(
        f"the matcher of {path!r} must be one of {', '.join(_WORDS)}, {{'abs_tol': number}}, {{'regex': pattern}} "
        f"or a function (expected, actual), not {spec!r}"
    )


def _within(path: str, most: Any) -> Matcher:
    if not is_finite_number(most) or most < 0:
        raise OptionError(f"the abs_tol of {path!r} must be a number of at least 0, not {most!r}")

    def fits(expected: Any, actual: Any) -> bool:
        if not (_is_number(expected) and _is_number(actual)):
            return False
        try:
            return bool(abs(expected - actual) <= most + TOLERANCE)
        except OverflowError:  # a whole number beyond the floats
            return False

    return Matcher(f"within {most:g}", fits)


def _found_by(pattern: Any) -> Matcher:
    compiled = compile_pattern(pattern)

    # One call is compared with many expected calls; its text is searched once.
    search = lru_cache(maxsize=16)(finder(compiled))

    return Matcher(
        f"found by /{compiled.pattern}/", lambda _expected, actual: isinstance(actual, str) and search(actual)
    )


def _own(path: str, function: Callable[[Any, Any], Any]) -> Matcher:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        raise OptionError(f"the matcher of {path!r} must take (expected, actual): {error}") from None
    except ValueError:
        pass  # a built-in function that does not say what it takes
    return Matcher(
        f"by {getattr(function, '__name__', 'a function')}", lambda expected, actual: bool(function(expected, actual))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _folded(value: Any) -> Any:
    """The value with the case of all its texts folded; names of arguments stay."""
    if isinstance(value, str):
        return value.casefold()
    return _inside(value, _folded)


def _coerced(value: Any) -> Any:
    """The value with every boolean, and every text that reads as a boolean or a number, as a number."""
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, str):
        return _inside(value, _coerced)
    text = value.strip()
    if text.casefold() in ("true", "false"):
        return int(text.casefold() == "true")
    if _INTEGER(text):
        return int(text)
    if _NUMBER(text):
        number = float(text)
        return number if math.isfinite(number) else value
    return value


def _inside(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [change(item) for item in value]
    return value
