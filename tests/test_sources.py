"""Where runs come from: files, folders, globs, streams, packed or not. Each damage is one clear line; the rest is read."""

from __future__ import annotations

import gzip
import io
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from referee import OptionError, ReadError, Run, read_runs
from referee.formats import gathering, sources


def record(number: int = 0, **more: Any) -> dict[str, Any]:
    talk = [{"role": "user", "content": f"Question {number}"}, {"role": "assistant", "content": f"Answer {number}"}]
    return {"id": f"r{number}", "messages": talk, **more}


def line(number: int = 0, **more: Any) -> bytes:
    return json.dumps(record(number, **more)).encode() + b"\n"


def read(source: Any, **options: Any) -> tuple[list[Run], list[str]]:
    """The runs, and the errors as lines."""
    reader = read_runs(source, on_error="collect", **options)
    runs = list(reader)
    assert reader.error_count == len(reader.errors)
    assert reader.run_count == len(runs)
    return runs, [str(error) for error in reader.errors]


def ids(source: Any, **options: Any) -> list[str]:
    runs, errors = read(source, **options)
    assert errors == []
    return [run.id for run in runs]


def gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def zstandard_frame(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


# Places


def test_lines_document_list_and_wrapped_list(tmp_path: Path) -> None:
    contents = {
        "lines.jsonl": line(1) + line(2),
        "blank.ndjson": b"\n" + line(1) + b"  \n\r\n" + line(2).rstrip(),
        "list.json": json.dumps([record(1), record(2)], indent=1).encode(),
        "flat.json": json.dumps([record(1), record(2)]).encode(),
        "wrapped.json": json.dumps({"version": 1, "runs": [record(1), record(2)]}, indent=1).encode(),
        "unnamed": line(1) + line(2),
    }
    for name, content in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert ids(path) == ["r1", "r2"], name
        assert ids(str(path)) == ["r1", "r2"], name


def test_folder_is_walked_in_order_and_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.jsonl").write_bytes(line(1))
    (tmp_path / "b" / "c.json").write_bytes(json.dumps(record(2)).encode())
    (tmp_path / "b" / "d.jsonl.gz").write_bytes(gzipped(line(3)))
    (tmp_path / "e.jsonl.zst").write_bytes(zstandard_frame(line(4)))
    (tmp_path / "notes.txt").write_text("no runs")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    assert ids(tmp_path) == ["r1", "r2", "r3", "r4"]


def test_globs(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for number, name in enumerate(["x/a.jsonl", "x/b.jsonl", "c.jsonl"]):
        (tmp_path / name).write_bytes(line(number))
    assert ids(f"{tmp_path}/*.jsonl") == ["r2"]
    assert sorted(ids(f"{tmp_path}/**/*.jsonl")) == ["r0", "r1", "r2"]
    assert ids(f"{tmp_path}/x/?.jsonl") == ["r0", "r1"]


def test_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "run[1]*.jsonl"
    path.write_bytes(line(1))
    assert ids(path) == ["r1"]


@pytest.mark.parametrize(
    "content", [line(1) + line(2), gzipped(line(1) + line(2)), json.dumps([record(1), record(2)], indent=2).encode()]
)
def test_standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    class Input:
        buffer = io.BufferedReader(io.BytesIO(content))  # type: ignore[arg-type]

    monkeypatch.setattr(sys, "stdin", Input)
    assert ids("-") == ["r1", "r2"]


def test_stream_that_can_only_be_read_forward() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self, content: bytes) -> None:
            self.rest = content

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            piece, self.rest = self.rest[:7], self.rest[7:]
            buffer[: len(piece)] = piece
            return len(piece)

    assert ids(Pipe(line(1) + line(2))) == ["r1", "r2"]


def test_records_in_memory() -> None:
    runs, errors = read([record(1), {"no": "run"}, record(2)])
    assert [run.id for run in runs] == ["r1", "r2"]
    assert len(errors) == 1
    assert errors[0].startswith("<records>:2: is in no known format: an object with no;")


def test_ids_that_repeat_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line(1) * 3 + line(2))
    assert ids(path) == ["r1", "r1#2", "r1#3", "r2"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.jsonl", "there is no such file or folder"),
        ("*.jsonl", "no file matches"),
        ("folder", "the folder holds no runs (files named *.jsonl, *.ndjson"),
    ],
)
def test_source_that_is_not_there(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ReadError) as caught:
        read_runs(str(tmp_path / name))
    assert problem in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


