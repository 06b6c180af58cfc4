"""Readers of messages raise nothing but `ReadError`: on any JSON value, on damaged real records, on any bytes."""

from __future__ import annotations

import copy
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from referee import ReadError, read_runs
from referee.formats import get_format
from support import FRAMEWORKS
from test_formats_messages_detect import MESSAGES
from test_formats_messages_same import SAME

READERS = [get_format(name) for name in MESSAGES]
TURNS = st.sampled_from(["all", "last", "split"])

#: Words of the formats, so that arbitrary values come near to real records.
_WORDS = (
    "type role content parts text kind part_kind messages input output request response id name args arguments "
    "tool_calls function data choices message delta stream candidates contents history question values lc "
    "kwargs new_items raw_item original_input generated_items usage model metadata toolInvocations "
    "toolInvocation state assistant user system tool model message function_call function_call_output tool_use "
    "tool_result thinking text tool-call tool-result response request user-prompt tool-return human ai "
    "constructor TextMessage source source category raw tasks_output agent_role result call error "
)
WORDS = st.sampled_from(_WORDS.split())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=6),
    max_leaves=24,
)


def real_records() -> list[Any]:
    """One record of every shape that the repository has, and of those that it can write."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FRAMEWORKS.glob("*.json"))]
    found += [record for _, record in SAME.values()]
    talk = [{"role": "user", "content": "Hi"}]
    stream = 'data: {"choices": [{"delta": {"content": "Hi", "tool_calls": [{"index": 0, "id": "c"}]}}]}\n\n'
    found += [
        {"request": {"messages": talk}, "response": {"choices": [{"message": {"content": "Hi"}}], "usage": {}}},
        {"request": {"messages": talk}, "response": stream},
        {"request": {"input": talk}, "response": {"object": "response", "output": [], "status": "incomplete"}},
        {"request": {"messages": talk, "system": "s"}, "response": {"type": "error", "error": {"message": "busy"}}},
        {"request": {"contents": [{"parts": [{"text": "Hi"}]}]}, "response": {"promptFeedback": {"blockReason": "X"}}},
        {"traj": talk, "task_id": 3, "info": {"task": {"actions": [{"name": "a", "kwargs": {}}]}}},
        {"history": [{"role": "human", "content": "Hi"}], "question": "Hi", "system_prompt": {"a": "b"}},
        {"raw": "a", "tasks_output": [{"description": "d", "agent": "x", "raw": "a", "messages": talk}]},
        {"category": "c", "question": [talk], "possible_answer": []},
        {"input": {"inputMessages": talk}, "output": {"steps": [{"name": "a", "children": [{}]}]}},
    ]
    return [record for record in found if len(json.dumps(record)) < 20_000]


REAL = real_records()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A real record in which some values are others, or gone."""
    record = copy.deepcopy(draw(st.sampled_from(REAL)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(record)))
        if not path:
            continue
        holder = record
        for key in path[:-1]:
            holder = holder[key]
        if draw(st.booleans()) and isinstance(holder, dict):
            del holder[path[-1]]
        else:
            holder[path[-1]] = draw(VALUES)
    return record


def read_with_all(record: Any, turns: Any) -> None:
    """Read with every format that takes the record; nothing is lost without a count."""
    for reader in READERS:
        if reader.detect(record):
            try:
                counts = reader.decode(record, turns).counts
            except ReadError:
                continue
            assert counts.messages_received == counts.messages_kept + sum(counts.dropped.values())


@given(VALUES, TURNS)
def test_any_json_value_is_read_or_refused(record: Any, turns: Any) -> None:
    read_with_all(record, turns)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(damaged(), TURNS)
def test_damaged_records_are_read_or_refused(record: Any, turns: Any) -> None:
    read_with_all(record, turns)


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_reported(content: bytes) -> None:
    reader = read_runs(io.BytesIO(content), on_error="collect")
    assert len(list(reader)) + reader.error_count >= 1


@given(st.sampled_from(REAL), st.data())
def test_cut_and_flipped_files_are_read_or_reported(record: Any, data: st.DataObject) -> None:
    content = bytearray(json.dumps(record).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(content)))
    reader = read_runs(io.BytesIO(bytes(content[:end])), on_error="collect")
    list(reader)


@given(st.sampled_from(["openai_chat", "anthropic", "openai_responses", "gemini"]), st.data())
def test_cut_streams_give_what_came(name: str, data: st.DataObject) -> None:
    stream = STREAMS[name]
    end = data.draw(st.integers(0, len(stream)))
    (decoded,) = [get_format(name).decode({"stream": stream[:end]})] if end > 6 else [None]
    if decoded is not None:
        assert len(decoded.runs) == 1


