"""The conformance vectors of `run_evals`, and pass^k of recorded tau-bench runs."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from referee import Run, Scorer, checks, create_scorer, not_scorable, read_runs, scorers
from referee.evaluate import RecordedRuns, Report, run_evals_sync
from referee.evaluate.report import TurnScores
from referee.formats import mastra
from support import cases, need_traces


#: Factories that other vectors need; a case waits until they are there.
def table_scorer(table: dict[str, Any]) -> Scorer[Any, Any]:
    """A scorer that looks the texts of the answer up in a table."""

    def look_up(run: Run) -> Any:
        text = "|".join(message.text for message in run.output if message.role == "assistant")
        value = table["values"].get(text, table["otherwise"])
        if value == "throw":
            raise RuntimeError("the table says so")
        if value == "notScorable":
            return not_scorable("the table says so")
        return None if value == "undefined" else value

    low, high = table.get("range", (0, 1))
    return create_scorer(id=table["id"], range=(low, high)).generate_score(look_up)


def build(entry: dict[str, Any]) -> Any:
    """A gate or scorer of a case, as a user would write it."""
    if "scorer" in entry:
        return {**entry, "scorer": build(entry["scorer"])}
    if "table" in entry:
        return table_scorer(entry["table"])
    module = checks if entry["factory"].startswith("checks.") else scorers
    return getattr(module, entry["factory"].removeprefix("checks."))(*entry["args"], **entry["kwargs"])


def built(fields: dict[str, Any]) -> dict[str, Any]:
    """An item, a turn or the whole call with its gates and scorers made."""
    made = dict(fields)
    for role in ("gates", "scorers"):
        if role in made:
            made[role] = [build(entry) for entry in made[role]]
    for listed in ("turns", "data"):
        if listed in made:
            made[listed] = [built(entry) for entry in made[listed]]
    return made


def target(replies: dict[str, Any]) -> Any:
    async def answer(question: str) -> Run:
        await asyncio.sleep(0)
        reply = replies[question]
        if reply == "throw":
            raise RuntimeError("the agent is down")
        return mastra.decode({"input": {"inputMessages": []}, "output": reply}).runs[0]

    return answer


def near(value: Any) -> Any:
    return pytest.approx(value, abs=1e-9, rel=0) if isinstance(value, float) else value


def assert_report(report: Report, expected: dict[str, Any]) -> None:
    assert report.verdict == expected["verdict"]
    assert report.errors == expected["errors"]
    assert set(report.scores) == set(expected["scores"])
    for name, figures in expected["scores"].items():
        assert report.scores[name] == near(figures["mean"])
        assert report.summary[name].mean == report.scores[name]
        assert report.summary[name].scored == figures["scored"]
        if "attempted" in figures:
            assert report.summary[name].attempted == figures["attempted"]
    unscorable = {name: summary.not_scorable for name, summary in report.summary.items() if summary.not_scorable}
    assert unscorable == expected["not_scorable"]
    assert [{"id": gate.id, "passed": gate.passed} for gate in report.gates] == expected["gates"]
    found = [{"id": entry.id, "passed": entry.passed, "mean": entry.mean} for entry in report.thresholds]
    assert found == [{**entry, "mean": near(entry["mean"])} for entry in expected["thresholds"]]
    places = {item: number for number, item in enumerate(report.evaluation.items)}
    turns = [_plain(turn, places) for turn in report.turns]
    assert sorted(turns, key=_place) == sorted(expected.get("turns", []), key=_place)


def _plain(turn: TurnScores, places: dict[str, int]) -> dict[str, Any]:
    def rounded(scores: dict[str, Any]) -> dict[str, Any]:
        return {name: near(value) for name, value in scores.items()}

    return {
        "item": places[turn.item_id],
        "turn": turn.turn,
        "gates": rounded(turn.gates),
        "scores": rounded(turn.scores),
    }


def _place(turn: dict[str, Any]) -> tuple[int, int]:
    return turn["item"], turn["turn"]


@pytest.mark.parametrize("case", cases("run_evals", "field_cases", factory="run_evals"))
def test_run_evals(case: dict[str, Any]) -> None:
    report = run_evals_sync(target=target(case["run"]["replies"]), **built(case["call"]["kwargs"]))
    assert_report(report, case["expected"]["report"])


def test_pass_hat_k_of_tau_bench_equals_that_of_its_rewards() -> None:
    """Real runs as recorded targets, their gold actions as expected calls: pass^k per task, then the mean."""
    file = need_traces() / "tau_airline_21runs.json"
    records = json.loads(file.read_text(encoding="utf-8"))
    trials: dict[int, list[float]] = {}
    for record in records:
        trials.setdefault(record["task_id"], []).append(record["reward"])
    reward = create_scorer(id="reward").generate_score(lambda run: run.metadata["reward"])
    report = run_evals_sync(
        target=RecordedRuns(read_runs(file), item="task_id"), gates=[reward], scorers=[checks.tool_calls()]
    )

    assert report.repeats is not None
    assert [entry.k for entry in report.repeats.passes] == [1, 2, 3, 4]
    for entry in report.repeats.passes:
        by_task = [
            sum(map(all, combinations(rewards, entry.k))) / len(list(combinations(rewards, entry.k)))
            for rewards in trials.values()
            if len(rewards) >= entry.k
        ]
        assert entry.items == len(by_task)
        assert entry.all == near(sum(by_task) / len(by_task))
    assert report.repeats.rate == near(sum(record["reward"] for record in records) / len(records))
    assert {entry.item_id for entry in report.repeats.flaky} == {
        str(task) for task, rewards in trials.items() if 0 < sum(rewards) < len(rewards)
    }
    assert Counter(result.item_id for result in report.results) == {str(task): len(t) for task, t in trials.items()}
    expected = {str(record["task_id"]): len(record["info"]["task"]["actions"]) for record in records}
    assert {result.item_id: len(result.run.expected_tool_calls) for result in report.results if result.run} == expected