# Packed


@pytest.mark.parametrize("pack", [gzipped, zstandard_frame])
@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl.zst", "x.jsonl", "x"])
def test_packed_files_are_told_by_their_bytes_and_may_have_several_members(
    tmp_path: Path, pack: Callable[[bytes], bytes], name: str
) -> None:
    path = tmp_path / name
    whole = line(1) + line(2) + line(3)
    path.write_bytes(pack(whole[:40]) + pack(whole[40:]) + pack(b"") + pack(line(4)))
    assert ids(path) == ["r1", "r2", "r3", "r4"]


@pytest.mark.parametrize("pack", [gzipped, zstandard_frame])
def test_packed_document(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(pack(json.dumps([record(1), record(2)], indent=1).encode()))
    assert ids(path) == ["r1", "r2"]


@pytest.mark.parametrize("pack", [gzipped, zstandard_frame])
@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:-6], lambda packed: packed[:-40] + b"\xff" * 30 + packed[-10:]]
)
def test_cut_and_damaged_packed_data_is_one_error(tmp_path: Path, pack: Callable[[bytes], bytes], damage: Any) -> None:
    content = b"".join(line(number, note=f"{number * 7919}") for number in range(2000))
    (tmp_path / "a.jsonl.gz").write_bytes(damage(pack(content)))
    (tmp_path / "b.jsonl").write_bytes(line(5))
    runs, errors = read(tmp_path)
    assert len(errors) == 1
    assert f"{tmp_path}/a.jsonl.gz: the compressed data is damaged" in errors[0]
    assert runs[-1].user_text == "Question 5"
    assert len(runs) < 2001


def test_second_member_that_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.zst"
    path.write_bytes(zstandard_frame(line(1) + line(2)) + zstandard_frame(line(3))[:-3])
    runs, errors = read(path)
    assert [run.id for run in runs][:2] == ["r1", "r2"]
    assert errors == [f"{path}: the compressed data is damaged: it ends in the middle of a frame"]


# Damaged lines


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (line(9)[:30], "is cut: the JSON ends in the middle of a value (line 1, column "),
        (b'{"id": 1,, "messages": []}', "is no JSON: expecting property name enclosed in double quotes (line 1, column 10)"),
        (b'{"messages": [], "score": NaN}', "is no JSON: NaN is no JSON value; write null"),
        (b'{"messages": [], "score": -Infinity}', "is no JSON: -Infinity is no JSON value; write null"),
        (b'{"id": "\xff\xfe", "messages": []}', "is not UTF-8 (byte 9 is 0xff)"),
        (b'{"id": "caf\xe9", "messages": []}', "is not UTF-8 (byte 12 is 0xe9)"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "is nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "is nested too deeply"),
        (b'{"messages": [[[' + b"[" * 100_000, "is nested too deeply"),
        (b"hello", "is no JSON: expecting value (line 1, column 1)"),
        (b"42", "is in no known format: a int"),
        (b"{}", "is in no known format: an object without fields"),
        (b'{"id": 1e999, "messages": []}', "is no JSON"),
    ],
)  # fmt: skip
def test_each_damaged_line_is_one_clear_line_and_the_good_ones_are_given(
    tmp_path: Path, bad: bytes, problem: str
) -> None:
    path = tmp_path / "x.jsonl"
    for content, place in (
        (line(1) + bad + b"\n" + line(2), 2),
        (bad + b"\n" + line(1) + line(2), 1),
        (line(1) + line(2) + bad, 3),
    ):
        path.write_bytes(content)
        runs, errors = read(path)
        assert [run.id for run in runs] == ["r1", "r2"]
        assert len(errors) == 1
        assert errors[0].startswith(f"{path}:{place}: {problem}")
        assert "\n" not in errors[0]


def test_document_that_is_nested_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content in (b"[\n" * 100_000, b'{"messages":\n' * 100_000):
        path.write_bytes(content)
        assert read(path) == ([], [f"{path}: is nested too deeply"])


