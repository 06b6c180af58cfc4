"""The pytest plugin on a real project, run by a real pytest of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points, files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from referee import OptionError, ScoreCheckError, checks, create_scorer
from referee.pytest_expect import ExpectEval, ExpectEvals

HEAD = """
import asyncio

import pytest

from referee import checks, create_scorer

SUNNY = checks.includes("sunny")
HALF = {"scorer": SUNNY, "threshold": 0.5}
low = create_scorer(id="low", lower_is_better=True).generate_score(lambda run: 1)


def broken(run):
    raise RuntimeError("broken")


def same(run):
    return run.output_text == run.ground_truth


@pytest.mark.parametrize("number", range(3))
def test_share(expect_evals, number):
    data = [{"id": f"i{n}", "input": "sunny" if n else "rainy"} for n in range(5)]
    expect_evals(target=str, data=data, gates=[SUNNY]).to_pass(0.8)


def test_reasons(expect_evals):
    expected = [{"name": "search", "args": {"city": "Ghent"}}]
    data = [{"id": "wet", "input": "rainy", "expected_tool_calls": expected}, {"id": "good", "input": "sunny"}]
    expect_evals(target=str, data=data, gates=[SUNNY, checks.tool_calls()]).to_pass(0.9)


def test_in_a_loop(expect_evals):
    async def inside():
        return expect_evals(target=str, data=["sunny"], gates=[SUNNY]).to_pass()

    assert asyncio.run(inside()).verdict == "passed"


def test_fails_later(expect_eval):
    expect_eval("sunny", gates=[SUNNY]).to_pass()
    assert False


def test_nothing_of_ours():
    pass
