"""`compare`: items paired by id, and a verdict on each difference that knows about noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from referee import OptionError, Run, checks, create_scorer
from referee.comparison import compare
from referee.evaluate import RecordedRuns, Report, read_report, run_evals_sync
from referee.report import write_report
from referee.testing import create_agent_test_run

SUNNY = checks.includes("sunny")


def report(answers: str, *, start: int = 0, repeats: int = 1, lower_is_better: bool = False, **options: Any) -> Report:
    """An evaluation whose items pass where the text has a 1; each answer's length is a score too."""
    runs = [
        create_agent_test_run(output="sunny" if mark == "1" else "rain", run_id=f"{n}", metadata={"task": n // repeats})
        for n, mark in enumerate(answers, start * repeats)
    ]
    graded = create_scorer(id="graded", lower_is_better=lower_is_better).generate_score(
        lambda run: 0.9 if "sunny" in run.output_text else 0.4
    )
    return run_evals_sync(target=RecordedRuns(runs, item="task"), gates=[SUNNY], scorers=[graded], **options)


def test_a_clear_gain_and_a_clear_loss() -> None:
    gain = compare(report("000000001111"), report("111111111111"))
    assert {entry.outcome for entry in gain.scores.values()} == {"better"}
    passes, graded = gain.scores["check-includes"], gain.scores["graded"]
    assert (passes.test, passes.p_value, passes.items) == ("mcnemar", 2 / 2**8, 12)
    assert (graded.test, graded.p_value) == ("permutation", 2 / 2**8)
    assert passes.difference == pytest.approx(8 / 12)
    assert passes.interval is not None
    assert passes.interval.low > 0
    loss = compare(report("111111111111"), report("000000001111"))
    assert loss.worse == ["check-includes", "graded"]
    assert [change.item_id for change in loss.scores["graded"].changes] == [str(n) for n in range(8)]


def test_lower_may_be_better() -> None:
    found = compare(report("00000000", lower_is_better=True), report("11111111", lower_is_better=True))
    assert (found.scores["check-includes"].outcome, found.scores["graded"].outcome) == ("better", "worse")


def test_a_small_drop_is_noise_and_says_what_would_be_seen() -> None:
    found = compare(report("111111110000"), report("111111010000")).scores["check-includes"]
    assert found.outcome == "no difference shown"
    assert found.p_value == 1
    assert found.detectable is not None
    assert found.detectable > abs(found.difference)


def test_items_are_paired_by_id() -> None:
    found = compare(report("0000"), report("1111", start=2))
    assert (found.only_first, found.only_second) == (["0", "1"], ["4", "5"])
    assert found.scores["check-includes"].items == 2
    with pytest.raises(OptionError, match="no item in common"):
        compare(report("00"), report("00", start=9))


def test_repeats_are_one_item() -> None:
    found = compare(report("1100" * 3, repeats=4), report("1111" * 3, repeats=4)).scores["check-includes"]
    assert (found.items, found.test, found.difference) == (3, "permutation", 0.5)


def test_what_has_no_score_is_left_out_and_counted() -> None:
    def fails_for(*names: str) -> Any:
        def score(run: Run) -> float:
            return 1 / (run.id not in names)

        return create_scorer(id="s").generate_score(score)

    runs = [create_agent_test_run(output="sunny", run_id=str(n)) for n in range(4)]
    found = compare(
        run_evals_sync(data=runs, scorers=[fails_for("0", "1")]),
        run_evals_sync(data=runs, scorers=[fails_for("1", "2")]),
    ).scores["s"]
    assert (found.items, found.unpaired) == (1, 2)


def test_another_version_of_a_scorer_is_said() -> None:
    runs = [create_agent_test_run(output="sunny")]
    found = compare(
        run_evals_sync(data=runs, gates=[checks.includes("sunny")]),
        run_evals_sync(data=runs, gates=[checks.includes("su")]),
    )
    assert not found.scores["check-includes"].same_scorer
    assert compare(report("1"), report("1")).scores["graded"].same_scorer


def test_files_are_compared(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    report("0000000011", journal=first)
    report("1111111111", journal=second)
    assert compare(first, str(second)).scores["graded"].outcome == "better"
    with pytest.raises(OptionError, match="between 0 and 1"):
        compare(first, second, confidence=95)
    several = tmp_path / "c.jsonl"
    run_evals_sync(targets={"x": str, "y": str}, data=["sunny"], gates=[SUNNY], journal=several)
    with pytest.raises(OptionError, match=r"several targets \(x, y\)"):
        compare(first, several)
    with pytest.raises(OptionError, match=r"several targets \(x, y\)"):
        compare(read_report(several), first)
    with pytest.raises(OptionError, match=r"give two reports, .* not int"):
        compare(5, first)  # type: ignore[arg-type]


def test_reports_without_a_common_score_are_not_called_alike() -> None:
    other = run_evals_sync(target=str, data=[{"id": "0", "input": "a"}], gates=[checks.no_tool_errors()])
    with pytest.raises(OptionError, match="no score in common"):
        compare(report("1"), other)


def test_rounding_is_no_change() -> None:
    """The means of 0.1, 0.2 and 0.3 in two orders lie 6e-17 apart."""
    sides = []
    for values in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)):
        graded = create_scorer(id="graded").generate_score(
            lambda run, values=values: values[int(run.metadata["repeat"])]
        )
        runs = [Run(id=f"{n}", metadata={"task": n // 3, "repeat": n % 3}) for n in range(60)]
        sides.append(run_evals_sync(target=RecordedRuns(runs, item="task"), scorers=[graded]))
    found = compare(*sides).scores["graded"]
    assert (found.difference, found.p_value, found.outcome, found.changes) == (0.0, 1.0, "no difference shown", [])


def test_the_file_of_one_of_several_targets_is_compared(tmp_path: Path) -> None:
    data = [{"id": str(number), "input": "Weather?"} for number in range(8)]
    targets = {"old": lambda text: "sunny", "new": lambda text: "rainy"}
    reports = run_evals_sync(targets=targets, data=data, gates=[checks.includes("sunny")])
    for name in targets:
        write_report(reports[name], tmp_path / f"{name}.jsonl")
    assert list(read_report(tmp_path / "old.jsonl")) == ["old"]  # type: ignore[arg-type]
    assert read_report(tmp_path / "old.jsonl").complete
    assert compare(tmp_path / "old.jsonl", tmp_path / "new.jsonl").worse == ["check-includes"]
