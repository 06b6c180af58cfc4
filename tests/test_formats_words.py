"""No word of a recorded conversation is lost: every text in a file stands in the runs that are read from it.

The texts are collected without the library, wherever they stand. So the check knows nothing of the formats, and the
formats can't agree with it by counting wrong in the same way.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from referee import read_runs
from support import FRAMEWORKS, TRACES, need_traces

#: Under these names stand what was said, thought, called with and given back.
NAMES = frozenset({"text", "content", "thinking", "arguments", "output", "result"})
#: What begins the lines of a call that CrewAI keeps as text.
MARKS = ("Thought", "Action", "Action Input", "Observation")
#: Texts that are no part of the conversation, by the start of the file's name.
NOT_SAID = {
    "ai_sdk_uimessages": ["unknown role message"],  # its role is none; counted as left out
    "pydantic_ai": ["Final result processed."],  # what the framework tells the model after its structured answer
    "langgraph-python": ["end"],  # where an edge of the graph leads
    "openinference_live": ["done"],
}
FILES = [
    "ai_sdk_uimessages_and_mastra.jsonl", "anthropic_http.jsonl", "bfcl_114_questions_with_answers.jsonl",
    "gemini_http.jsonl", "openai_chat_family_http.jsonl", "openai_responses_http.jsonl",
    "pydantic_ai_model_messages_60.jsonl", "tau_airline_21runs.json", "whowhen_7runs.jsonl",
]  # fmt: skip


def loaded(value: Any) -> Any:
    """What stands in a text that is JSON or a plain Python value, as far down as it goes."""
    while isinstance(value, str) and value[:1] in ("{", "[", '"'):
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(value)
                break
            except (ValueError, SyntaxError):
                continue
        else:
            return value
    return value


def said(value: Any, name: str = "") -> Iterator[str]:
    value = loaded(value)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from said(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from said(inner, name)
    elif isinstance(value, str) and name in NAMES and value.startswith("Thought: "):  # a call in a text
        for line in value.splitlines():
            mark, _, rest = line.partition(": ")
            yield from said(rest if mark in MARKS else line, name)
    elif isinstance(value, str) and name in NAMES and value.strip():
        yield value.strip()


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        inner = loaded(value)
        if not isinstance(inner, str):
            yield from texts(inner)
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def all_files() -> list[Path]:
    folders = [TRACES / name for name in ("otel", "langfuse", "inspect_adk")]
    recorded = [path for folder in folders for path in sorted(folder.glob("*.json*"))]
    return [TRACES / name for name in FILES] + recorded + sorted(FRAMEWORKS.glob("*.json"))


@pytest.mark.parametrize("path", all_files(), ids=lambda path: path.name)
def test_no_word_is_lost(path: Path) -> None:
    need_traces()
    content = path.read_text(encoding="utf-8")
    whole = [json.loads(line) for line in content.splitlines()] if path.suffix == ".jsonl" else [json.loads(content)]
    runs = list(read_runs(path, on_error="collect"))
    kept = "\n".join(text for run in runs for text in texts(msgspec.to_builtins(run)))
    allowed = [word for start, words in NOT_SAID.items() if path.name.startswith(start) for word in words]
    assert [word for record in whole for word in said(record) if word not in kept and word not in allowed] == []
