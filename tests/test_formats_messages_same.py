"""One conversation in every format of messages that can express it gives equal runs; what is written reads back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from referee import File, Message, OptionError, Reasoning, Run, Text, ToolCall, Usage, read_runs
from referee.cli import main
from referee.formats import WRITTEN, detect_format, get_format, get_writer
from support import CONFORMANCE

ROME, ATLANTIS = {"city": "Rome"}, {"city": "Atlantis"}
RESULT, PROBLEM = {"city": "Rome", "temp_c": 21}, "unknown city"
QUESTION, LOOKING, ANSWER = "Weather in Rome and Atlantis?", "Let me check.", "Rome is 21C."

#: The same talk, by format. A format that has no place for a failure says it as the result's text.
SAME: dict[str, tuple[str, Any]] = {
    "mastra v2": (
        "mastra",
        [
            {"role": "user", "content": {"format": 2, "parts": [{"type": "text", "text": QUESTION}]}},
            {
                "role": "assistant",
                "content": {
                    "format": 2,
                    "parts": [
                        {"type": "text", "text": LOOKING},
                        {
                            "type": "tool-invocation",
                            "toolInvocation": {
                                "state": "result",
                                "toolCallId": "c1",
                                "toolName": "get_weather",
                                "args": ROME,
                                "result": RESULT,
                            },
                        },
                        {
                            "type": "tool-invocation",
                            "toolInvocation": {
                                "state": "output-error",
                                "toolCallId": "c2",
                                "toolName": "get_weather",
                                "args": ATLANTIS,
                                "errorText": PROBLEM,
                            },
                        },
                    ],
                },
            },
            {"role": "assistant", "content": {"format": 2, "parts": [{"type": "text", "text": ANSWER}]}},
        ],
    ),
    "ai sdk model messages": (
        "mastra",
        [
            {"role": "user", "content": QUESTION},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": LOOKING},
                    {"type": "tool-call", "toolCallId": "c1", "toolName": "get_weather", "input": ROME},
                    {"type": "tool-call", "toolCallId": "c2", "toolName": "get_weather", "input": ATLANTIS},
                ],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "toolName": "get_weather",
                        "output": {"type": "json", "value": RESULT},
                    },
                    {
                        "type": "tool-result",
                        "toolCallId": "c2",
                        "toolName": "get_weather",
                        "output": {"type": "error-text", "value": PROBLEM},
                    },
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
        ],
    ),
    "openai chat": (
        "openai_chat",
        [
            {"role": "user", "content": QUESTION},
            {
                "role": "assistant",
                "content": LOOKING,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": json.dumps(ROME)},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": json.dumps(ATLANTIS)},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RESULT)},
            {"role": "tool", "tool_call_id": "c2", "content": PROBLEM},
            {"role": "assistant", "content": ANSWER},
        ],
    ),
    "openai responses": (
        "openai_responses",
        [
            {"role": "user", "content": QUESTION},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LOOKING}]},
            {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": json.dumps(ROME)},
            {"type": "function_call", "call_id": "c2", "name": "get_weather", "arguments": json.dumps(ATLANTIS)},
            {"type": "function_call_output", "call_id": "c1", "output": json.dumps(RESULT)},
            {"type": "function_call_output", "call_id": "c2", "output": PROBLEM},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
        ],
    ),
    "openai agents": (
        "openai_agents",
        {
            "input": QUESTION,
            "new_items": [
                {
                    "type": "message_output_item",
                    "raw_item": {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": LOOKING}],
                    },
                },
                {
                    "type": "tool_call_item",
                    "raw_item": {
                        "type": "function_call",
                        "call_id": "c1",
                        "name": "get_weather",
                        "arguments": json.dumps(ROME),
                    },
                },
                {
                    "type": "tool_call_item",
                    "raw_item": {
                        "type": "function_call",
                        "call_id": "c2",
                        "name": "get_weather",
                        "arguments": json.dumps(ATLANTIS),
                    },
                },
                {
                    "type": "tool_call_output_item",
                    "raw_item": {"type": "function_call_output", "call_id": "c1", "output": str(RESULT)},
                    "output": RESULT,
                },
                {
                    "type": "tool_call_output_item",
                    "raw_item": {"type": "function_call_output", "call_id": "c2", "output": PROBLEM},
                    "output": PROBLEM,
                },
                {
                    "type": "message_output_item",
                    "raw_item": {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": ANSWER}],
                    },
                },
            ],
        },
    ),
    "anthropic": (
        "anthropic",
        [
            {"role": "user", "content": QUESTION},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": LOOKING},
                    {"type": "tool_use", "id": "c1", "name": "get_weather", "input": ROME},
                    {"type": "tool_use", "id": "c2", "name": "get_weather", "input": ATLANTIS},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": json.dumps(RESULT)}],
                    },
                    {"type": "tool_result", "tool_use_id": "c2", "content": PROBLEM, "is_error": True},
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
        ],
    ),
    "gemini": (
        "gemini",
        [
            {"role": "user", "parts": [{"text": QUESTION}]},
            {
                "role": "model",
                "parts": [
                    {"text": LOOKING},
                    {"functionCall": {"id": "c1", "name": "get_weather", "args": ROME}},
                    {"functionCall": {"id": "c2", "name": "get_weather", "args": ATLANTIS}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "get_weather", "response": RESULT}},
                    {"functionResponse": {"id": "c2", "name": "get_weather", "response": {"error": PROBLEM}}},
                ],
            },
            {"role": "model", "parts": [{"text": ANSWER[:4]}, {"text": ANSWER[4:]}]},
        ],
    ),
    "langchain": (
        "langchain",
        [
            {"type": "human", "content": QUESTION},
            {
                "type": "ai",
                "content": LOOKING,
                "tool_calls": [
                    {"name": "get_weather", "args": ROME, "id": "c1", "type": "tool_call"},
                    {"name": "get_weather", "args": ATLANTIS, "id": "c2", "type": "tool_call"},
                ],
            },
            {"type": "tool", "content": json.dumps(RESULT), "tool_call_id": "c1", "status": "success"},
            {"type": "tool", "content": PROBLEM, "tool_call_id": "c2", "status": "error"},
            {"type": "ai", "content": [{"type": "text", "text": ANSWER}], "tool_calls": []},
        ],
    ),
    "pydantic ai": (
        "pydantic_ai",
        [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": QUESTION}]},
            {
                "kind": "response",
                "parts": [
                    {"part_kind": "text", "content": LOOKING},
                    {"part_kind": "tool-call", "tool_name": "get_weather", "args": ROME, "tool_call_id": "c1"},
                    {
                        "part_kind": "tool-call",
                        "tool_name": "get_weather",
                        "args": json.dumps(ATLANTIS),
                        "tool_call_id": "c2",
                    },
                ],
            },
            {
                "kind": "request",
                "parts": [
                    {"part_kind": "tool-return", "tool_name": "get_weather", "content": RESULT, "tool_call_id": "c1"},
                    {
                        "part_kind": "tool-return",
                        "tool_name": "get_weather",
                        "content": PROBLEM,
                        "tool_call_id": "c2",
                        "outcome": "retried",
                    },
                ],
            },
            {"kind": "response", "parts": [{"part_kind": "text", "content": ANSWER}]},
        ],
    ),
    "autogen": (
        "autogen",
        [
            {"type": "UserMessage", "source": "user", "content": QUESTION},
            {
                "type": "AssistantMessage",
                "source": "weather",
                "content": [
                    LOOKING,
                    {"id": "c1", "name": "get_weather", "arguments": json.dumps(ROME)},
                    {"id": "c2", "name": "get_weather", "arguments": json.dumps(ATLANTIS)},
                ],
            },
            {
                "type": "FunctionExecutionResultMessage",
                "content": [
                    {"call_id": "c1", "name": "get_weather", "content": json.dumps(RESULT), "is_error": False},
                    {"call_id": "c2", "name": "get_weather", "content": PROBLEM, "is_error": True},
                ],
            },
            {"type": "AssistantMessage", "source": "weather", "content": ANSWER},
        ],
    ),
}
#: Formats that cannot say that a call failed.
WITHOUT_FAILURES = ("openai chat", "openai responses", "openai agents")


def told(run: Run, *, failures: bool = True) -> list[Any]:
    """What a run says, without what only some formats have a place for: ids and names of messages."""
    told = []
    for message in [*run.input, *run.output]:
        parts: list[Any] = []
        for part in message.parts:
            if isinstance(part, ToolCall):
                said = part.error if part.failed and part.error is not None else part.result
                parts.append((part.id, part.name, part.args, failures and part.failed, said))
            else:
                parts.append(part)
        told.append((message.role, parts))
    return told


EXPECTED = [
    ("user", [Text(QUESTION)]),
    (
        "assistant",
        [Text(LOOKING), ("c1", "get_weather", ROME, False, RESULT), ("c2", "get_weather", ATLANTIS, True, PROBLEM)],
    ),
    ("assistant", [Text(ANSWER)]),
]


@pytest.mark.parametrize("name", SAME)
def test_one_conversation_is_one_run_in_every_format(name: str) -> None:
    reader, record = SAME[name]
    chosen = get_format(reader)
    assert chosen.detect(record)
    decoded = chosen.decode(record)
    (run,) = decoded.runs
    assert decoded.counts.complete
    if name in WITHOUT_FAILURES:
        calls = EXPECTED[1][1]
        without = [*calls[:2], (*calls[2][:3], False, PROBLEM)]
        assert told(run) == [EXPECTED[0], ("assistant", without), EXPECTED[2]]
    else:
        assert told(run) == EXPECTED
    assert (run.user_text, run.final_text, run.tool_names) == (QUESTION, ANSWER, ("get_weather", "get_weather"))
    assert [call.state for call in run.tool_calls] == ["result", "result" if name in WITHOUT_FAILURES else "error"]


def test_the_same_conversation_without_failures_gives_equal_ids() -> None:
    """Where formats say the same and no more, the runs are equal to the last field, their content's hash too."""
    ids = {get_format(SAME[name][0]).decode(SAME[name][1]).runs[0].id for name in WITHOUT_FAILURES}
    assert len(ids) == 1


