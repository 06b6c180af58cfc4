"""Suites and the commands `run`, `init` and `compare`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from referee import OptionError, ReadError, RecordedRuns, run_evals_sync
from referee.cli import main
from referee.evaluate import CommandTarget, HttpTarget, read_report
from referee.journal import Journal
from referee.suites import load_suite, suite_schema
from support import need_traces

SUITE = """\
target: echo:answer
data:
  - {id: sun, input: sunny, tags: [good]}
  - {id: rain, input: rainy, tags: [bad, wet]}
gates: [{checks.includes: {expected: sunny}}]
"""


#: Nine short lines that stand for a billion values.
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]" for number in range(1, 10)
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a target, from which no module stays imported."""
    (tmp_path / "echo.py").write_text("def answer(text):\n    return text\n\nclass Box:\n    answer = answer\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("echo", "agent"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path
    for name in ("echo", "agent"):
        sys.modules.pop(name, None)


def write(folder: Path, text: str, name: str = "suite.yaml") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def command(*words: Any) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


# Reading


def test_a_suite_says_everything_that_run_evals_takes(folder: Path) -> None:
    path = write(
        folder,
        """\
        name: weather
        target: echo:answer
        data: [{input: sunny}]
        gates: [{scorer: {checks.includes: {expected: sunny}}, passes: 2 of 3}]
        scorers: {agent: [{scorer: completeness, threshold: {min: 0.1, min_coverage: 0.5}}]}
        repeats: 3
        concurrency: 2
        item_timeout: 5
        timeout: 60
        confidence: 0.9
        unmocked_tools: allow
        reports: [out.md]
        """,
    )
    suite = load_suite(path)
    assert (suite.name, suite.reports) == ("weather", [folder / "out.md"])
    report = run_evals_sync(**suite.arguments())
    assert (report.verdict, len(report.results), report.evaluation.confidence) == ("passed", 3, 0.9)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.toml", 'target = "echo:answer"\ngates = ["checks.used_no_tools"]\n[[data]]\ninput = "a"\n'),
        ("s.json", '{"target": "echo:answer", "gates": ["checks.used_no_tools"], "data": [{"input": "a"}]}'),
        ("s.yml", "target: echo:Box.answer\ngates: [checks.used_no_tools]\ndata: [{input: a}]\n"),
    ],
)
def test_other_forms_of_a_suite(folder: Path, name: str, text: str) -> None:
    suite = load_suite(write(folder, text, name))
    assert suite.name == "s"
    assert run_evals_sync(**suite.arguments()).complete


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scorrers: []", "suite.yaml: there is no key 'scorrers'; did you mean scorers"),
        ("zzz: 1", "there is no key 'zzz'; there are name, data"),
        ("repeats: many", "repeats: Expected `int"),
        ("target_options: 3", "target_options: Expected `object`"),
        ("unmocked_tools: forbid", "unmocked_tools: Invalid enum value"),
        ("- a\n- b", "expected keys and values, not list"),
        ("", "the suite is empty"),
        ("target: 3", "target: expected module:name or an object with python, command, url, runs"),
        ("target: echo", "written module:name"),
        ("target: nowhere:answer", "the module nowhere can't be imported"),
        ("target: echo:nothing", "has no 'nothing'"),
        ("target: .:answer", "written module:name"),
        (
            "target: broken:answer",
            "the module broken can't be imported: ZeroDivisionError: division by zero (broken.py, line 2)",
        ),
        (
            "target: torn:answer",
            "the module torn can't be imported: SyntaxError: '(' was never closed (torn.py, line 1)",
        ),
        ("target: needy:answer", "can't be imported: No module named 'no_such_package' (needy.py, line 1)"),
        ("target: leaving:answer", "can't be imported: SystemExit: 3 (leaving.py, line 2)"),
        ("target: {url: 'http://h', modle: m}", "target: url: there is no key 'modle'; did you mean model"),
        ("target: {url: 'http://h'}", "missing required field `model`"),
        ("target: {url: 'ftp://h', model: m}", "address is like"),
        ("target: {command: a, url: b}", "exactly one of"),
        ("target: {runs: none.jsonl}", "none.jsonl"),
        ("targets: [a]", "expected names and targets"),
        ("targets: {a: {}}", "targets.a: give exactly one of"),
        ("data: 3", "a list of items or a file's name"),
        ("model: ${NO_SUCH_VARIABLE}", "model: the environment has no NO_SUCH_VARIABLE"),
        ("model: '${ NAME }'", "model: ${ NAME } is no variable"),
        ("model: '${NAME:-${OTHER}}'", "model: ${NAME:-${OTHER} is no variable"),
        ("model: '${NAME'", "model: ${NAME is no variable"),
    ],
)
def test_a_mistake_in_a_suite_is_named(folder: Path, text: str, words: str) -> None:
    path = write(folder, text)
    write(folder, "\n1 / 0", "broken.py")
    write(folder, "def answer(", "torn.py")
    write(folder, "import no_such_package", "needy.py")
    write(folder, "import sys\nsys.exit(3)", "leaving.py")
    with pytest.raises((OptionError, ReadError)) as raised:
        load_suite(path).arguments()
    assert words in str(raised.value)
    assert "suite.yaml" in str(raised.value)
    result = command("run", path)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("s.yaml", "a: 1\nb: [", "s.yaml:2: "),
        ("s.yaml", "name: a\nname: b\n", "s.yaml:2: the key 'name' is given twice"),
        ("s.yaml", "a: &a [*a]", "s.yaml: nested too deeply, or it contains itself"),
        ("s.yaml", BOMB, "s.yaml: its aliases (*name) stand for more than 1,000,000 values"),
        ("s.yaml", "a: 2024-13-40", "s.yaml: a value can't be read: month must be in 1..12"),
        ("s.yaml", "a: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("s.toml", "a = ", "Invalid value"),
        ("s.json", "{", "truncated"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_named(folder: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(ReadError) as raised:
        load_suite(write(folder, text, name))
    assert words in str(raised.value)
    with pytest.raises(ReadError, match="No such file"):
        load_suite(folder / "none.yaml")
    (folder / "latin.yaml").write_bytes(b"name: caf\xe9")
    with pytest.raises(ReadError, match="not in UTF-8"):
        load_suite(folder / "latin.yaml")


def test_variables_are_replaced_in_settings_and_not_in_items(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "example.org")
    monkeypatch.setenv("EVIL", "x\nscorers: [bad]")
    path = write(
        folder,
        """\
        name: "${EVIL}"
        target: {url: "https://${HOST}/${PATH_NOT_SET:-v1}", model: "$${HOST}", api_key: "${HOST}"}
        data: [{input: "price ${HOST} $5"}]
        gates: [checks.used_no_tools]
        """,
    )
    suite = load_suite(path)
    arguments = suite.arguments()
    target = arguments["target"]
    assert isinstance(target, HttpTarget)
    assert target.url == "https://example.org/v1/chat/completions"
    assert target.model == "${HOST}"
    assert suite.name == "x\nscorers: [bad]"
    assert arguments["data"] == [{"input": "price ${HOST} $5"}]
    monkeypatch.setenv("DATA", "items.jsonl")
    assert load_suite(write(folder, "data: ${DATA}")).spec.data == "items.jsonl"


# Data files

ITEMS = [
    {"id": "a", "input": "Weather?", "tags": ["x", "y"], "expected_tool_calls": [{"name": "f"}]},
    {"id": "b", "input": 'He said "hi",\nthen left', "ground_truth": "ok"},
]

CSV = """\ufeffid,input,tags,expectedToolCalls,ground_truth
a,Weather?,x; y,"[{""name"": ""f""}]",
b,"He said ""hi"",
then left",,,ok
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.jsonl", "\n".join(map(json.dumps, ITEMS)) + "\n\n"),
        ("d.json", json.dumps(ITEMS)),
        ("d.yaml", json.dumps(ITEMS)),
        ("d.csv", CSV),
    ],
)
def test_data_files(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    path = write(folder, f"target: echo:answer\ndata: {name}\ngates: [checks.used_no_tools]")
    suite = load_suite(path)
    report = run_evals_sync(**suite.arguments())
    assert [(result.item_id, result.tags) for result in report.results] == [("a", ["x", "y"]), ("b", [])]
    runs = [result.run for result in report.results if result.run]
    assert runs[0].expected_tool_calls == [{"name": "f"}]
    assert (runs[1].ground_truth, runs[1].user_text) == ("ok", 'He said "hi",\nthen left')
    assert folder / name in suite.files


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("d.jsonl", '{"input": "a"}\n{"input"', "d.jsonl:2: "),
        ("d.csv", "id,input\na,b,c\n", "d.csv:2: more cells than columns"),
        ("d.csv", "input,expected_tool_calls\na,[1\n", "d.csv:2: expected_tool_calls: the cell is no JSON"),
        ("d.json", '{"input": "a"}', "expected a list of items, not dict"),
        ("d.csv", "input,id,input\na,b,c\n", "d.csv:1: the column 'input' is given twice"),
        ("d.txt", "a", "a data file ends in .jsonl, .csv, .json, .yaml, .yml"),
        ("d.csv", "inptu\na\n", "item 1: an item has no field 'inptu'; did you mean input?"),
    ],
)
def test_a_mistake_in_a_data_file_is_named(folder: Path, name: str, text: str, words: str) -> None:
    (folder / name).write_text(text)
    result = command("run", write(folder, f"target: echo:answer\ndata: {name}\ngates: [checks.used_no_tools]"))
    assert result.exit_code == 2
    assert words in result.output


# Targets


def test_commands_run_in_the_suites_folder(folder: Path) -> None:
    (folder / "agent.py").write_text(
        "import json, os, sys\njson.dump([json.load(sys.stdin)['input'], os.getcwd()][1], sys.stdout)\n"
    )
    path = write(
        folder,
        f"""\
        target: {{command: ["{sys.executable}", agent.py]}}
        data: [sunny]
        gates: [{{checks.includes: {{expected: "{folder.name}"}}}}]
        """,
    )
    arguments = load_suite(path).arguments()
    assert isinstance(arguments["target"], CommandTarget)
    assert run_evals_sync(**arguments).verdict == "passed"


def test_recorded_runs_of_tau_bench(folder: Path) -> None:
    """A suite over real recorded runs, with their gold actions as expected tool calls."""
    traces = need_traces() / "tau_airline_21runs.json"
    (folder / "echo.py").write_text("def reward(run):\n    return run.metadata['reward']\n")
    path = write(
        folder,
        f"""\
        target: {{runs: {traces}, item: task_id}}
        gates: [echo:reward]
        scorers: [{{scorer: checks.tool_calls, threshold: 0.9}}, {{scorer: {{checks.tool_calls: {{order: any, args: subset}}}}}}]
        """,
    )
    suite = load_suite(path)
    assert isinstance(suite.arguments()["target"], RecordedRuns)
    assert traces in suite.files
    result = command("run", path)
    assert result.exit_code == 1
    assert "21 results of 6 items" in result.output
    assert "pass^k: all of k pass              0.417   0.333   0.250   0.200" in result.output
    assert "8 results of 2 items" in command("run", path, "--filter", "4*").output


# The commands


def test_init_writes_a_suite_that_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = command("init", folder / "new")
    assert made.exit_code == 0
    assert f"now run: referee run {folder / 'new' / 'suite.yaml'}" in made.output
    result = command("run", folder / "new" / "suite.yaml")
    assert (result.exit_code, result.output.splitlines()[0]) == (0, "weather  passed")
    assert (folder / "new" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    again = command("init", folder / "new")
    assert (again.exit_code, again.output) == (
        2,
        f"referee: {folder / 'new' / 'suite.yaml'} is there already; give another folder\n",
    )
    sys.modules.pop("agent", None)
    monkeypatch.chdir(folder)
    assert command("init").exit_code == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("", 1),
        ("gates: [checks.used_no_tools]", 0),
        ("gates: []\nscorers: [{scorer: {checks.includes: {expected: sunny}}, threshold: 0.6}]", 1),
        ("gates: []\nscorers: [{scorer: {checks.includes: {expected: sunny}}, threshold: 0.5}]", 0),
        ("gates: []\nscorers: [completeness]", 0),
        ("gates: []\nscorers: [echo:broken]", 3),
        ("target: echo:broken\ngates: []\nscorers: [completeness]", 3),
        ("target: echo:broken", 1),
        ("gates: []", 2),
    ],
)
def test_exit_codes(folder: Path, change: str, code: int) -> None:
    (folder / "echo.py").write_text(
        "def answer(text):\n    return text\n\ndef broken(text):\n    raise ValueError('no')\n"
    )
    changed = {line.partition(":")[0] for line in change.splitlines()}
    kept = [line for line in SUITE.splitlines() if line.partition(":")[0] not in changed]
    path = write(folder, "\n".join([*kept, change]))
    assert command("run", path).exit_code == code


def test_a_judge_that_cannot_be_found_matters_only_to_scorers_that_ask_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "REFEREE_BASE_URL", "REFEREE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    (folder / "echo.py").write_text("def answer(text):\n    return text\n\ndef own(run):\n    return 1\n")
    quick = write(folder, SUITE.replace("sunny}}", "'n'}}") + "model: openai/gpt-5\nscorers: [completeness]")
    assert command("run", quick).exit_code == 0
    for scorer in ("answer_relevancy", "echo:own"):  # a function of one's own may ask too
        refused = command("run", write(folder, SUITE + f"model: openai/gpt-5\nscorers: [{scorer}]"))
        assert refused.exit_code == 2
        assert "there is no key; set OPENAI_API_KEY" in refused.output


def asked(folder: Path) -> list[str]:
    path = folder / "asked.log"
    lines = path.read_text().split() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


@pytest.fixture
def counted(folder: Path) -> Path:
    """A suite whose target writes down what it is asked, and fails while the file `down` is there."""
    (folder / "echo.py").write_text(
        "from pathlib import Path\n\n"
        "def answer(text):\n"
        f"    folder = Path({str(folder)!r})\n"
        "    with (folder / 'asked.log').open('a') as log:\n        log.write(text + '\\n')\n"
        "    if text == 'rainy' and (folder / 'down').exists():\n        raise ConnectionError('down')\n"
        "    return text\n"
    )
    return write(folder, SUITE)


def test_resume_and_only_failed_go_on_with_the_last_run(counted: Path) -> None:
    folder = counted.parent
    (folder / "down").touch()
    assert command("run", counted).exit_code == 1
    assert sorted(asked(folder)) == ["rainy", "sunny"]
    (folder / "down").unlink()
    assert "2 results of 2 items" in command("run", counted, "--resume").output
    assert asked(folder) == ["rainy"]
    command("run", counted, "--resume")
    assert asked(folder) == []
    assert command("run", counted, "--only-failed").exit_code == 1
    assert asked(folder) == ["rainy"]
    command("run", counted)
    assert sorted(asked(folder)) == ["rainy", "sunny"]
    journals = {path.name for path in (folder / ".referee").iterdir()}
    assert journals == {".gitignore", "suite.jsonl", "suite.previous.jsonl"}


def test_a_mistake_in_a_suite_costs_no_earlier_run(counted: Path) -> None:
    folder = counted.parent
    command("run", counted)
    command("run", counted)
    journals = {path.name: path.read_bytes() for path in (folder / ".referee").iterdir()}
    write(folder, SUITE.replace("checks.includes", "checks.inclodes"))
    for _ in range(2):
        assert command("run", counted).exit_code == 2
    assert {path.name: path.read_bytes() for path in (folder / ".referee").iterdir()} == journals


def test_a_module_may_have_the_name_of_a_framework(folder: Path) -> None:
    """Many keep their agents in agents.py, and the OpenAI Agents SDK is called so too."""
    source = "class Agent:\n    def __call__(self, text):\n        return text\nagent = Agent()"
    write(folder, source, "agents.py")
    path = write(folder, SUITE.replace("echo:answer", "agents:agent"))
    words = [sys.executable, "-m", "referee", "run", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "2 results of 2 items" in done.stdout


def test_filter_takes_ids_and_tags_and_leaves_the_journal_of_all_alone(counted: Path) -> None:
    folder = counted.parent
    command("run", counted)
    asked(folder)
    assert command("run", counted, "--filter", "s*").exit_code == 0
    assert asked(folder) == ["sunny"]
    assert command("run", counted, "--filter", "wet", "--filter", "good").exit_code == 1
    assert sorted(asked(folder)) == ["rainy", "sunny"]
    nothing = command("run", counted, "--filter", "snow")
    assert (nothing.exit_code, nothing.output) == (2, "referee: no item's id or tag matches 'snow'\n")
    command("run", counted, "--resume")
    assert asked(folder) == []


def test_options_of_the_command_line(counted: Path) -> None:
    folder = counted.parent
    command("run", counted, "--repeats", 3, "--concurrency", 1, "--journal", folder / "j.jsonl")
    assert asked(folder) == ["sunny"] * 3 + ["rainy"] * 3
    assert (folder / "j.jsonl").exists()
    assert not (folder / ".referee").exists()
    write(folder, SUITE.replace("id: sun", "id: zero").replace("input: sunny", "input: cloudy"))
    result = command("run", counted, "--fail-fast", "--concurrency", 1)
    assert result.exit_code == 1
    assert asked(folder) == ["cloudy"]
    assert "incomplete: 1 result missing" in result.output


def test_reports_are_written_and_wrong_ones_refused_before_anything_runs(counted: Path) -> None:
    folder = counted.parent
    outputs = [word for suffix in ("md", "html", "xml", "jsonl", "txt") for word in ("-o", folder / f"r.{suffix}")]
    written = command("run", counted, *outputs)
    assert f"wrote {folder / 'r.html'}" in written.stderr
    assert "wrote" not in written.stdout
    assert {path.suffix for path in folder.glob("r.*")} == {".md", ".html", ".xml", ".jsonl", ".txt"}
    asked(folder)
    wrong = command("run", counted, "-o", folder / "r.pdf")
    assert wrong.exit_code == 2
    assert "a report's file ends in .html, .jsonl, .md, .txt, .xml" in wrong.output
    assert asked(folder) == []


def test_compare_two_runs(folder: Path) -> None:
    data = "data: [" + ", ".join(f"{{id: i{number}, input: rainy}}" for number in range(12)) + "]"
    path = write(folder, f"target: echo:answer\n{data}\ngates: [{{checks.includes: {{expected: sunny}}}}]")
    command("run", path)
    (folder / "echo.py").write_text("def answer(text):\n    return 'sunny'\n")
    sys.modules.pop("echo")
    command("run", path)
    journals = folder / ".referee"
    first, second = journals / "suite.previous.jsonl", journals / "suite.jsonl"
    better = command("compare", first, second, "-o", folder / "c.md")
    assert (better.exit_code, better.output.splitlines()[0]) == (0, "suite → suite  better: check-includes")
    assert "12 items changed" in (folder / "c.md").read_text(encoding="utf-8")
    assert command("compare", second, first).exit_code == 1
    assert command("compare", second, second).exit_code == 0
    missing = command("compare", second, folder / "none.jsonl")
    assert missing.exit_code == 2
    assert "none.jsonl; `referee run` writes .referee/SUITE.jsonl" in missing.output
    assert command("compare", first, second, "-o", "c.xml").exit_code == 2
    assert command("compare", first, second, "--confidence", "1").exit_code == 2


def test_the_schema_knows_what_a_suite_takes() -> None:
    schema = suite_schema()
    assert schema["additionalProperties"] is False
    assert "checks.includes" in str(schema["$defs"]["scorer"])
    includes = schema["$defs"]["scorer"]["anyOf"][2]["properties"]["checks.includes"]
    assert {"expected", "ignore_case", "scope"} <= set(includes["anyOf"][0]["properties"])


@pytest.mark.system
def test_the_schema_accepts_and_refuses() -> None:
    """Needs the group `notebook`, which brings jsonschema."""
    jsonschema = pytest.importorskip("jsonschema")
    import yaml

    from referee.cli.init import _SUITE

    validator = jsonschema.Draft202012Validator(suite_schema())
    validator.check_schema(suite_schema())
    validator.validate(yaml.safe_load(_SUITE))
    validator.validate(yaml.safe_load(SUITE))
    for wrong in (
        {"scorrers": []},
        {"gates": ["checks.include"]},
        {"gates": [{"checks.includes": {"expected": "a"}, "min": 1}]},
        {"scorers": [{"scorer": "completeness", "thershold": 1}]},
        {"scorers": {"agnt": []}},
        {"target": {"url": "http://h"}},
        {"data": [{"inptu": "a"}]},
        {"data": [{"turns": [{"input": "a", "gate": []}]}]},
    ):
        assert list(validator.iter_errors(wrong)), wrong


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "referee", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.mark.system
def test_watch_runs_again_when_a_file_changes(folder: Path) -> None:
    write(folder, SUITE)
    process = start(folder, "run", "suite.yaml", "--watch")
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert "waiting for a change" in process.stderr.readline()
        (folder / "echo.py").write_text("def answer(text):\n    return 'sunny'\n")
        assert "waiting for a change" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    verdicts = [line for line in output.splitlines() if line.startswith("suite  ")]
    assert verdicts == ["suite  failed: gate check-includes not held", "suite  passed"]


@pytest.mark.system
def test_an_interrupt_keeps_and_shows_what_is_done(folder: Path) -> None:
    (folder / "echo.py").write_text(
        "import sys, threading\n\ndef answer(text):\n"
        "    if text == 'rainy':\n        print('hanging', file=sys.stderr, flush=True)\n        threading.Event().wait()\n"
        "    return text\n"
    )
    write(folder, SUITE)
    process = start(folder, "run", "suite.yaml", "--concurrency", "1")
    assert process.stderr is not None
    try:
        assert process.stderr.readline() == "hanging\n"
        process.send_signal(signal.SIGINT)
        output, told = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 3
    assert "interrupted; --resume goes on" in told
    assert "incomplete: 1 result missing" in output


def test_a_narrow_code_page_does_not_end_a_command(folder: Path) -> None:
    path = write(folder, SUITE)
    words = [sys.executable, "-m", "referee", "run", str(path)]
    done = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_variables_are_read_as_a_shell_reads_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("COUNT", "3")
    path = write(
        folder,
        "name: '${EMPTY:-a}${EMPTY}${COUNT:-b}$${COUNT} $${ x $y'\ntarget: echo:answer\nrepeats: ${COUNT}\n"
        "timeout: ${LIMIT:-1.5}",
    )
    arguments = load_suite(path).arguments()
    assert (arguments["name"], arguments["repeats"], arguments["timeout"]) == ("a3${COUNT} ${ x $y", 3, 1.5)


def test_items_may_be_merged(folder: Path) -> None:
    text = "target: echo:answer\ngates: [checks.used_no_tools]\ndata: [&a {id: a, input: x}, {<<: *a, id: b}]"
    assert load_suite(write(folder, text)).spec.data == [{"id": "a", "input": "x"}, {"id": "b", "input": "x"}]


def test_a_run_does_not_take_away_the_journal_of_another(folder: Path) -> None:
    path = write(folder, "target: echo:answer\ndata: [a]\ngates: [checks.used_no_tools]")
    assert command("run", path).exit_code == 0
    journal = folder / ".referee" / f"{path.stem}.jsonl"
    before = journal.read_bytes()
    with Journal(journal, resume=True):
        refused = command("run", path)
    assert (refused.exit_code, journal.read_bytes()) == (2, before)
    assert "in use by another evaluation" in refused.output


def test_recorded_targets_side_by_side_are_filtered(folder: Path) -> None:
    (folder / "runs.jsonl").write_text("".join(f'{{"id": "r{n}", "input": "q", "output": "x"}}\n' for n in (1, 2)))
    target = "{runs: runs.jsonl}"
    path = write(folder, f"targets: {{a: {target}, b: {target}}}\ngates: [checks.used_no_tools]")
    reports = folder / "r.jsonl"
    assert command("run", path, "--filter", "r1", "-o", reports).exit_code == 0
    assert [len(report.results) for report in read_report(reports).values()] == [1, 1]  # type: ignore[union-attr]


def test_a_suite_with_a_wrong_target_still_says_its_files(folder: Path) -> None:
    path = write(folder, "target: {runs: 5}\ntargets: {a: {runs: [b.jsonl, 5]}}")
    assert load_suite(path).files[:2] == [path, folder / "b.jsonl"]