"""

CASES = [
    ('expect_evals(target=str, data=["sunny"], gates=[SUNNY]).to_pass()', "passed"),
    ('expect_evals(target=str, data=["rainy"], gates=[SUNNY]).to_pass()', "failed"),
    ('expect_evals(target=str, data=["rainy"], gates=[SUNNY]).to_pass(0)', "passed"),
    ('expect_evals(target=str, data=["sunny", "rainy"], scorers=[SUNNY]).to_pass()', "failed"),
    ('expect_evals(target=str, data=["sunny", "rainy"], scorers=[SUNNY]).to_pass(0.5)', "passed"),
    ('expect_evals(target=str, data=["sunny"], gates=[SUNNY], scorers=[broken]).to_pass()', "failed"),
    ('expect_evals(target=broken, data=["sunny"], scorers=[SUNNY]).to_pass()', "failed"),
    ('expect_evals(target=str, data=["sunny", "rainy"], scorers=[HALF]).to_pass()', "passed"),
    ('expect_evals(target=str, data=["sunny"], scorers=[low]).to_pass()', "failed"),
    ('expect_evals(target=str, data=["sunny"], gates=[SUNNY]).to_pass(80)', "failed"),
    ('expect_evals(target=str, data=["sunny"], scorers=[checks.tool_calls()]).to_pass()', "failed"),
    ('expect_evals(target=str, data=["sunny"], gates=[checks.tool_calls()]).to_pass(0.5)', "failed"),
    ('expect_evals(targets={"a": str}, data=["sunny"], gates=[SUNNY])', "failed"),
    ('expect_eval("It is sunny.", gates=[SUNNY]).to_pass()', "passed"),
    ('expect_eval("It rains.", input="Weather?", gates=[SUNNY]).to_pass()', "failed"),
    ('expect_eval([{"role": "assistant", "content": "sunny"}], gates=[SUNNY]).to_pass()', "passed"),
    ('expect_eval(target=str, input="sunny", scorers=[SUNNY]).to_pass()', "passed"),
    ('expect_eval("no", expected_tool_calls=["f"], gates=[checks.tool_calls()]).to_pass()', "failed"),
    ('expect_eval("a b", ground_truth="a", scorers=[same]).to_pass()', "failed"),
    ("expect_eval(gates=[SUNNY])", "failed"),
    ('expect_eval("a", target=str, gates=[SUNNY])', "failed"),
    ('expect_eval("a", data=[], gates=[SUNNY])', "failed"),
]


@dataclass
class Outcome:
    """What one run of pytest printed, wrote, and what became of each test."""

    text: str
    rows: list[dict[str, Any]]
    tests: dict[str, str]


def run_pytest(
    folder: Path, source: str, *words: str, plugins: Sequence[str] | None = ("referee.pytest_plugin",)
) -> Outcome:
    """Run pytest on a project with these plugins alone, or with all that are installed: those of others take seconds."""
    (folder / "test_project.py").write_text(source)
    named = [word for plugin in plugins or ["no:hypothesispytest"] for word in ("-p", plugin)]
    command = [sys.executable, "-m", "pytest", *named, "-p", "no:cacheprovider", "--junitxml=o.xml"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    if plugins:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    done = subprocess.run(
        [*command, *words], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    cases = ElementTree.parse(folder / "o.xml").iter("testcase")
    tests = {str(case.get("name")): "failed" if case.find("failure") is not None else "passed" for case in cases}
    file = folder / "out" / "scores.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    return Outcome(done.stdout + done.stderr, rows, tests)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    tests = [f"def test_{number}(expect_eval, expect_evals):\n    {call}\n" for number, (call, _) in enumerate(CASES)]
    source = "\n\n".join([HEAD, *tests])
    return run_pytest(tmp_path_factory.mktemp("project"), source, "--referee-output", "out/scores.jsonl")


def test_what_passes(project: Outcome) -> None:
    assert "INTERNALERROR" not in project.text
    for number, (call, outcome) in enumerate(CASES):
        assert project.tests[f"test_{number}"] == outcome, call
    assert [project.tests[f"test_share[{number}]"] for number in range(3)] == ["passed"] * 3
    assert (project.tests["test_in_a_loop"], project.tests["test_reasons"]) == ("passed", "failed")


def test_a_failure_shows_the_items_and_their_reasons(project: Outcome) -> None:
    failure = project.text.partition("_ test_reasons _")[2].partition("_ test_fails_later _")[0]
    assert "pytest_expect.py" not in failure
    _, _, failure = failure.partition("ScoreCheckError: ")
    parts = [
        "1 of 2 results pass (50%), expected 90%",
        "Evaluation  failed: gates check-includes, check-tool-calls not held",
        "problems in 1 of 2 results",
        "wet",
        "asked: rainy",
        'the text does not contain "sunny"',
        "0 of 1 expected calls matched",
        'search(city="Ghent")',
    ]
    places = [failure.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


def test_the_table_at_the_end(project: Outcome) -> None:
    table = project.text.partition("= scores =")[2]
    assert re.search(r"test +scorer +mean +scored +errors\n", table)
    assert re.search(r"::test_share\[0\] +check-includes +0\.800 +5 of 5 +–\n", table)
    assert re.search(r"::test_fails_later +check-includes +1\.000 +1 of 1 +–\n", table)
    assert re.search(r"::test_5 +broken +– +0 of 1 +1\n", table)
    assert "test_nothing_of_ours" not in table.partition("short test summary")[0]
    assert f"{len(project.rows)} scores written to out/scores.jsonl" in table


def test_the_rows_of_the_output(project: Outcome) -> None:
    rows = [row for row in project.rows if "test_share" in row["test"]]
    assert len(rows) == 15
    row = dict(rows[0])
    assert row.pop("test").endswith("::test_share[0]")
    assert len(row.pop("evaluation")) == 32
    assert row == {
        "item": "i0",
        "repeat": 0,
        "turn": None,
        "scorer": "check-includes",
        "status": "scored",
        "score": 0.0,
        "passed": False,
        "reason": 'the text does not contain "sunny"',
    }


def test_a_project_that_does_not_use_it_loads_nothing(tmp_path: Path) -> None:
    source = """
        import sys

        def test_modules():
            print("LOADED", sorted({name for name in sys.modules if name.partition(".")[0] in ("referee", "msgspec", "rich")}))
    """
    found = run_pytest(tmp_path, textwrap.dedent(source), "-s")
    assert "LOADED ['referee', 'referee.pytest_plugin']" in found.text
    assert "scores" not in found.text
    import referee.pytest_plugin

    hooks = [name for name in dir(referee.pytest_plugin) if name.startswith("pytest_")]
    assert hooks == ["pytest_addoption", "pytest_configure", "pytest_terminal_summary"]


def test_the_entry_point_stands_in_a_distribution_of_few_files() -> None:
    # pytest lists all files of a distribution with a plugin at every start; those of the library are hundreds.
    plugins = [entry for entry in entry_points(group="pytest11") if entry.module.startswith("referee")]
    assert [entry.dist.name for entry in plugins if entry.dist] == ["pytest-referee"]
    assert len(files("pytest-referee") or ()) < 20


def test_a_project_may_name_the_plugin_too(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["referee.pytest_plugin"]\n')
    source = """
        from referee import checks

        def test_it(expect_eval):
            expect_eval("It is sunny.", gates=[checks.includes("sunny")]).to_pass()
    """
    for words in ((), ("-p", "referee.pytest_plugin"), ("-p", "no:referee.pytest_plugin")):
        found = run_pytest(tmp_path, textwrap.dedent(source), *words, plugins=None)
        blocked = "no:referee.pytest_plugin" in words
        assert ("fixture 'expect_eval' not found" in found.text) is blocked, found.text
        assert ("= scores =" in found.text) is not blocked


def test_an_output_is_written_even_when_nothing_was_scored(tmp_path: Path) -> None:
    found = run_pytest(tmp_path, "def test_plain():\n    pass\n", "--referee-output", "out/scores.jsonl")
    assert (tmp_path / "out" / "scores.jsonl").read_text() == ""
    assert "0 scores written" in found.text
    assert "= scores =" not in found.text


def test_an_output_that_cannot_be_written_is_told_before_any_test_runs(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "test_project.py").write_text("def test_plain():\n    open('ran', 'w').close()\n")
    for output in ("out", "file/scores.jsonl"):
        done = refused(tmp_path, output)
        assert done.returncode == pytest.ExitCode.USAGE_ERROR
        assert f"ERROR: --referee-output {output} can't be written: " in done.stderr
    assert not (tmp_path / "ran").exists()


def test_an_output_that_cannot_be_written_any_more_ends_with_one_line(tmp_path: Path) -> None:
    """A folder takes its place while the tests run."""
    (tmp_path / "test_project.py").write_text(
        "from pathlib import Path\n\n"
        "def test_plain():\n    file = Path('out/scores.jsonl')\n    file.unlink()\n    file.mkdir()\n"
    )
    done = refused(tmp_path, "out/scores.jsonl")
    assert done.returncode == pytest.ExitCode.INTERNAL_ERROR
    assert "Exit: --referee-output out/scores.jsonl can't be written: Is a directory" in done.stderr


def refused(folder: Path, output: str) -> subprocess.CompletedProcess[str]:
    """A run of pytest whose output can't be written."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--referee-output", output]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return done


