"""Live scoring day by day: how much was scored, what came of it, and what was dropped."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import msgspec
from sqlalchemy import ColumnElement, Connection, case, func, select

from referee.storage import codec
from referee.storage.bulk import insert_for
from referee.storage.database import Database
from referee.storage.days import DAY_MS, date_of, day_number
from referee.storage.figures import Figures, Gathering
from referee.storage.outcomes import FIRST_INNER_BIN, HIGHEST_BIN
from referee.storage.rollups import column_sums
from referee.storage.schema import experiments, live_drops, rollups, scorers
from referee.storage.scored_runs import LIVE


class LiveDay(msgspec.Struct, frozen=True):
    """The figures of one day, UTC."""

    day: date
    figures: Figures


class LiveScorer(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a scorer in live traffic: each day on which it scored. Versions are never added together."""

    scorer: str
    version: str
    range: tuple[float, float]
    lower_is_better: bool
    days: list[LiveDay]


class Dropped(msgspec.Struct, frozen=True):
    """Runs that a scorer of live traffic had no room or time for, on one day."""

    day: date
    scorer: str
    reason: str
    runs: int


class LiveDays(msgspec.Struct, frozen=True, kw_only=True):
    """Live traffic from a first to a last day."""

    first: date | None
    last: date | None
    scorers: list[LiveScorer]
    dropped: list[Dropped]


class LiveTraffic:
    """Live traffic of a store. Made by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_drops(self, drops: Mapping[tuple[str, str], int]) -> None:
        """Count runs that were dropped today, by scorer and reason."""
        today = codec.now_ms() // DAY_MS
        rows = [
            {"day": today, "scorer": codec.name(scorer), "reason": codec.name(reason), "runs": count}
            for (scorer, reason), count in sorted(drops.items())
        ]
        if not rows:
            return
        with self._database.write() as connection:
            added = insert_for(connection, live_drops)
            connection.execute(
                added.on_conflict_do_update(
                    index_elements=["day", "scorer", "reason"], set_={"runs": live_drops.c.runs + added.excluded.runs}
                ),
                rows,
            )

    def days(self, *, days: int = 30, until: date | None = None) -> LiveDays:
        """Live traffic of the last days on which there was any.

        Args:
            days: How many days.
            until: The last day; the latest with traffic when `None`.
        """
        with self._database.read() as connection:
            last = _last_day(connection) if until is None else day_number(until)
            if last is None:
                return LiveDays(first=None, last=None, scorers=[], dropped=[])
            first = max(last - days + 1, day_number(date.min))
            drops = select(live_drops).where(live_drops.c.day >= first, live_drops.c.day <= last)
            return LiveDays(
                first=date_of(first),
                last=date_of(last),
                scorers=_scorers(connection, first, last),
                dropped=[
                    Dropped(date_of(row.day), row.scorer, row.reason, row.runs)
                    for row in connection.execute(drops.order_by(live_drops.c.day, live_drops.c.scorer))
                ],
            )


def _of_live() -> ColumnElement[bool]:
    return rollups.c.experiment.in_(select(experiments.c.id).where(experiments.c.kind == LIVE))


def _last_day(connection: Connection) -> int | None:
    scored = connection.scalar(select(func.max(rollups.c.day)).where(_of_live()))
    dropped = connection.scalar(select(func.max(live_drops.c.day)))
    found = [day for day in (scored, dropped) if day is not None and day >= 0]
    return max(found, default=None)


def _scorers(connection: Connection, first: int, last: int) -> list[LiveScorer]:
    # Figures need the bins of the ends alone, so that few rows come out of many.
    place = case((rollups.c.bin.between(FIRST_INNER_BIN, HIGHEST_BIN - 1), FIRST_INNER_BIN), else_=rollups.c.bin)
    query = (
        select(rollups.c.scorer, rollups.c.day, place, *column_sums())
        .where(_of_live(), rollups.c.day >= first, rollups.c.day <= last)
        .group_by(rollups.c.scorer, rollups.c.day, place)
    )
    rows = {row.id: row for row in connection.execute(select(scorers))}
    found: dict[int, dict[int, Gathering]] = {}
    for scorer, day, *summed in connection.execute(query):
        of_days = found.setdefault(scorer, {})
        if day not in of_days:
            of_days[day] = Gathering((rows[scorer].low, rows[scorer].high))
        of_days[day].add(*summed)
    listed = [
        LiveScorer(
            scorer=rows[number].scorer_id,
            version=rows[number].version,
            range=(rows[number].low, rows[number].high),
            lower_is_better=bool(rows[number].lower_is_better),
            days=[LiveDay(date_of(day), gathering.figures()) for day, gathering in sorted(days.items())],
        )
        for number, days in found.items()
    ]
    return sorted(listed, key=lambda one: (one.scorer, one.days[0].day, one.version))
