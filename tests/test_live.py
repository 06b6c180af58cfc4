"""Live scoring: every run is counted once, whatever scorers and stores do, and the agent notices nothing."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from referee import OptionError, Run, Score, checks, create_scorer, not_scorable
from referee.judge import Judge, ScriptedModel
from referee.live import Counts, Drop, Live
from referee.loops import run_coroutine
from referee.scorers import create_answer_relevancy_scorer
from referee.testing import create_agent_test_run

WAIT = 60.0


class Runs:
    """A store that keeps everything, and fails as it is told."""

    def __init__(self, fail: Callable[[list[Any]], bool] = lambda records: False) -> None:
        self.scores: dict[tuple[str, str], Score] = {}
        self.runs: dict[str, Run] = {}
        self.saves = 0
        self.again = 0
        self._fail = fail

    def save(self, records: Any, *, experiment: str, scorers: Any) -> None:
        assert experiment == "live"
        self.saves += 1
        if self._fail(list(records)):
            raise OSError("the disk is full")
        for record in records:
            self.runs[record.run.id] = record.run
            for score in record.scores:
                key = (score.run_id, score.scorer_id)
                self.again += key in self.scores
                self.scores[key] = score


def run(text: str = "It is sunny.", **fields: Any) -> Run:
    return create_agent_test_run(input_messages="Weather?", output=text, **fields)


class Gate:
    """A scorer that waits until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self, run: Run) -> bool:
        self.entered.set()
        self.open.wait(WAIT)
        return True


def gated(gate: Gate, name: str = "gate") -> Any:
    return create_scorer(id=name).generate_score(gate.__call__)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def boom(run: Run) -> bool:
    raise LookupError("nothing found")


def nothing(run: Run) -> Any:
    return not_scorable("no documents")


def leaves(run: Run) -> bool:
    raise SystemExit(3)


async def slow(run: Run) -> float:
    await asyncio.sleep(0)
    return 0.5


async def never(run: Run) -> float:
    await asyncio.Event().wait()
    return 1.0


async def leaves_async(run: Run) -> float:
    raise SystemExit(3)


def test_every_outcome_is_counted_once() -> None:
    store = Runs()
    scorers = {
        "check": checks.includes("sunny"),
        "boom": boom,
        "nothing": nothing,
        "slow": slow,
        "leaves": leaves,
        "leaves_async": leaves_async,
        "filtered": {
            "scorer": checks.no_tool_errors(),
            "filter": {"op": "eq", "left": {"path": "source"}, "right": {"literal": "x"}},
        },
        "sampled": {"scorer": checks.used_no_tools(), "sampling": {"type": "ratio", "rate": 0}},
    }
    with Live(scorers, store=store) as live:
        for number in range(30):
            live.submit(run(run_id=f"r{number}"))
        assert live.flush(WAIT)
        counts = live.counts
    assert counts["check"] == Counts(received=30, scored=30)
    assert counts["slow"] == Counts(received=30, scored=30)
    assert counts["nothing"] == Counts(received=30, not_scorable=30)
    assert counts["filtered"] == Counts(received=30, filtered=30)
    assert counts["sampled"] == Counts(received=30, sampled_out=30)
    for name in ("boom", "leaves", "leaves_async"):
        assert counts[name] == Counts(received=30, failed=30)
    assert len(store.scores) == 6 * 30
    assert store.again == 0
    error = store.scores["r3", "boom"].error
    assert error is not None
    assert (error.error_class, error.message) == ("LookupError", "nothing found")


def test_an_agent_on_the_library_s_own_loop_is_scored_too() -> None:
    with Live({"slow": slow, "check": checks.includes("sunny")}) as live:

        @live.scored
        async def agent(question: str) -> str:
            return "sunny"

        assert run_coroutine(agent("Weather?")) == "sunny"
        assert live.flush(WAIT)
    assert live.counts["slow"] == live.counts["check"] == Counts(received=1, scored=1)