@pytest.mark.parametrize("line", (CONFORMANCE / "field_cases.jsonl").read_text().splitlines())
def test_field_cases_say_the_same_in_every_format(line: str) -> None:
    case = json.loads(line)
    for name, record in case.get("same_run_as", {}).items():
        if name.startswith("otel"):
            continue
        (run,) = get_format({"mastra_v2": "mastra"}.get(name, name)).decode(record).runs
        (call,) = run.tool_calls
        assert (call.id, call.name, call.args, call.state, call.result) == (
            "call_1",
            "get_weather",
            {"city": "Ghent"},
            "result",
            "rain",
        )
        assert (run.user_text, run.final_text) == ("Weather in Ghent?", "Rain.")


# Writers


def expressed(run: Run) -> Run:
    return msgspec.structs.replace(run, warnings=[])


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
WORDS = st.text("abcxyz_", min_size=1, max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=5,
)
ARGS = st.dictionaries(WORDS, JSON, max_size=2)


@st.composite
def mastra_calls(draw: st.DrawFn) -> ToolCall:
    state = draw(st.sampled_from(["result", "error", "call", "partial", "unknown"]))
    return ToolCall(
        name=draw(WORDS),
        args=draw(ARGS),
        id=draw(WORDS),
        state=state,  # type: ignore[arg-type]
        result=draw(JSON) if state in ("result", "error") else None,
        error=draw(TEXTS) if state == "error" else None,
        is_error=state == "error" and draw(st.booleans()),
    )


