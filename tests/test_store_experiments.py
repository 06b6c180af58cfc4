"""Experiments in a store: their results come back as they went in; grids and comparisons against the plain answer."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from referee import Item, OptionError, Turn, checks, create_scorer
from referee.bounds import Bounds
from referee.comparison import compare
from referee.errors import StoreError
from referee.evaluate import Report, run_evals_sync
from referee.results import Evaluation
from referee.statistics import mean_interval
from referee.storage import ScoredRun, Store
from referee.storage.columns import ColumnKey
from referee.storage.experiment_results import to_scored_run
from referee.storage.grid import GridFilter, GridRow
from stores import postgres_server, run, score, store, store_url

__all__ = ["postgres_server", "store", "store_url"]


def length(run: Any) -> float:
    """The share of a hundred characters that the answer has."""
    return min(1.0, len(run.output_text) / 100)


def agent(question: str) -> str:
    if "broken" in question:
        raise RuntimeError("the agent is broken")
    return f"It is sunny, said about {question}"


def evaluated(repeats: int = 1) -> Report:
    """A report with everything: gates, thresholds, own scorers, turns, repeats, a failing target, tags."""
    items = [
        Item(id="plain", input="Weather in Ghent?", tags=["b", "a"]),
        Item(id="own", input="Weather?", gates=[checks.includes("rainy")], scorers=[checks.max_tool_calls(1)]),
        Item(id="turns", turns=[Turn(input="Hi"), Turn(input="Weather?", gates=[checks.includes("sunny")])]),
        Item(id="broken", input="broken"),
    ]
    return run_evals_sync(
        target=agent,
        data=items,
        gates=[checks.includes("sunny"), {"scorer": length, "max": 0.9}],
        scorers=[{"scorer": checks.similarity("It is sunny"), "threshold": 0.2}],
        repeats=repeats,
        name="weather",
    )


def keep(store: Store, report: Report) -> str:
    key = store.experiments.begin(report.evaluation)
    store.save((to_scored_run(result, report.evaluation) for result in report.results), experiment=key)
    store.experiments.end(key, status="finished", verdict=report.verdict)
    return key


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_report_of_a_stored_experiment_is_the_report(store: Store, repeats: int) -> None:
    report = evaluated(repeats)
    key = keep(store, report)
    with store.experiments.results(key) as results:
        found = Report(store.experiments.plan(key), list(results))
    assert found.evaluation == report.evaluation
    assert found.results == report.results
    assert str(found) == str(report)
    assert (found.verdict, found.summary, found.gates, found.thresholds, found.local_gates, found.turns) == (
        report.verdict,
        report.summary,
        report.gates,
        report.thresholds,
        report.local_gates,
        report.turns,
    )


def test_an_experiment_is_found_by_key_beginning_and_name(store: Store) -> None:
    for key, name in (("alpha-1", "nightly"), ("alpha-2", "nightly"), ("beta-1", "once")):
        store.experiments.begin(Evaluation(id=key, name=name, items={"a": 2}))
    assert store.experiments.get("alpha-1").key == "alpha-1"
    assert store.experiments.get("beta").key == "beta-1"
    assert store.experiments.get("nightly").key == "alpha-2"
    with pytest.raises(StoreError, match="several experiments begin with 'alpha'"):
        store.experiments.get("alpha")
    with pytest.raises(StoreError, match="there is no experiment 'gamma'"):
        store.experiments.get("gamma")
    with pytest.raises(StoreError, match="there is no experiment ''"):
        store.experiments.get("")
    latest = store.experiments.latest(limit=2)
    assert [row.key for row in latest] == ["beta-1", "alpha-2"]
    assert [row.key for row in store.experiments.latest(before=latest[-1].key)] == ["alpha-1"]


def test_the_life_of_an_experiment(store: Store) -> None:
    report = evaluated()
    key = store.experiments.begin(report.evaluation)
    started = store.experiments.get(key)
    assert (started.status, started.verdict, started.planned, started.results) == ("running", None, 4, 0)
    keep(store, report)
    ended = store.experiments.get(key)
    assert (ended.status, ended.verdict, ended.results, ended.failed_results) == ("finished", "failed", 4, 1)
    assert ended.finished_at is not None
    events = store.experiments.events(key)
    assert [event.event for event in events] == ["started", "started", "finished"]
    assert events[-1].details == {"verdict": "failed"}
    assert store.experiments.events(key, after=events[1].number) == events[2:]
    store.save([ScoredRun(run=run("a"), scores=[score("a", "s", 1.0)])])
    with pytest.raises(StoreError, match="without the plan"):
        store.experiments.plan("recorded")


def test_columns(store: Store) -> None:
    report = evaluated(repeats=2)
    columns = store.experiments.columns(keep(store, report))
    summary = report.summary
    for column in columns:
        if column.turn is not None or column.scorer not in summary:
            continue
        expected = summary[column.scorer]
        figures = column.figures
        assert (figures.scored, figures.errors, figures.not_scorable) == (
            expected.scored,
            expected.errors,
            expected.not_scorable,
        )
        assert figures.mean == pytest.approx(expected.mean, abs=1e-12)
    assert [(column.scorer, column.turn) for column in columns] == [
        ("check-includes", None),
        ("length", None),
        ("check-similarity", None),
        ("check-includes#2", None),
        ("check-max-tool-calls", None),
        ("check-includes", 1),
    ]


def test_the_interval_of_repeated_items_takes_repeats_together(store: Store) -> None:
    chance = random.Random(3)
    records = [
        ScoredRun(
            run=run(f"{item}-{repeat}"),
            item=str(item),
            repeat=repeat,
            scores=[score("", "s", round(chance.random(), 3))],
        )
        for item in range(8)
        for repeat in range(3)
    ]
    store.save(records, experiment="e")
    [column] = store.experiments.columns("e")
    expected = mean_interval(
        [record.scores[0].score or 0.0 for record in records], groups=[record.item for record in records]
    )
    assert expected is not None
    assert column.figures.interval is not None
    assert column.figures.interval.low == pytest.approx(expected.low, abs=1e-9)
    assert column.figures.interval.high == pytest.approx(expected.high, abs=1e-9)


def gridded(store: Store, key: str = "e", seed: int = 1, items: int = 40, version: str = "v1") -> list[ScoredRun]:
    chance = random.Random(seed)
    records = []
    for number in range(items):
        scores = [score("", "first", chance.choice([0.0, 0.5, 1.0, round(chance.random(), 2)]), version)]
        draw = chance.random()
        if draw < 0.7:
            scores.append(score("", "second", float(draw < 0.4), version))
        elif draw < 0.8:
            scores.append(score("", "second", None, version))
        elif draw < 0.9:
            scores.append(score("", "second", None, version, not_scorable="nothing"))
        failed = chance.random() < 0.1
        records.append(
            ScoredRun(
                run=run(f"{key}-{number}"),
                item=f"item-{number:03d}",
                scores=scores,
                tags=["even"] if number % 2 == 0 else [],
                error="target: ValueError: no" if failed else None,
                bounds={"second": Bounds(min=1)},
            )
        )
    store.save(records, experiment=key)
    return records


def grid(store: Store, where: GridFilter | None = None, limit: int = 7, **sorting: Any) -> list[GridRow]:
    """All rows page by page, and the same backwards."""
    pages = []
    after = None
    while True:
        pages.append(store.experiments.grid("e", where or GridFilter(), limit=limit, after=after, **sorting))
        after = pages[-1].next
        if after is None:
            break
    for earlier, later in pairwise(pages):
        back = store.experiments.grid("e", where or GridFilter(), limit=limit, before=later.previous, **sorting)
        assert back.rows == earlier.rows
        assert back.next == earlier.next
    rows = [row for page in pages for row in page.rows]
    assert {page.total for page in pages} == {len(rows)}
    return rows


def test_a_grid_by_item(store: Store) -> None:
    records = gridded(store)
    rows = grid(store)
    assert [row.item for row in rows] == [f"item-{number:03d}" for number in range(40)]
    assert [row.item for row in grid(store, descending=True)] == [row.item for row in reversed(rows)]
    for row, record in zip(rows, records):
        by_scorer = {each.scorer_id: each for each in record.scores}
        first, second = row.cells
        assert first is not None
        assert first.value == by_scorer["first"].score
        assert (second is None) == ("second" not in by_scorer)
        assert row.error == record.error


@pytest.mark.parametrize("descending", [False, True])
def test_a_grid_by_a_column_has_what_has_no_value_at_its_end(store: Store, descending: bool) -> None:
    gridded(store)
    rows = grid(store, sort=ColumnKey("second"), descending=descending)
    ranks = {"error": 1, "not_scorable": 2}

    def key(row: GridRow) -> Any:
        cell = row.cells[1]
        if cell is None:
            return (3, 0.0, row.item)
        value = cell.value or 0.0
        return (ranks.get(cell.outcome, 0), -value if descending else value, row.item)

    assert rows == sorted(grid(store), key=key)


def test_a_grid_by_a_column_has_a_run_once_that_two_versions_scored(store: Store) -> None:
    for version, turned in (("v1", 1), ("v2", -1)):
        store.save(
            [
                ScoredRun(run=run(f"r{n}"), item=f"i{n}", scores=[score("", "s", (n * turned) % 10 / 10, version)])
                for n in range(10)
            ],
            experiment="e",
        )
    rows = grid(store, limit=3, sort=ColumnKey("s"))
    assert [row.item for row in rows] == ["i0", *(f"i{n}" for n in range(9, 0, -1))]
    assert [cell.value for row in rows for cell in row.cells if cell is not None] == [n / 10 for n in range(10)]


def test_a_filtered_grid(store: Store) -> None:
    gridded(store)
    rows = grid(store)

    def outcomes(row: GridRow) -> set[str]:
        return {cell.outcome for cell in row.cells if cell is not None}

    tests: list[tuple[dict[str, Any], Any]] = [
        ({"outcomes": ("error",)}, lambda row: "error" in outcomes(row)),
        ({"outcomes": ("failed", "not_scorable")}, lambda row: outcomes(row) & {"failed", "not_scorable"}),
        ({"scorer": "second"}, lambda row: row.cells[1] is not None),
        ({"scorer": "second", "outcomes": ("failed",)}, lambda row: "failed" in outcomes(row)),
        ({"tag": "even"}, lambda row: int(row.item[-3:]) % 2 == 0),
        ({"item": "item-01"}, lambda row: row.item.startswith("item-01")),
        ({"target_failed": True}, lambda row: row.error is not None),
        ({"target_failed": False, "tag": "even"}, lambda row: row.error is None and int(row.item[-3:]) % 2 == 0),
    ]
    for given, fits in tests:
        for sorting in ({}, {"sort": ColumnKey("first"), "descending": True}):
            found = grid(store, GridFilter(**given), **sorting)
            assert {row.item for row in found} == {row.item for row in rows if fits(row)}, given


def test_wrong_questions_about_a_grid(store: Store) -> None:
    gridded(store)
    with pytest.raises(OptionError, match="there is no scorer 'third' here; there are: first, second"):
        store.experiments.grid("e", sort=ColumnKey("third"))
    with pytest.raises(OptionError, match="no position"):
        store.experiments.grid("e", after="[1]")
    with pytest.raises(OptionError, match="1 to 1000 rows"):
        store.experiments.grid("e", limit=1001)


def test_a_comparison_is_that_of_the_reports(store: Store) -> None:
    reports = []
    for shift in (0, 7):
        scorer = create_scorer(id="varied").generate_score(
            lambda run, results, shift=shift: (len(run.user_text) * (shift + 3) % 11) / 10
        )
        data = [{"id": f"i{n}", "input": "x" * n} for n in range(30 + shift)]
        reports.append(
            run_evals_sync(
                target=lambda question, shift=shift: "sunny" if len(question) % (3 + shift) else "rainy",
                data=data,
                gates=[checks.includes("sunny")],
                scorers=[scorer],
            )
        )
    first, second = (keep(store, report) for report in reports)
    expected = compare(*reports)
    for name, other in expected.scores.items():
        found = store.experiments.compare(first, second, name, limit=1000)
        assert found.pairs == other.items == 30
        assert found.counts["only_second"] == 7
        for field in ("first", "second", "difference", "p_value", "test", "detectable", "outcome", "interval"):
            assert getattr(found, field) == pytest.approx(getattr(other, field)), field
        worse = [change for change in found.changes if change.change == "worse"]
        assert [(change.item, change.first, change.second) for change in worse] == [
            (change.item_id, change.first, change.second)
            for change in sorted(other.changes, key=lambda c: (c.second - c.first, c.item_id))
            if change.second < change.first
        ]


def test_every_kind_of_change_page_by_page(store: Store) -> None:
    gridded(store, "a", seed=1)
    gridded(store, "b", seed=2, items=45, version="v2")
    whole = store.experiments.compare("a", "b", "second", limit=1000)
    assert sum(whole.counts.values()) == whole.total == len(whole.changes)
    assert all(whole.counts[change] for change in ("worse", "better", "same", "only_second", "no_score"))
    paged = [
        change
        for offset in range(0, whole.total, 6)
        for change in store.experiments.compare("a", "b", "second", limit=6, offset=offset).changes
    ]
    assert paged == whole.changes
    some = store.experiments.compare("a", "b", "second", changes=("better", "no_score"), limit=1000)
    assert some.changes == [change for change in whole.changes if change.change in ("better", "no_score")]
    for change in whole.changes:
        for side, name, value in (("a", change.first_score, change.first), ("b", change.second_score, change.second)):
            if name is not None:
                stored = store.scores.get(name)
                assert (stored.row.experiment, stored.row.item, stored.row.value) == (side, change.item, value)
    both = {(column.scorer, column.same_version) for column in store.experiments.columns_of_both("a", "b")}
    assert both == {("first", False), ("second", False)}
    with pytest.raises(OptionError, match="there is no change 'lost'"):
        store.experiments.compare("a", "b", "second", changes=("lost",))  # type: ignore[arg-type]
    for limit, offset in ((-1, 0), (5, -1)):
        with pytest.raises(OptionError, match="0 or more"):
            store.experiments.compare("a", "b", "second", limit=limit, offset=offset)
    assert store.experiments.compare("a", "b", "second", limit=0).changes == []


def test_lower_is_better_turns_worse_around(store: Store) -> None:
    for key, value in (("a", 0.2), ("b", 0.6)):
        store.save(
            [ScoredRun(run=run(key), item="i", scores=[score("", "toxicity", value, lower_is_better=True)])],
            experiment=key,
        )
    assert store.experiments.compare("a", "b", "toxicity").changes[0].change == "worse"
    assert store.experiments.compare("b", "a", "toxicity").changes[0].change == "better"


def test_repeats_are_compared_by_their_mean(store: Store) -> None:
    for key, values in (("a", (0.0, 1.0, None)), ("b", (1.0, 1.0, 1.0))):
        store.save(
            [
                ScoredRun(run=run(f"{key}{n}"), item="i", repeat=n, scores=[score("", "s", value)])
                for n, value in enumerate(values)
            ],
            experiment=key,
        )
    [change] = store.experiments.compare("a", "b", "s").changes
    assert (change.first, change.second, change.change) == (0.5, 1.0, "better")


def test_what_is_written_meanwhile_is_not_half_read(store: Store, store_url: str) -> None:
    questions = (
        lambda: store.experiments.columns("e"),
        lambda: store.experiments.grid("e").total,
        lambda: store.experiments.columns_of_both("e", "e"),
        lambda: store.scores.page().total,
        store.check,
    )
    gridded(store)
    names = count()
    with Store(store_url) as other:

        def save(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if statement.startswith("SELECT"):
                name = f"s{next(names)}"
                other.save([ScoredRun(run=run(name), item=name, scores=[score("", name, 1.0)])], experiment="e")

        for ask in questions:
            before = ask()
            event.listen(store.database.engine, "after_cursor_execute", save)
            found = ask()
            event.remove(store.database.engine, "after_cursor_execute", save)
            assert found == before
            assert ask() != before or ask == store.check


@pytest.fixture
def narrow_store(tmp_path: Path) -> Iterator[Store]:
    """A store whose queries take few values: some builds of SQLite, and PostgreSQL, have lower limits than others."""

    def narrow(driver: sqlite3.Connection, _record: Any) -> None:
        driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 5100)

    with Store(tmp_path / "scores.db") as opened:
        event.listen(opened.database.engine, "connect", narrow)
        opened.close()
        yield opened


def test_a_long_list_of_changes_has_the_scores_of_all(narrow_store: Store) -> None:
    for key in ("a", "b"):
        records = (ScoredRun(run=run(f"{key}{n}"), item=f"i{n}", scores=[score("", "s", n % 2)]) for n in range(2600))
        narrow_store.save(records, experiment=key)
    changes = narrow_store.experiments.compare("a", "b", "s", limit=2600).changes
    assert len({change.first_score for change in changes} | {change.second_score for change in changes}) == 5200


def test_many_scores_that_a_replaced_run_has_no_more_are_removed(narrow_store: Store) -> None:
    def save(names: list[str]) -> None:
        scores = [score("", name, 1.0) for name in names]
        records = [ScoredRun(run=run(f"r{n}"), item=f"i{n}", scores=scores) for n in range(45)]
        narrow_store.save(records, experiment="e", replace=True)

    save([f"s{n}" for n in range(120)])
    save(["s0"])
    assert [column.scorer for column in narrow_store.experiments.columns("e")] == ["s0"]
    assert narrow_store.check() == []
