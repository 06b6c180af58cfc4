"""Experiments: run on a data set of a store, resumed, driven from outside, gated by trust, compared, imported."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest

from referee import Item, OptionError, Run, Turn, checks, create_scorer
from referee.comparison import compare
from referee.errors import ReadError, StoreError
from referee.evaluate import Report, SideBySide, run_evals_sync
from referee.experiments import (
    AgreementWarning,
    create_experiment,
    import_journal,
    report_of,
    run_experiment,
    run_experiment_sync,
)
from referee.storage import Store
from referee.storage.filters import ScoreFilter
from stores import postgres_server, store, store_url

__all__ = ["postgres_server", "store", "store_url"]

GATES = [checks.includes("sunny")]


def weather(store: Store, count: int = 6) -> None:
    store.datasets.create("weather")
    store.datasets.put(
        "weather",
        [{"id": f"i{n}", "input": f"Weather {n}?", "tags": ["even"] if n % 2 == 0 else []} for n in range(count)],
    )


def sunny(question: str) -> str:
    return f"It is sunny. {question}"


def comparable(report: Report) -> Any:
    """What a report says, without what differs from run to run."""
    results = [
        (
            result.key,
            result.item_version,
            result.tags,
            [(score.scorer_id, score.score, score.reason) for score in result.all_scores],
        )
        for result in report.results
    ]
    return report.verdict, report.summary, report.gates, report.missing, results


def test_an_experiment_is_kept_with_everything(store: Store) -> None:
    weather(store)
    report = run_experiment_sync(
        store, "weather", target=sunny, gates=GATES, scorers=[checks.similarity("It is sunny")], name="first try"
    )
    assert isinstance(report, Report)
    row = store.experiments.get("first try")
    assert row.key == report.evaluation.id
    assert row.key.startswith("weather-")
    assert (row.status, row.verdict, row.planned, row.results, row.failed_results) == ("finished", "passed", 6, 6, 0)
    assert (row.dataset, row.dataset_version) == (store.datasets.get("weather").number, 1)
    assert comparable(report_of(store, row.key)) == comparable(report)
    events = store.experiments.events(row.key)
    assert [event.event for event in events] == ["started", *["item"] * 6, "finished"]
    assert {event.details["item"] for event in events[1:-1]} == {f"i{n}" for n in range(6)}
    assert store.check() == []


def test_an_address_will_do(store: Store, store_url: str) -> None:
    weather(store)
    report = run_experiment_sync(store_url, "weather", target=sunny, gates=GATES, id="a")
    assert comparable(report_of(store_url, "a")) == comparable(report)  # type: ignore[arg-type]


def test_the_version_that_was_asked_for_is_used(store: Store) -> None:
    weather(store, 2)
    store.datasets.pin("weather@1", "release")
    store.datasets.put("weather", ["One more?"])
    for given, version, used in (("weather", None, 2), ("weather", 1, 1), ("weather@release", None, 1)):
        report = run_experiment_sync(store, given, version=version, target=sunny, gates=GATES)
        assert isinstance(report, Report)
        assert store.experiments.get(report.evaluation.id).dataset_version == used
    with pytest.raises(OptionError, match="the version is said twice"):
        run_experiment_sync(store, "weather@1", version=1, target=sunny, gates=GATES)
    store.datasets.create("empty")
    with pytest.raises(OptionError, match="has no items"):
        run_experiment_sync(store, "empty", target=sunny, gates=GATES)


def test_resuming_runs_only_what_is_missing_or_failed(store: Store) -> None:
    weather(store)
    asked: list[str] = []
    broken = {"Weather 1?", "Weather 4?"}

    def target(question: str) -> str:
        asked.append(question)
        if question in broken:
            raise RuntimeError("no")
        return sunny(question)

    first = run_experiment_sync(store, "weather", target=target, gates=GATES, id="e")
    assert first.verdict == "failed"
    assert store.experiments.get("e").failed_results == 2
    store.datasets.put("weather", ["Another one?"])
    asked.clear()
    broken.clear()
    again = run_experiment_sync(store, "weather", target=target, gates=GATES, id="e", resume=True)
    assert sorted(asked) == ["Weather 1?", "Weather 4?"]
    undisturbed = run_experiment_sync(store, "weather@1", target=target, gates=GATES, id="other")
    assert comparable(again) == comparable(undisturbed) == comparable(report_of(store, "e"))  # type: ignore[arg-type]
    row = store.experiments.get("e")
    assert (row.dataset_version, row.results, row.failed_results, row.verdict) == (1, 6, 0, "passed")
    assert [event.event for event in store.experiments.events("e") if event.event != "item"] == [
        "started",
        "finished",
        "resumed",
        "finished",
    ]
    assert store.check() == []


def test_resuming_what_did_not_pass_replaces_it(store: Store) -> None:
    weather(store)
    answers = ["rainy"] * 3 + ["sunny"] * 100
    target = lambda question: answers.pop(0)  # noqa: E731
    run_experiment_sync(store, "weather", target=target, gates=GATES, id="e", concurrency=1)
    again = run_experiment_sync(store, "weather", target=target, gates=GATES, id="e", resume="failed")
    assert again.verdict == "passed"
    assert store.scores.count(ScoreFilter(experiment="e", outcomes=("passed",))).count == 6
    assert store.scores.count(ScoreFilter(experiment="e")).count == 6
    assert store.check() == []


def test_scores_of_a_changed_scorer_take_the_place_of_the_old_ones(store: Store) -> None:
    weather(store, 3)
    asked: list[str] = []

    def target(question: str) -> str:
        asked.append(question)
        return "sunny"

    for wanted in ("sunny", "rainy"):
        report = run_experiment_sync(
            store,
            "weather",
            target=target,
            scorers=[checks.includes(wanted, id="says")],
            id="e",
            resume=wanted == "rainy",
        )
        assert isinstance(report, Report)
        assert report.scores["says"] == float(wanted == "sunny")
    assert len(asked) == 3
    assert comparable(report_of(store, "e")) == comparable(report)
    assert store.scores.count(ScoreFilter(experiment="e")).count == 3


def test_an_experiment_that_holds_results_is_not_overwritten(store: Store) -> None:
    weather(store, 2)
    run_experiment_sync(store, "weather", target=sunny, gates=GATES, id="e")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"id": "e"}, "holds 2 results: resume it, or take another id"),
        ({"resume": True}, "resume needs the id"),
        ({"id": "f", "data": []}, "has no option 'data'"),
        ({"id": "e", "resume": True, "version": 2}, "began with another data set or version"),
    ]
    store.datasets.put("weather", ["Another?"])
    for options, message in wrong:
        with pytest.raises(OptionError, match=message):
            run_experiment_sync(store, "weather", target=sunny, gates=GATES, **options)
    with pytest.raises(StoreError, match="there is no data set 'wether'"):
        run_experiment_sync(store, "wether", target=sunny, gates=GATES)
    assert [row.key for row in store.experiments.latest()] == ["e"]


def test_several_targets_are_an_experiment_each(store: Store) -> None:
    weather(store, 3)
    reports = run_experiment_sync(
        store, "weather", targets={"good": sunny, "bad": lambda question: "rainy"}, gates=GATES, id="two"
    )
    assert isinstance(reports, SideBySide)
    assert {row.key: (row.target, row.verdict, row.results) for row in store.experiments.latest()} == {
        "two:good": ("good", "passed", 3),
        "two:bad": ("bad", "failed", 3),
    }
    for name in ("good", "bad"):
        assert comparable(report_of(store, f"two:{name}")) == comparable(reports[name])
    asked: list[str] = []
    resumed = run_experiment_sync(
        store, "weather", targets={"good": asked.append, "bad": sunny}, gates=GATES, id="two", resume="failed"
    )
    assert asked == []
    assert resumed.verdict == "passed"


def test_a_cancelled_experiment_keeps_what_is_done(store: Store) -> None:
    weather(store)

    async def cancelled() -> None:
        done = asyncio.Event()

        async def target(question: str) -> str:
            if question.startswith("Weather 3"):
                done.set()
                await asyncio.Event().wait()
            return sunny(question)

        running = asyncio.create_task(
            run_experiment(store, "weather", target=target, gates=GATES, id="e", concurrency=1)
        )
        await done.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    row = store.experiments.get("e")
    assert (row.status, row.results) == ("cancelled", 3)
    report = run_experiment_sync(store, "weather", target=sunny, gates=GATES, id="e", resume=True)
    assert (report.verdict, store.experiments.get("e").status) == ("passed", "finished")


def test_a_store_that_fails_makes_the_report_incomplete(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    weather(store, 2)

    def fail(*arguments: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Store, "record", fail)
    report = run_experiment_sync(store, "weather", target=sunny, gates=GATES)
    assert isinstance(report, Report)
    assert not report.complete
    assert [error.message for error in report.hook_errors] == ["the disk is full"] * 2


def judged(store: Store, agrees: bool) -> Any:
    """A judge of one's own whose 24 scores a person has labelled, rightly or not."""
    judge = create_scorer(id="judge", description="Says sunny.").generate_score(lambda run: "sunny" in run.output_text)
    weather(store, 24)
    target = lambda question: "sunny" if int(question.split()[1].strip("?")) % 2 else "rainy"  # noqa: E731
    run_experiment_sync(store, "weather", target=target, scorers=[judge], id="labelled")
    for place, row in enumerate(store.scores.page(ScoreFilter(experiment="labelled"), limit=100).rows):
        store.label(row.value if agrees or place % 2 else 1 - (row.value or 0), author="ann", score=row.number)
    return judge