FILES = st.builds(File, st.just("image/png"), url=st.just("https://example.com/a.png"))
MASTRA_PARTS = st.builds(Text, TEXTS) | st.builds(Reasoning, TEXTS) | mastra_calls() | FILES


def messages(parts: st.SearchStrategy[Any], *roles: str) -> st.SearchStrategy[list[Message]]:
    one = st.builds(Message, st.sampled_from(roles), st.lists(parts, max_size=4), id=st.none() | WORDS)
    return st.lists(one, max_size=3)


MASTRA_RUNS = st.builds(
    Run,
    id=WORDS,
    input=messages(st.builds(Text, TEXTS), "user"),
    history=messages(MASTRA_PARTS, "user", "assistant"),
    system=messages(st.builds(Text, TEXTS), "system"),
    output=messages(MASTRA_PARTS, "assistant"),
    ground_truth=JSON,
    context=st.none() | ARGS,
    metadata=st.none() | ARGS,
    thread_id=st.none() | WORDS,
    model=st.none() | WORDS,
    duration_ms=st.none() | st.floats(0, 1e6),
    usage=st.none() | st.builds(Usage, st.integers(0, 9), st.none() | st.integers(0, 9)),
)


@given(MASTRA_RUNS)
def test_mastra_runs_are_read_back_as_they_were_written(run: Run) -> None:
    mastra = get_format("mastra")
    record = json.loads(mastra.encode(run))  # type: ignore[attr-defined]
    assert mastra.detect(record)
    assert expressed(mastra.decode(record).runs[0]) == run


@st.composite
def chat_talks(draw: st.DrawFn) -> Run:
    """Runs of which the chat format can say everything."""
    output: list[Message] = []
    for turn in range(draw(st.integers(1, 3))):
        calls: list[Any] = [
            ToolCall(
                draw(WORDS),
                draw(ARGS),
                f"c{turn}{number}",
                "result",
                draw(st.dictionaries(WORDS, JSON, max_size=2) | WORDS),
            )
            for number in range(draw(st.integers(0, 2)))
        ]
        text = draw(st.none() | st.builds(Text, TEXTS))
        output.append(Message("assistant", [*([text] if text else []), *calls]))
    return Run(
        id=draw(WORDS),
        system=[Message("system", [Text(draw(TEXTS))])] if draw(st.booleans()) else [],
        input=[Message("user", [Text(draw(TEXTS))])],
        output=output,
        model=draw(st.none() | WORDS),
        ground_truth=draw(JSON),
        usage=draw(st.none() | st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.none())),
    )


