"""Live scoring across processes: child processes that score, forks, and the end of the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from referee import Run, Score
from referee.live import Counts, Live, wire
from referee.live.process_lane import ProcessLane
from referee.messages import Message, Text, ToolCall
from referee.storage import Store
from referee.testing import create_agent_test_run

WAIT = 60.0
HERE = Path(__file__).parent


class Runs:
    def __init__(self) -> None:
        self.scores: dict[tuple[str, str], Score] = {}

    def save(self, records: Any, **_: Any) -> None:
        for record in records:
            for score in record.scores:
                assert (score.run_id, score.scorer_id) not in self.scores
                self.scores[score.run_id, score.scorer_id] = score


def run(text: str = "It is sunny.", **fields: Any) -> Run:
    return create_agent_test_run(input_messages="Weather today?", output=text, **fields)


@pytest.fixture(autouse=True)
def _own_scorers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


def test_a_ready_made_scorer_and_one_of_one_s_own_run_in_child_processes() -> None:
    store = Runs()
    scorers = {
        "completeness": "completeness",
        "similarity": {"scorer": {"content_similarity": {"ignore_case": False}}},
        "process": "live_scorers:process",
        "prints": "live_scorers:prints",
        "raises": "live_scorers:raises",
    }
    with Live(scorers, store=store) as live:
        for number in range(3):
            live.submit(run(str(os.getpid()), run_id=f"r{number}"))
        assert live.flush(WAIT)
        bindings = live._bindings
    here = {binding.scorer.id: binding.scorer for binding in bindings.values()}
    for (run_id, scorer_id), score in store.scores.items():
        assert score.scorer_version == here[scorer_id].version
        if scorer_id in ("process", "prints"):
            assert score.score == 1.0, score
        elif scorer_id == "raises":
            assert score.error is not None
            assert (score.error.error_class, score.error.message) == ("LookupError", "nothing found")
        else:
            alone = here[scorer_id].run_sync(run(str(os.getpid()), run_id=run_id))
            assert (score.score, score.reason, score.range) == (alone.score, alone.reason, alone.range)
    assert live.counts["prints"] == Counts(received=3, scored=3)
    assert live.counts["raises"] == Counts(received=3, failed=3)


def test_a_child_that_hangs_is_killed_and_one_that_ends_is_started_anew() -> None:
    store = Runs()
    with Live({"hangs": "live_scorers:hangs", "crashes": "live_scorers:crashes"}, store=store, timeout=0.5) as live:
        for number, text in enumerate(["fine", "hang", "crash", "fine", "crash", "hang", "fine"]):
            live.submit(run(text, run_id=f"r{number}"))
        assert live.flush(WAIT)
    assert live.counts["hangs"] == Counts(received=7, scored=5, failed=2)
    assert live.counts["crashes"] == Counts(received=7, scored=5, failed=2)
    for key, message in (
        (("r1", "hangs"), "took longer than 0.5 s"),
        (("r2", "crashes"), "the scoring process ended with code 7"),
    ):
        error = store.scores[key].error
        assert error is not None
        assert (error.step, error.message) == ("scoring", message)


def test_a_child_that_ended_while_it_had_nothing_to_do_costs_no_score() -> None:
    with Live({"length": "live_scorers:length"}) as live:
        live.submit(run())
        assert live.flush(WAIT)
        assert live._background is not None
        [lane] = live._background._distinct_lanes()
        assert isinstance(lane, ProcessLane)
        assert lane._child._process is not None
        lane._child._process.kill()
        lane._child._process.wait()
        live.submit(run())
        assert live.flush(WAIT)
    assert live.counts["length"] == Counts(received=2, scored=2)


def test_closing_ends_a_child_in_the_middle_of_its_work() -> None:
    live = Live({"hangs": "live_scorers:hangs"})
    live.submit(run())
    assert live.flush(WAIT)
    assert live._background is not None
    [lane] = live._background._distinct_lanes()
    assert isinstance(lane, ProcessLane)
    child = lane._child._process
    assert child is not None
    live.submit(run("hang"))
    assert not live.close(0.05)
    assert child.wait(WAIT) is not None
    assert live.counts["hangs"] == Counts(received=2, scored=1, dropped=1)


def test_a_scorer_that_the_child_can_t_make_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here_only.py").write_text("def passes(run):\n    return True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    store = Runs()
    live = Live({"passes": "here_only:passes"}, store=store)
    (tmp_path / "here_only.py").unlink()
    live.submit(run(run_id="r"))
    assert live.close(WAIT)
    error = store.scores["r", "passes"].error
    assert error is not None
    assert error.step == "load_scorer"
    assert "can't be imported" in error.message


def test_odd_content_reaches_the_child() -> None:
    store = Runs()
    call = ToolCall(name="add", args={"n": 2**80, "x": float("inf"), "s": {1, 2}}, result=object())
    odd = Run(
        id="odd",
        input=[Message("user", [Text("a\ud800b")])],
        output=[Message("assistant", [call, Text("\x00\ud800 " * 40)])],
    )
    large = run("x" * 3_000_000, run_id="large")
    with Live({"length": "live_scorers:length"}, store=store) as live:
        live.submit(odd)
        live.submit(large)
        assert live.flush(WAIT)
    assert {key: score.score for key, score in store.scores.items()} == {
        ("odd", "length"): 1.0,
        ("large", "length"): 1.0,
    }


def test_frames() -> None:
    reader, writer = os.pipe()
    try:
        contents = [b"", b"x", os.urandom(1_000_000)]
        sender = threading.Thread(target=lambda: [wire.send(writer, content) for content in contents])
        sender.start()
        assert [wire.receive(reader) for _ in contents] == contents
        sender.join()
        os.write(writer, b"\x00\x00\x00\x05ab")  # cut off
        os.close(writer)
        writer = -1
        assert wire.receive(reader) is None
        assert wire.receive(reader) is None
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)


HEAD = """
import json, os, sys, threading, time
from referee import Run, checks
from referee.live import Live
from referee.testing import create_agent_test_run

