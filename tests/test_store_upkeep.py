"""Removal, upkeep and purge: what goes is gone, what stays still fits together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from postgres import Server
from referee import Item, Message, OptionError, Run, Text, Turn, checks, create_scorer
from referee.errors import StoreError
from referee.evaluate import run_evals_sync
from referee.journal import Journal, read_records
from referee.judge.cache import Cache
from referee.judge.exchange import Reply
from referee.results import Evaluation
from referee.storage import ScoredRun, Store
from referee.storage.erasure import remember_journal
from referee.storage.filters import ScoreFilter
from stores import postgres_server, run, score, scored, store, store_url

__all__ = ["postgres_server", "store", "store_url"]

SECRET = "Ada Lovelace of Dorset Street has the account 4711-0815"


def filled(store: Store) -> None:
    """Two experiments, and recorded and live runs of ten days."""
    for key in ("one", "two"):
        store.experiments.begin(Evaluation(id=key, items={"a": 1}))
        store.save(
            [scored(f"{key}-{n}", {"s": n / 10, "t": None}, item=f"i{n}", tags=["x"]) for n in range(10)],
            experiment=key,
        )
        store.experiments.end(key, status="finished")
    today = datetime.now(UTC)
    for key in ("recorded", "live"):
        runs = [
            run(f"{key}-{n}", answered=f"{n}", started_at=(today - timedelta(days=n)).isoformat()) for n in range(10)
        ]
        store.save([ScoredRun(run=each, scores=[score(each.id, "s", 0.5)]) for each in runs], experiment=key)


def test_a_sound_store_has_no_problems(store: Store) -> None:
    filled(store)
    assert store.check() == []
    info = store.info()
    assert info.rows["scores"] == 60
    assert info.rows["experiments"] == 4
    assert info.bytes > 0
    assert info.schema == "0006"


def test_problems_are_found(store: Store) -> None:
    filled(store)
    with store.database.write() as connection:
        connection.execute(text("DELETE FROM scores WHERE id = (SELECT min(score) FROM score_details)"))
        connection.execute(text("DELETE FROM run_contents WHERE run = (SELECT min(run) FROM run_contents)"))
    problems = " ".join(store.check())
    for part in ("details without a score", "runs without content", "2 rollups that count other scores"):
        assert part in problems


def test_an_experiment_goes_with_everything_of_it(store: Store) -> None:
    filled(store)
    row = store.scores.page(ScoreFilter(experiment="one", scorer="s")).rows[0]
    kept = store.scores.page(ScoreFilter(experiment="two", scorer="s")).rows[0]
    removed = store.remove_experiment("one")
    assert (removed.experiments, removed.runs, removed.scores) == (1, 10, 20)
    assert [found.key for found in store.experiments.latest(kind="experiment")] == ["two"]
    assert store.check() == []
    with pytest.raises(StoreError, match="there is no score"):
        store.scores.get(row.number)
    assert store.scores.get(kept.number).row == kept
    with pytest.raises(StoreError, match="there is no experiment"):
        store.remove_experiment("one")
    assert store.info().rows["experiment_events"] == 2


def test_numbers_of_removed_scores_are_never_given_again(store: Store) -> None:
    filled(store)
    last = max(row.number for row in store.scores.page(limit=1000).rows)
    store.remove_experiment("two")
    store.remove_experiment("live")
    store.save([scored("new", {"s": 1.0})])
    assert store.scores.page(ScoreFilter(run="new")).rows[0].number > last


def test_labels_stay_with_content_that_is_elsewhere(store: Store) -> None:
    filled(store)
    rows = {row.experiment: row for row in store.scores.page(ScoreFilter(scorer="s", item="i3")).rows}
    store.save([ScoredRun(run=run("only", answered="only here"), scores=[score("only", "s", 1.0)])], experiment="one")
    alone = store.scores.page(ScoreFilter(run="only")).rows[0]
    store.label(1, author="ann", score=rows["one"].number)
    store.label(1, author="ann", score=alone.number)
    store.remove_experiment("one")
    [label] = store.labels.latest()
    assert label.run_id.startswith("two-")
    assert len(store.labels.pairs("s", experiment="two")) == 1  # one content, whoever it is the run of


def test_what_is_old_goes_by_the_day(store: Store) -> None:
    filled(store)
    first = datetime.now(UTC).date() - timedelta(days=4)
    removed = store.remove_before(first)
    assert (removed.experiments, removed.runs, removed.scores) == (0, 10, 10)
    assert {row.at.date() for row in store.scores.page(limit=1000).rows} == {
        first + timedelta(days=n) for n in range(5)
    }
    assert store.check() == []
    assert store.scores.count(ScoreFilter(kind="live")).count == 5
    with pytest.raises(OptionError, match="has not come yet"):
        store.remove_before(date.today() + timedelta(days=3))


def test_old_experiments_go_as_a_whole_but_for_a_baseline(store: Store) -> None:
    filled(store)
    store.datasets.create("d")
    store.experiments.begin(Evaluation(id="base"), dataset=store.datasets.get("d").number, dataset_version=0)
    store.datasets.set_baseline("d", "base")
    with store.database.write() as connection:
        connection.execute(
            text("UPDATE experiments SET created_at = created_at - 1000000000 WHERE key IN ('one', 'base')")
        )
    removed = store.remove_before(datetime.now(UTC).date() - timedelta(days=5))
    assert (removed.experiments, removed.kept) == (1, ("base",))
    assert {row.key for row in store.experiments.latest(kind="experiment")} == {"two", "base"}
    assert store.check() == []


def test_a_vacuum_gives_room_back(store: Store) -> None:
    filled(store)
    long = [
        ScoredRun(run=run(f"long-{n}", answered=os.urandom(20_000).hex()), scores=[score("", "s", 1.0)])
        for n in range(40)
    ]
    store.save(long, experiment="one")
    before = store.info().bytes
    store.remove_experiment("one")
    assert store.vacuum() == []
    assert store.info().bytes < before - 1_000_000
    assert store.check() == []
    assert store.scores.count(ScoreFilter(experiment="two")).count == 20


def quoting(run: Run) -> float:
    return 1.0 if "Ada" in run.output_text else 0.0


def prepared(store: Store, folder: Path) -> tuple[Path, Path]:
    """A store, a journal and a judge's cache that are full of the secret, and of what must stay."""
    store.datasets.create("people")
    source = Run(
        id="source", input=[Message("user", [Text(f"Who? {SECRET}")])], output=[Message("assistant", [Text(SECRET)])]
    )
    store.save([ScoredRun(run=source, scores=[score("source", "s", 1.0, reason=SECRET)])])
    secret = Item(
        id="person",
        input=f"Who is it? {SECRET}",
        ground_truth=SECRET,
        tags=[SECRET],
        metadata={"run_id": "source", "n": SECRET},
    )
    store.datasets.put("people", [secret, {"id": "other", "input": "Who wrote it?", "ground_truth": "Nobody knows."}])
    turns = Item(
        id="person",
        turns=[Turn(input=SECRET, gates=[checks.includes(SECRET)]), Turn(input="And?", scorers=[checks.includes("x")])],
        gates=[checks.includes(SECRET)],
        metadata={"m": SECRET},
    )
    store.datasets.put("people", [turns], note="asked otherwise")
    explaining = (
        create_scorer(id="explaining")
        .preprocess(lambda run: {"said": run.output_text})
        .generate_score(lambda run, results: 0.5)
        .generate_reason(lambda run, results: run.output_text)
    )

    def broken(question: str) -> str:
        if "Who" in question:
            return f"Nobody knows. {question}"
        raise RuntimeError(question)

    journal = folder / "journal.jsonl"
    for name, target in (("answers", lambda question: f"{question} Nobody knows."), ("breaks", broken)):
        data = store.datasets.read("people").items
        report = run_evals_sync(
            target=target,
            data=data,
            scorers=[quoting, explaining],
            journal=journal if name == "answers" else None,
            name=name,
        )
        key = store.experiments.begin(report.evaluation, dataset=store.datasets.get("people").number, dataset_version=2)
        for result in report.results:
            store.record(result, report.evaluation)
        store.experiments.end(key, status="finished", verdict=report.verdict)
    with store.database.write() as connection:
        remember_journal(connection, str(journal))
    for row in store.scores.page(ScoreFilter(item="person")).rows:
        if row.value is not None:
            store.label(row.value, author="ann", score=row.number, comment=SECRET)
    cache = Cache(folder / "judge.sqlite")
    cache.put("1", Reply(text='{"statements": ["It is said that Ada Lovelace of Dorset\\nStreet has an account."]}'))
    cache.put("2", Reply(text="Nobody knows whom it is about, it seems to me."))
    cache.close()
    return journal, folder / "judge.sqlite"


