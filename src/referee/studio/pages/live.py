"""Live traffic: how much was scored from day to day, what came of it, and what was dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from referee.errors import OptionError
from referee.storage.live_days import LiveDays, LiveScorer
from referee.storage.store import Store
from referee.studio.charts import Measured, TrendChart, trend_chart
from referee.studio.page import Page, Rows
from referee.studio.query import Query, address
from referee.studio.screen import Parameter, Screen

DAYS, MOST_DAYS = 30, 366
#: So many scorers are drawn; the twins have all of them.
MOST_SCORERS = 40
_COLUMNS = ("day", "scorer", "version", "mean", "scored", "errors", "not_scorable", "failed", "dropped")


@dataclass(frozen=True, slots=True)
class ScorerView:
    """A scorer in live traffic: sums over all days, and a chart with a line for each version.

    `others` is how many versions are not drawn, because their range is not that of the latest one.
    """

    name: str
    versions: list[LiveScorer]
    scored: int
    errors: int
    not_scorable: int
    failed: int
    dropped: int
    chart: TrendChart | None
    others: int

    @property
    def error_share(self) -> float | None:
        """Errors among all that was attempted."""
        attempted = self.scored + self.errors
        return self.errors / attempted if attempted else None


def live_page(store: Store, query: Query) -> Page:
    """Live traffic of some days."""
    days = query.whole("days", least=1, most=MOST_DAYS) or DAYS
    found = store.live.days(days=days, until=_day(query.text("until")))
    views = _views(found)
    return Page(
        "live.html",
        "Live",
        {"live": found},
        Rows(_COLUMNS, _rows(found)),
        {
            "views": views[:MOST_SCORERS],
            "total": len(views),
            "per_day": _per_day(found),
            "earlier": query.set(until=found.first - timedelta(days=1))
            if found.first and found.first > date.min
            else None,
            "days": days,
        },
    )


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise OptionError(f"until: expected a day like 2026-11-29, not {text[:50]!r}") from None


def _views(found: LiveDays) -> list[ScorerView]:
    dropped: Counter[str] = Counter()
    for drop in found.dropped:
        dropped[drop.scorer] += drop.runs
    names = dict.fromkeys([*(one.scorer for one in found.scorers), *sorted(dropped)])
    return [_view(name, [one for one in found.scorers if one.scorer == name], dropped[name]) for name in names]


def _view(name: str, versions: list[LiveScorer], dropped: int) -> ScorerView:
    figures = [day.figures for version in versions for day in version.days]
    span = versions[-1].range if versions else (0.0, 1.0)
    drawn = [version for version in versions if version.range == span]
    series = [
        (version.version or "no version", [_measured(version, place) for place in range(len(version.days))])
        for version in drawn
    ]
    return ScorerView(
        name=name,
        versions=versions,
        scored=sum(one.scored for one in figures),
        errors=sum(one.errors for one in figures),
        not_scorable=sum(one.not_scorable for one in figures),
        failed=sum(one.failed for one in figures),
        dropped=dropped,
        chart=trend_chart(series, span, width=520, height=120),
        others=len(versions) - len(drawn),
    )


def _measured(version: LiveScorer, place: int) -> Measured:
    day = version.days[place]
    where = {
        "kind": "live",
        "scorer": version.scorer,
        "version": version.version or None,
        "since": day.day,
        "until": day.day,
    }
    return Measured(day.day, day.figures, address("/scores", where))


def _per_day(found: LiveDays) -> list[tuple[date, int, int, int]]:
    """Of each day: how many scores there are, how many of them errors, and how many runs were dropped."""
    scores: Counter[date] = Counter()
    errors: Counter[date] = Counter()
    dropped: Counter[date] = Counter()
    for version in found.scorers:
        for day in version.days:
            scores[day.day] += day.figures.scored + day.figures.errors + day.figures.not_scorable
            errors[day.day] += day.figures.errors
    for drop in found.dropped:
        dropped[drop.day] += drop.runs
    return [(day, scores[day], errors[day], dropped[day]) for day in sorted({*scores, *dropped}, reverse=True)]


def _rows(found: LiveDays) -> Iterable[list[object]]:
    dropped = Counter({(drop.day, drop.scorer): drop.runs for drop in found.dropped})
    for version in found.scorers:
        for day in version.days:
            figures = day.figures
            counted = (figures.mean, figures.scored, figures.errors, figures.not_scorable, figures.failed)
            yield [day.day, version.scorer, version.version, *counted, dropped.pop((day.day, version.scorer), 0)]
    for (day_of_drop, scorer), runs in sorted(dropped.items()):
        yield [day_of_drop, scorer, None, None, 0, 0, 0, 0, runs]


SCREEN = Screen(
    "/live",
    "Live traffic from day to day: rates, errors, drops and trends.",
    live_page,
    (
        Parameter("days", "How many days.", {"type": "integer", "minimum": 1, "maximum": MOST_DAYS}),
        Parameter(
            "until", "The last day; the latest with traffic when it is not given.", {"type": "string", "format": "date"}
        ),
    ),
    {"live": LiveDays},
)