def test_line_over_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line(1) + line(2, note="x" * 5000) + line(3) + line(4, note="y" * 5000).rstrip())
    runs, errors = read(path, max_line_bytes=1000)
    assert [run.id for run in runs] == ["r1", "r3"]
    assert errors == [f"{path}:{number}: the line is longer than 1,000 bytes (--max-line-bytes)" for number in (2, 4)]
    assert len(read(path, max_line_bytes=6000)[0]) == 4


def test_line_of_exactly_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line(1) + line(2))
    assert ids(path, max_line_bytes=len(line(1)) - 1) == ["r1", "r2"]


def test_document_on_one_line_longer_than_the_limit_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(json.dumps([record(number) for number in range(100)]).encode())
    assert len(ids(path, max_line_bytes=500)) == 100


def test_first_line_damaged_in_a_file_without_a_name_for_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"cut\n' + line(1) + line(2))
    runs, errors = read(path)
    assert [run.id for run in runs] == ["r1", "r2"]
    assert len(errors) == 1
    assert errors[0].startswith(f"{path}:1: ")


def test_byte_order_mark(tmp_path: Path) -> None:
    for name, content in (
        ("x.jsonl", line(1) + line(2)),
        ("x.json", json.dumps([record(1), record(2)], indent=1).encode()),
    ):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + content)
        assert ids(tmp_path / name) == ["r1", "r2"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
def test_utf_16(tmp_path: Path, encoding: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes((line(1) + line(2)).decode().encode(encoding))
    runs, errors = read(path)
    assert runs == []
    assert errors == [f"{path}: is UTF-16; Referee reads UTF-8"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "is empty"), (b"\n \n\t\n", "holds nothing but white space"), (b"\xef\xbb\xbf", "white space")],
)
@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_empty_file(tmp_path: Path, content: bytes, problem: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    runs, errors = read(path)
    assert runs == []
    assert len(errors) == 1
    assert problem in errors[0]


def test_lone_surrogates_become_a_sign_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'{"id": "a", "messages": [{"role": "assistant", "content": "cut \\ud83d, low \\ude00, whole \\ud83d\\ude00, '
        b'text \\\\ud83d"}]}\n'
    )
    runs, errors = read(path)
    assert errors == []
    assert runs[0].output_text == "cut \ufffd, low \ufffd, whole 😀, text \\ud83d"


def test_document_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_DOCUMENT_BYTES", 100)
    path = tmp_path / "x.json"
    path.write_bytes(json.dumps([record(1), record(2)], indent=1).encode())
    assert read(path)[1] == [f"{path}: is one JSON document of more than 100 bytes; use JSON Lines"]


def test_spans_that_are_too_many_to_keep_are_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_DOCUMENT_BYTES", 300)
    span = {"trace_id": "t", "span_id": "s", "attributes": {"gen_ai.operation.name": "chat"}}
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(json.dumps({**span, "span_id": f"s{n}"}).encode() + b"\n" for n in range(20)) + line(1))
    runs, errors = read(path)
    assert [run.id for run in runs] == ["r1"]
    assert len(errors) == 1
    assert "holds more than 300 bytes of spans" in errors[0]
    assert gathering.Gathering.__doc__


# What to do with errors


