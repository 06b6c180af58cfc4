"""Bounds: between which numbers a score or a mean has to lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.jsonvalue import is_finite_number
from referee.scores import TOLERANCE


class Bounds(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The lowest and the highest number that passes, both inclusive; `None` is open.

    Example:
        >>> Bounds(min=0.8).hold(0.8), Bounds(max=0.2).hold(0.3)
        (True, False)
    """

    min: float | None = None
    max: float | None = None

    def hold(self, value: float) -> bool:
        """Whether the value lies within, give or take 1e-9: sums of decimal fractions are not exact."""
        if self.min is not None and value < self.min - TOLERANCE:
            return False
        return self.max is None or value <= self.max + TOLERANCE

    def __str__(self) -> str:
        if self.min is not None and self.max is not None:
            return f"{self.min:g} to {self.max:g}"
        return f"at least {self.min:g}" if self.min is not None else f"at most {self.max:g}"


def read_bounds(given: Any, what: str) -> Bounds:
    """Bounds from a number (the minimum) or from `{"min": ..., "max": ...}`.

    Args:
        given: The number or mapping; other keys of the mapping are the caller's.
        what: What the bounds are of, for the error.

    Raises:
        OptionError: No bound, not a finite number, or the minimum above the maximum.

    Example:
        >>> read_bounds(0.8, "threshold"), read_bounds({"max": 0.2}, "threshold")
        (Bounds(min=0.8, max=None), Bounds(min=None, max=0.2))
    """
    if isinstance(given, Bounds):
        given = {"min": given.min, "max": given.max}
    if not isinstance(given, Mapping):
        given = {"min": given}
    low, high = (_number(given.get(name), what) for name in ("min", "max"))
    if low is None and high is None:
        raise OptionError(f"{what}: give a number, or min and max")
    if low is not None and high is not None and low > high:
        raise OptionError(f"{what}: min {low:g} is above max {high:g}")
    return Bounds(low, high)


def _number(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if not is_finite_number(value):
        raise OptionError(f"{what}: a bound is a finite number, not {value!r}")
    return float(value)
