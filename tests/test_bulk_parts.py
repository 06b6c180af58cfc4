"""The parts that bulk scoring is made of: shards, ids, sums, batches."""

from __future__ import annotations

import itertools
import json
import math
import sqlite3
import subprocess
import sys
import tracemalloc
import weakref
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import OptionError, ReadError, Run, Score, read_runs
from referee.bulk import score_batch
from referee.bulk.accounts import Accounts
from referee.bulk.shards import Done, Input, Plan, Shard
from referee.checks import includes, no_tool_errors
from referee.formats import unique_ids
from referee.formats.unique_ids import UniqueIds
from referee.outputs import ENCODINGS
from referee.tally import Tally, exact_sums

RUN = '{"id": "r%d", "input": "Weather?", "output": "It is sunny."}'


def plan(path: Path, size: int, **options: Any) -> list[Shard]:
    found = Plan([Input(0, str(path), path.name)], format=None, max_line_bytes=1 << 20, shard_bytes=size, **options)
    return list(found)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=40), st.integers(1, 500), st.booleans())
def test_shards_are_whole_lines_and_all_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], size: int, last_end: bool
) -> None:
    path = tmp_path_factory.mktemp("shards") / "runs.jsonl"
    lines = [(RUN % number).encode() + b" " * pad for number, pad in enumerate(sizes)]
    content = b"\n".join(lines) + (b"\n" if last_end else b"")
    path.write_bytes(content)
    shards = plan(path, size)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert shards[0].start == 0
    assert shards[-1].end == len(content)
    for shard, later in itertools.pairwise(shards):
        assert shard.end == later.start
        assert content[: later.start].endswith(b"\n")
        assert later.start - shard.start < size + max(map(len, lines)) + 1
    assert all(shard.is_lines and shard.likely == "referee" for shard in shards)


def test_what_is_done_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(RUN % number for number in range(20)), encoding="utf-8")
    every = plan(path, 200)
    done = {0: Done(runs=2, parts=1, is_complete=True), 2: Done(runs=1, parts=1)}
    left = plan(path, 200, done=done)
    assert [shard.number for shard in left] == [shard.number for shard in every if shard.number]
    assert [(shard.runs_done, shard.parts_done) for shard in left[:3]] == [(0, 0), (1, 1), (0, 0)]


