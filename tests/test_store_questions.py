"""Every question to a store against the plain answer: the same scores filtered, sorted and counted in Python."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from referee import OptionError
from referee.bounds import Bounds
from referee.errors import StoreError
from referee.statistics import t_interval, wilson_interval
from referee.storage import ScoredRun, Store
from referee.storage.filters import ScoreFilter
from referee.storage.outcomes import OUTCOMES
from referee.storage.score_rows import ScoreRow
from stores import postgres_server, run, score, store, store_url

__all__ = ["postgres_server", "store", "store_url"]

SCORERS = ("check-a", "relevancy", "toxicity")
DAY = datetime(2026, 5, 1, tzinfo=UTC)


def filled(store: Store, seed: int = 1, runs: int = 25) -> Store:
    """A store with experiments, recorded and live runs, two versions, three ranges of time, every outcome."""
    chance = random.Random(seed)
    for key in ("first", "second", "live", "recorded"):
        records = []
        for number in range(runs):
            at = DAY + timedelta(hours=chance.randrange(24 * 6))
            name = f"{key}-{number}"
            its = run(
                name,
                trace_id=f"trace-{number % 20}",
                thread_id=f"thread-{number % 7}",
                started_at=at.isoformat(),
            )
            values = {scorer: chance.choice([0.0, 1.0, 0.5, 0.05, round(chance.random(), 2)]) for scorer in SCORERS}
            scores = []
            for scorer, value in values.items():
                draw = chance.random()
                version = chance.choice(["v1", "v2"]) if key == "live" else "v1"
                fields: dict[str, Any] = {"version": version}
                if scorer == "toxicity":
                    fields |= {"range": (0.0, 10.0), "lower_is_better": True}
                    value *= 10
                if draw < 0.1:
                    scores.append(score(name, scorer, None, **fields))
                elif draw < 0.2:
                    scores.append(score(name, scorer, None, not_scorable="nothing", **fields))
                else:
                    scores.append(score(name, scorer, value, reason=f"{value}", **fields))
            bounds = {"check-a": Bounds(min=1), "toxicity": Bounds(max=3)}
            item = f"item-{number}" if key in ("first", "second") else ""
            tags = chance.sample(["red", "blue", "green"], chance.randrange(3))
            records.append(ScoredRun(run=its, scores=scores, bounds=bounds, item=item, tags=tags))
        store.save(records, experiment=key)
    return store


@pytest.fixture
def full(store: Store) -> Store:
    return filled(store)


def everything(
    store: Store, order: Any = "newest", where: ScoreFilter | None = None, limit: int = 1000
) -> list[ScoreRow]:
    """All rows, page by page; read backwards too, which must give the same."""
    where = where or ScoreFilter()
    found: list[ScoreRow] = []
    pages = []
    after = None
    while True:
        page = store.scores.page(where, order=order, limit=limit, after=after)
        pages.append(page)
        found += page.rows
        assert page.total >= len(found)
        if page.next is None:
            break
        after = page.next
    assert page.total == len(found) or not page.is_exact
    for earlier, later in pairwise(pages):
        back = store.scores.page(where, order=order, limit=limit, before=later.previous)
        assert back.rows == earlier.rows
        assert (back.previous is None) == (earlier is pages[0])
        assert back.next == earlier.next
    assert pages[0].previous is None
    return found


FILTERS: dict[str, tuple[dict[str, Any], Any]] = {
    "none": ({}, lambda row: True),
    "experiment": ({"experiment": "first"}, lambda row: row.experiment == "first"),
    "kind": ({"kind": "live"}, lambda row: row.kind == "live"),
    "scorer": ({"scorer": "relevancy"}, lambda row: row.scorer == "relevancy"),
    "version": ({"scorer": "check-a", "version": "v2"}, lambda row: (row.scorer, row.version) == ("check-a", "v2")),
    "outcome": ({"outcomes": ("error",)}, lambda row: row.outcome == "error"),
    "outcomes": ({"outcomes": ("failed", "not_scorable")}, lambda row: row.outcome in ("failed", "not_scorable")),
    "all but range": (
        {"experiment": "second", "scorer": "check-a", "outcomes": ("passed",)},
        lambda row: row.experiment == "second" and row.scorer == "check-a" and row.outcome == "passed",
    ),
    "range": ({"at_least": 0.2, "below": 0.6}, lambda row: row.value is not None and 0.2 <= row.value < 0.6),
    "range on edges": (
        {"at_least": 0.05, "at_most": 0.5},
        lambda row: row.value is not None and 0.05 <= row.value <= 0.5,
    ),
    "range through bins": (
        {"above": 0.05, "at_most": 0.33},
        lambda row: row.value is not None and 0.05 < row.value <= 0.33,
    ),
    "above low end": ({"above": 0.0, "below": 0.04}, lambda row: row.value is not None and 0 < row.value < 0.04),
    "low end": ({"at_most": 0.0}, lambda row: row.value == 0),
    "high end": ({"scorer": "relevancy", "at_least": 1.0}, lambda row: row.scorer == "relevancy" and row.value == 1),
    "empty range": ({"above": 0.5, "below": 0.5}, lambda row: False),
    "range and outcome": (
        {"at_most": 0.42, "outcomes": ("failed",), "kind": "experiment"},
        lambda row: row.kind == "experiment" and row.outcome == "failed" and row.value <= 0.42,
    ),
    "days": (
        {"since": date(2026, 5, 2), "until": date(2026, 5, 3)},
        lambda row: date(2026, 5, 2) <= row.at.date() <= date(2026, 5, 3),
    ),
    "days and range": (
        {"since": date(2026, 5, 3), "scorer": "relevancy", "at_least": 0.31},
        lambda row: row.at.date() >= date(2026, 5, 3) and row.scorer == "relevancy" and (row.value or 0) >= 0.31,
    ),
    "run": ({"run": "live-3"}, lambda row: row.run_id == "live-3"),
    "item": ({"item": "item-5"}, lambda row: row.item == "item-5"),
    "trace": (
        {"trace": "trace-4", "outcomes": ("unbounded",)},
        lambda row: int(row.run_id.split("-")[1]) % 20 == 4 and row.outcome == "unbounded",
    ),
    "thread": (
        {"thread": "thread-2", "experiment": "live"},
        lambda row: row.kind == "live" and int(row.run_id.split("-")[1]) % 7 == 2,
    ),
    "nothing": ({"scorer": "unheard of"}, lambda row: False),
}

KEYS: dict[str, Any] = {
    "newest": lambda row: (-row.at.timestamp(), -row.number),
    "oldest": lambda row: (row.at.timestamp(), row.number),
    "lowest": lambda row: (row.value is None, row.value if row.value is not None else row.at.timestamp(), row.number),
    "highest": lambda row: (
        row.value is None,
        -(row.value if row.value is not None else row.at.timestamp()),
        -row.number,
    ),
}


@pytest.mark.parametrize("order", KEYS)
def test_every_filter_in_every_order_on_small_pages(full: Store, order: str) -> None:
    rows = everything(full)
    assert len(rows) == 4 * 25 * 3
    for name, (given, fits) in FILTERS.items():
        where = ScoreFilter(**given)
        expected = sorted((row for row in rows if fits(row)), key=KEYS[order])
        found = everything(full, order, where, limit=31)
        assert [row.number for row in found] == [row.number for row in expected], name
        total = full.scores.count(where)
        assert (total.count, total.is_exact) == (len(expected), True), name


def test_tags(full: Store) -> None:
    red = everything(full, where=ScoreFilter(tag="red"))
    runs = {row.run for row in red}
    assert 10 < len(runs) < 90
    assert len(red) == 3 * len(runs)
    mixed = everything(full, "lowest", ScoreFilter(tag="red", experiment="first", scorer="relevancy"), limit=5)
    expected = [row for row in red if row.experiment == "first" and row.scorer == "relevancy"]
    assert sorted(row.number for row in mixed) == sorted(row.number for row in expected)


def test_filters_that_ask_for_many_runs(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {
        name: everything(full, "lowest", ScoreFilter(**given))
        for name, given in (
            ("a", {"tag": "red"}),
            ("b", {"thread": "thread-2"}),
            ("c", {"tag": "red", "experiment": "first"}),
        )
    }
    facets = full.scores.facets(ScoreFilter(tag="red"))
    histogram = full.scores.histogram(ScoreFilter(tag="red", scorer="relevancy"))
    monkeypatch.setattr("referee.storage.filters.FEW_RUNS", 3)
    many = {
        name: everything(full, "lowest", ScoreFilter(**given), limit=11)
        for name, given in (
            ("a", {"tag": "red"}),
            ("b", {"thread": "thread-2"}),
            ("c", {"tag": "red", "experiment": "first"}),
        )
    }
    assert many == few
    assert full.scores.facets(ScoreFilter(tag="red")) == facets
    assert full.scores.histogram(ScoreFilter(tag="red", scorer="relevancy")) == histogram
    monkeypatch.setattr("referee.storage.counts.MOST_COUNTED", 20)
    total = full.scores.count(ScoreFilter(tag="red"))
    assert (total.count, total.is_exact) == (20, False)


def test_more_scorers_than_branches(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    where = ScoreFilter(outcomes=("error", "failed"), at_most=7)
    expected = {order: everything(full, order, where, limit=17) for order in KEYS}
    monkeypatch.setattr("referee.storage.pages.MOST_BRANCHES", 2)
    assert {order: everything(full, order, where, limit=17) for order in KEYS} == expected
    monkeypatch.setattr("referee.storage.pages.FEW_SCORES", 0)
    monkeypatch.setattr("referee.storage.pages.MANY_SCORES", 0)
    where = ScoreFilter(experiment="first", at_least=0.1)
    assert [row.number for row in everything(full, "lowest", where, limit=9)] == [
        row.number for row in sorted(everything(full, where=where), key=KEYS["lowest"])
    ]


@pytest.mark.parametrize("order", KEYS)
def test_a_page_may_begin_at_a_score(full: Store, order: Any) -> None:
    rows = everything(full, order)
    for place in (0, 1, 50, len(rows) - 1):
        page = full.scores.page(order=order, from_score=rows[place].number, limit=10)
        assert page.rows == rows[place : place + 10]
        if place:
            assert full.scores.page(order=order, before=page.previous, limit=1).rows == [rows[place - 1]]


def test_histograms(full: Store) -> None:
    rows = [row for row in everything(full) if row.scorer == "relevancy" and row.experiment == "live"]
    found = full.scores.histogram(ScoreFilter(scorer="relevancy", experiment="live"))
    values = [row.value for row in rows if row.value is not None]
    assert len(found.bins) == 22
    assert (found.bins[0].count, found.bins[-1].count) == (values.count(0.0), values.count(1.0))
    for place, each in enumerate(found.bins[1:-1], 1):
        inside = [
            value for value in values if (each.low < value if place == 1 else each.low <= value) and value < each.high
        ]
        assert each.count == len(inside), each
    outcomes = Counter(row.outcome for row in rows)
    assert (found.errors, found.not_scorable) == (outcomes["error"], outcomes["not_scorable"])
    with pytest.raises(OptionError, match="different ranges"):
        full.scores.histogram()


def test_facets(full: Store) -> None:
    rows = everything(full)
    given = {"scorer": "check-a", "outcomes": ("failed",), "at_most": 0.42, "experiment": "live"}
    found = full.scores.facets(ScoreFilter(**given))

    def fitting(*left_out: str) -> list[ScoreRow]:
        rest = {name: value for name, value in given.items() if name not in left_out}
        tests = {
            "scorer": lambda row: row.scorer == "check-a",
            "outcomes": lambda row: row.outcome == "failed",
            "at_most": lambda row: row.value is not None and row.value <= 0.42,
            "experiment": lambda row: row.experiment == "live",
        }
        return [row for row in rows if all(tests[name](row) for name in rest)]

    assert {facet.value: facet.count for facet in found.experiments} == Counter(
        row.experiment for row in fitting("experiment")
    )
    assert {facet.value: facet.count for facet in found.scorers} == Counter(row.scorer for row in fitting("scorer"))
    assert {facet.value: facet.count for facet in found.versions} == Counter(row.version for row in fitting())
    assert {facet.value: facet.count for facet in found.outcomes} == Counter(row.outcome for row in fitting("outcomes"))


def test_a_trend_is_drawn_version_by_version(full: Store) -> None:
    rows = [row for row in everything(full) if row.scorer == "relevancy" and row.kind == "live"]
    found = full.scores.trend("relevancy", ScoreFilter(kind="live"))
    assert sorted(series.version for series in found) == ["v1", "v2"]
    for series in found:
        for point in series.points:
            of_day = [row for row in rows if row.version == series.version and row.at.date() == point.day]
            values = [row.value for row in of_day if row.value is not None]
            assert point.figures.scored == len(values)
            assert point.figures.errors == sum(row.outcome == "error" for row in of_day)
            assert point.figures.mean == pytest.approx(sum(values) / len(values), abs=1e-9)
            if len(values) > 1 and not set(values) <= {0.0, 1.0}:
                expected = t_interval(values)
                assert expected is not None
                assert point.figures.interval is not None
                assert point.figures.interval.low == pytest.approx(expected.low, abs=1e-9)
                assert point.figures.interval.high == pytest.approx(expected.high, abs=1e-9)
    since = full.scores.trend("relevancy", ScoreFilter(since=date(2026, 5, 4)))
    assert min(point.day for series in since for point in series.points) >= date(2026, 5, 4)
    with pytest.raises(OptionError, match="does not tell tag apart"):
        full.scores.trend("relevancy", ScoreFilter(tag="red"))


def test_the_interval_of_passes_is_wilsons(store: Store) -> None:
    store.save(
        [ScoredRun(run=run(str(n)), scores=[score(str(n), "s", float(n < 7))]) for n in range(10)], experiment="e"
    )
    [column] = store.experiments.columns("e")
    assert column.figures.interval == wilson_interval(7, 10)


def test_what_is_asked_wrongly_is_said(full: Store) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"order": "best"}, "there is no order 'best'"),
        ({"limit": 0}, "a page has 1 to 1000 rows"),
        ({"after": "x"}, "no position"),
        ({"after": "v0.5~1"}, "another order"),
        ({"after": "t1~1", "from_score": 1}, "give one of"),
    ]
    for given, message in wrong:
        with pytest.raises(OptionError, match=message):
            full.scores.page(**given)
    with pytest.raises(OptionError, match="there is no outcome 'bad'"):
        ScoreFilter(outcomes=("bad",))  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="did you mean 'first'"):
        full.scores.count(ScoreFilter(experiment="firts"))


def test_rollups_say_what_the_scores_say(full: Store) -> None:
    from_rollups = Counter[tuple[str, str]]()
    for scorer in SCORERS:
        for outcome in OUTCOMES:
            from_rollups[scorer, outcome] += full.scores.count(ScoreFilter(scorer=scorer, outcomes=(outcome,))).count
    assert +from_rollups == Counter((row.scorer, row.outcome) for row in everything(full))