def test_a_judge_that_has_earned_its_trust_gates(store: Store) -> None:
    judge = judged(store, agrees=True)
    assert store.labels.calibrate("judge").kappa == 1
    gate = {"scorer": judge, "min_agreement": 0.6}
    report = run_experiment_sync(store, "weather", target=lambda question: "rainy", gates=[gate], id="gated")
    assert report.verdict == "failed"


def test_a_judge_that_has_not_earned_it_informs(store: Store) -> None:
    judge = judged(store, agrees=False)
    gate = {"scorer": judge, "min_agreement": 0.6}
    for calibrated, why in ((False, "was never calibrated"), (True, "its kappa over 24 labels is 0, below 0.6")):
        if calibrated:
            store.labels.calibrate("judge")
        with pytest.warns(AgreementWarning, match=why):
            report = run_experiment_sync(
                store, "weather", target=lambda question: "rainy", gates=[*GATES, gate], id=f"e{calibrated}"
            )
        assert isinstance(report, Report)
        assert [outcome.id for outcome in report.gates] == ["check-includes"]
        assert report.scores["judge"] == 0
        [event] = [event for event in store.experiments.events(f"e{calibrated}") if event.event == "informs"]
        assert why in event.details["why"]


def test_another_version_has_to_earn_it_anew(store: Store) -> None:
    judged(store, agrees=True)
    store.labels.calibrate("judge")
    stricter = create_scorer(id="judge").generate_score(lambda run: run.output_text == "sunny")
    with pytest.warns(AgreementWarning, match="was never calibrated"):
        report = run_experiment_sync(store, "weather", target=sunny, gates=[{"scorer": stricter, "min_agreement": 0.6}])
    assert report.verdict is None


