"""Several processes at one store, and processes that are killed."""

from __future__ import annotations

import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from killed_store import EXPERIMENT, check, kill_while_writing, record
from referee.storage import Store
from referee.storage.filters import ScoreFilter
from stores import postgres_server, scored, store, store_url

__all__ = ["postgres_server", "store", "store_url"]

_SPAWN = multiprocessing.get_context("spawn")


def _write(url: str, names: list[str], errors: Any) -> None:
    try:
        with Store(url) as opened:
            for name in names:
                opened.save([scored(name, {"s": 0.5, "t": 1.0})], experiment=EXPERIMENT)
    except BaseException as error:
        errors.put(repr(error))


def in_processes(url: str, shares: list[list[str]]) -> list[str]:
    """Write runs in several processes at once, which open the store at once too. Gives their errors."""
    errors = _SPAWN.Queue()
    processes = [_SPAWN.Process(target=_write, args=(url, names, errors)) for names in shares]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [errors.get() for _ in range(errors.qsize())]


@pytest.mark.system
def test_processes_that_open_and_write_at_once_lose_nothing(store_url: str) -> None:
    shares = [[f"{writer}-{number}" for number in range(40)] for writer in range(3)]
    assert in_processes(store_url, shares) == []
    with Store(store_url) as found:
        assert found.check() == []
        assert found.scores.count(ScoreFilter(experiment=EXPERIMENT)).count == 3 * 40 * 2


@pytest.mark.system
def test_processes_that_write_the_same_write_it_once(store_url: str) -> None:
    names = [f"run-{number}" for number in range(40)]
    assert in_processes(store_url, [names, names[::-1]]) == []
    with Store(store_url) as found:
        assert found.check() == []
        assert found.scores.count().count == 80


def test_threads_that_write_at_once_lose_nothing(store: Store) -> None:
    def write(writer: int) -> None:
        for number in range(10):
            store.save([scored(f"{writer}-{number}", {"s": 0.5})])
            store.scores.page()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.scores.count().count == 40
    assert store.check() == []


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own(store: Store) -> None:
    store.save([scored("parent", {"s": 0.5})])
    child = os.fork()
    if child == 0:
        try:
            store.save([scored("child", {"s": 0.5})])
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    store.save([scored("after", {"s": 0.5})])
    assert store.scores.count().count == 3


def test_readers_see_one_state_while_others_write(store: Store) -> None:
    store.save([record(number) for number in range(10)], experiment=EXPERIMENT)
    with store.database.read() as connection:
        from sqlalchemy import text

        if not store.database.is_sqlite:
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        first = connection.execute(text("SELECT count(*) FROM scores")).scalar()
        store.save([record(number) for number in range(10, 20)], experiment=EXPERIMENT)
        assert connection.execute(text("SELECT count(*) FROM scores")).scalar() == first
    assert check(str(store.database.url.render_as_string(hide_password=False)), 20) == 20


@pytest.mark.system
def test_a_killed_writer_leaves_whole_batches(store_url: str) -> None:
    held = list(kill_while_writing(store_url, times=5, seed=20261129))
    assert len(held) == 5
    assert held == sorted(held)


def test_a_writer_that_is_killed_once_leaves_whole_batches(tmp_path: Path) -> None:
    [held] = kill_while_writing(str(tmp_path / "scores.db"), times=1, seed=1)
    assert held > 0