def found_in(paths: Iterable[Path]) -> list[str]:
    """The files under some paths that hold a piece of the secret."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    pieces = [piece.encode() for piece in ("Lovelace", "Dorset", "4711-0815")]
    return [str(file) for file in files if any(piece in file.read_bytes() for piece in pieces)]


def files_of(store: Store, server: Server | None, folder: Path) -> list[Path]:
    return [folder] if server is None else [folder, server.data]


def test_purged_content_is_found_nowhere(
    store: Store, store_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server: Server | None = None if store.database.is_sqlite else request.getfixturevalue("postgres_server")
    journal, cache = prepared(store, tmp_path)
    where = files_of(store, server, tmp_path)
    assert {"journal.jsonl", "judge.sqlite"} <= {Path(file).name for file in found_in(where)}
    assert len(found_in(where)) > 2  # the database's own files too
    before = {name: store.experiments.columns(name) for name in ("answers", "breaks")}
    versions = store.datasets.history("people")

    purged = store.purge("people", "person", judge_caches=[cache])
    assert (purged.contents, purged.runs, purged.journal_results, purged.judge_replies) == (2, 3, 1, 1)
    assert store.vacuum() == []
    store.close()
    assert found_in(where) == []

    assert store.datasets.history("people") == versions
    dataset = store.datasets.read("people@1")
    assert ([item.id for item in dataset.items], dataset.purged) == (["other"], ["person"])
    assert [version.item for version in store.datasets.item("people", "person")] == [None, None]
    assert {name: store.experiments.columns(name) for name in before} == before
    assert store.check() == []
    assert {result.item_id for result in read_records(journal)[1].values()} == {"person", "other"}
    with Journal(journal, resume=True) as resumed:
        assert len(resumed.results) == 2
    with store.experiments.results("answers") as results:
        by_item = {result.item_id: result for result in results}
    assert by_item["other"].run is not None
    assert "Nobody knows" in by_item["other"].run.output_text
    kept = Cache(cache)
    assert (kept.get("1"), kept.get("2")) == (None, Reply(text="Nobody knows whom it is about, it seems to me."))
    kept.close()
    assert {label.comment for label in store.labels.latest()} == {None}


def test_a_purge_may_be_done_again_and_a_purged_item_may_come_back(store: Store, tmp_path: Path) -> None:
    prepared(store, tmp_path)
    store.purge("people", "person")
    assert store.purge("people", "person").contents == 0
    assert store.datasets.put("people", [{"id": "person", "input": "Somebody new?"}]) == 3
    assert [item.id for item in store.datasets.read("people").items] == ["person", "other"]


def test_what_cannot_be_purged_is_said(store: Store, tmp_path: Path) -> None:
    prepared(store, tmp_path)
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"dataset": "peple", "item": "person"}, StoreError, "did you mean 'people'"),
        ({"dataset": "people", "item": "persona"}, StoreError, "never had an item 'persona'"),
        (
            {"dataset": "people", "item": "person", "journals": [tmp_path / "no.jsonl"]},
            OptionError,
            "no.jsonl can't be purged",
        ),
        (
            {"dataset": "people", "item": "person", "judge_caches": [tmp_path / "no.sqlite"]},
            OptionError,
            "no judge's cache",
        ),
    ]
    for given, kind, message in wrong:
        with pytest.raises(kind, match=message):
            store.purge(**given)