@pytest.mark.system
def test_four_processes_give_every_row_once(tmp_path: Path) -> None:
    source = """
        import pytest
        from referee import checks

        @pytest.mark.parametrize("number", range(40))
        def test_many(expect_evals, number):
            data = [{"id": f"{number}-{n}", "input": "sunny"} for n in range(3)]
            expect_evals(target=str, data=data, gates=[checks.includes("sunny")], repeats=2).to_pass()
    """
    words = ("-n", "4", "--referee-output", "out/scores.jsonl")
    found = run_pytest(tmp_path, textwrap.dedent(source), *words, plugins=("referee.pytest_plugin", "xdist"))
    assert list(found.tests.values()) == ["passed"] * 40
    counted = Counter((row["item"], row["repeat"], row["scorer"]) for row in found.rows)
    expected = {(f"{n}-{m}", r, "check-includes") for n in range(40) for m in range(3) for r in range(2)}
    assert counted == dict.fromkeys(expected, 1)
    assert "240 scores written" in found.text


def test_of_a_test_that_is_run_again_the_last_run_counts(tmp_path: Path) -> None:
    """As plugins that run a failing test again do it: the same item goes through setup, call and teardown twice."""
    (tmp_path / "conftest.py").write_text(
        textwrap.dedent("""
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            runtestprotocol(item, nextitem=nextitem, log=False)
            item._initrequest()
            for report in runtestprotocol(item, nextitem=nextitem, log=False):
                item.ihook.pytest_runtest_logreport(report=report)
            return True
        """)
    )
    source = textwrap.dedent("""
        from referee import checks

        answers = iter(["rainy", "sunny"])

        def test_again(expect_evals):
            data, gates = ["Weather?"], [checks.includes("sunny")]
            expect_evals(target=lambda text: next(answers), data=data, gates=gates).to_pass()
        """)
    found = run_pytest(tmp_path, source, "--referee-output", "out/scores.jsonl")
    assert found.tests == {"test_again": "passed"}
    assert [row["score"] for row in found.rows] == [1.0]


