"""Scoring in worker processes gives what one process gives, byte for byte, whatever happens to them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import resource
import shlex
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from click.testing import CliRunner, Result

from referee.bulk import work
from referee.bulk.journal import journal_path
from referee.cli import main
from referee.formats import unique_ids

HERE = Path(__file__).parent
SUFFIXES = (".jsonl", ".csv", ".md", ".parquet")
SCORERS = ("-s", "bulk_scorers:fraction", "-s", "bulk_scorers:often_fails", "-s", "checks.includes=sunny")


def record(number: int, run_id: str | None = None) -> bytes:
    """A run; some answers hold what tables must escape."""
    answer = ("It is sunny. " if number % 3 else 'It "rains", | sir\n=1+1 é ') * (1 + number % 11)
    talk = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": answer}]
    return json.dumps({"id": run_id or f"run-{number}", "messages": talk}).encode()


def lines(count: int, start: int = 0) -> bytes:
    return b"".join(record(number) + b"\n" for number in range(start, start + count))


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.setattr(work, "shard_bytes", lambda inputs, workers: 3000)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def referee(*words: str | Path, input: bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], input=input)


def outputs(name: str) -> list[str]:
    return [word for suffix in SUFFIXES for word in ("-o", f"{name}{suffix}")]


def score(name: str, *words: str | Path, input: bytes | None = None) -> Result:
    return referee("score", *SCORERS, *outputs(name), "--json", *words, input=input)


def contents(name: str) -> dict[str, bytes]:
    return {suffix: Path(f"{name}{suffix}").read_bytes() for suffix in SUFFIXES}


def assert_same(one: Result, other: Result) -> None:
    assert other.exit_code == one.exit_code, other.output
    assert other.stdout == one.stdout
    assert other.stderr == one.stderr


def sources(folder: Path) -> list[str]:
    """Files of every kind that is read in its own way."""
    spans = [
        {"traceId": "t1", "spanId": f"s{number}", "name": "chat", "attributes": {"gen_ai.operation.name": "chat"}}
        for number in range(3)
    ]
    document = b"[" + b",".join(record(number) for number in range(5)) + b"]"
    damaged = gzip.compress(lines(400))
    files = {
        "plain.jsonl": lines(60),
        "crlf.jsonl": lines(30).replace(b"\n", b"\r\n"),
        "no-last-end.jsonl": lines(30).rstrip(b"\n"),
        "mark.jsonl": b"\xef\xbb\xbf" + lines(20),
        "repeated.jsonl": b"".join(record(number, f"=x{number % 4}") + b"\n\n" for number in range(60)),
        "bad.jsonl": b"{\n" + lines(20) + b"\n\nnonsense\n" + lines(20, 20) + b'{"unknown": 1}\n[]\n' + b"\0\n",
        "giant.jsonl": lines(10) + record(10, "giant" + "x" * 60_000) + b"\n" + lines(10, 11),
        "lines.json": lines(25),
        "document.json": document,
        "table.csv": b"id,input,output\n" + b"".join(b"t%d,Weather?,sunny\n" % number for number in range(40)),
        "packed.jsonl.gz": gzip.compress(lines(30)) + gzip.compress(lines(30, 30)),
        "packed.jsonl.zst": zstandard.compress(lines(60)),
        "packed.json.gz": gzip.compress(document),
        "damaged.jsonl.gz": damaged[: len(damaged) // 2],
        "spans.jsonl": b"".join(json.dumps(span).encode() + b"\n" for span in spans),
        "empty.jsonl": b"",
        "blank.jsonl": b"\n \n",
        "utf16.jsonl": lines(3).decode().encode("utf-16"),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    several = folder / "several"
    several.mkdir()
    for number in range(3):
        (several / f"{number}.jsonl").write_bytes(lines(15))
    return [*files, "missing.jsonl", "several"]


def test_all_that_is_written_and_said_is_what_one_process_writes_and_says(folder: Path) -> None:
    words = [*sources(folder), "--max-line-bytes", "50000"]
    one = score("one", *words)
    assert one.exit_code == 3
    assert_same(one, score("two", *words, "--workers", "2"))
    assert contents("two") == contents("one")
    assert json.loads(one.stdout)["runs"] > 500
    assert not list(folder.glob("*.journal"))
    assert not list(folder.glob("*.rows"))


def test_in_any_order_the_same_scores_come_out(folder: Path) -> None:
    Path("runs.jsonl").write_bytes(lines(200))
    one, two = score("one", "runs.jsonl"), score("two", "runs.jsonl", "--workers", "2", "--order", "any")
    assert_same(one, two)
    for suffix in (".jsonl", ".md"):
        assert sorted(contents("two")[suffix].splitlines()) == sorted(contents("one")[suffix].splitlines())


@pytest.mark.parametrize(
    "content",
    [lines(80), gzip.compress(lines(80)), b"[" + record(1) + b"," + record(2) + b"]", b"", b"nonsense"],
    ids=["lines", "packed", "document", "empty", "nonsense"],
)
def test_standard_input_is_read_by_one_and_scored_by_all(folder: Path, content: bytes) -> None:
    one, two = (score(name, "-", *more, input=content) for name, more in (("one", ()), ("two", ("--workers", "2"))))
    assert_same(one, two)
    assert contents("two") == contents("one")


def test_a_pipe_is_read_once_by_this_process(folder: Path) -> None:
    os.mkfifo("pipe.jsonl")
    done = []
    for name, more in (("one", ()), ("two", ("--workers", "2"))):
        writing = threading.Thread(target=Path("pipe.jsonl").write_bytes, args=(lines(60),))
        writing.start()
        done.append(score(name, "pipe.jsonl", *more))
        writing.join()
    assert_same(*done)
    assert contents("two") == contents("one")


def test_a_reason_that_is_no_text_stops_nothing(folder: Path) -> None:
    Path("runs.jsonl").write_bytes(lines(3))
    words = ("-s", "bulk_scorers:cut_letter")
    one, two = score("one", "runs.jsonl", *words), score("two", "runs.jsonl", *words, "--workers", "1")
    assert_same(one, two)
    assert contents("two") == contents("one")
    assert b"\\ud83d" in contents("one")[".jsonl"]


def test_a_store_gets_the_same_runs_and_scores(folder: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from referee.storage import Store
    from referee.storage.filters import ScoreFilter

    Path("runs.jsonl").write_bytes(b"".join(record(number, f"x{number % 40}") + b"\n" for number in range(90)))
    found = []
    for name, more in (("one", ()), ("two", ("--workers", "2"))):
        assert referee("score", "runs.jsonl", *SCORERS, "--store", f"{name}.db", *more).exit_code == 3
        with Store(f"{name}.db") as store:
            rows = store.scores.page(ScoreFilter(), limit=1000).rows
        found.append(sorted((row.run_id, row.scorer, str(row.value), str(row.reason)) for row in rows))
    assert found[0] == found[1]
    assert len(found[0]) == 270


def test_formats_of_which_one_run_may_be_anywhere_are_not_cut(folder: Path) -> None:
    span = {"traceId": "t1", "spanId": "s1", "name": "chat", "attributes": {"gen_ai.operation.name": "chat"}}
    Path("mixed.jsonl").write_bytes(lines(40) + json.dumps(span).encode() + b"\n")
    done = score("one", "mixed.jsonl", "--workers", "2")
    assert done.exit_code == 2
    assert "score it without --workers" in done.stderr
    assert "Traceback" not in done.output


# What happens to processes. The command is a process of its own here.


@pytest.fixture
def command(folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `referee score` in a process of its own, with many small shards."""
    Path("runs.jsonl").write_bytes(lines(300))
    program = (
        "import sys; from referee.bulk import work; work.shard_bytes = lambda inputs, workers: 3000;"
        "from referee.cli import main; main(prog_name='referee')"
    )

    def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(HERE), **options.pop("env", {})}
        options.setdefault("preexec_fn", lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a shell's & ignores it
        return subprocess.run(
            [sys.executable, "-c", program, "score", *words, "--json"],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            **options,
        )

    return run


def disturbed(times: int, run: int = 200, **more: str) -> dict[str, str]:
    Path("times").write_bytes(b"x" * times)
    return {"BULK_RUN": f"run-{run}", "BULK_TIMES": str(Path("times").resolve()), **more}


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.system
def test_a_killed_worker_is_replaced_and_nothing_is_lost_or_doubled(command: Command) -> None:
    words = ("runs.jsonl", *SCORERS, "-s", "bulk_scorers:ends_worker")
    one = command(*words, *outputs("one"), env=disturbed(0))
    two = command(*words, *outputs("two"), "--workers", "2", env=disturbed(1))
    assert (two.returncode, two.stdout, two.stderr) == (one.returncode, one.stdout, one.stderr)
    assert contents("two") == contents("one")


@pytest.mark.system
def test_a_shard_that_kills_every_worker_is_named_and_the_others_go_on(command: Command) -> None:
    words = ("runs.jsonl", *SCORERS, "-s", "bulk_scorers:ends_worker")
    one = command(*words, *outputs("one"), env=disturbed(0))
    two = command(*words, *outputs("two"), "--workers", "2", env=disturbed(2))
    assert two.returncode == 3
    assert "runs.jsonl: bytes " in two.stderr
    assert "ended twice (signal 9): not scored" in two.stderr
    summary = json.loads(two.stdout)
    assert summary["unreadable"] == 1
    assert 250 < summary["runs"] < 300
    assert '"run-299"' in Path("two.jsonl").read_text(encoding="utf-8")
    again = command(*words, *outputs("two"), "--workers", "2", "--resume", env=disturbed(0))
    assert (again.returncode, again.stdout, again.stderr) == (one.returncode, one.stdout, one.stderr)
    assert contents("two") == contents("one")


@pytest.mark.system
@pytest.mark.parametrize(
    ("number", "order"),
    [(signal.SIGKILL, "kept"), (signal.SIGKILL, "any"), (signal.SIGINT, "kept"), (signal.SIGTERM, "any")],
)
def test_a_command_that_was_ended_is_gone_on_with(command: Command, number: int, order: str) -> None:
    words = ("runs.jsonl", *SCORERS, "-s", "bulk_scorers:signals_command", "--workers", "2", "--order", order)
    quiet = disturbed(0, BULK_SIGNAL=str(int(number)))
    one = command(*words, *outputs("one"), env=quiet)
    cut = command(*words, *outputs("two"), env={**quiet, **disturbed(1)})
    if number == signal.SIGKILL:
        assert cut.returncode == -signal.SIGKILL
    else:
        assert cut.returncode == 130
        assert "interrupted; the scores of" in cut.stderr
        assert f"{shlex.join(words)} -o two.jsonl" in cut.stderr
        assert cut.stderr.rstrip().endswith("--resume")
        assert "Traceback" not in cut.stderr
    assert journal_path(Path("two.jsonl")).exists()
    refused = command(*words, *outputs("two"), env=quiet)
    assert refused.returncode == 2
    assert "go on with --resume" in refused.stderr
    again = command(*words, *outputs("two"), "--resume", env=quiet)
    assert (again.returncode, again.stdout) == (one.returncode, one.stdout)
    if order == "kept":
        assert contents("two") == contents("one")
    assert sorted(contents("two")[".jsonl"].splitlines()) == sorted(contents("one")[".jsonl"].splitlines())
    assert not journal_path(Path("two.jsonl")).exists()


@pytest.mark.system
def test_a_full_disk_is_said_in_one_line_and_gone_on_with(command: Command) -> None:
    words = ("runs.jsonl", *SCORERS, "--workers", "2")
    one = command(*words, *outputs("one"))
    limit = Path("one.jsonl").stat().st_size // 2
    full = command(
        *words, *outputs("two"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )
    assert full.returncode == 2, full.stderr
    assert "can't be written: File too large; the scores of" in full.stderr
    assert full.stderr.count("\n") == 1
    again = command(*words, *outputs("two"), "--resume")
    assert (again.returncode, again.stdout) == (one.returncode, one.stdout)
    assert contents("two") == contents("one")


@pytest.fixture
def broken_off(command: Command) -> tuple[str, ...]:
    """The words of a command that was ended in its middle."""
    words = ("runs.jsonl", *SCORERS, "-s", "bulk_scorers:signals_command", "--workers", "2", "-o", "scores.jsonl")
    assert command(*words, env=disturbed(1, BULK_SIGNAL=str(int(signal.SIGINT)))).returncode == 130
    return words


@pytest.mark.system
def test_what_was_cut_off_in_a_journal_or_an_output_is_done_again(
    command: Command, broken_off: tuple[str, ...]
) -> None:
    assert command(*broken_off[:-1], "one.jsonl").returncode == 3
    whole = Path("one.jsonl").read_bytes()
    journal = journal_path(Path("scores.jsonl"))
    for cut_journal, cut_output in ((7, 0), (0, 7), (0, 5000)):
        kept, scores = journal.read_bytes(), Path("scores.jsonl").read_bytes()
        journal.write_bytes(kept[: len(kept) - cut_journal])
        Path("scores.jsonl").write_bytes(scores[: len(scores) - cut_output] + (b"torn" if cut_journal else b""))
        assert command(*broken_off, "--resume").returncode == 3
        assert Path("scores.jsonl").read_bytes() == whole
        journal.write_bytes(kept)
        Path("scores.jsonl").write_bytes(scores)


@pytest.mark.system
def test_another_input_scorer_or_output_is_refused(command: Command, broken_off: tuple[str, ...]) -> None:
    runs = Path("runs.jsonl")
    content, found = runs.read_bytes(), runs.stat()
    one = [word if word != "checks.includes=sunny" else "checks.includes=rain" for word in broken_off]
    assert "the scorers, or their options or code, are not the same" in command(*one, "--resume").stderr
    assert "the options of reading are" in command(*broken_off, "--turns", "last", "--resume").stderr
    assert "the outputs are" in command(*broken_off, "-o", "more.csv", "--resume").stderr
    runs.write_bytes(content.replace(b"sunny", b"rainy", 1))
    assert "runs.jsonl has changed" in command(*broken_off, "--resume").stderr
    runs.write_bytes(content + record(300))
    assert "runs.jsonl has changed" in command(*broken_off, "--resume").stderr
    runs.write_bytes(content)
    os.utime(runs, ns=(found.st_atime_ns, found.st_mtime_ns + 10**9))
    assert command(*broken_off, "--resume").returncode == 3


def test_wrong_uses_are_said_before_anything_runs(folder: Path) -> None:
    Path("runs.jsonl").write_bytes(lines(3))
    cases = {
        "asks one": ["-s", "answer_relevancy", "--workers", "2"],
        "--resume needs an output file": ["-s", "checks.no_tool_errors", "--resume"],
        "belongs to --engine ray": ["-s", "checks.no_tool_errors", "--workers", "1", "--ray-address", "x"],
        "the output is told by its suffix": ["-s", "checks.no_tool_errors", "--workers", "1", "-o", "scores.txt"],
        "no-such-folder": ["-s", "checks.no_tool_errors", "--workers", "1", "-o", "no-such-folder/scores.csv"],
    }
    for expected, words in cases.items():
        done = referee("score", "runs.jsonl", *words)
        assert done.exit_code == 2, done.output
        assert expected in done.stderr
    done = referee("score", "-", "-s", "checks.no_tool_errors", "-o", "s.csv", "--resume", input=b"")
    assert "can't be read twice" in done.stderr


def test_ids_that_can_t_be_kept_break_the_work_off_and_it_is_gone_on_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_file(*_: Any, **__: Any) -> Any:
        raise sqlite3.OperationalError("database or disk is full")

    Path("runs.jsonl").write_bytes(lines(100) * 2)
    one = score("one", "runs.jsonl")
    monkeypatch.setattr(unique_ids, "_MOST_RECENT", 50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", no_file)
        full = score("two", "runs.jsonl", "--workers", "1")
    assert full.exit_code == 2
    assert "disk is full; set TMPDIR" in full.stderr
    assert "the scores of" in full.stderr
    assert "--resume" in full.stderr
    assert full.stderr.count("\n") == 1
    assert_same(one, score("two", "runs.jsonl", "--workers", "1", "--resume"))
    assert contents("two") == contents("one")


def test_cells_longer_than_a_csv_reader_takes_are_renamed(folder: Path) -> None:
    long = json.dumps({"id": "x", "input": "?", "output": "sunny " * 40_000, "ground_truth": "y" * 200_000})
    Path("runs.jsonl").write_text(f"{long}\n{long}\n", encoding="utf-8")
    one = score("one", "runs.jsonl")
    limit = csv.field_size_limit(131072)
    assert_same(one, score("two", "runs.jsonl", "--workers", "1"))
    assert contents("two") == contents("one")
    assert csv.field_size_limit(limit) == 131072
    rows = list(csv.reader(io.StringIO(contents("two")[".csv"].decode(), newline="")))
    assert [row[0] for row in rows[1::3]] == ["x", "x#2"]


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
    assert not [command for command in commands if b"referee.bulk.worker" in command]
