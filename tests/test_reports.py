"""Reports: what they say, that hostile content stays content, and that they come back from files."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from referee import OptionError, Run, checks, compare, create_scorer, read_report, run_evals_sync
from referee.evaluate import Report, SideBySide
from referee.report import write_report
from referee.report.html import as_page, fragment
from referee.report.junit import as_junit
from referee.report.markdown import as_markdown, escaped
from referee.report.terminal import as_text
from referee.testing import create_test_message, create_tool_invocation

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> ]]> & \" ' | `code` ``` **bold** [a](javascript:x) "
    "\x1b[31m\x1b]0;title\x07 \u202e back \ud800 \ufffe @someone https://evil.example www.evil.example #1"
)


def hostile_report(**options: Any) -> Report:
    """Every place that content can come from, filled with hostile text."""
    broken = create_scorer(id=HOSTILE).generate_score(lambda run: 1 / 0)
    told = create_scorer(id="told").generate_score(lambda run: 0).generate_reason(lambda run: HOSTILE)

    def target(text: str) -> Any:
        if "fail" in text:
            raise ValueError(HOSTILE)
        call = create_tool_invocation(tool_name=HOSTILE, args={HOSTILE: HOSTILE}, result=HOSTILE)
        return [create_test_message(role="assistant", content=HOSTILE, tool_invocations=[call])]

    data = [{"id": HOSTILE, "input": HOSTILE, "tags": [HOSTILE]}, {"id": "f", "input": f"fail {HOSTILE}"}]
    return run_evals_sync(target=target, data=data, gates=[told], scorers=[broken], name=HOSTILE, repeats=2, **options)


@pytest.fixture(scope="module")
def hostile() -> Report:
    return hostile_report()


@pytest.fixture(scope="module")
def report() -> Report:
    """A report with everything in it: gates, thresholds, turns, repeats, tags, errors, a diff."""

    def target(text: str, repeat: int) -> Any:
        if text == "broken":
            raise ConnectionError("the agent is down")
        call = create_tool_invocation(tool_name="forecast", args={"city": "Bruges"}, result={"sky": "clear"})
        said = create_test_message(role="assistant", content=f"{text}, {repeat}", tool_invocations=[call])
        return Run(output=[said], cost=0.25, duration_ms=1500.0)

    expected = [{"name": "forecast", "args": {"city": "Ghent"}}]
    data = [
        {"id": "good", "input": "sunny", "tags": ["easy"]},
        {"id": "wrong", "input": "sunny too", "tags": ["hard"], "expected_tool_calls": expected},
        {"id": "flaky", "input": "sunny, but", "tags": ["hard"], "gates": [checks.includes("but, 0")]},
        {"id": "down", "input": "broken"},
        {"id": "talk", "turns": [{"input": "sunny"}, {"input": "x", "gates": [checks.includes("sunny")]}]},
    ]
    return run_evals_sync(
        target=target,
        data=data,
        gates=[checks.includes("sunny")],
        scorers=[
            {"scorer": checks.tool_calls(), "threshold": 0.9},
            create_scorer(id="low", lower_is_better=True).generate_score(lambda run: 0.5),
        ],
        repeats=2,
        name="Weather",
    )


def test_a_terminal_shows_failing_items_first_with_reason_and_diff(report: Report) -> None:
    text = str(report)
    lines = text.splitlines()
    assert lines[0] == "Weather  failed: gates check-includes, check-includes#2 not held"
    order = [text.index(part) for part in ("problems in", "down", "wrong", "10 results of 5 items", "repeats")]
    assert order == sorted(order)
    assert "ConnectionError: the agent is down" in text
    assert 'city: expected "Ghent", got "Bruges"' in text
    assert "turn 2: check-includes 0, must be at least 1" in text
    assert "pass^k" in text
    assert "1 of 5 repeated items are flaky: flaky (1 of 2)" in text
    assert re.search(r"hard +\d\.\d{3}", text)
    assert "agent: 1.9 s a run" in text
    assert "$2.5 for 8 of 8 runs" in text
    assert "low ↓" in text
    assert "the target failed for 2 results" in text


def test_a_report_without_gates_has_no_verdict() -> None:
    plain = run_evals_sync(target=str, data=["a"], scorers=[checks.includes("a")])
    assert str(plain).splitlines()[0] == "Evaluation  no gate and no threshold, so no verdict"


def test_rich_and_notebooks_find_the_report(report: Report) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(report)
    assert "gates check-includes, check-includes#2 not held" in console.export_text()
    assert report._repr_html_().startswith('<div class="referee">')
    assert compare(report, report)._repr_html_().startswith('<div class="referee">')


class Page(HTMLParser):
    """Collects tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("draw", [as_page, fragment])