def test_half_a_surrogate_pair_can_travel_to_the_other_process() -> None:
    """The sender of pytest-xdist takes no text that is not UTF-8, and one of them would end its worker."""
    quoting = create_scorer(id="quoting").generate_score(lambda run: 1).generate_reason(lambda run: run.output_text)
    rows: list[dict[str, Any]] = []
    ExpectEvals(rows)(target=str, data=[{"id": "\ud800", "input": "half \ud801"}], gates=[quoting]).to_pass()
    assert [(row["item"], row["reason"]) for row in rows] == [("\\ud800", "half \\ud801")]


def test_missing_results_do_not_pass() -> None:
    """Fail-fast leaves results out; of those that are there half pass, of all of them less."""
    data = ["rainy", "sunny", "sunny", "sunny"]
    expectation = ExpectEvals([])(
        target=str, data=data, gates=[checks.includes("sunny")], fail_fast=True, concurrency=1
    )
    with pytest.raises(ScoreCheckError, match="0 of 4 results pass"):
        expectation.to_pass(0.1)


def test_a_result_that_the_report_does_not_name_is_named_with_its_reason() -> None:
    """A report names what gates and missed thresholds want; a share wants more."""
    data = [{"id": "wet", "input": "rainy"}, {"id": "good", "input": "sunny"}]
    half = {"scorer": checks.includes("sunny"), "threshold": 0.5}
    for scorer, asked in ((checks.includes("sunny"), "1: no gate and no threshold"), (half, "at least 0.5")):
        with pytest.raises(ScoreCheckError) as caught:
            ExpectEvals([])(target=str, data=data, scorers=[scorer]).to_pass(1)
        assert f"  wet\n    check-includes 0, must be {asked}" in str(caught.value)
        assert 'the text does not contain "sunny"' in str(caught.value)
        assert "  good\n" not in str(caught.value)
    many = [{"id": f"{number}", "input": "rainy"} for number in range(13)]
    with pytest.raises(ScoreCheckError, match="… and 3 more"):
        ExpectEvals([])(target=str, data=many, scorers=[checks.includes("sunny")]).to_pass()


def test_an_argument_that_there_is_not_names_the_nearest() -> None:
    gates: Any = [checks.includes("sunny")]
    with pytest.raises(OptionError, match="expect_evals has no argument 'gate'; did you mean gates"):
        ExpectEvals([])(target=str, data=["sunny"], gate=gates)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match="expect_eval has no argument 'scorrers'; did you mean scorers"):
        ExpectEval([])("sunny", scorrers=gates)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match=r"a share is 0 to 1 \(0.8 for 80 %\), not 80"):
        ExpectEvals([])(target=str, data=["sunny"], gates=gates).to_pass(80)