def test_a_packed_file_that_changed_is_noticed_when_it_is_unpacked_again(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "runs.jsonl.gz"
    content = "".join(f"{RUN % number}\n" for number in range(20)).encode()
    path.write_bytes(gzip.compress(content))
    [shard] = plan(path, 1 << 20)
    assert shard.content == content
    assert plan(path, 1 << 20, done={0: Done(is_complete=True, checksum=zlib.crc32(content))}) == []
    with pytest.raises(OptionError, match="has changed"):
        plan(path, 1 << 20, done={0: Done(is_complete=True, checksum=1)})


def numbered(ids: Sequence[str]) -> list[str]:
    """The ids as a set and a dictionary number them: after the last number, the next one that is free."""
    seen: set[str] = set()
    last: dict[str, int] = {}
    names = []
    for name in ids:
        unique, number = name, last.get(name, 1)
        while unique in seen:
            number += 1
            unique = f"{name}#{number}"
        if unique != name:
            last[name] = number
        seen.add(unique)
        names.append(unique)
    return names


@pytest.fixture(params=[1, 2, 5, 1000])
def few_in_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So few ids are kept in memory, and the rest in the temporary file."""
    monkeypatch.setattr(unique_ids, "_MOST_RECENT", request.param)
    monkeypatch.setattr(unique_ids, "_BITS", 1 << 6)  # nearly every id is looked up


@pytest.mark.usefixtures("few_in_memory")
@given(st.lists(st.sampled_from(["a", "b", "a#2", "a#3", "", "é"]), max_size=60))
def test_ids_are_made_unique_in_order(ids: list[str]) -> None:
    unique = UniqueIds()
    assert [unique.of(name) for name in ids] == numbered(ids)


@pytest.mark.usefixtures("few_in_memory")
@given(st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=60))
def test_ids_are_numbered_alike_when_their_last_numbers_are_forgotten(ids: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unique_ids, "_MOST_REPEATED", 1)
        unique = UniqueIds()
        assert [unique.of(name) for name in ids] == numbered(ids)


@pytest.mark.usefixtures("few_in_memory")
@given(st.lists(st.builds("a#{}".format, st.integers(2, 40)), max_size=30), st.integers(1, 20))
def test_a_number_that_the_source_uses_is_not_given_again(taken: list[str], repeats: int) -> None:
    unique = UniqueIds()
    names = [unique.of(name) for name in [*taken, *["a"] * repeats, *taken]]
    assert len(set(names)) == len(names)


@pytest.mark.usefixtures("few_in_memory")
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", "a#2", ""])), max_size=60))
def test_ids_of_each_source_are_numbered_apart(ids: list[tuple[int, str]]) -> None:
    unique = UniqueIds()
    names = [(source, unique.of(name, source)) for source, name in ids]
    for source in range(3):
        own = [name for of, name in ids if of == source]
        assert [name for of, name in names if of == source] == numbered(own)


def test_readers_that_are_done_keep_no_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command may be given thousands of sources, and keeps their readers for their counts."""
    files: weakref.WeakSet[Any] = weakref.WeakSet()

    class Earlier(unique_ids._Earlier):
        def __init__(self) -> None:
            super().__init__()
            files.add(self)

    monkeypatch.setattr(unique_ids, "_MOST_RECENT", 10)
    monkeypatch.setattr(unique_ids, "_Earlier", Earlier)
    records = [json.loads(RUN % number) for number in range(20)]
    readers = []
    for _ in range(3):
        reader = read_runs(records)
        runs = iter(reader)
        next(itertools.islice(runs, 15, None))
        assert len(files) == 1
        assert [run.id for run in runs] == ["r16", "r17", "r18", "r19"]
        readers.append(reader)
        assert not files
    assert [reader.run_count for reader in readers] == [20] * 3


def test_sources_share_a_file_of_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    class Earlier(unique_ids._Earlier):
        def __init__(self) -> None:
            super().__init__()
            opened.append(self)

    monkeypatch.setattr(unique_ids, "_MOST_RECENT", 10)
    monkeypatch.setattr(unique_ids, "_Earlier", Earlier)
    inputs = [Input(number, f"{number}.jsonl", f"{number}.jsonl") for number in range(5)]
    accounts = Accounts(inputs, 5, [no_tool_errors()], lowest=5)
    ids = [f"r{number}" for number in range(20)]
    for number in range(5):
        assert accounts.names(number, ids) == ids
    assert accounts.names(3, ids[:2]) == ["r0#2", "r1#2"]
    assert len(opened) == 1


def test_a_forked_process_does_not_write_to_the_file_of_ids() -> None:
    program = """
import os
from referee import ReadError
from referee.formats.unique_ids import UniqueIds

unique = UniqueIds()
for number in range(40_000):
    unique.of(f"r{number}")
if os.fork() == 0:
    try:
        [unique.of(f"c{number}") for number in range(40_000)]
    except ReadError as error:
        print(error, flush=True)
    raise SystemExit
os.wait()
assert [unique.of(f"r{number}") for number in range(40_000)] == [f"r{number}#2" for number in range(40_000)]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "a forked process can't go on with it" in done.stdout


def test_many_ids_stay_unique_in_little_memory() -> None:
    tracemalloc.start()
    unique = UniqueIds()
    sizes = []
    for thousand in range(100):
        for number in range(1000):
            name = f"run-{thousand}-{number}"
            assert unique.of(name) == name
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert unique.of("run-0-0") == "run-0-0#2"
    assert unique.of("run-99-999") == "run-99-999#2"
    assert max(sizes) < 12e6
    assert max(sizes[66:]) <= max(sizes[:66]) + 1e5


def test_a_temporary_file_that_cannot_be_used_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_file(*_: Any, **__: Any) -> Any:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(unique_ids, "_MOST_RECENT", 10)
    monkeypatch.setattr(sqlite3, "connect", no_file)
    unique = UniqueIds()
    with pytest.raises(ReadError, match=r"ids of so many runs.*unable to open.*TMPDIR"):
        [unique.of(str(number)) for number in range(20)]


@given(st.lists(st.floats(-1e300, 1e300) | st.sampled_from([0.1, 0.2, 1e-300]), max_size=50), st.integers(0, 50))
def test_sums_do_not_depend_on_how_they_are_parted(values: list[float], cut: int) -> None:
    parted = exact_sums([*exact_sums(values[:cut]), *exact_sums(values[cut:])])
    assert math.fsum(parted) == math.fsum(values)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 1.0, None]), st.booleans()), max_size=30), st.data())
def test_a_summary_of_parts_is_the_summary_of_the_whole(
    outcomes: list[tuple[float | None, bool]], data: st.DataObject
) -> None:
    from referee.scores import StepError

    scorers = [includes("sunny")]
    whole, merged = Tally(scorers, keep_lowest=3), Tally(scorers, keep_lowest=3)
    runs = []
    for number, (value, fails) in enumerate(outcomes):
        error = StepError("analyze", "LookupError", f"no {number}") if value is None and fails else None
        runs.append((Run(id=f"r{number}"), [Score(f"r{number}", scorers[0].id, value, error=error)]))
        whole.add(*runs[-1])
    while runs:
        size = data.draw(st.integers(1, len(runs)))
        part = Tally(scorers, keep_lowest=3)
        for run, scores in runs[:size]:
            part.add(run, scores)
        merged.merge(part.part)
        runs = runs[size:]
    assert merged.lowest_runs == whole.lowest_runs
    assert merged.runs == whole.runs
    [one], [other] = whole.scorers, merged.scorers
    assert (other.mean, other.scored, other.errors, other.lowest) == (one.mean, one.scored, one.errors, one.lowest)
    assert str(other.first_error) == str(one.first_error)


#: Some hold half of a letter, and are written with escapes.
REASONS = st.text(max_size=30) | st.sampled_from(["\ud83d", 'cut \ud83d"run_id":"é"'])


@pytest.mark.parametrize("suffix", ENCODINGS)
@given(ids=st.lists(st.text(max_size=8), min_size=1, max_size=5), reason=REASONS, data=st.data())
def test_encoded_scores_under_other_ids_are_those_scores_encoded(
    suffix: str, ids: list[str], reason: str, data: st.DataObject
) -> None:
    encoding = ENCODINGS[suffix]
    new = data.draw(st.lists(st.text(max_size=8), min_size=len(ids), max_size=len(ids)))

    def encoded(names: list[str]) -> bytes:
        return b"".join(
            encoding.encode([Score(name, f"s{number}", 0.5, f"{reason}{before}") for number in range(2)])
            for name, before in zip(names, ids)
        )

    assert encoding.renamed(encoded(ids), ids, new) == encoded(new)


# Arrow tables.


def batch(*cells: Any, **columns: Any) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table(columns or {"run": list(cells)})


def test_a_batch_holds_runs_as_text_bytes_or_structs() -> None:
    pa = pytest.importorskip("pyarrow")
    texts = [RUN % 1, json.dumps(json.loads(RUN % 2), indent=2)]
    talk = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "It is sunny."}]
    structs = [{"id": "r1", "messages": talk}, {"id": "r2", "messages": talk, "model": "m"}]
    expected = [("r1", "check-includes", 1.0), ("r2", "check-includes", 1.0)]
    tables = [
        (batch(*texts), "run"),
        (batch(*(text.encode() for text in texts)), "run"),
        (pa.table({"run": pa.array(texts, pa.large_string())}), "run"),
        (batch(*structs), "run"),
        (pa.Table.from_pylist(structs), None),
    ]
    for table, column in tables:
        scores = score_batch(table, [{"checks.includes": {"expected": "sunny"}}], column=column)
        assert [(row["run_id"], row["scorer_id"], row["score"]) for row in scores.to_pylist()] == expected
    batches = batch(*texts).to_batches()
    assert isinstance(score_batch(batches[0], [includes("sunny")]), pa.RecordBatch)
    assert score_batch(batches[0].slice(0, 0), [includes("a")]).num_rows == 0


def test_a_row_that_can_t_be_read_gives_a_row_without_a_score() -> None:
    cells = [RUN % 1, "nonsense", "", None, "[]", RUN % 2]
    rows = score_batch(batch(*cells), [includes("sunny"), no_tool_errors()]).to_pylist()
    assert [(row["run_id"], row["status"], row["score"]) for row in rows] == [
        *[("r1", "scored", 1.0)] * 2,
        *[("r2", "scored", 1.0)] * 2,
        *[(f"row {number}", "unreadable", None) for number in (2, 3, 4, 5)],
    ]
    assert all(row["error"] for row in rows[4:])


def test_a_cell_may_hold_a_whole_trace() -> None:
    spans = [
        {"traceId": "t1", "spanId": f"s{number}", "name": "chat", "attributes": {"gen_ai.operation.name": "chat"}}
        for number in range(2)
    ]
    rows = score_batch(batch(json.dumps(spans), RUN % 1), [no_tool_errors()]).to_pylist()
    assert [row["status"] for row in rows] == ["scored", "scored"]


def test_wrong_options_of_a_batch() -> None:
    with pytest.raises(OptionError, match="no column 'run'; its columns are: text"):
        score_batch(batch(text=["a"]), [includes("a")])
    with pytest.raises(OptionError, match="at least one scorer"):
        score_batch(batch(RUN % 1), [])
    with pytest.raises(OptionError, match="there is no format"):
        score_batch(batch(RUN % 1), [includes("a")], format="x")