def test_what_is_no_demand_for_agreement(store: Store) -> None:
    weather(store, 1)
    scorer = checks.includes("sunny")
    wrong: list[tuple[Any, str]] = [
        ([{"scorer": scorer, "min_agreement": 2}], "a kappa from -1 to 1, not 2"),
        ([{"scorer": scorer, "min_agreement": True}], "a kappa from -1 to 1"),
        ([{"min_agreement": 0.5}], "names its scorer"),
        ({"agent": [{"scorer": scorer, "min_agreement": 0.5}]}, "not in groups"),
    ]
    for gates, message in wrong:
        with pytest.raises(OptionError, match=message):
            run_experiment_sync(store, "weather", target=sunny, gates=gates)


def test_an_experiment_driven_from_outside_equals_one_that_is_run(store: Store) -> None:
    weather(store)
    experiment = create_experiment(store, "weather", id="driven", gates=GATES, repeats=2)
    todo = experiment.pending()
    assert [(item.id, repeat) for item, repeat in todo[:3]] == [("i0", 0), ("i0", 1), ("i1", 0)]
    assert experiment.status().status == "running"
    for item, repeat in todo:
        result = experiment.submit_sync(item.id, sunny(item.input), repeat=repeat)
        assert result.scores["check-includes"].score == 1
    assert experiment.pending() == []
    report = experiment.finalize()
    run = run_experiment_sync(store, "weather", target=sunny, gates=GATES, repeats=2)
    assert comparable(report) == comparable(run)  # type: ignore[arg-type]
    assert comparable(experiment.finalize()) == comparable(report)
    row = experiment.status()
    assert (row.status, row.verdict, row.results) == ("finished", "passed", 12)
    assert [event.event for event in store.experiments.events("driven")] == ["started", *["item"] * 12, "finished"]


def test_handing_over_twice_changes_nothing_and_an_error_gives_way(store: Store, store_url: str) -> None:
    weather(store, 2)
    experiment = create_experiment(store, "weather", id="driven", gates=GATES)
    failed = experiment.submit_sync("i0", error="the agent was out")
    assert failed.error is not None
    assert "the agent was out" in failed.error.message
    assert [item.id for item, _ in experiment.pending()] == ["i0", "i1"]
    first = experiment.submit_sync("i0", "sunny")
    assert experiment.submit_sync("i0", "rainy") == first
    with Store(store_url) as elsewhere:
        again = create_experiment(elsewhere, "weather", id="driven", gates=GATES)
        assert [item.id for item, _ in again.pending()] == ["i1"]
        assert again.submit_sync("i0", "rainy").scores == first.scores
        again.submit_sync("i1", Run(id="r", output=[]))
        assert again.finalize().verdict == "failed"
    assert store.experiments.get("driven").failed_results == 0
    assert store.check() == []


