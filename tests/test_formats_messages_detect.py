"""Every record of messages is read as what it is, and no reader of messages takes what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from referee import ReadError, read_runs, to_run
from referee.formats import FORMATS, detect_format, get_format
from support import FRAMEWORKS, need_traces

MESSAGES = (
    "mastra",
    "openai_responses",
    "openai_agents",
    "anthropic",
    "gemini",
    "langchain",
    "pydantic_ai",
    "autogen",
    "crewai",
    "bfcl",
    "openai_chat",
)
#: Whose records a file holds; several formats in the order of the counts after them.
FILES = {
    "ai_sdk_uimessages_and_mastra.jsonl": {"mastra": 97, None: 1},
    "anthropic_http.jsonl": {"anthropic": 43, None: 1},
    "bfcl_114_questions_with_answers.jsonl": {"bfcl": 114},
    "gemini_http.jsonl": {"gemini": 30},
    "inspect_adk/v1_13_pending_tool_approval.json": {"openai_agents": 1},
    "inspect_adk/v1_13_programmatic_tool_calling.json": {"openai_agents": 1},
    "openai_chat_family_http.jsonl": {"openai_chat": 73, "openai_responses": 3, "gemini": 2, None: 5},
    "openai_responses_http.jsonl": {"openai_responses": 30},
    "pydantic_ai_model_messages_60.jsonl": {"pydantic_ai": 60},
    "whowhen_7runs.jsonl": {"autogen": 7},
}
STARTS = {
    "autogen": "autogen",
    "crewai": "crewai",
    "langchain_convert": "openai_chat",
    "langchain": "langchain",
    "langgraph_get": "langchain",
    "langgraph_st": "langchain",
    "openai_agents_to": "openai_responses",
    "openai_agents_chatcompletions_to": "openai_responses",
    "openai_agents_new": "openai_agents",
    "openai_agents_r": "openai_agents",
    "pydantic_ai_messages": "pydantic_ai",
    "pydantic_ai_openai_messages": "pydantic_ai",
}


def records(path: Path) -> list[Any]:
    content = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in content.splitlines()] if path.suffix == ".jsonl" else [json.loads(content)]


def claims(record: Any) -> list[str]:
    return [name for name in MESSAGES if get_format(name).detect(record)]


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_file_is_detected_and_by_one_reader_alone(name: str) -> None:
    found: dict[str | None, int] = {}
    for record in records(need_traces() / name):
        chosen = detect_format(record)
        known = chosen.NAME if chosen else None
        assert claims(record) == [known] * (known is not None)
        found[known] = found.get(known, 0) + 1
    assert found == FILES[name]


@pytest.mark.parametrize("path", sorted(FRAMEWORKS.glob("*.json")), ids=lambda path: path.stem)
def test_a_framework_file_is_detected_by_one_reader_alone(path: Path) -> None:
    (record,) = records(path)
    starts = [start for start in STARTS if path.stem.startswith(start)]
    expected = [STARTS[max(starts, key=len)]] if starts else []
    # A crew's agent keeps its model's chat messages; the reader of chat comes last and takes what the others leave.
    beside = ["openai_chat"] if path.stem == "crewai_agent_output" else []
    assert claims(record) == expected + beside
    if expected:
        chosen = detect_format(record)
        assert chosen
        assert expected == [chosen.NAME]


def test_no_reader_of_messages_takes_spans_logs_or_tables() -> None:
    traces = need_traces()
    others = [
        path
        for folder in ("otel", "langfuse", "inspect_adk")
        for path in (traces / folder).glob("*.json*")
        if not path.name.startswith("v1_13")
    ]
    assert len(others) > 10
    for path in [*others, traces / "llmbar_natural_100.json"]:
        for record in records(path):
            assert claims(record) == [], path.name


@pytest.mark.parametrize(
    "record",
    [
        {},
        [],
        [[]],
        "text",
        7,
        None,
        {"messages": "no list"},
        {"question": "4 + 4?", "answer": "8"},
        {"input": "What is the capital?", "output": "Paris", "id": 4},
        {"model": "text-embedding-3-small", "input": ["a text"]},
        {"request": {"input": ["a text"]}, "response": {"object": "list", "data": [{"embedding": [0.1]}]}},
        {"candidates": ["Ann", "Ben"]},
        {"type": "message", "text": "hello"},
        [{"type": "system", "level": "info"}],
        {"role": "admin", "content": "x"},
        {"question": "And in Bruges?", "history": [{"role": "user", "content": "Rain in Ghent?"}], "answer": "No."},
    ],
)
def test_no_reader_of_messages_takes_other_data(record: Any) -> None:
    assert claims(record) == []


def test_an_unknown_object_is_refused_with_one_clear_line() -> None:
    with pytest.raises(ReadError, match="is in no known format; the formats are: referee, ") as caught:
        to_run({"question": "4 + 4?"})
    assert "\n" not in str(caught.value)


def test_a_record_that_only_looks_like_its_format_is_one_clear_line() -> None:
    with pytest.raises(ReadError, match="expected one run and found 2"):
        to_run([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}] * 2, turns="split")
    reader = read_runs([{"messages": 3}], "openai_chat", on_error="collect")
    assert len(list(reader)) + reader.error_count == 1


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    for record in (deep, [{"role": "user", "content": deep}], {"messages": deep}, {"agent_states": {"a": deep}}):
        with pytest.raises(ReadError):
            to_run(record)


@pytest.mark.parametrize("name", MESSAGES)
def test_every_format_says_what_it_is(name: str) -> None:
    chosen = get_format(name)
    assert (chosen.NAME, FORMATS[name]) == (name, chosen.__name__)  # type: ignore[attr-defined]
    assert chosen.TITLE


def test_every_format_is_in_the_docs() -> None:
    page = (Path(__file__).parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    assert [name for name in FORMATS if f"| `{name}` |" not in page] == []


def test_the_example_of_the_docs_runs() -> None:
    page = (Path(__file__).parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    exec(compile(code, "formats.md", "exec"), {})
