"""Runs: extraction, identity, and our own lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import Message, ReadError, Reasoning, Run, Text, ToolCall, read_runs, to_run
from referee.formats import detect_format
from referee.formats.referee_runs import decode, decode_line, encode, schema
from referee.jsonvalue import canonical, equal
from referee.runs import content_id, with_id
from strategies import json_values, runs


@given(runs)
def test_reading_what_was_written_gives_the_same_run(run: Run) -> None:
    line = encode(run)
    fast = decode_line(line)
    assert fast is not None
    assert fast.runs == [run]
    assert decode(json.loads(line)).runs == [run]
    assert detect_format(json.loads(line)).NAME == "referee"  # type: ignore[union-attr]


@given(json_values, st.randoms())
def test_the_order_of_keys_never_changes_a_comparison(value: Any, random: Any) -> None:
    def shuffled(item: Any) -> Any:
        if isinstance(item, dict):
            pairs = [(key, shuffled(inner)) for key, inner in item.items()]
            random.shuffle(pairs)
            return dict(pairs)
        return [shuffled(inner) for inner in item] if isinstance(item, list) else item

    assert equal(value, shuffled(value))
    assert canonical(value) == canonical(shuffled(value))


@given(json_values, json_values)
def test_equality_is_symmetric_and_tells_kinds_apart(left: Any, right: Any) -> None:
    assert equal(left, right) == equal(right, left)
    assert not equal([True], [1])
    assert not equal({"a": False}, {"a": 0})
    assert not equal("7", 7)
    assert equal({"a": [20]}, {"a": [20.0]})


def test_texts_of_a_run() -> None:
    call = ToolCall(name="ferries", state="result")
    run = Run(
        id="r",
        input=[Message("user", [Text("When?")]), Message("user", [Text(" ")]), Message("user", [Text("Today.")])],
        output=[
            Message("assistant", [Reasoning("hm"), Text("Let me look."), call, Text("At nine."), Text("Or ten.")]),
            Message("assistant", [Text("  ")]),
        ],
    )
    assert run.input_text == "When?\nToday."
    assert run.user_text == "When?"
    assert run.output_text == "Let me look.\nAt nine.\nOr ten."
    assert run.final_text == "At nine.\nOr ten."
    before = Run(id="r", output=[Message("assistant", [Text("First."), call])])
    assert before.final_text == "First."
    assert Run(id="r").final_text == Run(id="r").output_text == Run(id="r").user_text == ""


@pytest.mark.parametrize(
    ("state", "name", "counted"),
    [
        ("result", "x", True),
        ("error", "x", True),
        ("call", "x", True),
        ("partial", "x", False),
        ("unknown", "x", False),
        ("result", "", False),
    ],
)
def test_what_counts_as_a_call(state: Any, name: str, counted: bool) -> None:
    run = Run(id="r", output=[Message("assistant", [ToolCall(name=name, state=state)])])
    assert (len(run.tool_calls) == 1) is counted
    assert len(run.invocations) == 1


def test_a_run_without_an_id_is_named_by_its_content() -> None:
    one, other = Run(output=[Message("assistant", [Text("a")])]), Run(output=[Message("assistant", [Text("b")])])
    assert len(content_id(one)) == 64
    assert with_id(one).id == content_id(one) != content_id(other)
    noticed = msgspec.structs.replace(one, warnings=["something"])
    assert content_id(noticed) == content_id(one)


def test_hand_written_lines_may_use_plain_text_and_camel_case() -> None:
    run = to_run({"id": "r", "input": "Weather?", "output": "Sunny.", "groundTruth": "sun"})
    assert (run.user_text, run.output_text, run.ground_truth) == ("Weather?", "Sunny.", "sun")


@pytest.mark.parametrize(
    ("record", "field", "problem"),
    [
        ({"schema_version": 2, "output": "x"}, "schema_version", "version 2"),
        ({"schema_version": 1, "output": "x", "outptu": 1}, "outptu", "no such field"),
        ({"schema_version": 1, "output": 7}, "output", "array"),
        ({"schema_version": 1, "output": [{"role": "robot", "parts": []}]}, "output[0].role", "robot"),
    ],
)
def test_a_wrong_line_names_the_field(record: Any, field: str, problem: str) -> None:
    with pytest.raises(ReadError, match=problem) as caught:
        decode(record)
    assert caught.value.field == field


def test_repeated_ids_are_numbered() -> None:
    records = [{"id": "a", "output": text} for text in "xyz"] + [{"id": "b", "output": "w"}]
    assert [run.id for run in read_runs(records)] == ["a", "a#2", "a#3", "b"]


def test_to_run_says_what_it_cannot_read() -> None:
    with pytest.raises(ReadError, match="no known format"):
        to_run(42)
    with pytest.raises(ReadError, match="found 2"):
        to_run([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}] * 2, turns="split")


def test_the_published_schema_describes_a_line() -> None:
    described = schema()
    assert described["title"] == "A run"
    assert "schema_version" in json.dumps(described)


@pytest.mark.parametrize(
    ("turns", "shapes"),
    [("all", [("q1", "a1\nq2\na2", 0)]), ("last", [("q2", "a2", 2)]), ("split", [("q1", "a1", 0), ("q2", "a2", 2)])],
)
def test_a_conversation_is_cut_into_runs(turns: Any, shapes: Any) -> None:
    talk = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "q1"},
        {"role": "assistant", "content": "a1"},
        {"role": "user", "content": "q2"},
        {"role": "assistant", "content": "a2"},
    ]
    found = list(read_runs([talk], turns=turns))
    assert [
        (run.input_text, "\n".join(message.text for message in run.output), len(run.history)) for run in found
    ] == shapes
    assert all([message.text for message in run.system] == ["rules"] for run in found)


def test_the_published_schema_is_the_one_of_the_code() -> None:
    published = Path(__file__).parents[1] / "docs" / "run.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == json.loads(json.dumps(schema()))