def test_html_has_no_script_and_no_outside_address(hostile: Report, report: Report, draw: Any) -> None:
    for shown in (hostile, report, compare(hostile, hostile), SideBySide({HOSTILE: hostile})):
        page = draw(shown)
        page.encode()
        parsed = Page(page)
        known = {"html", "head", "meta", "title", "style", "body", "main", "div", "h1", "h2", "p", "pre", "span"}
        assert parsed.tags <= known | {"table", "thead", "tbody", "tr", "th", "td", "details", "summary"}
        assert parsed.attributes <= {"class", "lang", "charset", "name", "content", "http-equiv", "scope", "open"}
        assert "\x1b" not in page
        assert "\u202e" not in page
    assert "<script>alert(1)</script>" in Page(draw(hostile)).text
    assert "url(" not in as_page(hostile)
    assert "@import" not in as_page(hostile)


def test_a_page_shows_every_result(report: Report) -> None:
    page = as_page(report)
    assert page.count("<details>") == len(report.results)
    assert "default-src 'none'" in page
    assert "forecast({&quot;city&quot;: &quot;Bruges&quot;})" in page


def test_a_terminal_is_not_steered(hostile: Report) -> None:
    text = as_text(hostile)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"\x1b[31m" in text
    text.encode()


def test_markdown_content_stays_content(hostile: Report) -> None:
    text = as_markdown(hostile)
    outside = re.sub(r"(?ms)^ *(`{3,})text$.*?^ *\1$", "", text)
    bare = re.sub(r"\\.", "", outside)
    assert set(re.findall(r"<[^>]*>", bare)) == {"<details>", "</details>", "<summary>", "</summary>"}
    for word in ("@someone", "https://", "www.evil", "[a]"):
        assert word not in bare
    for line in outside.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in {4, 9}
    text.encode()


@given(st.text())
def test_escaped_text_is_one_line_without_markup(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>|#~]", shown)


def test_junit_has_a_case_per_result_and_threshold(report: Report) -> None:
    root = ElementTree.fromstring(as_junit(report))
    suite = root.find("testsuite")
    assert suite is not None
    cases = {case.get("name"): [child.tag for child in case] for case in suite.findall("testcase")}
    assert cases == {
        "good": [],
        "good (repeat 2)": [],
        "wrong": [],
        "wrong (repeat 2)": [],
        "flaky": [],
        "flaky (repeat 2)": ["failure"],
        "down": ["error"],
        "down (repeat 2)": ["error"],
        "talk": ["failure"],
        "talk (repeat 2)": ["failure"],
        "threshold check-tool-calls": ["failure"],
    }
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "11",
        "failures": "4",
        "errors": "2",
        "skipped": "0",
    }
    nothing = run_evals_sync(target=str, data=["a"], scorers=[checks.tool_calls()])
    assert "<skipped" in as_junit(nothing)


def test_junit_is_xml_whatever_the_content(hostile: Report) -> None:
    for shown in (hostile, SideBySide({"a": hostile, "b": hostile})):
        xml = as_junit(shown)
        assert ElementTree.fromstring(xml).find(".//error") is not None
        xml.encode()


