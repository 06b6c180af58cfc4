"""How long the readers of spans, logs and tables take, against `msgspec` decoding the same bytes into plain values.

Run `python -m benchmarks.readers_spans [RUNS]`. The seeded workload (about 6 KB a run) is written as traces (each model
call repeats the talk so far), Langfuse exports, ADK sessions, Inspect logs and tables, and read with `read_runs` from
bytes to runs. Each figure is the best of nine in processor time of one thread; the ratio is what counts, and its limit
is 12. The memory is what Python has allocated at the peak of one reading; its limit is 20 times the input plus 64 MB.
CSV has no untyped decoding; Python's own `csv` stands in its place.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from benchmarks.readers import answers_of, best, calls_of
from benchmarks.workload import Workload
from referee import read_runs

LIMIT = 12.0
MOST_TIMES, MOST_MEGABYTES = 20, 64
SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND


def parts_of(message: dict[str, Any]) -> dict[str, Any]:
    """A message in the form of the GenAI conventions."""
    if message["role"] == "tool":
        part = {"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}
        return {"role": "tool", "parts": [part]}
    parts: list[dict[str, Any]] = []
    if message.get("content"):
        parts.append({"type": "text", "content": message["content"]})
    for call_id, name, args in calls_of(message):
        parts.append({"type": "tool_call", "id": call_id, "name": name, "arguments": json.loads(args)})
    return {"role": message["role"], "parts": parts}


def flattened(prefix: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Messages in the form of OpenInference."""
    fields: dict[str, Any] = {}
    for number, message in enumerate(messages):
        start = f"{prefix}.{number}.message"
        fields[f"{start}.role"] = message["role"]
        if message.get("content"):
            fields[f"{start}.content"] = message["content"]
        if message["role"] == "tool":
            fields[f"{start}.tool_call_id"] = message["tool_call_id"]
        for place, (call_id, name, args) in enumerate(calls_of(message)):
            call = f"{start}.tool_calls.{place}.tool_call"
            fields |= {f"{call}.id": call_id, f"{call}.function.name": name, f"{call}.function.arguments": args}
    return fields


def genai_attributes(kind: str, messages: list[dict[str, Any]], call: Any) -> dict[str, Any]:
    if kind == "model":
        asked, answered = [[parts_of(one) for one in some] for some in (messages[:-1], messages[-1:])]
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps(asked),
            "gen_ai.output.messages": json.dumps(answered),
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 10,
        }
    if kind == "tool":
        call_id, name, args, result = call
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": args,
            "gen_ai.tool.call.result": result,
        }
    return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agent"}


def openinference_attributes(kind: str, messages: list[dict[str, Any]], call: Any) -> dict[str, Any]:
    if kind == "model":
        asked = flattened("llm.input_messages", messages[:-1])
        return {"openinference.span.kind": "LLM", **asked, **flattened("llm.output_messages", messages[-1:])}
    if kind == "tool":
        _, name, args, result = call
        return {"openinference.span.kind": "TOOL", "tool.name": name, "input.value": args, "output.value": result}
    return {"openinference.span.kind": "AGENT", "agent.name": "agent"}


def trace(
    number: int, messages: list[dict[str, Any]], attributes: Callable[..., dict[str, Any]]
) -> list[dict[str, Any]]:
    """The spans of a run, children before their parent."""
    answers = answers_of(messages)
    spans: list[dict[str, Any]] = []

    def add(name: str, parent: str | None, given: dict[str, Any]) -> None:
        time = START + (number * 100 + len(spans)) * SECOND
        place = {"trace_id": f"{number:032x}", "span_id": f"{len(spans) + 1:016x}", "parent_span_id": parent}
        spans.append({"name": name, **place, "start_time": time, "end_time": time + SECOND, "attributes": given})

    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            add("chat m", "0" * 16, attributes("model", messages[: index + 1], None))
            for call_id, name, args in calls_of(message):
                call = (call_id, name, args, answers.get(call_id, ""))
                add(f"execute_tool {name}", "0" * 16, attributes("tool", messages, call))
    add("invoke_agent agent", None, attributes("agent", messages, None))
    spans[-1] |= {"span_id": "0" * 16, "start_time": START + number * 100 * SECOND}
    return spans


def otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """Spans as an OTLP/JSON export, with numbers as text."""

    def typed(value: Any) -> dict[str, Any]:
        return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}

    made = [
        {
            "traceId": span["trace_id"],
            "spanId": span["span_id"],
            "parentSpanId": span["parent_span_id"] or "",
            "name": span["name"],
            "startTimeUnixNano": str(span["start_time"]),
            "endTimeUnixNano": str(span["end_time"]),
            "attributes": [{"key": name, "value": typed(value)} for name, value in span["attributes"].items()],
        }
        for span in spans
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "bench"}, "spans": made}]}]}


