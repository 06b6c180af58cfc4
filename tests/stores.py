"""Stores for tests: every test that takes `store_url` runs on SQLite and, as a system test, on a real PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postgres import Server, running_server
from referee import Message, Run, Score, Text
from referee.scores import StepError, Unscored
from referee.storage import ScoredRun, Store

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server for the whole session."""
    with running_server() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "scores.db")
    server: Server = request.getfixturevalue("postgres_server")
    return server.create_database(f"test_{next(_numbers)}")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store."""
    with Store(store_url) as opened:
        yield opened


def run(id: str, asked: str = "When does the ferry leave?", answered: str = "At nine.", **fields: Any) -> Run:
    """A run of a question and an answer."""
    return Run(
        id=id,
        input=[Message("user", [Text(asked)])],
        output=[Message("assistant", [Text(answered)])],
        **fields,
    )


def score(run_id: str, scorer: str, value: float | None, version: str = "v1", **fields: Any) -> Score:
    """A score; without a value an error, unless `not_scorable` says why."""
    if value is None and "not_scorable" not in fields:
        fields["error"] = StepError("analyze", "ValueError", "no number")
    if isinstance(fields.get("not_scorable"), str):
        fields["not_scorable"] = Unscored("preprocess", fields["not_scorable"])
    return Score(run_id, scorer, value, scorer_version=version, **fields)


def scored(id: str, values: dict[str, float | None], version: str = "v1", **fields: Any) -> ScoredRun:
    """A run with a score of each scorer."""
    return ScoredRun(
        run=run(id), scores=[score(id, scorer, value, version) for scorer, value in values.items()], **fields
    )
