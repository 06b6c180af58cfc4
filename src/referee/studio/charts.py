"""Drawings made on the server: trends with intervals, one scorer against another, and the timeline of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from referee.statistics import Interval
from referee.storage.figures import Figures
from referee.storage.outcomes import HIGHEST_BIN, LOWEST_BIN, edges
from referee.storage.scorer_versions import Crossing
from referee.studio.figures import number

WIDTH, HEIGHT = 760, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 90, 12, 24
#: Lines are told apart by so many styles; then they repeat.
STYLES = 6
_BINS = HIGHEST_BIN - LOWEST_BIN + 1
_CELL = 12


class Measured(NamedTuple):
    """A point to draw: a day, its figures, and where the scores behind it are."""

    day: date
    figures: Figures
    address: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A drawn point with its interval."""

    x: float
    y: float
    low: float
    high: float
    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Line:
    """The points of one version; they are joined to each other, and never to those of another version."""

    name: str
    style: int
    dots: list[Dot]

    @property
    def path(self) -> str:
        """The line through the points."""
        return " ".join(f"{'L' if place else 'M'}{dot.x:.1f} {dot.y:.1f}" for place, dot in enumerate(self.dots))


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    words: str


@dataclass(frozen=True, slots=True)
class TrendChart:
    """A drawn trend."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    lines: list[Line]
    values: list[Tick]
    days: list[Tick]


def trend_chart(
    series: Sequence[tuple[str, Sequence[Measured]]],
    range: tuple[float, float],
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> TrendChart | None:
    """A chart of several series; `None` when no point has a mean.

    Args:
        series: The names and points of the series, each its own line.
        range: The lowest and highest value there can be.
        width, height: Of the drawing, in pixels.
    """
    drawn = [(name, [point for point in points if point.figures.mean is not None]) for name, points in series]
    days = sorted({point.day for _, points in drawn for point in points})
    if not days:
        return None
    span = max(1, (days[-1] - days[0]).days)
    low, high = range if range[1] > range[0] else (range[0], range[0] + 1)

    def x(day: date) -> float:
        part = 0.5 if len(days) == 1 else (day - days[0]).days / span
        return _LEFT + part * (width - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (1 - (min(max(value, low), high) - low) / (high - low)) * (height - _TOP - _BOTTOM)

    def dot(point: Measured) -> Dot:
        mean = point.figures.mean
        assert mean is not None
        ends = point.figures.interval or Interval(mean, mean, 0.95, "none")
        return Dot(x(point.day), y(mean), y(ends.low), y(ends.high), _words(point), point.address)

    middle = low + (high - low) / 2
    shown_days = days if len(days) < 3 else [days[0], days[len(days) // 2], days[-1]]
    return TrendChart(
        width=width,
        height=height,
        left=_LEFT,
        right=width - _RIGHT,
        top=_TOP,
        bottom=height - _BOTTOM,
        lines=[
            Line(name, place % STYLES, [dot(point) for point in points])
            for place, (name, points) in enumerate(drawn)
            if points
        ],
        values=[Tick(y(value), number(value)) for value in (low, middle, high)],
        days=[Tick(x(day), f"{day:%Y-%m-%d}") for day in shown_days],
    )


def _words(point: Measured) -> str:
    ends = point.figures.interval
    interval = f", 95 % {number(ends.low)} to {number(ends.high)}" if ends else ""
    return f"{point.day:%Y-%m-%d}: {number(point.figures.mean)}{interval}, n {point.figures.scored:,}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A square of a crossing: runs with values in these bins; `shade` goes from 1, few, to 5, most."""

    x: int
    y: int
    size: int
    shade: int
    words: str


def crossing_cells(crossing: Crossing) -> list[Cell]:
    """The squares of a crossing; the first scorer runs to the right, the second upwards."""
    most = max((count for _, _, count in crossing.cells), default=1)
    inner = edges(*crossing.first_range), edges(*crossing.second_range)
    return [
        Cell(
            x=first * _CELL,
            y=(_BINS - 1 - second) * _CELL,
            size=_CELL - 1,
            shade=max(1, -(-5 * count // most)),
            words=f"{crossing.first} {_span(first, inner[0])}, {crossing.second} {_span(second, inner[1])}: {count:,} runs",
        )
        for first, second, count in crossing.cells
    ]


#: The side of a drawn crossing.
CROSSING_SIDE = _BINS * _CELL


def _span(place: int, inner: Sequence[float]) -> str:
    if place in (LOWEST_BIN, HIGHEST_BIN):
        return number(inner[0] if place == LOWEST_BIN else inner[-1])
    return f"{number(inner[place - 1])} to {number(inner[place])}"