def test_json_lines_come_back(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "made" / "report.jsonl"
    write_report(report, path)
    again = read_report(path)
    assert isinstance(again, Report)
    assert str(again) == str(report)
    assert {entry.outcome for entry in compare(path, report).scores.values()} == {"no difference shown"}


def test_several_targets_and_comparisons_are_drawn(tmp_path: Path) -> None:
    data = [{"id": str(number), "input": "rainy"} for number in range(12)]
    reports = run_evals_sync(
        targets={"old": str, "new": lambda text: "sunny"}, data=data, gates=[checks.includes("sunny")], name="Weather"
    )
    text = str(reports)
    assert "targets side by side" in text
    assert "old: problems in 12 of 12 results" in text
    assert "… and 2 more" in text
    change = compare(reports["old"], reports["new"])
    assert str(change).splitlines()[0] == "Weather · old → Weather · new  better: check-includes"
    assert "12 items changed" in str(change)
    for suffix in ("md", "html", "txt", "xml", "jsonl"):
        write_report(reports, tmp_path / f"r.{suffix}")
    for suffix in ("md", "html", "txt"):
        write_report(change, tmp_path / f"c.{suffix}")
    again = read_report(tmp_path / "r.jsonl")
    assert isinstance(again, SideBySide)
    assert str(again) == text


def test_a_missing_result_is_said() -> None:
    whole = run_evals_sync(target=str, data=["a", "b"], gates=[checks.includes("a")])
    part = Report(whole.evaluation, whole.results[:1])
    assert (part.verdict, part.complete) == ("passed", False)
    assert "incomplete: 1 result missing" in str(part)
    suite = ElementTree.fromstring(as_junit(part)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("errors")) == ("2", "1")


def test_a_suffix_that_is_none(report: Report, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"file ends in \.html"):
        write_report(report, "report.pdf")
    with pytest.raises(OptionError, match="can't be written"):
        write_report(report, tmp_path / "report.md" / "x.md") if (tmp_path / "report.md").write_text("") == 0 else None


@pytest.mark.system
def test_a_notebook_in_a_real_kernel() -> None:
    """The sync doors work in the kernel's running loop, and the report shows itself. Needs the group `notebook`."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    source = """
import asyncio
from referee import checks, compare, create_scorer, run_evals, run_evals_sync
assert asyncio.get_running_loop().is_running()
async def agent(text):
    await asyncio.sleep(0)
    return "It is sunny."
async def length(run):
    await asyncio.sleep(0)
    return 0.5
options = dict(target=agent, data=["Ghent?", "Bruges?"], gates=[checks.includes("sunny")], scorers=[length], name="Weather")
report = run_evals_sync(**options)
awaited = await run_evals(**options)
assert report.scores == awaited.scores == {"length": 0.5}
assert create_scorer(id="s").generate_score(length).run_sync(report.results[0].run).score == 0.5
report
"""
    cells = [nbformat.v4.new_code_cell(source), nbformat.v4.new_code_cell("compare(report, awaited)")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    shown = [cell.outputs[-1]["data"] for cell in notebook.cells]
    assert "Weather" in shown[0]["text/html"]
    assert "passed" in shown[0]["text/html"]
    assert "no difference shown" in shown[1]["text/html"]
    assert "<script" not in shown[0]["text/html"] + shown[1]["text/html"]


def test_one_is_not_many() -> None:
    data = [{"id": "only", "input": "rainy"}]
    report = run_evals_sync(target=str, data=data, gates=[checks.includes("sunny")])
    text = str(report)
    assert "problems in 1 of 1 result\n" in text
    assert "1 result of 1 item\n" in text
    other = run_evals_sync(target=lambda text: "sunny", data=data, gates=[checks.includes("sunny")])
    assert "check-includes: 1 item changed\n" in str(compare(report, other))  # wider than its table