def sse(*events: Any) -> str:
    return "".join(f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n" for event in events)


STREAMS = {
    "openai_chat": sse(
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Let "}}]},
        {"choices": [{"index": 0, "delta": {"content": "me look."}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "sky"}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":"Ghent"}'}}]}}]},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}},
    )
    + "data: [DONE]\n\n",
    "anthropic": sse(
        {"type": "message_start", "message": {"id": "m1", "role": "assistant", "usage": {"input_tokens": 7}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "me look."}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "c1", "name": "sky", "input": {}},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"city"'}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ':"Ghent"}'}},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ),
    "openai_responses": sse(
        {
            "type": "response.created",
            "response": {"id": "r1", "object": "response", "status": "in_progress", "output": []},
        },
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"type": "message", "role": "assistant", "status": "in_progress", "content": []},
        },
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Let "},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "me look."},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {"type": "function_call", "call_id": "c1", "name": "sky", "arguments": "", "status": "in_progress"},
        },
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"city":'},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '"Ghent"}'},
        {
            "type": "response.completed",
            "response": {
                "id": "r1",
                "object": "response",
                "status": "completed",
                "output": [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "Let me look."}],
                    },
                    {"type": "function_call", "call_id": "c1", "name": "sky", "arguments": '{"city":"Ghent"}'},
                ],
                "usage": {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9},
            },
        },
    ),
    "gemini": sse(
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "Let "}]}}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "me look."}]}}]},
        {
            "candidates": [
                {
                    "content": {
                        "role": "model",
                        "parts": [{"functionCall": {"id": "c1", "name": "sky", "args": {"city": "Ghent"}}}],
                    },
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2, "totalTokenCount": 9},
        },
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_whole_stream_is_the_answer_it_adds_up_to(name: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.sse"
    path.write_text(STREAMS[name], encoding="utf-8")
    (run,) = read_runs(path)
    assert (run.output_text, [(call.id, call.name, call.args, call.state) for call in run.tool_calls]) == (
        "Let me look.",
        [("c1", "sky", {"city": "Ghent"}, "call")],
    )
    assert run.usage
    assert run.usage.total == 9
    assert run.warnings == []


@pytest.mark.parametrize("name", ["anthropic", "openai_responses"])
def test_a_call_that_a_cut_stream_never_finished_is_partial(name: str) -> None:
    stream = STREAMS[name]
    end = stream.rindex("event:", 0, stream.index("Ghent"))
    (run,) = get_format(name).decode({"stream": stream[:end]}).runs
    (call,) = run.invocations
    assert (call.name, call.state, call.args_invalid) == ("sky", "partial", False)
    assert run.output_text == "Let me look."
    assert any("ends before" in warning for warning in run.warnings)


def test_many_calls_and_results_that_do_not_match_are_no_trouble() -> None:
    """Each call and result is looked at a few times, however many there are; else this takes minutes."""
    count = 20_000
    talk: list[Any] = [
        {
            "role": "assistant",
            "parts": [{"type": "tool-a", "toolCallId": f"p{number}", "state": "call"} for number in range(count)],
            "toolInvocations": [
                {"toolName": "a", "toolCallId": f"l{number}", "state": "call"} for number in range(count)
            ],
        }
    ]
    results = [{"type": "tool-result", "toolCallId": f"r{number}", "result": 1} for number in range(count)]
    nameless = [{"type": "tool-result", "toolName": "b", "result": 1} for _ in range(count)]
    talk.append({"role": "tool", "content": [*results, *nameless]})
    (run,) = get_format("mastra").decode(talk).runs
    assert len(run.tool_calls) == 2 * count
    assert len(run.warnings) == 2 * count


@pytest.mark.system
def test_the_fuzzer_finds_nothing_in_a_bounded_run(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, record in enumerate(REAL):
        (corpus / f"{number}.json").write_text(json.dumps(record), encoding="utf-8")
    for name, stream in STREAMS.items():
        (corpus / f"{name}.sse").write_text(stream, encoding="utf-8")
    script = Path(__file__).with_name("fuzz_messages.py")
    limits = ["-runs=20000", "-max_total_time=120", "-timeout=10", "-rss_limit_mb=1024", "-max_len=20000"]
    done = subprocess.run(
        [sys.executable, str(script), *limits, f"-artifact_prefix={tmp_path}/", str(corpus)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