class Lines:
    def __init__(self, path):
        self.path = path
    def save(self, records, **_):
        with open(self.path, "a") as file:
            for record in records:
                for score in record.scores:
                    file.write(json.dumps([record.run.id, score.scorer_id, score.score, os.getpid()]) + "\\n")

def run(name, text="It is sunny."):
    return create_agent_test_run(input_messages="Weather?", output=text, run_id=name)

def show(live):
    counts = live.counts.items()
    print(json.dumps({name: [c.received, c.scored, c.dropped, c.failed, c.pending] for name, c in counts}), flush=True)
"""


def program(body: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that has a store of JSON lines, and what it printed."""
    command = [sys.executable, "-W", "error", "-c", HEAD + body, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=HERE)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_end_of_the_program_waits_for_what_was_accepted(tmp_path: Path) -> None:
    body = """
import asyncio
async def judged(run):
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)  # as a client does to find its host
    return 0.5
live = Live({"check": checks.includes("sunny"), "length": "live_scorers:length", "judged": judged}, store=Lines(sys.argv[1]))
for number in range(20):
    live.submit(run(f"r{number}"))
"""
    done = program(body, str(tmp_path / "scores"))
    assert (done.returncode, done.stderr) == (0, "")
    stored = lines(tmp_path / "scores")
    assert len(stored) == len({tuple(line[:2]) for line in stored}) == 60
    assert all(line[2] is not None for line in stored)


def test_runs_of_threads_that_outlive_the_main_one_are_scored(tmp_path: Path) -> None:
    body = """
live = Live({"check": checks.includes("sunny")}, store=Lines(sys.argv[1]))
live.submit(run("first"))
def later():
    threading.main_thread().join()
    live.submit(run("second"))
threading.Thread(target=later).start()
"""
    done = program(body, str(tmp_path / "scores"))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(line[0] for line in lines(tmp_path / "scores")) == ["first", "second"]