def test_conversations_are_handed_over_turn_by_turn(store: Store) -> None:
    store.datasets.create("talk")
    store.datasets.put(
        "talk", [Item(id="t", turns=[Turn(input="Hi"), Turn(input="Weather?", gates=[checks.includes("sunny")])])]
    )
    experiment = create_experiment(store, "talk", id="e", scorers=[checks.includes("hello")])
    with pytest.raises(OptionError, match="it has 2 turns"):
        experiment.submit_sync("t", "hello")
    result = experiment.submit_sync("t", outputs=["hello", "sunny"])
    assert result.scores["check-includes"].score == 1
    assert result.turns[0].judged[0].score.score == 1
    assert experiment.finalize().verdict == "passed"


def test_wrong_uses_of_a_driven_experiment(store: Store) -> None:
    weather(store, 2)
    experiment = create_experiment(store, "weather", id="e", gates=GATES)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        (("i9", "x"), {}, "has no item 'i9'"),
        (("i0", "x"), {"repeat": 1}, "has the repeats 0 to 0"),
        (("i0",), {}, "give one of output, outputs and error"),
        (("i0", "x"), {"error": "y"}, "give one of output, outputs and error"),
    ]
    for arguments, options, message in wrong:
        with pytest.raises(OptionError, match=message):
            experiment.submit_sync(*arguments, **options)
    experiment.submit_sync("i0", "sunny")
    with pytest.raises(OptionError, match="1 results are missing"):
        experiment.finalize()
    assert experiment.finalize(incomplete=True).missing == 1
    with pytest.raises(OptionError, match="began with other scorers"):
        create_experiment(store, "weather", id="e", gates=[checks.includes("rainy")])
    other = create_experiment(store, "weather", id="f", gates=GATES)
    other.cancel()
    assert other.status().status == "cancelled"


def test_a_journal_is_imported_as_it_is(store: Store, tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    data = [{"id": f"i{n}", "input": f"{n}?"} for n in range(4)]
    report = run_evals_sync(target=sunny, data=data, gates=GATES, journal=journal, name="suite")
    [key] = import_journal(store, journal)
    assert comparable(report_of(store, "suite")) == comparable(report)
    rows = store.scores.page(ScoreFilter(experiment=key)).rows
    import_journal(store, journal)
    assert store.scores.page(ScoreFilter(experiment=key)).rows == rows
    assert store.experiments.get(key).verdict == "passed"
    assert store.check() == []
    side = tmp_path / "side.jsonl"
    run_evals_sync(targets={"a": sunny, "b": sunny}, data=data, gates=GATES, journal=side)
    assert [key.partition(":")[2] for key in import_journal(store, side)] == ["a", "b"]


def test_half_a_journal_is_half_an_experiment(store: Store, tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    run_evals_sync(target=sunny, data=["1?", "2?"], gates=GATES, journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    [key] = import_journal(store, journal)
    assert (store.experiments.get(key).status, store.experiments.get(key).results) == ("running", 1)
    journal.write_bytes(b"".join(lines))
    import_journal(store, journal)
    assert (store.experiments.get(key).status, store.experiments.get(key).results) == ("finished", 2)
    journal.write_bytes(b'{"no": "journal"}\n')
    with pytest.raises(ReadError, match=r"run\.jsonl:1"):
        import_journal(store, journal)
    journal.write_bytes(b"")
    with pytest.raises(ReadError, match="no plan"):
        import_journal(store, journal)


def test_reports_out_of_the_store_are_compared_as_any(store: Store) -> None:
    weather(store, 20)
    for key, answer in (("before", "sunny"), ("after", "rainy")):
        run_experiment_sync(store, "weather", target=lambda question, answer=answer: answer, gates=GATES, id=key)
    assert compare(report_of(store, "before"), report_of(store, "after")).worse == ["check-includes"]
    baseline = store.experiments.baseline("after")
    assert baseline is not None
    assert baseline.key == "before"


def test_no_warning_is_given_without_a_reason(store: Store) -> None:
    weather(store, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_experiment_sync(store, "weather", target=sunny, gates=GATES)
