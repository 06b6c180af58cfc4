"""The journal and resuming: durable lines, nothing asked twice, and no result of another item or scorer kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import killed_evaluation
from referee import OptionError, ReadError, Run, checks, create_scorer
from referee.evaluate import Report, SideBySide, read_report, run_evals_sync
from referee.journal import Journal, read_records
from referee.results import Evaluation, ItemResult, decode_record, encode_record
from referee.scores import Score


class Agent:
    """A target that counts what it is asked and fails where it is told to."""

    def __init__(self, failing: str = "") -> None:
        self.asked: list[str] = []
        self.failing = failing

    def __call__(self, text: str) -> str:
        self.asked.append(text)
        if text in self.failing.split():
            raise ConnectionError("no answer")
        return text


DATA = [{"id": name, "input": name} for name in ("sunny", "rainy", "snowy")]
GATE = checks.excludes("snowy")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "made" / "evals.jsonl"


def evaluate(agent: Any, journal: Path, **arguments: Any) -> Report:
    return run_evals_sync(**{"target": agent, "data": DATA, "gates": [GATE], "journal": journal, **arguments})


def comparable(report: Report) -> Any:
    scores = [(result.key, [(s.scorer_id, s.score, s.status) for s in result.all_scores]) for result in report.results]
    return report.verdict, dict(report.summary), report.gates, report.local_gates, report.turns, scores


def test_a_finished_item_is_on_the_disk_before_it_is_told(journal: Path) -> None:
    lines: list[int] = []
    evaluate(
        Agent(), journal, on_item_complete=lambda result: lines.append(len(read_records(journal)[1])), concurrency=1
    )
    assert lines == [1, 2, 3]


def test_the_journal_gives_the_report_back(journal: Path) -> None:
    turns = [{"input": "x", "gates": [checks.includes("x")]}, {"input": "y"}]
    data = [*DATA, {"id": "own", "input": "sunny", "gates": [GATE]}, {"id": "talk", "turns": turns}]
    scorers = [{"scorer": checks.includes("sunny"), "threshold": {"min": 0.9, "confidence": 0.9}}]
    report = evaluate(Agent("rainy"), journal, data=data, scorers=scorers, repeats=2, name="weather")
    again = read_report(journal)
    assert isinstance(again, Report)
    assert comparable(again) == comparable(report)
    assert (again.name, again.evaluation, again.errors) == ("weather", report.evaluation, 2)


def test_several_targets_share_a_journal(journal: Path) -> None:
    run_evals_sync(targets={"a": Agent(), "b": Agent("sunny")}, data=DATA, gates=[GATE], journal=journal)
    again = read_report(journal)
    assert isinstance(again, SideBySide)
    assert [(name, report.errors) for name, report in again.items()] == [("a", 0), ("b", 1)]


def test_resuming_asks_only_for_what_is_missing_or_failed(journal: Path) -> None:
    evaluate(Agent("rainy"), journal)
    with pytest.raises(OptionError, match="holds results"):
        evaluate(Agent(), journal)
    agent = Agent()
    report = evaluate(agent, journal, data=[*DATA, {"id": "new", "input": "windy"}], resume=True)
    assert sorted(agent.asked) == ["rainy", "windy"]
    assert (report.errors, report.missing, len(report.results)) == (0, 0, 4)
    agent = Agent()
    evaluate(agent, journal, data=[*DATA, {"id": "new", "input": "windy"}], resume=True)
    assert agent.asked == []


def test_resuming_what_did_not_pass(journal: Path) -> None:
    evaluate(Agent("rainy"), journal)
    agent = Agent()
    report = evaluate(agent, journal, resume="failed")
    assert sorted(agent.asked) == ["rainy", "snowy"]
    assert len(report.results) == 3


def test_a_changed_item_is_asked_again(journal: Path) -> None:
    evaluate(Agent(), journal)
    agent = Agent()
    changed = [{**DATA[0], "input": "very sunny"}, {**DATA[1], "ground_truth": "rain"}, DATA[2]]
    evaluate(agent, journal, data=changed, resume=True)
    assert sorted(agent.asked) == ["rainy", "very sunny"]


def test_a_new_or_changed_scorer_scores_the_recorded_runs(journal: Path) -> None:
    turns = [{"input": "x"}, {"input": "y", "gates": [checks.equals("y")]}]
    first = evaluate(Agent(), journal, data=[*DATA, {"id": "talk", "turns": turns}])
    assert first.verdict == "failed"
    agent = Agent()
    turns[1]["gates"] = [checks.equals("Y", ignore_case=False)]
    data = [*DATA, {"id": "talk", "turns": turns}]
    report = evaluate(
        agent, journal, data=data, gates=[checks.excludes("nothing")], scorers=["completeness"], resume=True
    )
    assert agent.asked == []
    assert report.summary["check-excludes"].mean == 1
    assert report.summary["completeness-scorer"].scored == 4
    assert [turn.gates for turn in report.turns] == [{"check-equals": 0.0}]
    assert evaluate(agent, journal, data=data, gates=[], scorers=["completeness"], resume=True).gates == []


def test_only_a_failed_score_is_taken_again(journal: Path) -> None:
    broken = {"yes": True}
    calls: list[str] = []

    def steady(run: Run) -> float:
        calls.append(run.output_text)
        return 1.0

    def shaky(run: Run) -> float:
        return 1 / (0 if broken["yes"] and run.output_text == "rainy" else 1)

    arguments = {"scorers": [steady, shaky]}
    assert evaluate(Agent(), journal, **arguments).summary["shaky"].errors == 1
    broken["yes"] = False
    agent = Agent()
    report = evaluate(agent, journal, **arguments, resume=True)
    assert (agent.asked, len(calls)) == ([], 3)
    assert (report.summary["shaky"].errors, report.complete) == (0, True)


def test_a_torn_last_line_is_passed_over_and_cut_off(journal: Path) -> None:
    evaluate(Agent(), journal)
    whole = journal.read_bytes()
    for cut in (1, 20, 400):
        journal.write_bytes(whole[:-cut])
        assert len(read_records(journal)[1]) == 2
        agent = Agent()
        report = evaluate(agent, journal, resume=True)
        assert len(agent.asked) == 1
        assert report.complete
        assert all(line.endswith(b"}") for line in journal.read_bytes().splitlines())
    journal.write_bytes(whole[:30])
    assert evaluate(Agent(), journal, resume=True).complete


def test_a_file_that_is_no_journal_is_named(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text('{"messages": []}\n')
    with pytest.raises(ReadError, match=r"runs\.jsonl:1: no record of an evaluation"):
        evaluate(Agent(), file, resume=True)
    assert file.read_text() == '{"messages": []}\n'
    with pytest.raises(ReadError, match="No such file"):
        read_report(tmp_path / "none.jsonl")
    file.write_bytes(encode_record(ItemResult(item_id="a")) + b"\n")
    with pytest.raises(ReadError, match="no evaluation's plan"):
        read_report(file)
    file.write_bytes(encode_record(Evaluation(id="e", schema_version=99)) + b"\n")
    with pytest.raises(ReadError, match="schema version 99"):
        read_report(file)
    with pytest.raises(OptionError, match="can't be opened"):
        Journal(tmp_path)


def test_a_journal_that_cannot_be_written_is_told(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs: list[int] = []

    def full(descriptor: int) -> None:
        syncs.append(descriptor)
        if len(syncs) > 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    report = evaluate(Agent(), journal)
    assert {error.step for error in report.hook_errors} == {"journal"}
    assert "No space left" in report.hook_errors[0].message
    assert (report.complete, len(report.results)) == (False, 3)


@pytest.mark.parametrize(
    "value", [float("nan"), 10**30, "half \ud800", {1: {2, 3}}, object(), b"\xff", lambda run: run]
)
def test_whatever_a_step_gives_can_be_written(journal: Path, value: Any) -> None:
    scorer = create_scorer(id="odd").preprocess(lambda run: value).generate_score(lambda run: 1)
    report = evaluate(Agent(), journal, scorers=[scorer])
    again = read_report(journal)
    assert isinstance(again, Report)
    assert dict(again.summary) == dict(report.summary)


def test_a_journal_has_one_evaluation_at_a_time(journal: Path) -> None:
    """Two at once would ask everything twice and cut each other's lines."""
    with Journal(journal), pytest.raises(OptionError, match="in use by another evaluation"):
        evaluate(Agent(), journal, resume=True)
    assert evaluate(Agent(), journal).complete


