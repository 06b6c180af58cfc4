"""The command line: what it prints, what it writes, how it exits."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from referee import Score
from referee.cli import COMMANDS, main
from support import need_traces

GOOD = {"messages": [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "It is sunny."}]}
BAD = {"messages": [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "I do not know."}]}


def referee(*words: str | Path, input: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], input=input)


def write(path: Path, *records: Any) -> Path:
    path.write_bytes(
        b"\n".join(record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)
    )
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return write(tmp_path / "runs.jsonl", {"id": "good", **GOOD}, {"id": "bad", **BAD})


def test_score_prints_means_with_coverage_and_the_lowest_runs(runs: Path) -> None:
    done = referee("score", runs, "-s", "checks.includes=sunny", "-s", "checks.no_tool_errors")
    assert done.exit_code == 0, done.output
    assert "check-includes" in done.output
    assert "0.500" in done.output
    assert "2 of 2" in done.output
    assert 'the text does not contain "sunny"' in done.output
    assert done.output.index("bad") > done.output.index("lowest runs")


def test_score_as_json(runs: Path) -> None:
    summary = json.loads(referee("score", runs, "-s", "checks.includes=sunny", "--json").stdout)
    assert summary["scorers"]["check-includes"] == {
        "mean": 0.5, "scored": 2, "attempted": 2, "coverage": 1.0, "not_scorable": 0, "errors": 0, "lowest": 0.0, "highest": 1.0,
    }  # fmt: skip
    assert [low["run_id"] for low in summary["lowest_runs"]] == ["bad"]


def test_two_scorers_of_one_id_are_numbered(runs: Path) -> None:
    summary = json.loads(
        referee("score", runs, "-s", "checks.includes=sunny", "-s", "checks.includes=know", "--json").stdout
    )
    assert set(summary["scorers"]) == {"check-includes", "check-includes#2"}


def test_outputs_hold_every_score(runs: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    files = [tmp_path / f"scores{suffix}" for suffix in (".jsonl", ".csv", ".md", ".parquet")]
    options = [word for file in files for word in ("-o", file)]
    assert referee("score", runs, "-s", "checks.includes=sunny", *options).exit_code == 0
    lines = files[0].read_bytes().splitlines()
    scores = [msgspec.json.decode(line, type=Score) for line in lines]
    assert [(score.run_id, score.score) for score in scores] == [("good", 1.0), ("bad", 0.0)]
    assert json.loads(lines[0])["status"] == "scored"
    rows = list(csv.DictReader(files[1].read_text(encoding="utf-8").splitlines()))
    assert [(row["run_id"], row["score"], row["status"]) for row in rows] == [
        ("good", "1.0", "scored"),
        ("bad", "0.0", "scored"),
    ]
    assert files[2].read_text(encoding="utf-8").count("\n") == 4
    assert pq.read_table(files[3]).column("score").to_pylist() == [1.0, 0.0]


def test_hostile_content_stays_content(tmp_path: Path) -> None:
    hostile = {"role": "assistant", "content": "=cmd()|\x1b[31m<script>\u202e\n# title"}
    runs = write(tmp_path / "r.jsonl", {"id": "=1+1", "messages": [{"role": "user", "content": "?"}, hostile]})
    files = [tmp_path / "s.csv", tmp_path / "s.md"]
    done = referee("score", runs, "-s", "checks.equals=x", "-o", files[0], "-o", files[1])
    assert "\x1b" not in done.output
    assert "\u202e" not in done.output
    [row] = csv.DictReader(files[0].read_text(encoding="utf-8").splitlines())
    assert row["run_id"] == "'=1+1"
    markdown = files[1].read_text(encoding="utf-8")
    assert "<script" not in markdown
    assert len(markdown.splitlines()) == 3
    shown = referee("show", runs)
    assert "\x1b" not in shown.output
    assert "\\x1b[31m" in shown.output


@pytest.mark.parametrize(("bound", "code"), [("check-includes=0.5", 0), ("check-includes=0.51", 1)])
def test_fail_under(runs: Path, bound: str, code: int) -> None:
    done = referee("score", runs, "-s", "checks.includes=sunny", "--fail-under", bound)
    assert done.exit_code == code, done.output
    assert ("below" in done.output) is (code == 1)


def test_fail_over_is_for_what_should_be_low(runs: Path) -> None:
    assert referee("score", runs, "-s", "checks.includes=sunny", "--fail-over", "check-includes=0.4").exit_code == 1
    assert referee("score", runs, "-s", "checks.includes=sunny", "--fail-over", "check-includes=0.5").exit_code == 0


def test_a_mean_over_survivors_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "frail_scorer_for_test.py").write_text(
        "def frail(run):\n    if 'sunny' in run.output_text:\n        return 1.0\n    raise RuntimeError('no')\n"
    )
    monkeypatch.chdir(tmp_path)
    runs = write(tmp_path / "runs.jsonl", {"id": "good", **GOOD}, {"id": "bad", **BAD})
    assert referee("score", runs, "-s", "frail_scorer_for_test:frail").exit_code == 3
    done = referee("score", runs, "-s", "frail_scorer_for_test:frail", "--fail-under", "frail=0.5")
    assert done.exit_code == 1
    assert "1 of 2 runs had an error" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give at least one --scorer"),
        (("-s", "checks.include=x"), "did you mean checks.includes"),
        (("-s", "checks.includes=x", "-o", "scores.txt"), ".jsonl, .csv, .md, .parquet"),
        (("-s", "checks.includes=x", "-o", "/no/such/folder/s.csv"), "can't be written"),
        (("-s", "checks.includes=x", "--fail-under", "nothing=1"), "check-includes"),
        (("-s", "checks.includes=x", "--fail-under", "check-includes"), "ID=NUMBER"),
        (("-s", "checks.includes=x", "--fail-under", "check-includes=nan"), "ID=NUMBER"),
        (("--scorers", "none.yaml"), "none.yaml"),
        (("-s", "checks.includes=x", "--format", "none"), "none"),
        (("--no-such-option",), "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(runs: Path, words: tuple[str, ...], message: str) -> None:
    done = referee("score", runs, *words)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_bad_lines_are_listed_and_good_ones_scored(tmp_path: Path) -> None:
    runs = write(
        tmp_path / "runs.jsonl",
        {"id": "good", **GOOD},
        b'{"messages": [{"role": "us',
        b'{"a": NaN}',
        b"[1, 2]",
        {"id": "two", **GOOD},
    )
    done = referee("score", runs, "-s", "checks.includes=sunny")
    assert done.exit_code == 3
    assert "2 of 2" in done.output
    for place in ("runs.jsonl:2: is cut", "runs.jsonl:3: is no JSON: NaN", "runs.jsonl:4"):
        assert place in done.output, done.output


@pytest.mark.parametrize("content", [b"", b"\n\n", b"not json at all", b'{"a": 1}', b"\xff\xfe\x00"])
def test_nothing_readable_is_exit_code_2(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "runs.json"
    file.write_bytes(content)
    done = referee("score", file, "-s", "checks.no_tool_errors")
    assert done.exit_code == 2
    assert "runs.json" in done.output
    assert "Traceback" not in done.output


def test_a_missing_file_and_an_empty_folder(tmp_path: Path, runs: Path) -> None:
    assert referee("score", tmp_path / "none.jsonl", "-s", "checks.no_tool_errors").exit_code == 2
    (tmp_path / "empty").mkdir()
    done = referee("score", tmp_path / "empty", "-s", "checks.no_tool_errors")
    assert done.exit_code == 2
    assert "holds no runs" in done.output
    both = referee("score", tmp_path / "none.jsonl", runs, "-s", "checks.no_tool_errors")
    assert both.exit_code == 3
    assert "2 of 2" in both.output


def test_standard_input_and_compressed_files(runs: Path, tmp_path: Path) -> None:
    content = runs.read_bytes()
    piped = referee("score", "-", "-s", "checks.includes=sunny", "--json", input=content)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(content))
    unpacked = referee("score", packed, "-s", "checks.includes=sunny", "--json")
    assert json.loads(piped.stdout)["runs"] == json.loads(unpacked.stdout)["runs"] == 2


def test_scorers_from_a_file(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "scorers.yaml"
    file.write_text("- checks.includes: {expected: sunny}\n- checks.no_tool_errors\n")
    summary = json.loads(referee("score", runs, "--scorers", file, "--json").stdout)
    assert list(summary["scorers"]) == ["check-includes", "check-no-tool-errors"]


def test_show_prints_a_conversation() -> None:
    done = referee("show", need_traces() / "tau_airline_21runs.json", "--index", "3")
    assert done.exit_code == 0
    assert "→ get_reservation_details" in done.output or "→ get_user_details" in done.output
    by_id = referee("show", need_traces() / "tau_airline_21runs.json", "--id", "task-0-trial-0")
    assert by_id.output.startswith("run task-0-trial-0")


def test_show_says_which_run_there_is_not(runs: Path) -> None:
    done = referee("show", runs, "--index", "7")
    assert (done.exit_code, "2 runs were read" in done.output) == (2, True)
    assert referee("show", runs, "--id", "none").exit_code == 2


def test_scorers_lists_and_explains() -> None:
    listed = referee("scorers").output
    assert "checks.includes" in listed
    assert "completeness" in listed
    assert "Raises" in referee("scorers", "checks.includes").output
    assert referee("scorers", "checks.nothing").exit_code == 2


def test_convert_and_back(tmp_path: Path) -> None:
    source = need_traces() / "tau_airline_21runs.json"
    out = tmp_path / "runs.jsonl"
    done = referee("convert", source, "-o", out, "--report")
    assert done.exit_code == 0
    assert "runs: 21" in done.output
    words = ("-s", "checks.includes=reservation", "-s", "checks.max_tool_calls=5", "--json")
    first, second = referee("score", source, *words).stdout, referee("score", out, *words).stdout
    assert json.loads(first) == json.loads(second)


def test_tables_with_named_columns(tmp_path: Path) -> None:
    table = tmp_path / "answers.csv"
    table.write_text("number,question,answer\n7,Weather?,It is sunny.\n8,Weather?,No idea.\n")
    columns = ("--input-column", "question", "--output-column", "answer", "--id-column", "number")
    scored = json.loads(referee("score", table, *columns, "-s", "checks.includes=sunny", "--json").stdout)
    assert scored["scorers"]["check-includes"]["mean"] == 0.5
    assert referee("show", table, *columns, "--id", "8").output.startswith("run 8\n")
    out = tmp_path / "runs.jsonl"
    assert referee("convert", table, *columns, "-o", out).exit_code == 0
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == ["7", "8"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--output-column", "nothing"), "there is no column 'nothing'; the columns are: question, answer"),
        (("--output-column", "answer", "--format", "mastra"), "columns are named only for a table"),
        (("--output-column", "answer", "--id-column", "answer"), "three different ones"),
    ],
)
def test_wrong_columns_are_one_line_and_exit_code_2(tmp_path: Path, words: tuple[str, ...], problem: str) -> None:
    table = tmp_path / "answers.csv"
    table.write_text("question,answer\nWeather?,It is sunny.\n")
    for command in (("score", "-s", "checks.no_tool_errors"), ("show",), ("convert",)):
        done = referee(*command, table, *words)
        assert (done.exit_code, problem in done.output) == (2, True), done.output
        assert "Traceback" not in done.output


def test_every_command_has_help_with_an_example() -> None:
    for name in COMMANDS:
        done = referee(name, "--help")
        assert done.exit_code == 0, name
        assert f"referee {name}" in done.output, name


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".md"])
def test_a_full_disk_is_one_line_and_exit_code_2(runs: Path, tmp_path: Path, suffix: str) -> None:
    full = tmp_path / f"scores{suffix}"
    full.symlink_to("/dev/full")
    done = referee("score", runs, "-s", "checks.no_tool_errors", "-o", full)
    assert done.exit_code == 2
    assert "No space left on device" in done.output


def test_a_bound_is_finite(runs: Path) -> None:
    done = referee("score", runs, "-s", "checks.no_tool_errors", "--fail-under", "check-no-tool-errors=inf")
    assert done.exit_code == 2
    assert "expected ID=NUMBER" in done.output


def test_show_takes_one_way_to_name_a_run(runs: Path) -> None:
    done = referee("show", runs, "--index", 0, "--id", "a")
    assert (done.exit_code, done.output) == (2, "referee: give --index or --id, not both\n")