@given(chat_talks())
def test_chat_runs_are_read_back_as_they_were_written(run: Run) -> None:
    chat = get_format("openai_chat")
    line = chat.encode(run)  # type: ignore[attr-defined]
    assert chat.decode(json.loads(line)).runs == [run]
    again = chat.decode_line(line)  # type: ignore[attr-defined]
    assert again is None or again.runs == [run]


def test_chat_messages_put_text_after_calls_into_a_message_of_its_own() -> None:
    parts = [
        Reasoning("Hm."),
        Text("Let me look."),
        ToolCall("sky", {"city": "Ghent"}, "c1", "error", error="no sky"),
        ToolCall("sky", {"city": "Gent"}, "c2", "partial"),
        Text("It rains."),
    ]
    line = get_format("openai_chat").encode(Run(id="r", output=[Message("assistant", parts)]))  # type: ignore[attr-defined]
    assert json.loads(line)["messages"] == [
        {
            "role": "assistant",
            "content": "Let me look.",
            "reasoning_content": "Hm.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "sky", "arguments": '{"city":"Ghent"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "sky", "content": "no sky"},
        {"role": "assistant", "content": "It rains."},
    ]


@pytest.mark.parametrize("written", WRITTEN)
def test_the_command_writes_what_can_be_written(written: str, tmp_path: Path) -> None:
    source, target = tmp_path / "talk.json", tmp_path / "out.jsonl"
    source.write_text(json.dumps(SAME["anthropic"][1]), encoding="utf-8")
    done = CliRunner().invoke(main, ["convert", str(source), "--to", written, "-o", str(target), "--report"])
    assert done.exit_code == 0, done.output
    (run,) = read_runs(target)
    assert told(run, failures=written != "openai_chat")[0] == EXPECTED[0]
    assert (run.final_text, run.tool_names) == (ANSWER, ("get_weather", "get_weather"))
    chosen = detect_format(json.loads(target.read_text(encoding="utf-8")))
    assert chosen
    assert written == chosen.NAME


def test_a_format_that_is_only_read_can_t_be_written() -> None:
    with pytest.raises(OptionError, match="'gemini' can't be written; these can: referee, openai_chat, mastra"):
        get_writer("gemini")


# The fast way of whole lines


def lines_of_files() -> list[tuple[str, bytes]]:
    found = [(name, json.dumps(record).encode()) for name, record in SAME.values()]
    found.append(("openai_chat", json.dumps({"messages": SAME["openai chat"][1]}).encode()))
    for path in sorted(CONFORMANCE.glob("*.jsonl")):
        cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found += [("mastra", json.dumps(case["run"]).encode()) for case in cases if "run" in case]
    return found


def assert_the_same(name: str, line: bytes) -> bool:
    """A line read the fast way gives what reading it in full gives, or is left to that; says which."""
    chosen: Any = get_format(name)
    for turns in ("all", "last", "split"):
        fast = chosen.decode_line(line, turns) if hasattr(chosen, "decode_line") else None
        if fast is None:
            return False
        whole = chosen.decode(json.loads(line), turns)
        assert fast.runs == whole.runs
        assert fast.counts == whole.counts
    return True


def test_lines_read_the_fast_way_are_what_they_are_in_full() -> None:
    fast = [name for name, line in lines_of_files() if assert_the_same(name, line)]
    assert {"mastra", "anthropic", "openai_chat"} <= set(fast)


@given(MASTRA_RUNS)
def test_mastra_lines_are_read_alike(run: Run) -> None:
    assert_the_same("mastra", get_format("mastra").encode(run))  # type: ignore[attr-defined]


@given(chat_talks())
def test_chat_lines_are_read_alike(run: Run) -> None:
    assert_the_same("openai_chat", get_format("openai_chat").encode(run))  # type: ignore[attr-defined]


BLOCKS = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, TEXTS),
    st.builds(lambda words: {"type": "thinking", "thinking": words, "signature": "s"}, TEXTS),
    st.builds(
        lambda known, args: {"type": "tool_use", "id": known, "name": "sky", "input": args},
        st.sampled_from("abc"),
        ARGS,
    ),
    st.builds(
        lambda known, content, failed: {
            "type": "tool_result",
            "tool_use_id": known,
            "content": content,
            **({"is_error": True} if failed else {}),
        },
        st.sampled_from("abc"),
        st.none() | TEXTS | st.just('{"n": 1}') | st.just([{"type": "text", "text": "two"}]),
        st.booleans(),
    ),
)
ANTHROPIC = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": TEXTS | st.lists(BLOCKS, max_size=3)}
    ),
    min_size=1,
    max_size=5,
)


@given(ANTHROPIC, st.none() | TEXTS)
def test_anthropic_lines_are_read_alike(messages: list[Any], system: str | None) -> None:
    record: Any = messages if system is None else {"system": system, "max_tokens": 9, "messages": messages}
    assert_the_same("anthropic", json.dumps(record).encode())