def test_on_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line(1) + b"{\n[\n" + line(2))
    with pytest.warns(UserWarning, match=r"x\.jsonl:2: is cut.*\(and 1 more, see errors\)"):
        assert len(list(read_runs(path))) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(read_runs(path, on_error="collect"))) == 2
        reader = iter(read_runs(path, on_error="raise"))
        assert next(reader).id == "r1"
        with pytest.raises(ReadError, match=r"x\.jsonl:2"):
            next(reader)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"turns": "some"}, "turns must be"),
        ({"on_error": "ignore"}, "on_error must be"),
        ({"max_line_bytes": 0}, "max_line_bytes must be at least 1"),
        ({"format": "nonsense"}, "there is no format 'nonsense'"),
        ({"format": "otel", "input_column": "q"}, "columns are named only for a table"),
        ({"input_column": "q", "output_column": "q"}, "three different ones"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_read(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        read_runs("does-not-matter.jsonl", **options)


def test_errors_are_counted_beyond_those_that_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_ERRORS_KEPT", 2)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"{\n" * 5 + line(1))
    reader = read_runs(path, on_error="collect")
    assert len(list(reader)) == 1
    assert (reader.error_count, len(reader.errors)) == (5, 2)


def test_file_that_can_not_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1))
    reader = read_runs(tmp_path, on_error="collect")
    (tmp_path / "a.jsonl").unlink()
    assert list(reader) == []
    assert "can't be read: No such file or directory" in str(reader.errors[0])


# Tables


def test_csv_with_columns_of_the_usual_names(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        'id,input,output,ground_truth,lang\n7,"2 + 2?","4\nof course",4,en\n,"3 + 3?",6,,\n', encoding="utf-8"
    )
    runs, errors = read(path)
    assert errors == []
    assert runs[0].id == "7"
    assert (runs[0].user_text, runs[0].output_text, runs[0].ground_truth) == ("2 + 2?", "4\nof course", "4")
    assert runs[0].metadata == {"lang": "en"}
    assert len(runs[1].id) == 64


@pytest.mark.parametrize(("name", "mark"), [("x.csv", ","), ("x.csv", ";"), ("x.tsv", "\t"), ("x.csv.gz", ",")])
def test_csv_with_named_columns(tmp_path: Path, name: str, mark: str) -> None:
    path = tmp_path / name
    content = f"number{mark}question{mark}answer\n1{mark}Why?{mark}So.\n".encode()
    path.write_bytes(
        b"\xef\xbb\xbf" + content if name == "x.csv" else gzipped(content) if name.endswith("gz") else content
    )
    columns = {"input_column": "question", "output_column": "answer", "id_column": "number"}
    (run,), errors = read(path, **columns)
    assert errors == []
    assert (run.id, run.user_text, run.output_text, run.metadata) == ("1", "Why?", "So.", None)


def test_csv_by_standard_input_and_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BufferedReader(io.BytesIO(b"q,a\nWhy?,So.\n"))  # type: ignore[arg-type]

    monkeypatch.setattr(sys, "stdin", Input)
    columns = {"input_column": "q", "output_column": "a"}
    assert [run.output_text for run in read("-", **columns)[0]] == ["So."]
    (tmp_path / "x.csv").write_text("q,a\nWhy?,So.\n")
    assert [run.output_text for run in read(tmp_path, **columns)[0]] == ["So."]


def test_json_rows_with_named_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    talk = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ho"},
        {"role": "user", "content": "Sky?"},
    ]
    answer = [
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "sky", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "clear"},
        {"role": "assistant", "content": "Clear."},
    ]
    rows = [{"q": talk, "a": json.dumps(answer), "k": 5}, {"q": "Hi", "a": {"mood": 1}, "k": 6}, {"q": "Hi", "k": 7}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    runs, errors = read(path, input_column="q", output_column="a", id_column="k")
    assert [run.id for run in runs] == ["5", "6"]
    assert [message.text for message in runs[0].history] == ["Hi", "Ho"]
    assert (runs[0].user_text, runs[0].final_text, runs[0].tool_calls[0].result) == ("Sky?", "Clear.", "clear")
    assert runs[1].output_text == '{"mood":1}'
    assert errors == [f"{path}:3: there is no column 'a'; the columns are: q, k"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a,b\n1,2\n", "there is no column 'output'; the columns are: a, b"),
        (b"", "is empty"),
        (b"\nx\n", "has an empty first line where the names of the columns belong"),
        (b"output,output\n1,2\n", "has two columns of the same name"),
        (b'output\n"cut', "is no CSV: unexpected end of data"),
        (b"output\ncaf\xe9\n", "is not UTF-8 (0xe9)"),
        (b"input,output\n1,2\n3\n4,5,6\n", "the row has 1 cells and the header 2"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    _, errors = read(path)
    assert problem in errors[0]
    assert all("\n" not in error for error in errors)


def test_rows_that_do_not_fit_leave_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"input,output\na,1\nb\n\nc,3,4\nd,4\n")
    runs, errors = read(path)
    assert [run.output_text for run in runs] == ["1", "4"]
    assert errors == [
        f"{path}:3: the row has 1 cells and the header 2",
        f"{path}:5: the row has 3 cells and the header 2",
    ]