def test_a_judged_scorer_is_asked_in_the_background() -> None:
    model = ScriptedModel(
        lambda request: (
            {"statements": ["It is sunny."]}
            if len(model.requests) % 3 == 1
            else {"verdicts": [{"id": "s1", "reason": "It says so.", "verdict": "yes"}]}
            if len(model.requests) % 3 == 2
            else {"reason": "It answers."}
        )
    )
    store = Runs()
    scorer = create_answer_relevancy_scorer()
    with Live({"relevancy": scorer}, judge=Judge(model), store=store, concurrency=1) as live:
        for number in range(5):
            live.submit(run(run_id=f"r{number}"))
        assert live.flush(WAIT)
    assert {score.score for score in store.scores.values()} == {1.0}
    assert len(model.requests) == 15
    assert live.counts["relevancy"] == Counts(received=5, scored=5)


def test_a_full_queue_drops_counts_and_tells(gate: Gate) -> None:
    drops: list[Drop] = []
    store = Runs()
    live = Live(
        {"gate": gated(gate), "check": checks.includes("sunny")}, store=store, queue_size=5, on_drop=drops.append
    )
    live.submit(run(run_id="r0"))
    assert gate.entered.wait(WAIT)
    for number in range(1, 40):
        live.submit(run(run_id=f"r{number}"))
    while live.counts["gate"].pending > 5:  # some are not decided on yet
        live.flush(0.02)
    assert live.counts["gate"].pending == 5
    assert live.counts["gate"].dropped == 35
    gate.open.set()
    assert live.close(WAIT)
    assert live.counts["gate"] == Counts(received=40, scored=5, dropped=35)
    assert live.counts["check"].balanced
    assert sum(drop.count for drop in drops if drop.scorer == "gate") == 35
    assert {drop.reason for drop in drops} == {"queue_full"}
    scored = {run_id for run_id, scorer_id in store.scores if scorer_id == "gate"}
    assert scored == {f"r{number}" for number in range(5)}


def test_a_scorer_that_hangs_holds_up_no_other(gate: Gate) -> None:
    store = Runs()
    live = Live(
        {"hang": gated(gate, "hang"), "never": never, "slow": slow, "check": checks.includes("sunny")},
        store=store,
        queue_size=500,
        concurrency=500,
    )
    for number in range(50):
        live.submit(run(run_id=f"r{number}"))
    while live.counts["check"].pending or live.counts["slow"].pending:
        live.flush(0.05)
    assert live.counts["check"] == live.counts["slow"] == Counts(received=50, scored=50)
    assert live.counts["hang"].pending == live.counts["never"].pending == 50
    assert not live.close(0.05)
    assert live.counts["hang"] == live.counts["never"] == Counts(received=50, dropped=50)


def test_a_score_that_takes_too_long_is_an_error(gate: Gate) -> None:
    store = Runs()
    with Live({"hang": gated(gate, "hang"), "never": never}, store=store, timeout=0.05) as live:
        live.submit(run(run_id="r"))
        live.submit(run(run_id="q"))
        assert live.flush(WAIT)
        assert live.counts["hang"] == live.counts["never"] == Counts(received=2, failed=2)
    for name in ("hang", "never"):
        error = store.scores["r", name].error
        assert error is not None
        assert (error.step, error.error_class, error.message) == ("scoring", "ScoringError", "took longer than 0.05 s")


def test_threads_that_hang_are_replaced_up_to_a_limit(gate: Gate) -> None:
    store = Runs()
    with Live({"hang": gated(gate, "hang")}, store=store, timeout=0.01, queue_size=10) as live:
        for number in range(10):
            live.submit(run(run_id=f"r{number}"))
        while live.counts["hang"].failed < 4:
            live.flush(0.05)
        assert [thread.name for thread in threading.enumerate()].count("referee-live-hang") == 4
        gate.open.set()  # they come back, and the last of them goes on with what waits
        assert live.flush(WAIT)
        assert live.counts["hang"] == Counts(received=10, failed=4, scored=6)


def test_two_scores_of_a_late_scorer_are_one(gate: Gate) -> None:
    store = Runs()
    with Live({"hang": gated(gate, "hang")}, store=store, timeout=0.05) as live:
        live.submit(run(run_id="r"))
        assert live.flush(WAIT)
        gate.open.set()
        live.submit(run(run_id="q"))
        assert live.flush(WAIT)
    assert store.again == 0
    assert live.counts["hang"] == Counts(received=2, failed=1, scored=1)


