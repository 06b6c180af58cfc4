"""Options that are numbers, checked before anything is asked."""

from __future__ import annotations

import math
from typing import Any

from referee.errors import OptionError


def require_number(
    what: str, value: Any, *, above: float = -math.inf, least: float = -math.inf, whole: bool = False
) -> None:
    """Refuse what is no finite number in its range. `None` is no number and stands for "not given".

    Args:
        what: The option's name, for the error.
        value: What was given.
        above: It must be above this.
        least: It must be this or more.
        whole: It must be a whole number.

    Raises:
        OptionError: It is none.

    Example:
        >>> require_number("timeout", "5", above=0)
        Traceback (most recent call last):
            ...
        referee.errors.OptionError: timeout must be a number above 0, not '5'
    """
    if value is None:
        return
    is_number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and value > above and value >= least:
        return
    kind = "a whole number" if whole else "a number"
    bound = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" if least > -math.inf else ""
    raise OptionError(f"{what} must be {kind}{bound}, not {value!r}")
