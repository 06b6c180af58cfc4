"""Spans, logs and tables that nobody meant well: nothing but `ReadError`, and nothing that grows without bound."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee import ReadError, read_runs
from referee.formats import archive, decode_record, get_format, inspect_log
from referee.formats.python_literal import python_literal
from strategies import json_values
from support import FRAMEWORKS

FORMATS = ("otel", "openinference", "langfuse", "openai_agents_trace", "adk", "inspect_log", "table")

#: Names and values that the readers look for, in places where they do not belong.
KEYS = (
    "attributes", "events", "span_events", "trace_id", "traceId", "span_id", "parent_id", "context", "status", "code",
    "resourceSpans", "scopeSpans", "spans", "key", "value", "intValue", "arrayValue", "values", "name", "start_time",
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.operation.name", "gen_ai.prompt.0.role", "events",
    "gen_ai.system_instructions", "pydantic_ai.all_messages", "all_messages_events", "model_request_parameters",
    "openinference.span.kind", "llm.input_messages.0.message.role", "llm.input_messages", "input.value", "output.value",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "llm.token_count.prompt", "metadata",
    "observations", "trace", "type", "startTime", "input", "output", "traceId", "id", "usageDetails", "scores",
    "object", "span_data", "workflow_name", "error", "data", "eval", "task", "sample", "samples", "messages", "status",
    "attachments", "eval_cases", "eval_id", "conversation", "user_content", "intermediate_data", "tool_uses", "author",
    "query", "expected_tool_use", "reference", "role", "content", "parts", "tool_calls", "function", "arguments",
    "text", "tool_call_id", "kwargs", "response", "result", "function_call", "function_response", "choices",
)  # fmt: skip
WORDS = (
    "chat", "execute_tool", "invoke_agent", "LLM", "TOOL", "AGENT", "user", "assistant", "tool", "text", "tool_call",
    "tool_call_response", "GENERATION", "SPAN", "trace.span", "function", "generation", "[{", '{"role": "user"}', "0x1",
    "gen_ai.choice", "span_begin", "model", "2024-01-01T00:00:00Z", "1700000000000000000", "ERROR", "{'a': (1,)}", "-1",
)  # fmt: skip
near_words = st.sampled_from(WORDS) | st.text(max_size=3)
near = st.recursive(
    near_words | st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6) | inner.map(json.dumps)
    ),
    max_leaves=30,
)


def only_read_errors(format: str, record: Any) -> None:
    chosen: Any = get_format(format)
    chosen.detect(record)
    pieces = getattr(chosen, "pieces", None)
    if pieces:
        list(pieces(record))
    try:
        decoded = decode_record(chosen, record)
    except ReadError:
        return
    counts = decoded.counts
    assert counts.results_received == counts.results_kept
    for run in decoded.runs:
        assert run.id


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60)
@given(record=json_values | near)
def test_any_json_gives_runs_or_a_read_error(format: str, record: Any) -> None:
    only_read_errors(format, record)


def recorded() -> list[tuple[str, Any]]:
    names = {"openinference": "otel", "otel": "otel", "sdk_trace": "openai_agents_trace"}
    return [
        (names[kind], json.loads(path.read_text(encoding="utf-8")))
        for path in sorted(FRAMEWORKS.iterdir())
        for kind in names
        if kind in path.name and path.stat().st_size < 20_000
    ]


@pytest.mark.parametrize("number", range(5))
@settings(max_examples=40)
@given(data=st.data())
def test_recorded_spans_with_values_exchanged(number: int, data: st.DataObject) -> None:
    """A true record in which some values are others: it is met where fields have the wrong type."""
    name, record = recorded()[number]
    for _ in range(data.draw(st.integers(1, 4))):
        place: Any = record
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], (dict, list)) and data.draw(st.integers(0, 3)):
                place = place[key]
                continue
            place[key] = data.draw(near)
            break
    only_read_errors(name, record)


@settings(max_examples=150)
@given(content=st.binary(max_size=200), name=st.sampled_from(["x.json", "x.jsonl", "x.eval", "x.csv", "x.tsv"]))
def test_any_bytes_give_runs_or_errors(content: bytes, name: str) -> None:
    stream = io.BytesIO(content)
    stream.name = name
    list(read_runs(stream, on_error="collect"))


@settings(max_examples=150)
@given(
    content=st.binary(max_size=60),
    start=st.sampled_from([b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"]),
)
def test_bytes_that_begin_like_an_archive(content: bytes, start: bytes) -> None:
    reader = read_runs(io.BytesIO(start + content), on_error="collect")
    assert list(reader) == []
    assert reader.error_count == 1


@given(st.text(alphabet="{}[]()'\":,. \\nNTtrue0123456789eE-xu", max_size=40))
def test_python_text_is_a_plain_value_or_stays_text(text: str) -> None:
    value = python_literal(text)
    assert value == text or isinstance(value, (dict, list))


def test_python_text_that_is_deep_or_long_stays_text() -> None:
    for text in ("[" * 1000 + "]" * 1000, "[" + "1," * 600_000 + "]", "{'a': " * 100 + "1" + "}" * 100):
        assert python_literal(text) == text


# Zip files


def zipped(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as target:
        for name, content in entries.items():
            target.writestr(name, content)
    return file.getvalue()


def read_errors(content: bytes) -> list[str]:
    reader = read_runs(io.BytesIO(content), on_error="collect")
    list(reader)
    return [str(error) for error in reader.errors]


SAMPLE = json.dumps({"id": 1, "epoch": 1, "messages": [{"role": "user", "content": "Hi"}]}).encode()


def test_zip_bomb_is_refused_and_the_other_samples_are_read() -> None:
    bomb = b'{"messages": [' + b" " * 40_000_000 + b"]}"
    content = zipped({"samples/1.json": bomb, "samples/2.json": SAMPLE})
    assert len(content) < 50_000
    reader = read_runs(io.BytesIO(content), on_error="collect")
    assert [run.input_text for run in reader] == ["Hi"]
    (error,) = reader.errors
    assert "far more than it is packed in" in str(error)
    assert error.field == "samples/1.json"


def test_entries_that_share_their_bytes_do_not_multiply() -> None:
    """Many names for one packed entry, each within its own limit: together they are beyond the file's."""
    entry = b" " * 15_000_000
    content = zipped({"samples/a.json": entry})
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        start = source.start_dir
    record = content[start : start + 46 + len("samples/a.json")]
    names = [f"samples/{number:01d}.json".encode() for number in range(9)]
    directory = b"".join(record[:46] + name for name in names)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(names), len(names), len(directory), start, 0)
    errors = read_errors(content[:start] + directory + tail)
    assert any("far more than it is packed in" in error for error in errors)


