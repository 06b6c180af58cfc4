"""Scoring many runs: in batches where they are there at once, one by one where they are waited for."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from referee import ReadError, Run, Scorer, ToolCall, checks, create_scorer, read_runs
from referee.batch import score_runs
from referee.expectations.in_place import diff_in_place
from referee.formats.sources import BATCH_BYTES, BATCH_RUNS, RunReader


def lines(count: int, text: str = "It is sunny.") -> bytes:
    def record(number: int) -> bytes:
        said = text if number % 3 else "No."
        messages = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": said}]
        return msgspec.json.encode({"id": f"r{number}", "messages": messages})

    return b"".join(record(number) + b"\n" for number in range(count))


def written(path: Path, content: bytes) -> RunReader:
    path.write_bytes(content)
    reader: RunReader = read_runs(path, on_error="raise")
    return reader


def quick() -> list[Scorer[None, None]]:
    return [checks.includes("sunny"), checks.max_length(words=2), checks.used_no_tools()]


@pytest.mark.parametrize("count", [1, BATCH_RUNS - 1, BATCH_RUNS, BATCH_RUNS + 1, 3 * BATCH_RUNS])
def test_a_file_is_scored_in_its_order_with_the_scores_of_each_run(tmp_path: Path, count: int) -> None:
    scorers = quick()
    found = list(score_runs(written(tmp_path / "runs.jsonl", lines(count)), scorers))
    assert [run.id for run, _ in found] == [f"r{number}" for number in range(count)]
    assert all(scores == [scorer.run_sync(run) for scorer in scorers] for run, scores in found)
    assert list(score_runs([run for run, _ in found], scorers)) == found


def test_an_iterator_is_not_asked_for_a_run_before_the_one_before_is_scored() -> None:
    asked: list[int] = []

    def arriving() -> Iterator[Run]:
        for number in range(3):
            asked.append(number)
            yield Run(id=f"r{number}")

    scored = score_runs(arriving(), quick())
    assert next(scored)[0].id == "r0"
    assert asked == [0]


def test_a_stream_is_read_run_by_run() -> None:
    assert [len(batch) for batch in read_runs(io.BytesIO(lines(5))).batches()] == [1] * 5


def test_large_runs_make_small_batches(tmp_path: Path) -> None:
    reader = written(tmp_path / "runs.jsonl", lines(6, "a" * (BATCH_BYTES // 2)))
    assert max(len(batch) for batch in reader.batches()) <= 3


def test_runs_before_a_bad_line_are_scored(tmp_path: Path) -> None:
    scored = score_runs(written(tmp_path / "runs.jsonl", lines(3) + b"{bad\n" + lines(1)), quick())
    assert [next(scored)[0].id for _ in range(3)] == ["r0", "r1", "r2"]
    with pytest.raises(ReadError, match=r"runs\.jsonl.*4"):
        next(scored)


def test_runs_before_a_warning_that_is_an_error_are_scored(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines(3) + b"{bad\n")
    scored = score_runs(read_runs(path), quick())
    assert [next(scored)[0].id for _ in range(3)] == ["r0", "r1", "r2"]
    with pytest.raises(UserWarning, match=r"runs\.jsonl.*4"):
        next(scored)


def test_functions_of_one_s_own_see_the_runs_one_by_one(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    def noting(name: str) -> Scorer[Any, Any]:
        def note(run: Run) -> float:
            seen.append((name, run.id))
            return 1.0

        return create_scorer(id=name).generate_score(note)

    list(score_runs(written(tmp_path / "runs.jsonl", lines(2)), [noting("a"), noting("b")]))
    assert seen == [("a", "r0"), ("b", "r0"), ("a", "r1"), ("b", "r1")]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_boolean_among_equal_calls_is_no_number(place: int) -> None:
    entries = [{"name": "set", "args": {"on": 1, "level": [2.0]}} for _ in range(3)]
    calls = [ToolCall("set", {"level": [2], "on": True if index == place else 1}) for index in range(3)]
    diff = diff_in_place(entries, calls, extra_allowed=False)
    assert diff is not None
    assert [line.change for line in diff.lines] == ["changed" if index == place else "matched" for index in range(3)]
