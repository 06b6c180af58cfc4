"""One scorer: how its values lie, how they went from day to day, and how far it agrees with people."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from referee.agreement import Agreement
from referee.errors import OptionError
from referee.storage.filters import ScoreFilter
from referee.storage.label_rows import Calibration
from referee.storage.scored_runs import Kind
from referee.storage.scorer_versions import Crossing, ScorerVersion
from referee.storage.store import Store
from referee.storage.trends import Series
from referee.studio.charts import CROSSING_SIDE, Measured, crossing_cells, trend_chart
from referee.studio.page import Page, Rows
from referee.studio.query import Query, address
from referee.studio.screen import NUMBER, Parameter, Screen

_KINDS: tuple[Kind, ...] = ("experiment", "recorded", "live")
_TREND_COLUMNS = ("version", "day", "mean", "low", "high", "scored", "errors", "not_scorable")


class VersionAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far one version of a scorer agrees with people; `problem` says why it can't be told."""

    version: str
    agreement: Agreement | None
    problem: str | None
    calibration: Calibration | None


def scorer_page(store: Store, query: Query) -> Page:
    """A scorer in all its versions."""
    name = query.needed("scorer")
    versions = store.scorers.get(name)
    where = ScoreFilter(kind=_kind(query), experiment=query.text("experiment"))
    trend = store.scores.trend(name, where)
    cuts = _cuts(query)
    agreements = [_agreement(store, version, cuts) for version in versions]
    against = query.text("against")
    crossing = store.scorers.crossing(name, against, experiment=where.experiment) if against else None
    return Page(
        "scorer.html",
        name,
        {
            "versions": versions,
            "trend": trend,
            "agreement": [one for one in agreements if one.agreement or one.problem or one.calibration],
            "crossing": crossing,
        },
        Rows(_TREND_COLUMNS, [row for series in trend for row in _cells(series)]),
        {
            "charts": _charts(trend, where),
            "kinds": _KINDS,
            "others": [other for other in store.scorers.names() if other != name],
            "cells": crossing_cells(crossing) if crossing else [],
            "side": CROSSING_SIDE,
            "lower_is_better": versions[0].lower_is_better,
        },
    )


def _kind(query: Query) -> Kind | None:
    given = query.text("kind")
    found = next((kind for kind in _KINDS if kind == given), None)
    if given is not None and found is None:
        raise OptionError(f"there is no kind {given[:50]!r}; there are: {', '.join(_KINDS)}")
    return found


def _cuts(query: Query) -> list[float] | None:
    given = [Query("", [("cut", text)]).number("cut") for text in query.texts("cut")]
    return [cut for cut in given if cut is not None] or None


def _agreement(store: Store, version: ScorerVersion, cuts: list[float] | None) -> VersionAgreement:
    found, problem = None, None
    try:
        found = store.labels.agreement(version.scorer, version=version.version, cuts=cuts)
    except OptionError as error:
        problem = str(error)
    calibration = store.labels.calibration(version.scorer, version.version)
    has_pairs = found is not None and (found.pairs or found.disputed)
    return VersionAgreement(
        version=version.version, agreement=found if has_pairs else None, problem=problem, calibration=calibration
    )


@dataclass(frozen=True, slots=True)
class _Chart:
    range: tuple[float, float]
    drawing: object


def _charts(trend: list[Series], where: ScoreFilter) -> list[_Chart]:
    """A chart for each range that versions of the scorer have; nearly always one."""
    found = []
    for span in dict.fromkeys(series.range for series in trend):
        drawn = [(series.version or "no version", _points(series, where)) for series in trend if series.range == span]
        chart = trend_chart(drawn, span)
        if chart is not None:
            found.append(_Chart(span, chart))
    return found


def _points(series: Series, where: ScoreFilter) -> list[Measured]:
    return [
        Measured(
            point.day,
            point.figures,
            address(
                "/scores",
                {
                    "scorer": series.scorer,
                    "version": series.version or None,
                    "kind": where.kind,
                    "experiment": where.experiment,
                    "since": point.day,
                    "until": point.day,
                },
            ),
        )
        for point in series.points
    ]


def _cells(series: Series) -> list[list[object]]:
    return [
        [
            series.version,
            point.day,
            point.figures.mean,
            point.figures.interval and point.figures.interval.low,
            point.figures.interval and point.figures.interval.high,
            point.figures.scored,
            point.figures.errors,
            point.figures.not_scorable,
        ]
        for point in series.points
    ]


SCREEN = Screen(
    "/scorer",
    "One scorer: distribution and trend of each version, agreement with people, and another scorer against it.",
    scorer_page,
    (
        Parameter("scorer", "The scorer's id.", is_needed=True),
        Parameter("kind", "Only of this kind of runs, for the trend.", {"type": "string", "enum": list(_KINDS)}),
        Parameter("experiment", "Only of this experiment, for the trend and the comparison of scorers."),
        Parameter("against", "Another scorer, to set its values against those of this one."),
        Parameter("cut", "Where one category ends and the next begins, for the agreement.", NUMBER, is_list=True),
    ),
    {
        "versions": list[ScorerVersion],
        "trend": list[Series],
        "agreement": list[VersionAgreement],
        "crossing": Crossing | None,
    },
)
