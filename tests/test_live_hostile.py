"""Live scoring of what nobody expects: odd objects, odd errors, odd stores."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from referee import Run, Score, checks, create_scorer
from referee.live import Counts, Drop, Live
from referee.storage.store import Store
from referee.testing import create_agent_test_run

WAIT = 60.0


class Runs:
    """A store that refuses what it is told to refuse."""

    def __init__(self, refused: Any = lambda score: False) -> None:
        self.runs: dict[str, Run] = {}
        self.scores: dict[tuple[str, str], Score] = {}
        self.saves = 0
        self._refused = refused

    def save(self, records: Any, **_: Any) -> None:
        records = list(records)
        self.saves += 1
        if any(self._refused(score) for record in records for score in record.scores):
            raise ValueError("refused")
        for record in records:
            self.runs[record.run.id] = record.run
            self.scores.update({(score.run_id, score.scorer_id): score for score in record.scores})


def run(text: str = "It is sunny.", **fields: Any) -> Run:
    return create_agent_test_run(input_messages="Weather?", output=text, **fields)


class MuteError(Exception):
    """An error that can't be shown."""

    def __str__(self) -> str:
        raise self

    __repr__ = __str__


class Mute:
    """A value that can't be shown."""

    def __repr__(self) -> str:
        raise LookupError

    __str__ = __repr__


class LeavingError(BaseException):
    """Not even an `Exception`."""


def raising(error: BaseException) -> Any:
    def scorer(run: Run) -> bool:
        raise error

    async def scorer_async(run: Run) -> bool:
        raise error

    return create_scorer(id="sync").generate_score(scorer), create_scorer(id="async").generate_score(scorer_async)


@pytest.mark.parametrize(
    "error",
    [
        MuteError(),
        LeavingError("out"),
        asyncio.CancelledError(),
        GeneratorExit(),
        StopIteration(3),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_scorer_raises_is_its_error(error: BaseException) -> None:
    store = Runs()
    sync, asynchronous = raising(error)
    with Live({"sync": sync, "async": asynchronous, "check": checks.includes("sunny")}, store=store) as live:
        for name in ("r", "q"):
            live.submit(run(run_id=name))
        assert live.flush(WAIT)
    assert live.counts["sync"] == live.counts["async"] == Counts(received=2, failed=2)
    assert live.counts["check"] == Counts(received=2, scored=2)
    for name in ("sync", "async"):
        found = store.scores["q", name].error
        assert found is not None
        assert found.error_class in (type(error).__name__, "RuntimeError")  # a coroutine can't raise StopIteration


def test_ids_that_are_no_text_are_taken_as_text() -> None:
    store = Runs()
    number = UUID(int=7)
    with Live({"check": checks.includes("sunny")}, store=store) as live:
        live.submit("sunny", run_id=number, thread_id=17, trace_id=number)  # type: ignore[arg-type]
        assert live.flush(WAIT)
    kept = store.runs[str(number)]
    assert (kept.thread_id, kept.trace_id) == ("17", str(number))


@pytest.mark.parametrize("context", ["text", 3, ["a"], Mute()])
def test_a_context_that_is_no_object_fails_the_run_and_nothing_else(context: Any) -> None:
    store = Runs()

    async def slow(run: Run) -> bool:
        return True

    with Live({"check": checks.includes("sunny"), "slow": slow}, store=store) as live:
        live.submit(run(run_id="bad"), context=context)
        live.submit(run(run_id="good"))
        assert live.flush(WAIT)
    for counts in live.counts.values():
        assert counts == Counts(received=2, scored=1, failed=1)
    error = store.scores["bad", "check-includes"].error
    assert error is not None
    assert "the context must be an object of names and values" in error.message


def test_an_output_that_leaves_the_program_when_it_is_made_readable() -> None:
    def leaves(output: Any) -> Any:
        raise SystemExit

    with Live({"check": checks.includes("sunny")}) as live:
        agent = live.scored(output=leaves)(lambda question: "sunny")
        assert agent("Weather?") == "sunny"
        live.submit(run())
        assert live.flush(WAIT)
    assert live.counts["check"] == Counts(received=2, scored=1, failed=1)


def test_many_scores_that_can_t_be_stored_take_no_other_with_them(caplog: pytest.LogCaptureFixture) -> None:
    store = Runs(lambda score: score.scorer_id == "bad")
    bad = create_scorer(id="bad").generate_score(lambda run: True)
    with Live({"bad": bad, "check": checks.includes("sunny")}, store=store) as live:
        for number in range(60):
            live.submit(run(run_id=f"r{number}"))
        assert live.flush(WAIT)
    assert live.counts["check"] == Counts(received=60, scored=60)
    assert live.counts["bad"] == Counts(received=60, failed=60)
    assert len(store.scores) == 60


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, LeavingError])
def test_a_store_or_a_callback_that_leaves_the_program_ends_no_thread(error: Any, caplog: Any) -> None:
    store = Runs()

    def save(records: Any, **_: Any) -> None:
        Runs.save(store, records)
        if store.saves == 1:
            raise error

    def on_drop(drop: Drop) -> None:
        raise error

    store.save = save  # type: ignore[method-assign]
    live = Live({"check": checks.includes("sunny")}, store=store, on_drop=on_drop)
    live.submit(run(run_id="r"))
    assert live.flush(WAIT)
    live._ledger._closed = True
    live.submit(run(run_id="late"))
    live._ledger._closed = False
    live.submit(run(run_id="q"))
    assert live.close(WAIT)
    assert live.counts["check"] == Counts(received=3, scored=2, dropped=1)


def test_what_a_scorer_gives_is_stored_however_odd(tmp_path: Path) -> None:
    file = tmp_path / "scores.db"
    loop: list[Any] = []
    loop.append(loop)
    odd = [Mute(), {"set": {1, 2}, 3: 2**80}, "\ud800 \x00", b"\xff", loop, float("nan")]
    scorers: dict[str, Any] = {
        f"odd{number}": create_scorer(id=f"odd{number}")
        .preprocess(lambda run, value=value: value)
        .generate_score(lambda run: True)
        for number, value in enumerate(odd)
    }
    with Live({**scorers, "check": checks.includes("sunny")}, store=file) as live:
        for number in range(3):
            live.submit(run(run_id=f"r{number}"))
        assert live.flush(WAIT)
        counts = live.counts
    assert counts["check"] == Counts(received=3, scored=3)
    with Store(file) as store:
        stored = [score.scorer for score in store.scores.page(limit=100).rows]
    for name, each in counts.items():
        if name != "check":
            assert stored.count(name) == each.scored, name
            assert each.scored + each.failed == 3
    assert [name for name, each in counts.items() if each.failed] == ["odd4"]  # what holds itself can't be written


def test_a_telemetry_that_can_begin_no_span_loses_no_score(caplog: pytest.LogCaptureFixture) -> None:
    from referee.telemetry import Telemetry

    class Broken(Telemetry):
        def start(self, *_: Any) -> Any:
            raise LookupError

    async def slow(run: Run) -> bool:
        return True

    with (
        caplog.at_level(logging.CRITICAL),
        Live({"check": checks.includes("sunny"), "slow": slow}, telemetry=Broken()) as live,
    ):
        live.submit(run())
        live.submit(run())
        assert live.flush(WAIT)
    assert live.counts["check"] == live.counts["slow"] == Counts(received=2, scored=2)
