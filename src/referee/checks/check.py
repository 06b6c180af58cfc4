"""How a check becomes a scorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from referee.errors import OptionError
from referee.jsonvalue import require_flag
from referee.pipeline import Scorer, Verdict
from referee.runs import Run

#: Options that are true or false. Any other value would count as one of the two without a word.
_FLAGS = ("ignore_case", "normalize", "exact")

PASSED = 1.0
FAILED = 0.0


def check(
    name: str,
    judge_run: Callable[[Run], Verdict],
    *,
    options: dict[str, Any],
    defaults: dict[str, Any] | None = None,
    id: str | None = None,
    description: str,
) -> Scorer[None, None]:
    """A scorer of one function that gives a number and its reason.

    Args:
        name: The name in `referee.checks`; its reference id is `check-` and the name with hyphens.
        judge_run: The function.
        options: The check's own options; those that equal `defaults` are left out of its specification.
        defaults: The defaults of the options.
        id: Another id than the reference's.
        description: What it asserts, in one line.

    Raises:
        OptionError: An option that is true or false is neither.
    """
    for option in _FLAGS:
        if option in options:
            require_flag(options[option], f"checks.{name}: {option}")
    given = {
        key: value for key, value in options.items() if key not in (defaults or {}) or (defaults or {})[key] != value
    }
    return Scorer(
        id=id or f"check-{name.replace('_', '-')}",
        description=description,
        kind=f"checks.{name}",
        options=given,
        fast=judge_run,
    )


def require_text(check_name: str, option: str, value: Any) -> str:
    """The value, if it is a string.

    Raises:
        OptionError: It is not.
    """
    if not isinstance(value, str):
        raise OptionError(f"checks.{check_name}: {option} must be a string, not {type(value).__name__}")
    return value


def require_count(check_name: str, option: str, value: Any, *, least: int = 0) -> int:
    """The value, if it is a whole number of at least `least`.

    Raises:
        OptionError: It is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OptionError(f"checks.{check_name}: {option} must be a whole number of at least {least}, not {value!r}")
    return value
