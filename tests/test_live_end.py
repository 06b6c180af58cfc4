"""The end of live scoring: what is written is settled, what is not is dropped, and nothing is both."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from referee import Run, checks
from referee.live import Counts, Drop, Live, lifetime
from referee.live import live as live_module
from referee.live import process as process_module
from referee.storage.store import Store
from referee.testing import create_agent_test_run

WAIT = 60.0


def run(text: str = "It is sunny.", **fields: Any) -> Run:
    return create_agent_test_run(input_messages="Weather?", output=text, **fields)


@pytest.fixture
def short_last_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "_LAST_WRITE", 0.1)


class SlowStore:
    """Begins to write, and goes on when it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.stored: list[str] = []

    def save(self, records: Any, **_: Any) -> None:
        records = list(records)
        if records:
            self.entered.set()
            self.go_on.wait(WAIT)
        self.stored += [record.run.id for record in records]


@pytest.fixture
def store() -> Iterator[SlowStore]:
    store = SlowStore()
    yield store
    store.go_on.set()


def test_what_is_written_when_the_time_is_up_counts_as_scored_once_it_is(store: SlowStore) -> None:
    drops: list[Drop] = []
    live = Live({"check": checks.includes("sunny")}, store=store, on_drop=drops.append)
    live.submit(run(run_id="r"))
    assert store.entered.wait(WAIT)
    live.submit(run(run_id="q"))
    closing = threading.Thread(target=live.close, args=(0.05,))
    closing.start()
    while not live._closed:
        threading.Event().wait(0.01)
    store.go_on.set()
    closing.join()
    counts = live.counts["check"]
    assert counts.balanced
    assert counts.pending == 0
    assert counts.scored == len(store.stored)
    assert "r" in store.stored
    assert sum(drop.count for drop in drops) == counts.dropped == 2 - counts.scored


@pytest.mark.usefixtures("short_last_write")
def test_a_write_in_this_process_that_does_not_end_is_dropped_and_not_counted_again(store: SlowStore) -> None:
    drops: list[Drop] = []
    told = threading.Event()
    live = Live({"check": checks.includes("sunny")}, store=store, on_drop=lambda drop: (drops.append(drop), told.set()))
    live.submit(run(run_id="r"))
    assert store.entered.wait(WAIT)
    assert not live.close(0.05)
    assert live.counts["check"] == Counts(received=1, dropped=1)
    store.go_on.set()
    assert told.wait(WAIT)
    assert live.counts["check"] == Counts(received=1, dropped=1)
    assert drops == [Drop("check", "deadline", 1)]
    assert not live.close()


@pytest.mark.usefixtures("short_last_write")
def test_a_write_in_another_process_that_does_not_end_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "scores.db"
    live = Live({"check": checks.includes("sunny")}, store=file)
    live.submit(run(run_id="before"))
    assert live.flush(WAIT)
    blocker = sqlite3.connect(file, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    live.submit(run(run_id="r"))
    while live._background is not None and live._background._distant._child._deadline is None:  # type: ignore[union-attr]
        threading.Event().wait(0.01)
    live.close(0.05)
    assert live.counts["check"] == Counts(received=2, scored=1, failed=1)
    blocker.execute("ROLLBACK")
    blocker.close()
    with Store(file) as store:
        assert [row.run_id for row in store.runs.page().rows] == ["before"]


def test_what_is_judged_when_it_is_closed_is_cancelled() -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def judged(run: Run) -> float:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return 1.0

    live = Live({"judged": judged})
    live.submit(run())
    assert begun.wait(WAIT)
    assert not live.close(0.01)
    assert cancelled.wait(WAIT)
    assert live.counts["judged"] == Counts(received=1, dropped=1)


def test_a_child_that_keeps_ending_is_not_started_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    live = Live({"crashes": "live_scorers:crashes"})
    live.submit(run("crash"))
    assert live.flush(WAIT)
    assert live.counts["crashes"] == Counts(received=1, failed=1)
    monkeypatch.setattr(process_module, "_BETWEEN_STARTS", 3600.0)
    live.submit(run("fine"))
    assert not live.flush(0.2)
    assert not live.close(0.01)  # which ends the pause
    assert live.counts["crashes"] == Counts(received=2, failed=1, dropped=1)
    for thread in threading.enumerate():
        if thread.name == "referee-live-crashes":
            thread.join(WAIT)
            assert not thread.is_alive()


class Waited:
    """Takes all of its time whenever it is waited for."""

    def __init__(self, exit_timeout: float, clock: list[float]) -> None:
        self.exit_timeout = exit_timeout
        self.clock = clock
        self.timeouts: list[float] = []

    def flush(self, timeout: float) -> bool:
        self.timeouts.append(timeout)
        self.clock[0] += timeout
        return False

    def close(self, timeout: float) -> bool:
        return self.flush(timeout)

    def after_fork(self) -> None: ...


def test_the_end_of_the_program_waits_as_long_as_the_one_that_may_take_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    first, second = Waited(3.0, clock), Waited(3.0, clock)
    monkeypatch.setattr(lifetime, "_running", {first: None, second: None})
    monkeypatch.setattr(lifetime, "_patience", lifetime._Patience())
    monkeypatch.setattr(lifetime.time, "monotonic", lambda: clock[0])
    lifetime._flush()
    lifetime._close()
    assert clock == [3.0]
    assert (first.timeouts, second.timeouts) == ([3.0, 0.0], [0.0, 0.0])


def test_an_interrupt_ends_the_waiting_at_the_end_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Waited):
        def flush(self, timeout: float) -> bool:
            if timeout:
                raise KeyboardInterrupt
            return super().flush(timeout)

    lived = Interrupted(3.0, [0.0])
    monkeypatch.setattr(lifetime, "_running", {lived: None})
    monkeypatch.setattr(lifetime, "_patience", lifetime._Patience())
    lifetime._flush()
    lifetime._close()
    assert lived.timeouts == [0.0, 0.0]


def test_a_run_that_comes_while_it_is_closed_starts_nothing() -> None:
    live = Live({"check": checks.includes("sunny")})
    assert live._ledger.arrive()  # by another thread, which goes on when it is closed
    live.close(0.01)
    live._ledger.withdraw()
    assert live._started() is None
    assert live.counts["check"] == Counts(received=1, dropped=1)