def test_the_end_of_the_program_does_not_wait_longer_than_it_may(tmp_path: Path) -> None:
    body = """
def hangs(run):
    threading.Event().wait()
live = Live({"thread": hangs, "process": "live_scorers:hangs", "check": checks.includes("a")}, store=Lines(sys.argv[1]), exit_timeout=0.3)
for number in range(3):
    live.submit(run(f"r{number}", "hang"))
live.close()
show(live)
"""
    done = program(body, str(tmp_path / "scores"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    counts = json.loads(done.stdout.splitlines()[0])
    assert counts["thread"] == counts["process"] == [3, 0, 3, 0, 0]
    assert counts["check"] == [3, 3, 0, 0, 0]


def test_a_run_that_comes_when_no_thread_can_be_started_is_dropped(tmp_path: Path) -> None:
    body = """
live = Live({"check": checks.includes("a")}, store=Lines(sys.argv[1]))
import logging; logging.disable()
def start(thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")
threading.Thread.start = start
live.submit(run("late"))
show(live)
"""
    done = program(body, str(tmp_path / "scores"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"check": [1, 0, 1, 0, 0]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_starts_afresh_and_the_parent_goes_on(tmp_path: Path) -> None:
    body = """
import warnings; warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks with threads
live = Live({"check": checks.includes("sunny"), "length": "live_scorers:length"}, store=Lines(sys.argv[1]))
live.submit(run("before"))
assert live.flush(60)
held = live._ledger._lock  # held by another thread while the process forks
holder_has_it, let_go = threading.Event(), threading.Event()
def hold():
    with held:
        holder_has_it.set(); let_go.wait()
threading.Thread(target=hold, daemon=True).start()
holder_has_it.wait()
child = os.fork()
let_go.set()
name = "child" if child == 0 else "parent"
for number in range(10):
    live.submit(run(f"{name}-{number}"))
assert live.close(60)
show(live)
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    done = program(body, str(tmp_path / "scores"))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(map(json.loads, done.stdout.splitlines()), key=str) == [
        {"check": [10, 10, 0, 0, 0], "length": [10, 10, 0, 0, 0]},
        {"check": [11, 11, 0, 0, 0], "length": [11, 11, 0, 0, 0]},
    ]
    stored = lines(tmp_path / "scores")
    assert len(stored) == len({tuple(line[:2]) for line in stored}) == 42
    assert len({line[3] for line in stored if line[0].startswith("child")}) == 1
    assert {line[3] for line in stored if line[0].startswith("child")}.isdisjoint(
        {line[3] for line in stored if line[0].startswith("parent")}
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_workers_that_are_forked_finish_what_they_accepted_and_write_to_one_store(tmp_path: Path) -> None:
    body = """
import multiprocessing, warnings; warnings.simplefilter("ignore", DeprecationWarning)
live = Live({"check": checks.includes("sunny"), "length": "live_scorers:length"}, store=sys.argv[1], exit_timeout=60)
def work(number):
    for each in range(5):
        live.submit(run(f"{number}-{each}"))
live.submit(run("parent"))
assert live.flush(60)
workers = [multiprocessing.get_context("fork").Process(target=work, args=(number,)) for number in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
assert [worker.exitcode for worker in workers] == [0, 0]
show(live)
"""
    done = program(body, str(tmp_path / "scores.db"))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"check": [1, 1, 0, 0, 0], "length": [1, 1, 0, 0, 0]}
    with Store(tmp_path / "scores.db") as store:
        assert store.scores.count().count == 2 * 11
        assert len(store.runs.page().rows) == 11


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_keep_the_scoring_process_of_its_parent_alive(tmp_path: Path) -> None:
    body = """
import signal, warnings; warnings.simplefilter("ignore", DeprecationWarning)
live = Live({"length": "live_scorers:length"})
live.submit(run("r"))
assert live.flush(60)
[lane] = live._background._distinct_lanes()
scoring = lane._child._process.pid
child = os.fork()
if child == 0:
    os.read(0, 1)  # lives on until the test ends it
    os._exit(0)
print(json.dumps([scoring, child]), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", HEAD + body], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    scoring, _ = json.loads(process.stdout.readline())
    process.wait(WAIT)
    try:
        assert gone(scoring)
    finally:
        process.stdin.close()
        process.stdout.close()


def gone(pid: int) -> bool:
    """Whether a process ends within a minute."""
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        threading.Event().wait(0.1)
    return False