def test_what_can_t_be_read_is_a_failure_of_every_scorer_and_is_stored() -> None:
    store = Runs()
    with Live({"check": checks.includes("a"), "slow": slow, "boom": boom}, store=store) as live:
        live.submit(object(), run_id="r")
        assert live.flush(WAIT)
    assert {name: counts.failed for name, counts in live.counts.items()} == {"check": 1, "slow": 1, "boom": 1}
    for score in store.scores.values():
        assert score.error is not None
        assert score.error.step == "read_run"
        assert "the agent gave a object, which is in no known format" in score.error.message


@pytest.mark.parametrize("context", [{"op": 1}, "text", 3])
def test_submit_never_raises(context: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Odd:
        def __bool__(self) -> bool:
            raise LookupError

    condition = {"op": "truthy", "value": {"path": "context.odd"}}
    with (
        Live({"check": {"scorer": checks.includes("a"), "filter": condition}}) as live,
        caplog.at_level(logging.CRITICAL),
    ):
        live.submit("text", context={"odd": Odd()})
        live.submit("text", context=context)
        live.submit("text", run_id=object())  # type: ignore[arg-type]
        assert live.flush(WAIT)
        assert live.counts["check"].received == 3
        assert live.counts["check"].balanced


@pytest.mark.parametrize("failures", [1, 2])
def test_a_store_that_fails_is_tried_again(failures: int, caplog: pytest.LogCaptureFixture) -> None:
    store = Runs(lambda records: store.saves <= failures)
    with Live({"check": checks.includes("sunny")}, store=store) as live:
        live.submit(run(run_id="r"))
        assert live.flush(WAIT)
    assert live.counts["check"] == Counts(received=1, scored=1)
    assert store.scores["r", "check-includes"].score == 1.0
    assert "scores could not be stored: OSError: the disk is full" in caplog.text


def test_one_score_that_can_t_be_stored_does_not_take_the_others_with_it(gate: Gate) -> None:
    store = Runs(lambda records: any(record.run.id == "bad" for record in records))
    with Live({"gate": gated(gate)}, store=store) as live:
        for name in ("a", "bad", "b", "c"):
            live.submit(run(run_id=name))
        gate.open.set()
        assert live.flush(WAIT)
    assert live.counts["gate"] == Counts(received=4, scored=3, failed=1)
    assert {run_id for run_id, _ in store.scores} == {"a", "b", "c"}


def test_a_store_out_of_order_fails_every_score(caplog: pytest.LogCaptureFixture) -> None:
    store = Runs(lambda records: True)
    live = Live({"check": checks.includes("sunny")}, store=store)
    for number in range(20):
        live.submit(run(run_id=f"r{number}"))
    assert live.close(WAIT)
    assert live.counts["check"] == Counts(received=20, failed=20)
    assert "could not be stored" in caplog.text


def test_an_on_drop_that_raises_does_no_harm(gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    def on_drop(drop: Drop) -> None:
        raise LookupError

    live = Live({"gate": gated(gate)}, queue_size=1, on_drop=on_drop)
    for _ in range(5):
        live.submit(run())
    gate.open.set()
    assert live.close(WAIT)
    assert live.counts["gate"].balanced
    assert live.counts["gate"].dropped == 4
    assert "on_drop failed" in caplog.text


def test_after_close_runs_are_dropped() -> None:
    live = Live({"check": checks.includes("sunny")})
    assert live.close()
    live.submit(run())
    assert live.counts["check"] == Counts(received=1, dropped=1)
    assert live.close()


def test_close_drops_what_is_not_finished_in_time(gate: Gate) -> None:
    drops: list[Drop] = []
    live = Live({"gate": gated(gate)}, exit_timeout=0.05, on_drop=drops.append)
    for _ in range(3):
        live.submit(run())
    assert not live.flush()
    assert not live.close()
    assert live.counts["gate"] == Counts(received=3, dropped=3)
    assert drops == [Drop("gate", "deadline", 3)]


def test_many_threads_submit_at_once() -> None:
    store = Runs()
    with Live({"check": checks.includes("sunny"), "slow": slow}, store=store, queue_size=100) as live:
        threads = [
            threading.Thread(
                target=lambda name=name: [live.submit(run(run_id=f"{name}-{number}")) for number in range(200)]
            )
            for name in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert live.flush(WAIT)
    for counts in live.counts.values():
        assert counts.received == 1600
        assert counts.balanced
        assert counts.pending == counts.failed == 0
    assert len(store.scores) == sum(counts.scored for counts in live.counts.values())
    assert store.again == 0


def test_a_live_that_receives_nothing_starts_no_thread() -> None:
    before = set(threading.enumerate())
    live = Live({"check": checks.includes("a"), "slow": slow, "length": "completeness"})
    assert live.flush()
    assert set(threading.enumerate()) <= before
    assert live.close()


def test_threads_end_with_close() -> None:
    live = Live({"check": checks.includes("a"), "boom": boom, "slow": slow})
    live.submit("text")
    assert live.close(WAIT)
    for thread in threading.enumerate():
        if thread.name.startswith("referee-live"):
            thread.join(WAIT)
            assert not thread.is_alive()


def test_different_scorers_of_one_id_are_told_apart_and_the_same_one_is_not() -> None:
    store = Runs()
    pro = {"op": "eq", "left": {"path": "context.plan"}, "right": {"literal": "pro"}}
    twice = checks.excludes("x")
    scorers = {
        "a": checks.includes("sunny"),
        "b": checks.includes("rainy"),
        "pro": {"scorer": twice, "filter": pro},
        "free": {"scorer": twice, "filter": {"op": "not", "arg": pro}},
    }
    with Live(scorers, store=store) as live:
        live.submit(run(run_id="r"), context={"plan": "pro"})
        live.submit(run(run_id="q"))
        assert live.flush(WAIT)
    assert sorted(scorer_id for run_id, scorer_id in store.scores if run_id == "r") == [
        "check-excludes",
        "check-includes",
        "check-includes#2",
    ]
    assert live.counts["pro"].scored == live.counts["free"].scored == 1


def test_the_fields_of_a_run_are_kept_and_completed() -> None:
    store = Runs()
    recorded = run(run_id="r", context={"a": 1}, thread_id="t", trace_id="ab", metadata={"x": 1})
    with Live({"check": checks.includes("a")}, store=store) as live:
        live.submit(recorded)
        live.submit(recorded, run_id="q", context={"b": 2}, thread_id="u", entity="weather", source="test")
        live.submit("text")
        assert live.flush(WAIT)
    kept, completed = store.runs["r"], store.runs["q"]
    assert (kept.context, kept.thread_id, kept.trace_id) == ({"a": 1}, "t", "ab")
    assert kept.metadata == {"x": 1, "source": "live"}
    assert (completed.context, completed.thread_id) == ({"a": 1, "b": 2}, "u")
    assert completed.metadata == {"x": 1, "source": "test", "entity": {"name": "weather"}}
    assert len(store.runs) == 3  # the third has a new id


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scorers": {}}, "scorers must be a dictionary with at least one scorer"),
        ({"scorers": [checks.includes("a")]}, "scorers must be a dictionary"),
        ({"scorers": {"a": {"sampling": {}}}}, r'scorers\.a: expected \{"scorer"'),
        ({"scorers": {"a": {"scorer": "checks.nothing"}}}, r"scorers\.a: there is no scorer 'checks\.nothing'"),
        ({"scorers": {"a": {"scorer": checks.includes("a"), "rate": 1}}}, r"scorers\.a: there is no option 'rate'"),
        ({"scorers": {"a": create_answer_relevancy_scorer()}}, r"scorers\.a: .*has none"),
        ({"queue_size": 0}, "Live: queue_size must be a whole number of at least 1, not 0"),
        ({"concurrency": 1.5}, "Live: concurrency"),
        ({"timeout": 0}, "Live: timeout must be a number of seconds above 0, not 0"),
        ({"exit_timeout": "5"}, "Live: exit_timeout"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFEREE_MODEL", raising=False)
    with pytest.raises(OptionError, match=message):
        Live(**{"scorers": {"a": checks.includes("a")}, **options})


def test_dropped_runs_are_counted_in_the_store(tmp_path: Path) -> None:
    from referee.storage import Store

    path, held = tmp_path / "scores.db", threading.Event()

    def slow(run: Run) -> float:
        return float(held.wait(30))

    live = Live(scorers={"slow": slow}, store=path, queue_size=1, exit_timeout=120)
    for place in range(30):
        live.submit(Run(id=f"run-{place}"))
    held.set()
    live.close()
    with Store(path) as store:
        counted = store.live.days().dropped
    assert {drop.reason for drop in counted} == {"queue_full"}
    assert sum(drop.runs for drop in counted) == live.counts["slow"].dropped > 0