def test_names_that_point_elsewhere_are_only_names(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    content = zipped({f"samples/../../{outside}": SAMPLE, "/samples/1.json": SAMPLE, "samples/1.json": SAMPLE})
    assert len(list(read_runs(io.BytesIO(content), on_error="raise"))) == 1
    assert not outside.exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (zipped({"readme.txt": b"hello"}), "without samples"),
        (zipped({"samples/1.json": SAMPLE})[:60], "damaged zip file"),
        (b"PK\x03\x04" + b"\0" * 40, "damaged zip file"),
        (zipped({"samples/1.json": b"{"}), "is cut"),
        (zipped({"samples/1.json": b"\xff\xfe"}), "is not UTF-8"),
        (zipped({"samples/1.json": b"[" * 100_000}), "nested too deeply"),
        (zipped({"samples/1.json": b"[1]"}), "no object"),
        (zipped({"samples/1.json": SAMPLE}, zipfile.ZIP_BZIP2), "packed by method 12"),
    ],
    ids=["empty", "cut", "header", "json", "utf-8", "deep", "list", "bzip2"],  # the content holds the time of day
)
def test_damaged_zip_files(content: bytes, problem: str) -> None:
    reader = read_runs(io.BytesIO(content), on_error="collect")
    list(reader)
    told = [str(error) for error in reader.errors] + list(reader.counts.dropped)
    assert len(told) == 1
    assert problem in told[0]


def test_wrong_checksum_and_header_that_lies() -> None:
    content = bytearray(zipped({"samples/1.json": SAMPLE}, zipfile.ZIP_STORED))
    place = content.index(b'"Hi"')
    content[place + 1] ^= 1
    assert "checksum is wrong" in read_errors(bytes(content))[0]
    content = bytearray(zipped({"samples/1.json": SAMPLE}))
    directory = content.index(b"PK\x01\x02")
    content[directory + 42 : directory + 46] = struct.pack("<L", len(content) - 5)
    assert "damaged" in read_errors(bytes(content))[0]
    encrypted = bytearray(zipped({"samples/1.json": SAMPLE}))
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    assert "it is encrypted" in read_errors(bytes(encrypted))[0]


def test_zstandard_entries_and_samples_in_pieces() -> None:
    """What newer versions of Inspect write: entries packed with Zstandard, large samples in numbered pieces."""
    import zstandard

    message = {"role": "assistant", "content": "attachment://1"}
    entries = {
        "header.json": json.dumps({"eval": {"task": "t", "model": "m"}}).encode(),
        "samples/7_epoch_1/sample.json": json.dumps({"id": 7, "epoch": 1, "target": ["x"]}).encode(),
        "samples/7_epoch_1/messages/1.json": json.dumps([message]).encode(),
        "samples/7_epoch_1/messages/0.json": json.dumps([{"role": "user", "content": "Hi"}]).encode(),
        "samples/7_epoch_1/attachments/0.json": json.dumps(["no", "A long answer."]).encode(),
    }
    file = io.BytesIO()
    directory = []
    for name, content in entries.items():
        packed = zstandard.ZstdCompressor().compress(content)
        fields = (20, 0, 93, 0, 0, zlib.crc32(content), len(packed), len(content), len(name), 0)
        directory.append((name, file.tell(), fields))
        file.write(struct.pack("<4s5H3I2H", b"PK\x03\x04", *fields) + name.encode() + packed)
    start = file.tell()
    for name, offset, fields in directory:
        file.write(struct.pack("<4sH5H3I5H2I", b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, offset) + name.encode())
    size = file.tell() - start
    file.write(struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(entries), len(entries), size, start, 0))
    (run,) = read_runs(io.BytesIO(file.getvalue()), on_error="raise")
    assert (run.user_text, run.final_text, run.ground_truth, run.model) == ("Hi", "A long answer.", "x", "m")


def test_only_so_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 1)
    assert "more than 1 entries" in read_errors(zipped({"samples/1.json": SAMPLE, "samples/2.json": SAMPLE}))[0]


def test_sample_that_failed_and_input_that_is_no_message() -> None:
    record = {
        "eval": {"task": "t"},
        "sample": {
            "id": 1,
            "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
            "messages": [],
            "output": {"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "Ho"}]}}]},
            "error": {"message": "sandbox died"},
        },
    }
    (run,) = inspect_log.decode(record).runs
    assert (run.user_text, run.final_text, run.system[0].text) == ("Hi", "Ho", "Be brief.")
    assert run.warnings == ["the sample failed: sandbox died"]