def test_half_a_line_is_taken_back_when_the_disk_is_full(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next line that fits must not be swallowed by the piece before it."""
    with Journal(journal) as opened:
        opened.append(Evaluation(id="e"))
        whole = opened._file
        full = FullDisk(whole)
        opened._file = full  # type: ignore[assignment]
        with pytest.raises(OSError, match="No space left"):
            opened.append(ItemResult(item_id="a"))
        opened._file = whole
        opened.append(ItemResult(item_id="b"))
    assert [key[1] for key in read_records(journal)[1]] == ["b"]


class FullDisk:
    """A file on a disk that has room for ten more bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.room = 10

    def write(self, line: bytes) -> int:
        if not self.room:
            raise OSError(28, "No space left on device")
        written: int = self.file.write(line[: self.room])
        self.room -= written
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


class Unshowable:
    def __repr__(self) -> str:
        raise ValueError("no text for this")


@pytest.mark.parametrize("value", [Unshowable(), {Unshowable(): 1}])
def test_a_result_that_cannot_be_written_is_told(journal: Path, value: Any) -> None:
    odd = create_scorer(id="odd").preprocess(lambda run: value).generate_score(lambda run: 1)
    report = evaluate(Agent(), journal, scorers=[odd])
    assert [error.step for error in report.hook_errors] == ["journal"] * 3
    assert not report.complete


def test_a_result_that_could_not_be_read_back_is_not_written(journal: Path) -> None:
    with Journal(journal) as opened, pytest.raises(ReadError, match="could not be read back: Expected `str`"):
        opened.append(ItemResult(item_id=5))  # type: ignore[arg-type]
    assert journal.read_bytes() == b""


def test_a_value_without_end_does_not_stop_the_evaluation(journal: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)
    scorer = create_scorer(id="odd").preprocess(lambda run: endless).generate_score(lambda run: 1)
    report = evaluate(Agent(), journal, scorers=[scorer])
    assert report.scores["odd"] == 1
    assert {error.error_class for error in report.hook_errors} == {"RecursionError"}


def test_a_record_comes_back_as_it_was() -> None:
    result = ItemResult(item_id="a", repeat=2, target="t", tags=["x"], scores={"s": Score("r", "s", 0.5, "why")})
    assert decode_record(encode_record(result)) == result
    assert result.name == "a (repeat 3) [t]"


@pytest.mark.system
@pytest.mark.parametrize("seed", range(101, 106))
def test_a_killed_evaluation_ends_as_an_undisturbed_one(seed: int, undisturbed: Any) -> None:
    assert killed_evaluation.one_round(seed, undisturbed) > 0


@pytest.fixture(scope="module")
def undisturbed() -> Any:
    return killed_evaluation.undisturbed()


def own_gate(least: float) -> list[dict[str, Any]]:
    graded = create_scorer(id="graded").generate_score(lambda run: 0.7)
    return [{"id": "a", "input": "sunny", "gates": [{"scorer": graded, "min": least}, GATE]}]


def test_what_an_item_asks_of_its_scores_is_read_anew(journal: Path) -> None:
    agent = Agent()
    assert evaluate(agent, journal, data=own_gate(0.5)).verdict == "passed"
    assert evaluate(agent, journal, data=own_gate(0.9), resume=True).verdict == "failed"
    lines = journal.read_bytes().count(b"\n")
    assert evaluate(agent, journal, data=own_gate(0.9), resume=True).verdict == "failed"
    assert journal.read_bytes().count(b"\n") == lines
    without = evaluate(agent, journal, data=[{"id": "a", "input": "sunny"}], resume=True)
    assert (without.verdict, without.local_gates, agent.asked) == ("passed", [], ["sunny"])


def test_the_error_of_a_scorer_that_was_taken_out_is_gone(journal: Path) -> None:
    def broken(run: Run) -> float:
        raise ValueError("out of order")

    agent = Agent()
    scorers = [create_scorer(id="broken").generate_score(broken)]
    assert not evaluate(agent, journal, scorers=scorers).complete
    assert evaluate(agent, journal, resume=True).complete
    assert read_report(journal).complete
    assert len(agent.asked) == 3
