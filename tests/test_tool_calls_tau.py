"""The 21 tau-bench runs against their gold actions: the score of each, and the diffs of the worst."""

from __future__ import annotations

import msgspec
import pytest

from referee import Run, checks, read_runs
from referee.diffs import ArgumentDiff, ToolCallDiff
from support import need_traces

#: Matched gold actions, gold actions, calls. Task 12 and 21 expect no action at all.
RUNS = {
    "task-0-trial-0": (0, 1, 8),
    "task-12-trial-0": (0, 0, 2),
    "task-12-trial-1": (0, 0, 3),
    "task-12-trial-2": (0, 0, 2),
    "task-12-trial-3": (0, 0, 0),
    "task-21-trial-0": (0, 0, 4),
    "task-21-trial-1": (0, 0, 0),
    "task-21-trial-2": (0, 0, 3),
    "task-21-trial-3": (0, 0, 3),
    "task-22-trial-0": (4, 5, 5),
    "task-22-trial-1": (3, 5, 9),
    "task-22-trial-2": (3, 5, 5),
    "task-22-trial-3": (0, 5, 1),
    "task-43-trial-0": (2, 2, 2),
    "task-43-trial-1": (1, 2, 1),
    "task-43-trial-2": (1, 2, 2),
    "task-43-trial-3": (1, 2, 2),
    "task-44-trial-0": (2, 2, 2),
    "task-44-trial-1": (1, 2, 2),
    "task-44-trial-2": (2, 2, 2),
    "task-44-trial-3": (0, 2, 0),
}


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {run.id: run for run in read_runs(need_traces() / "tau_airline_21runs.json")}


def diff_of(run: Run) -> ToolCallDiff:
    diff = checks.tool_calls().run_sync(run).analyze_step_result
    assert isinstance(diff, ToolCallDiff)
    return diff


def lines(diff: ToolCallDiff) -> list[tuple[str, str, int | None, int | None]]:
    return [(line.change, line.name, line.place, line.call) for line in diff.lines if not line.allowed]


def test_every_run(runs: dict[str, Run]) -> None:
    found = {}
    for name, run in runs.items():
        score = checks.tool_calls().run_sync(run)
        diff = score.analyze_step_result
        found[name] = (diff.matched, diff.expected, diff.called)
        assert score.score == (diff.matched / diff.expected if diff.expected else 1)
    assert found == RUNS


def test_no_other_calls(runs: dict[str, Run]) -> None:
    scorer = checks.tool_calls(extra="forbid")
    assert {name for name, run in runs.items() if scorer.run_sync(run).score == 1} == {
        "task-12-trial-3",
        "task-21-trial-1",
        "task-43-trial-0",
        "task-44-trial-0",
        "task-44-trial-2",
    }


def test_booked_with_a_baggage_fee(runs: dict[str, Run]) -> None:
    diff = diff_of(runs["task-0-trial-0"])
    # Of two bookings the first differs in one argument, the second in two.
    assert lines(diff) == [("changed", "book_reservation", 0, 4)]
    changed = next(line for line in diff.lines if line.change == "changed")
    assert changed.arguments == [ArgumentDiff("nonfree_baggages", "changed", 0, 1)]
    assert diff.to_text().endswith("\n      nonfree_baggages: expected 0, got 1")


def test_searched_to_another_city_and_gave_up(runs: dict[str, Run]) -> None:
    diff = diff_of(runs["task-22-trial-3"])
    assert lines(diff) == [
        ("missing", "get_user_details", 0, None),
        ("missing", "get_reservation_details", 1, None),
        ("changed", "search_direct_flight", 2, 0),
        ("missing", "update_reservation_flights", 3, None),
        ("missing", "update_reservation_flights", 4, None),
    ]
    assert diff.lines[2].arguments == [ArgumentDiff("destination", "changed", "LAX", "ORD")]


def test_called_nothing(runs: dict[str, Run]) -> None:
    assert lines(diff_of(runs["task-44-trial-3"])) == [
        ("missing", "get_reservation_details", 0, None),
        ("missing", "get_user_details", 1, None),
    ]


@pytest.mark.parametrize("trial", [1, 2, 3])
def test_looked_up_but_did_not_update(runs: dict[str, Run], trial: int) -> None:
    assert lines(diff_of(runs[f"task-43-trial-{trial}"])) == [
        ("matched", "get_reservation_details", 0, 0),
        ("missing", "update_reservation_passengers", 1, None),
    ]


def test_paid_with_another_card(runs: dict[str, Run]) -> None:
    diff = diff_of(runs["task-22-trial-1"])
    assert [line for line in lines(diff) if line[0] != "matched"] == [
        ("missing", "update_reservation_flights", 3, None),
        ("changed", "update_reservation_flights", 4, 8),
    ]
    changed = next(line for line in diff.lines if line.change == "changed")
    assert changed.arguments == [ArgumentDiff("payment_id", "changed", "credit_card_9659780", "gift_card_9823297")]


def test_a_diff_survives_json(runs: dict[str, Run]) -> None:
    for run in runs.values():
        score = checks.tool_calls().run_sync(run)
        plain = msgspec.json.decode(msgspec.json.encode(score))["analyze_step_result"]
        again = msgspec.convert(plain, ToolCallDiff)
        assert again == score.analyze_step_result
        assert again.to_text() == score.analyze_step_result.to_text()
