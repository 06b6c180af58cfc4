"""Days, UTC, as the store counts them: whole numbers since 1 January 1970."""

from __future__ import annotations

from datetime import date

DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()


def day_number(day: date) -> int:
    """The number of a day.

    Example:
        >>> day_number(date(1970, 1, 2)), date_of(1)
        (1, datetime.date(1970, 1, 2))
    """
    return day.toordinal() - _EPOCH


def date_of(number: int) -> date:
    """The day of a number."""
    return date.fromordinal(_EPOCH + number)
