"""One conversation told by spans, logs and sessions is the run that the formats of messages make of it."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from referee import Run, read_runs
from referee.formats import detect_format
from test_formats_messages_same import ANSWER, ATLANTIS, EXPECTED, LOOKING, PROBLEM, QUESTION, RESULT, ROME, told

SECOND = 1_700_000_000_000_000_000
CHAT_CALLS = [
    {"id": number, "type": "function", "function": {"name": "get_weather", "arguments": json.dumps(args)}}
    for number, args in (("c1", ROME), ("c2", ATLANTIS))
]
#: The talk as chat messages, which most instrumentations repeat.
CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": LOOKING, "tool_calls": CHAT_CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(RESULT)},
    {"role": "tool", "tool_call_id": "c2", "content": PROBLEM},
    {"role": "assistant", "content": ANSWER},
]
PARTS = [
    {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "text", "content": LOOKING},
            {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": ROME},
            {"type": "tool_call", "id": "c2", "name": "get_weather", "arguments": ATLANTIS},
        ],
    },
    {
        "role": "tool",
        "parts": [
            {"type": "tool_call_response", "id": "c1", "response": RESULT},
            {"type": "tool_call_response", "id": "c2", "response": PROBLEM},
        ],
    },
    {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]},
]
#: What the spans are: the agent, its two model calls, its two tool calls.
AGENT, FIRST, ROME_TOOL, ATLANTIS_TOOL, LAST = range(5)


def spans(attributes: list[dict[str, Any]], events: dict[int, list[dict[str, Any]]] | None = None) -> list[Any]:
    made = []
    for number, given in enumerate(attributes):
        failed = number == ATLANTIS_TOOL
        made.append(
            {
                "trace_id": "t1",
                "span_id": f"s{number}",
                "parent_span_id": None if number == AGENT else f"s{AGENT}",
                "name": "span",
                "start_time": SECOND + number,
                "end_time": SECOND + number + 1,
                "status": {"code": "ERROR", "description": PROBLEM} if failed else {"code": "OK"},
                "attributes": given,
                "events": (events or {}).get(number, []),
            }
        )
    return made


def genai_tool(number: str, args: Any, result: Any) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.id": number,
        "gen_ai.tool.call.arguments": json.dumps(args),
        "gen_ai.tool.call.result": json.dumps(result) if isinstance(result, dict) else result,
    }


def genai(asked: list[Any], answered: list[Any]) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(answered),
    }


GENAI = spans(
    [
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weather"},
        genai(PARTS[:1], PARTS[1:2]),
        genai_tool("c1", ROME, RESULT),
        genai_tool("c2", ATLANTIS, PROBLEM),
        genai(PARTS[:3], PARTS[3:]),
    ]
)


def as_events(messages: list[dict[str, Any]], answer: dict[str, Any]) -> list[dict[str, Any]]:
    told = [{"name": f"gen_ai.{message['role']}.message", "attributes": message} for message in messages]
    return [*told, {"name": "gen_ai.choice", "attributes": {"index": 0, "message": answer}}]


EVENTS = spans(
    [span["attributes"] if number in (AGENT, ROME_TOOL, ATLANTIS_TOOL) else {"gen_ai.operation.name": "chat"}
     for number, span in enumerate(GENAI)],
    {FIRST: as_events(CHAT[:1], CHAT[1]), LAST: as_events(CHAT[:4], CHAT[4])},
)  # fmt: skip


def flattened(prefix: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for number, message in enumerate(messages):
        start = f"{prefix}.{number}.message"
        fields |= {f"{start}.{name}": value for name, value in message.items() if name != "tool_calls"}
        for place, call in enumerate(message.get("tool_calls", ())):
            called = f"{start}.tool_calls.{place}.tool_call"
            fields |= {f"{called}.id": call["id"], f"{called}.function.name": call["function"]["name"]}
            fields[f"{called}.function.arguments"] = call["function"]["arguments"]
    return fields


def openinference(asked: list[Any], answered: list[Any]) -> dict[str, Any]:
    return {
        "openinference.span.kind": "LLM",
        **flattened("llm.input_messages", asked),
        **flattened("llm.output_messages", answered),
    }


OPENINFERENCE = spans(
    [
        {"openinference.span.kind": "AGENT", "input.value": QUESTION, "output.value": ANSWER},
        openinference(CHAT[:1], CHAT[1:2]),
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "input.value": json.dumps(ROME),
            "output.value": json.dumps(RESULT),
        },
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "get_weather",
            "input.value": json.dumps(ATLANTIS),
            "output.value": PROBLEM,
        },
        openinference(CHAT[:4], CHAT[4:]),
    ]
)


def otlp(flat: list[dict[str, Any]]) -> dict[str, Any]:
    """The spans as OTLP/JSON."""
    made = [
        {
            "traceId": span["trace_id"],
            "spanId": span["span_id"],
            "parentSpanId": span["parent_span_id"] or "",
            "startTimeUnixNano": str(span["start_time"]),
            "endTimeUnixNano": str(span["end_time"]),
            "status": {"code": 2, "message": PROBLEM} if span["status"]["code"] == "ERROR" else {},
            "attributes": [
                {"key": name, "value": {"stringValue": value}} for name, value in span["attributes"].items()
            ],
        }
        for span in flat
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": made}]}]}


def agents_span(number: int, data: dict[str, Any], error: Any = None) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": f"s{number}",
        "trace_id": "t1",
        "parent_id": None if number == AGENT else f"s{AGENT}",
        "started_at": f"2026-01-01T00:00:0{number}Z",
        "ended_at": f"2026-01-01T00:00:0{number}.5Z",
        "span_data": data,
        "error": error,
    }


AGENTS_TRACE = [
    agents_span(AGENT, {"type": "agent", "name": "weather"}),
    agents_span(FIRST, {"type": "generation", "input": CHAT[:1], "output": CHAT[1:2]}),
    agents_span(
        ROME_TOOL, {"type": "function", "name": "get_weather", "input": json.dumps(ROME), "output": str(RESULT)}
    ),
    agents_span(
        ATLANTIS_TOOL,
        {"type": "function", "name": "get_weather", "input": json.dumps(ATLANTIS), "output": PROBLEM},
        {"message": PROBLEM},
    ),
    agents_span(LAST, {"type": "generation", "input": CHAT[:4], "output": CHAT[4:]}),
]


def observation(number: int, type: str, name: str, given: Any, returned: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": f"o{number}",
        "traceId": "t1",
        "type": type,
        "name": name,
        "parentObservationId": None if number == AGENT else f"o{AGENT}",
        "startTime": f"2026-01-01T00:00:0{number}.000Z",
        "endTime": f"2026-01-01T00:00:0{number}.500Z",
        "input": json.dumps(given),
        "output": json.dumps(returned),
        **more,
    }


LANGFUSE = {
    "trace": {"id": "t1", "name": "weather"},
    "observations": [
        observation(AGENT, "AGENT", "weather", QUESTION, ANSWER),
        observation(FIRST, "GENERATION", "chat", CHAT[:1], CHAT[1]),
        observation(ROME_TOOL, "TOOL", "get_weather", ROME, RESULT),
        observation(ATLANTIS_TOOL, "TOOL", "get_weather", ATLANTIS, PROBLEM, level="ERROR", statusMessage=PROBLEM),
        observation(LAST, "GENERATION", "chat", CHAT[:4], CHAT[4]),
    ],
}


def event(author: str, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"author": author, "content": {"role": role, "parts": list(parts)}}


def adk_response(number: str, response: dict[str, Any]) -> dict[str, Any]:
    return {"function_response": {"id": number, "name": "get_weather", "response": response}}


ADK = {
    "id": "s1",
    "app_name": "weather",
    "user_id": "u",
    "events": [
        event("user", "user", {"text": QUESTION}),
        event(
            "weather",
            "model",
            {"text": LOOKING},
            {"function_call": {"id": "c1", "name": "get_weather", "args": ROME}},
            {"function_call": {"id": "c2", "name": "get_weather", "args": ATLANTIS}},
        ),
        event("weather", "user", adk_response("c1", RESULT), adk_response("c2", {"error": PROBLEM})),
        event("weather", "model", {"text": ANSWER}),
    ],
}
INSPECT_CALLS = [
    {"id": number, "function": "get_weather", "arguments": args} for number, args in (("c1", ROME), ("c2", ATLANTIS))
]
SAMPLE = {
    "id": 1,
    "epoch": 1,
    "messages": [
        CHAT[0],
        {**CHAT[1], "tool_calls": INSPECT_CALLS},
        {**CHAT[2], "function": "get_weather"},
        {**CHAT[3], "function": "get_weather", "error": {"type": "unknown", "message": PROBLEM}},
        CHAT[4],
    ],
}
HEADER = {"eval": {"task": "weather", "model": "m"}, "status": "success"}
TABLE = [{"input": QUESTION, "output": CHAT[1:]}]


def eval_file() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        target.writestr("header.json", json.dumps(HEADER))
        target.writestr("samples/1_epoch_1.json", json.dumps(SAMPLE))
    return file.getvalue()


#: The same talk, by format.
SAME: dict[str, tuple[str, Any]] = {
    "otel, flat": ("otel", GENAI),
    "otel, children first": ("otel", GENAI[::-1]),
    "otel, otlp": ("otel", otlp(GENAI)),
    "otel, an event a message": ("otel", EVENTS),
    "openinference": ("openinference", OPENINFERENCE),
    "openinference, otlp": ("openinference", otlp(OPENINFERENCE)),
    "openai agents trace": ("openai_agents_trace", AGENTS_TRACE),
    "langfuse": ("langfuse", LANGFUSE),
    "adk": ("adk", ADK),
    "inspect log": ("inspect_log", {**HEADER, "samples": [SAMPLE]}),
}


def assert_same(run: Run, *, failed: bool = True, problem: Any = PROBLEM) -> None:
    """The run says what those of the formats of messages say."""
    calls = EXPECTED[1][1]
    atlantis = (*calls[2][:3], failed, problem)
    assert told(run) == [EXPECTED[0], ("assistant", [*calls[:2], atlantis]), EXPECTED[2]]
    assert (run.user_text, run.final_text, run.tool_names) == (QUESTION, ANSWER, ("get_weather", "get_weather"))


@pytest.mark.parametrize("name", SAME)
def test_one_conversation_is_one_run_in_every_format(name: str) -> None:
    expected, record = SAME[name]
    found = detect_format(record)
    assert found
    assert expected == found.NAME
    reader = read_runs(io.BytesIO(json.dumps(record).encode()), on_error="raise")
    (run,) = list(reader)
    # A tool of ADK answers with an object, also when it fails.
    assert_same(run, problem={"error": PROBLEM} if name == "adk" else PROBLEM)
    assert reader.counts.complete


def test_the_same_in_a_zip_file_and_in_a_table() -> None:
    (run,) = read_runs(io.BytesIO(eval_file()), on_error="raise")
    assert_same(run)
    (run,) = read_runs(TABLE, input_column="input", on_error="raise")
    assert_same(run, failed=False)  # chat messages do not say that a tool failed
