"""A store that an earlier release wrote opens, is migrated, and keeps what it holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

import store_versions
from postgres import Server
from referee import Message, Run, Text
from referee.errors import StoreError
from referee.storage import Store
from referee.storage import database as database_module
from referee.storage.database import parse_url
from referee.storage.filters import ScoreFilter
from referee.storage.schema import HEAD, metadata
from stores import postgres_server, scored, store, store_url

__all__ = ["postgres_server", "store", "store_url"]

RUN = Run(id="run-1", input=[Message("user", [Text("Weather?")])], output=[Message("assistant", [Text("Sunny.")])])


def check(store: Store, revision: str) -> None:
    """Everything that the version could hold is there, and new things can be written."""
    [row] = store.scores.page().rows
    found = store.scores.get(row.number)
    assert found.run == RUN
    assert (found.score.score, found.score.reason, found.score.scorer_version) == (0.5, "half of it", "v1")
    assert store.scores.count(ScoreFilter(scorer="relevancy", at_least=0.4, tag="short")).count == 1
    assert store.experiments.get("nightly").results == 1
    assert store.experiments.columns("nightly")[0].figures.mean == 0.5
    if revision >= "0002":
        assert store.experiments.get("nightly").verdict == "passed"
        assert [event.event for event in store.experiments.events("nightly")] == ["started"]
        assert store.experiments.plan("nightly").items == {"item-1": 1}
    if revision >= "0003":
        assert [item.input for item in store.datasets.read("weather@release").items] == ["Weather?"]
        assert [version.note for version in store.datasets.history("weather")] == ["first"]
    if revision >= "0004":
        [pair] = store.labels.pairs("relevancy")
        assert (pair.value, pair.labels) == (0.5, {"ann": 1.0})
    if revision >= "0006":
        [job] = store.jobs.latest()
        assert (job.status, job.plan.scorers, job.progress.done) == ("cancelled", ["checks.no_tool_errors"], 1)
        assert [(drop.scorer, drop.runs) for drop in store.live.days().dropped] == [("relevancy", 3)]
    assert store.check() == []
    assert store.save([scored("new", {"relevancy": 1.0})], experiment="nightly").added == 1
    assert store.datasets.put(store.datasets.create("another").name, ["Snow?"]) == 1
    assert store.label(1, author="ben", score=row.number).value == 1
    assert store.check() == []


@pytest.mark.parametrize("revision", store_versions.REVISIONS)
def test_a_file_of_each_version_opens_and_keeps_its_data(revision: str, tmp_path: Path) -> None:
    file = tmp_path / "scores.db"
    shutil.copy(store_versions.FOLDER / f"{revision}.db", file)
    with Store(file) as opened:
        assert opened.info().schema == HEAD
        check(opened, revision)
    with Store(file) as again:
        assert again.scores.count().count == 2


@pytest.mark.system
@pytest.mark.parametrize("revision", store_versions.REVISIONS)
def test_a_postgresql_database_of_each_version_opens_and_keeps_its_data(revision: str, postgres_server: Server) -> None:
    url = postgres_server.create_database(f"version_{revision}")
    engine = create_engine(parse_url(url))
    with engine.begin() as connection:
        store_versions.fill(connection, revision)
        for table in ("experiments", "scorers", "runs", "scores"):
            connection.execute(text(f"SELECT setval('{table}_id_seq', 1)"))
        for table, since in (
            ("experiment_events", "0002"),
            ("datasets", "0003"),
            ("dataset_items", "0003"),
            ("labels", "0004"),
            ("jobs", "0006"),
        ):
            if revision >= since:
                connection.execute(text(f"SELECT setval('{table}_id_seq', 1)"))
    engine.dispose()
    with Store(url) as opened:
        check(opened, revision)


def test_there_is_a_file_of_every_migration() -> None:
    migrations = ScriptDirectory(str(Path(database_module.__file__).parent / "migrations"))
    revisions = [revision.revision for revision in migrations.walk_revisions()]
    assert sorted(revisions) == list(store_versions.REVISIONS)
    assert migrations.get_heads() == [HEAD]
    assert {file.stem for file in store_versions.FOLDER.glob("*.db")} == set(revisions)


def test_the_migrations_make_the_tables_that_the_code_expects(store: Store) -> None:
    with store.database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_store_of_a_later_release_is_left_alone(store: Store, store_url: str) -> None:
    with store.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match=r"written by a newer release \(schema 9999\).*upgrade referee"):
        Store(store_url)
