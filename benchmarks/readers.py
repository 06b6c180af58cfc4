"""How long the readers of messages take, against `msgspec` decoding the same bytes into plain values.

Run `python -m benchmarks.readers [RUNS]`. The seeded workload (about 6 KB a run) is written in each format as JSON
Lines, and read with `read_runs` from bytes to runs: splitting lines, detecting the format, joining results to calls,
ids and all. Each figure is the best of thirty in processor time of one thread; the ratio is what counts. The limit is 4
for OpenAI, Anthropic and Mastra, and 12 for the others. A record that has a place for an id has one, as the workload's
have; where it has none (the lists), the hash of the content is made and is in the figure.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from benchmarks.workload import Workload
from referee import read_runs

FAST = ("openai_chat", "anthropic", "mastra")
LIMITS = {True: 4.0, False: 12.0}
ROUNDS = 30


def best(*measured: Callable[[], Any]) -> list[float]:
    """The best time of each, taken in turns, so that a busy machine treats them alike."""
    times: list[list[float]] = [[] for _ in measured]
    for _ in range(ROUNDS):
        for place, function in enumerate(measured):
            start = time.process_time()
            function()
            times[place].append(time.process_time() - start)
    return [min(found) for found in times]


def calls_of(message: dict[str, Any]) -> list[tuple[str, str, str]]:
    calls = message.get("tool_calls") or []
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]


def answers_of(messages: list[dict[str, Any]]) -> dict[str, str]:
    return {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}


def responses(messages: list[dict[str, Any]]) -> Any:
    items: list[Any] = []
    for message in messages:
        if message["role"] == "tool":
            output = {"call_id": message["tool_call_id"], "output": message["content"]}
            items.append({"type": "function_call_output", **output})
            continue
        if message.get("content"):
            kind = "output_text" if message["role"] == "assistant" else "input_text"
            content = [{"type": kind, "text": message["content"]}]
            items.append({"type": "message", "role": message["role"], "content": content})
        for call_id, name, args in calls_of(message):
            items.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": args})
    return items


def agents(messages: list[dict[str, Any]]) -> Any:
    kinds = {"message": "message_output_item", "function_call": "tool_call_item"}
    start = next(index for index, message in enumerate(messages) if message["role"] == "assistant")
    new = [
        {"type": kinds.get(item["type"], "tool_call_output_item"), "agent": {"name": "agent"}, "raw_item": item}
        for item in responses(messages[start:])
    ]
    return {"original_input": responses(messages[:start]), "generated_items": new}


def anthropic(messages: list[dict[str, Any]]) -> Any:
    talk: list[Any] = []
    for message in messages[1:]:
        if message["role"] == "tool":
            part = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
            if talk[-1]["role"] == "user":
                talk[-1]["content"].append(part)
            else:
                talk.append({"role": "user", "content": [part]})
            continue
        parts = [{"type": "text", "text": message["content"]}] if message.get("content") else []
        for call_id, name, args in calls_of(message):
            parts.append({"type": "tool_use", "id": call_id, "name": name, "input": json.loads(args)})
        talk.append({"role": message["role"], "content": parts})
    return {"system": messages[0]["content"], "max_tokens": 1024, "messages": talk}


def gemini(messages: list[dict[str, Any]]) -> Any:
    names = {call_id: name for message in messages for call_id, name, _ in calls_of(message)}
    contents: list[Any] = []
    for message in messages[1:]:
        if message["role"] == "tool":
            response = {"id": message["tool_call_id"], "name": names[message["tool_call_id"]]}
            part = {"functionResponse": {**response, "response": {"output": message["content"]}}}
            contents.append({"role": "user", "parts": [part]})
            continue
        parts = [{"text": message["content"]}] if message.get("content") else []
        for call_id, name, args in calls_of(message):
            parts.append({"functionCall": {"id": call_id, "name": name, "args": json.loads(args)}})
        contents.append({"role": "model" if message["role"] == "assistant" else "user", "parts": parts})
    return {"systemInstruction": {"parts": [{"text": messages[0]["content"]}]}, "contents": contents}


def langchain(messages: list[dict[str, Any]]) -> Any:
    kinds = {"system": "system", "user": "human", "assistant": "ai", "tool": "tool"}
    talk = []
    for message in messages:
        data = {"type": kinds[message["role"]], "content": message.get("content") or "", "additional_kwargs": {}}
        if message["role"] == "tool":
            data |= {"tool_call_id": message["tool_call_id"], "status": "success"}
        if message["role"] == "assistant":
            data["tool_calls"] = [
                {"name": name, "args": json.loads(args), "id": call_id, "type": "tool_call"}
                for call_id, name, args in calls_of(message)
            ]
        talk.append(data)
    return {"messages": talk}


def pydantic_ai(messages: list[dict[str, Any]]) -> Any:
    names = {call_id: name for message in messages for call_id, name, _ in calls_of(message)}
    talk: list[Any] = []
    for message in messages:
        content = message.get("content")
        if message["role"] == "assistant":
            parts = [{"part_kind": "text", "content": content}] if content else []
            for call_id, name, args in calls_of(message):
                parts.append({"part_kind": "tool-call", "tool_name": name, "args": args, "tool_call_id": call_id})
            talk.append({"kind": "response", "parts": parts})
            continue
        part = {
            "part_kind": {"system": "system-prompt", "user": "user-prompt"}.get(message["role"]),
            "content": content,
        }
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            part |= {"part_kind": "tool-return", "tool_name": names[call_id], "tool_call_id": call_id}
        talk.append({"kind": "request", "parts": [part]})
    return talk


def autogen(messages: list[dict[str, Any]]) -> Any:
    talk: list[Any] = []
    for message in messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            result = {"content": content, "call_id": message["tool_call_id"], "name": "tool", "is_error": False}
            talk.append({"type": "ToolCallExecutionEvent", "source": "agent", "content": [result]})
            continue
        if content:
            kind = "SystemMessage" if role == "system" else "TextMessage"
            talk.append({"type": kind, "source": "user" if role == "user" else "agent", "content": content})
        calls = [{"id": call_id, "name": name, "arguments": args} for call_id, name, args in calls_of(message)]
        if calls:
            talk.append({"type": "ToolCallRequestEvent", "source": "agent", "content": calls})
    return {"messages": talk, "stop_reason": "done"}


def crewai(messages: list[dict[str, Any]]) -> Any:
    raw = messages[-1].get("content") or ""
    task = {"description": "A task.", "agent": "agent", "raw": raw, "messages": messages}
    return {"raw": raw, "tasks_output": [task], "token_usage": {"total_tokens": 9}}


def mastra(messages: list[dict[str, Any]]) -> Any:
    answers = answers_of(messages)
    talk = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            continue
        parts: list[Any] = [{"type": "text", "text": message["content"]}] if message.get("content") else []
        for call_id, name, args in calls_of(message):
            call = {"toolCallId": call_id, "toolName": name, "args": json.loads(args)}
            answer = {"state": "result", "result": answers[call_id]} if call_id in answers else {"state": "call"}
            parts.append({"type": "tool-invocation", "toolInvocation": {**call, **answer}})
        talk.append({"id": f"m{number}", "role": message["role"], "content": {"format": 2, "parts": parts}})
    return {"messages": talk}


FORMATS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "openai_chat": lambda messages: {"messages": messages},
    "anthropic": anthropic,
    "mastra": mastra,
    "openai_responses": responses,
    "openai_agents": agents,
    "gemini": gemini,
    "langchain": langchain,
    "pydantic_ai": pydantic_ai,
    "autogen": autogen,
    "crewai": crewai,
}


def record(name: str, number: int, messages: list[dict[str, Any]]) -> bytes:
    made = FORMATS[name](messages)
    if isinstance(made, dict):
        made = {"id": f"run-{number}", **made}
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()


def measure(name: str, talks: list[list[dict[str, Any]]]) -> bool:
    lines = [record(name, number, messages) for number, messages in enumerate(talks)]
    content = b"\n".join(lines)
    reader = read_runs(io.BytesIO(content), on_error="raise")
    calls = sum(len(run.tool_calls) for run in reader)
    assert calls == sum(len(calls_of(message)) for messages in talks for message in messages), name
    plain, read = best(
        lambda: [msgspec.json.decode(line) for line in content.split(b"\n")],
        lambda: list(read_runs(io.BytesIO(content), on_error="raise")),
    )
    ratio, limit = read / plain, LIMITS[name in FAST]
    rate = len(talks) / read
    print(
        f"{name:18} {len(content) / len(talks) / 1024:5.1f} KB  {rate:9,.0f} runs/s  {ratio:5.2f} x  (limit {limit:g})"
    )
    return ratio <= limit


def main(runs: int) -> int:
    talks = [run["messages"] for run in Workload().runs(runs)]
    within = [measure(name, talks) for name in FORMATS]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