def agents_export(number: int, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    answers = answers_of(messages)
    items: list[dict[str, Any]] = []

    def add(data: dict[str, Any]) -> None:
        items.append(
            {
                "object": "trace.span",
                "id": f"span_{number}_{len(items)}",
                "trace_id": f"trace_{number}",
                "parent_id": None,
                "started_at": f"2026-01-01T00:00:{len(items) % 60:02d}+00:00",
                "ended_at": f"2026-01-01T00:00:{len(items) % 60:02d}+00:00",
                "span_data": data,
                "error": None,
            }
        )

    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            add({"type": "generation", "input": messages[:index], "output": [message], "model": "m", "usage": None})
            for call_id, name, args in calls_of(message):
                add({"type": "function", "name": name, "input": args, "output": answers.get(call_id)})
    return items


def langfuse(number: int, messages: list[dict[str, Any]]) -> dict[str, Any]:
    answers = answers_of(messages)
    observations: list[dict[str, Any]] = []

    def add(kind: str, name: str, given: Any, returned: Any) -> None:
        observations.append(
            {
                "id": f"o{len(observations)}",
                "traceId": f"t{number}",
                "type": kind,
                "name": name,
                "startTime": f"2026-01-01T00:00:{len(observations) % 60:02d}.000Z",
                "input": json.dumps(given),
                "output": json.dumps(returned),
                "metadata": "{}",
            }
        )

    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            add("GENERATION", "chat", messages[:index], message)
            for call_id, name, args in calls_of(message):
                add("TOOL", name, json.loads(args), answers.get(call_id))
    return {"trace": {"id": f"t{number}", "name": "agent"}, "observations": observations}


def session(number: int, messages: list[dict[str, Any]]) -> dict[str, Any]:
    names = {call_id: name for message in messages for call_id, name, _ in calls_of(message)}
    events: list[dict[str, Any]] = []
    for message in messages[1:]:
        parts: list[dict[str, Any]] = [{"text": message["content"]}] if message.get("content") else []
        if message["role"] == "tool":
            response = {"id": message["tool_call_id"], "name": names[message["tool_call_id"]]}
            parts = [{"function_response": {**response, "response": {"output": message["content"]}}}]
        for call_id, name, args in calls_of(message):
            parts.append({"function_call": {"id": call_id, "name": name, "args": json.loads(args)}})
        role = "model" if message["role"] == "assistant" else "user"
        author = "user" if message["role"] == "user" else "agent"
        events.append({"author": author, "id": f"e{len(events)}", "content": {"role": role, "parts": parts}})
    return {"id": f"s{number}", "app_name": "bench", "user_id": "u", "events": events}


def sample(number: int, messages: list[dict[str, Any]]) -> dict[str, Any]:
    made = []
    for message in messages:
        calls = [
            {"id": call_id, "function": name, "arguments": json.loads(args)}
            for call_id, name, args in calls_of(message)
        ]
        plain = {key: value for key, value in message.items() if key != "tool_calls"}
        made.append({**plain, "content": message.get("content") or "", **({"tool_calls": calls} if calls else {})})
    return {"id": number, "epoch": 1, "target": "x", "messages": made}


def lines(records: Iterator[Any] | list[Any]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def files(runs: int) -> Iterator[tuple[str, str, bytes]]:
    """Format, name and content of each file."""
    talks = [(number, run["messages"]) for number, run in enumerate(Workload().runs(runs))]
    header = {"eval": {"task": "bench", "model": "m"}, "status": "success"}
    genai = [trace(number, talk, genai_attributes) for number, talk in talks]
    flat = [trace(number, talk, openinference_attributes) for number, talk in talks]
    yield "otel, a trace a line (OTLP)", "x.jsonl", lines([otlp(spans) for spans in genai])
    yield "otel, a span a line", "x.jsonl", lines([span for spans in genai for span in spans])
    yield "otel, one document", "x.json", msgspec.json.encode(otlp([span for spans in genai for span in spans]))
    yield "openinference, a span a line", "x.jsonl", lines([span for spans in flat for span in spans])
    exported = [item for number, talk in talks for item in agents_export(number, talk)]
    yield "openai_agents_trace", "x.jsonl", lines(exported)
    yield "langfuse", "x.jsonl", lines([langfuse(number, talk) for number, talk in talks])
    yield "adk sessions", "x.jsonl", lines([session(number, talk) for number, talk in talks])
    samples = [sample(number, talk) for number, talk in talks]
    yield "inspect_log, .json", "x.json", msgspec.json.encode({**header, "samples": samples})
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("header.json", msgspec.json.encode(header))
        for one in samples:
            target.writestr(f"samples/{one['id']}_epoch_1.json", msgspec.json.encode(one))
    yield "inspect_log, .eval", "x.eval", archive.getvalue()
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow(["id", "input", "output"])
    rows.writerows([number, talk[1]["content"], talk[-1]["content"]] for number, talk in talks)
    yield "table, .csv", "x.csv", text.getvalue().encode()


def untyped(name: str, content: bytes) -> Callable[[], Any]:
    """The same bytes decoded into plain values."""
    decode = msgspec.json.decode
    if name == "x.csv":
        return lambda: list(csv.DictReader(io.StringIO(content.decode())))
    if name == "x.eval":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [archive.read(entry) for entry in archive.namelist()]
        return lambda: [decode(entry) for entry in entries]
    if name == "x.jsonl":
        return lambda: [decode(line) for line in content.splitlines()]
    return lambda: decode(content)


def read(name: str, content: bytes) -> int:
    stream = io.BytesIO(content)
    stream.name = name
    return sum(1 for _ in read_runs(stream, on_error="raise"))


def memory(name: str, content: bytes) -> float:
    """Megabytes that reading adds at its peak, as Python counts them."""
    tracemalloc.start()
    read(name, content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main(runs: int) -> int:
    failed = 0
    print(f"{'format':32}{'MB':>8}{'decode s':>10}{'read s':>9}{'ratio':>8}{'memory MB':>11}{'limit MB':>10}")
    for title, name, content in files(runs):
        assert read(name, content) == runs
        decoding, reading = best(untyped(name, content), partial(read, name, content))
        used = memory(name, content)
        size = len(content) / 1e6
        most = MOST_TIMES * size + MOST_MEGABYTES
        ratio = reading / decoding
        failed += ratio > LIMIT or used > most
        print(f"{title:32}{size:8.2f}{decoding:10.4f}{reading:9.4f}{ratio:8.1f}{used:11.1f}{most:10.1f}")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
