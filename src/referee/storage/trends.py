"""Trends: a scorer's figures from day to day, version by version."""

from __future__ import annotations

from datetime import date

import msgspec
from sqlalchemy import Connection, select

from referee.errors import OptionError
from referee.storage.days import date_of
from referee.storage.figures import Figures, Gathering, summed_rows
from referee.storage.filters import ScoreFilter, Selection
from referee.storage.schema import WHOLE_RUN, rollups, scorers

_LOOKED_AT = {"experiment", "kind", "scorer", "version", "since", "until"}


class Point(msgspec.Struct, frozen=True):
    """The figures of one day, UTC."""

    day: date
    figures: Figures


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The points of one version of a scorer. Points of two versions were measured by two different scorers."""

    scorer: str
    version: str
    range: tuple[float, float]
    lower_is_better: bool
    points: list[Point]


def read_trend(connection: Connection, scorer: str, where: ScoreFilter) -> list[Series]:
    """The series of each version, the version that was first used first. Scores of single turns are not in them.

    Raises:
        OptionError: The filter asks for something that trends do not tell apart.
    """
    given = {name for name in where.__struct_fields__ if getattr(where, name) not in (None, ())}
    if given - _LOOKED_AT:
        raise OptionError(f"a trend does not tell {min(given - _LOOKED_AT)} apart; use {', '.join(sorted(_LOOKED_AT))}")
    selection = Selection(connection, msgspec.structs.replace(where, scorer=scorer))
    versions = connection.execute(select(scorers).where(scorers.c.scorer_id == scorer)).all()
    days: dict[int, dict[int, Gathering]] = {row.id: {} for row in versions}
    ranges = {row.id: (row.low, row.high) for row in versions}
    keys = (rollups.c.scorer, rollups.c.day)
    conditions = [rollups.c.turn == WHOLE_RUN, *selection.of_rows(rollups), *selection.of_single_days()]
    for version, day, *sums in summed_rows(connection, keys, conditions):
        if day not in days[version]:
            days[version][day] = Gathering(ranges[version])
        days[version][day].add(*sums)
    found = [
        Series(
            scorer=row.scorer_id,
            version=row.version,
            range=ranges[row.id],
            lower_is_better=bool(row.lower_is_better),
            points=[Point(date_of(day), gathering.figures()) for day, gathering in sorted(days[row.id].items())],
        )
        for row in versions
        if days[row.id]
    ]
    return sorted(found, key=lambda series: series.points[0].day)
