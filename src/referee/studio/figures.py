"""Numbers, times and histograms for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from referee.statistics import Interval
from referee.storage.figures import Histogram
from referee.storage.outcomes import FIRST_INNER_BIN

#: What an outcome is called on a page.
OUTCOME_WORDS = {
    "error": "error",
    "not_scorable": "not scorable",
    "failed": "failed",
    "passed": "passed",
    "unbounded": "no bound",
}


def number(value: float | None) -> str:
    """A score or a mean: three significant decimals at most; a dash where there is none.

    Example:
        >>> number(0.5), number(1.0), number(0.12345), number(None), number(123456.0)
        ('0.5', '1', '0.123', '–', '123,456')
    """
    if value is None:
        return "–"
    text = f"{value:,.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def signed(value: float | None) -> str:
    """A difference, with its sign.

    Example:
        >>> signed(0.25), signed(-0.5), signed(0.0)
        ('+0.25', '−0.5', '0')
    """
    return (
        f"+{number(value)}" if value is not None and number(value).lstrip("−") != "0" and value > 0 else number(value)
    )


def interval(given: Interval | None) -> str:
    """An interval, from low to high.

    Example:
        >>> interval(Interval(0.25, 0.75, 0.95, "t"))
        '0.25 to 0.75'
    """
    return "" if given is None else f"{number(given.low)} to {number(given.high)}"


def count(value: int) -> str:
    """A whole number with its thousands apart."""
    return f"{value:,}"


def p_value(value: float | None) -> str:
    """A p-value.

    Example:
        >>> p_value(0.04321), p_value(0.00001)
        ('0.043', 'below 0.001')
    """
    if value is None:
        return "–"
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def moment(value: datetime | None) -> str:
    """A time, UTC, to the minute."""
    return "–" if value is None else f"{value:%Y-%m-%d %H:%M}"


def duration(value: float | None) -> str:
    """Milliseconds.

    Example:
        >>> duration(12.3), duration(2345.0)
        ('12 ms', '2.3 s')
    """
    if value is None:
        return "–"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def size(characters: int) -> str:
    """The length of a text.

    Example:
        >>> size(999), size(5_242_880)
        ('999 characters', '5,242,880 characters')
    """
    return f"{characters:,} characters"


def cost(value: float | None) -> str:
    """US dollars.

    Example:
        >>> cost(0.0952), cost(0.0), cost(None)
        ('$0.0952', '$0', '–')
    """
    return "–" if value is None else f"${value:,.4f}" if value else "$0"


def share(value: float | None) -> str:
    """A part of a whole, in percent.

    Example:
        >>> share(0.5), share(0.0123), share(None)
        ('50 %', '1.2 %', '–')
    """
    return "–" if value is None else f"{value * 100:.1f}".removesuffix(".0") + " %"


def as_json(value: Any) -> str:
    """Data as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def outcome(value: str) -> str:
    """The word for an outcome."""
    return OUTCOME_WORDS.get(value, value)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a drawn histogram: its place and size on a canvas, the values that it counts, and how many they are."""

    x: int
    y: int
    width: int
    height: int
    low: float
    high: float
    count: int
    is_first_inner: bool

    @property
    def filter(self) -> dict[str, float | None]:
        """The filter that finds what the bar counts. The first bar between the ends does not hold the low end."""
        if self.low == self.high:
            return {"at_least": self.low, "at_most": self.high, "above": None, "below": None}
        least = {"above": self.low, "at_least": None} if self.is_first_inner else {"at_least": self.low, "above": None}
        return {**least, "at_most": None, "below": self.high}

    @property
    def words(self) -> str:
        """What the bar says."""
        span = number(self.low) if self.low == self.high else f"{number(self.low)} to {number(self.high)}"
        return f"{span}: {self.count:,}"


def bars(histogram: Histogram, width: int, height: int) -> list[Bar]:
    """The bars of a histogram on a canvas, those that count nothing left out. A small count is still seen."""
    most = max((one.count for one in histogram.bins), default=0)
    step = width // len(histogram.bins)
    drawn = []
    for place, one in enumerate(histogram.bins):
        if one.count:
            tall = max(1, round(one.count / most * height))
            drawn.append(
                Bar(
                    place * step,
                    height - tall,
                    max(1, step - 1),
                    tall,
                    one.low,
                    one.high,
                    one.count,
                    place == FIRST_INNER_BIN,
                )
            )
    return drawn


FILTERS = {
    "number": number,
    "signed": signed,
    "interval": interval,
    "count": count,
    "p_value": p_value,
    "moment": moment,
    "duration": duration,
    "size": size,
    "cost": cost,
    "outcome": outcome,
    "share": share,
    "json": as_json,
    "bars": bars,
}
