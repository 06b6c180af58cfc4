"""Counts what recorded files of messages hold, without the library: `python tests/count_messages.py FILE ...`.

One line a file: records that hold a conversation, records that hold none, messages, tool calls, results, failed calls.
A message is what its format calls one (an item of the Responses API, a model message of Pydantic AI). A result is one
whose call may stand anywhere or nowhere.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple


class Count(NamedTuple):
    runs: int = 0
    unread: int = 0
    messages: int = 0
    calls: int = 0
    results: int = 0
    failures: int = 0


def added(counts: Iterable[Count]) -> Count:
    return Count(*(sum(column) for column in zip(*counts, strict=True)))


def chat(messages: list[Any]) -> Count:
    calls = sum(len(m.get("tool_calls") or []) for m in messages)
    return Count(1, 0, len(messages), calls, sum(m["role"] == "tool" for m in messages))


def items(found: list[Any]) -> Count:
    kinds = [item.get("type", "message") for item in found]
    calls = [kind for kind in kinds if kind.endswith("_call") or kind == "program"]
    outputs = [kind for kind in kinds if kind.endswith("_output")]
    by_provider = [i for i in found if i.get("type", "").endswith("_call") and "call_id" not in i]
    return Count(1, 0, len(found), len(calls), len(outputs) + len(by_provider))


def blocks(messages: list[Any]) -> Count:
    parts = [part for m in messages if isinstance(m["content"], list) for part in m["content"]]
    calls = sum(part["type"].endswith("tool_use") for part in parts)
    results = [part for part in parts if part["type"].endswith("tool_result")]
    failed = sum(bool(part.get("is_error")) for part in results)
    return Count(1, 0, len(messages), calls, len(results), failed)


def contents(found: list[Any]) -> Count:
    parts = [part for content in found for part in content.get("parts") or []]
    calls = sum("functionCall" in part or "executableCode" in part for part in parts)
    results = sum("functionResponse" in part or "codeExecutionResult" in part for part in parts)
    return Count(1, 0, len(found), calls, results)


def exchange(record: dict[str, Any]) -> Count:
    request, response = record["request"], record["response"]
    streamed = (
        [json.loads(line[5:]) for line in response.splitlines() if line.startswith("data:")]
        if isinstance(response, str)
        else []
    )
    body: Any = response if isinstance(response, dict) else {}
    if not isinstance(request, dict):
        return Count(unread=1)
    if "contents" in request:
        pieces = [body] if body else streamed
        answer = {"parts": [p for piece in pieces for p in piece["candidates"][0]["content"].get("parts", [])]}
        return contents([*request["contents"], answer])
    if "input" in request:
        done = [event["response"] for event in streamed if event["type"] == "response.completed"]
        return items([*request["input"], *(done[0] if done else body)["output"]])
    if "messages" not in request:
        return Count(unread=1)
    if body.get("type") == "message":
        return blocks([*request["messages"], body])
    if any(event.get("type") == "message_start" for event in streamed):
        return blocks(
            [*request["messages"], {"content": [e["content_block"] for e in streamed if "content_block" in e]}]
        )
    if "anthropic.com" in record["uri"]:
        return blocks(request["messages"])
    refused = "failed_generation" in (body.get("error") or {})
    return chat(
        [*request["messages"], *(c["message"] for c in body.get("choices", [])), *([{"role": "assistant"}] * refused)]
    )


def pydantic_ai(messages: list[Any]) -> Count:
    parts = [part for message in messages for part in message["parts"]]
    real = [part for part in parts if part.get("tool_name") not in (None, "final_result")]
    calls = [part for part in real if part["part_kind"].endswith("tool-call")]
    results = [part for part in real if part not in calls]
    failed = [p for p in results if p["part_kind"] == "retry-prompt" or p.get("outcome", "success") != "success"]
    return Count(1, 0, len(messages), len(calls), len(results), len(failed))


def ai_sdk(messages: list[Any]) -> Count:
    calls = results = failed = 0
    for message in messages:
        content = message.get("content")
        whole = content if isinstance(content, dict) else message
        for part in (
            whole.get("parts") or whole.get("toolInvocations") or (content if isinstance(content, list) else [])
        ):
            call = part.get("toolInvocation", part)
            if "toolCallId" not in call:
                continue
            calls += part.get("type") != "tool-result"
            bad = call.get("state") == "output-error" or bool(call.get("isError"))
            results += bad or call.get("state") in ("result", "output-available") or part.get("type") == "tool-result"
            failed += bad
    return Count(1, 0, len(messages), calls, results, failed)


def langchain(messages: list[Any]) -> Count:
    data = [m.get("kwargs") or m.get("data") or m for m in messages]
    calls = sum(len(d.get("tool_calls") or []) for d in data)
    results = [d for d in data if d["type"] == "tool"]
    return Count(1, 0, len(data), calls, len(results), sum(d["status"] == "error" for d in results))


def agents(found: list[Any], given: int = 0) -> Count:
    raw = [item["raw_item"] for item in found if item["type"] != "tool_approval_item"]
    return items(raw)._replace(messages=given + len(found))


def autogen(messages: list[Any]) -> Count:
    calls = results = failed = 0
    for message in messages:
        for item in message["content"] if isinstance(message["content"], list) else []:
            calls += "arguments" in item
            results += "call_id" in item
            failed += item.get("is_error", False)
    return Count(1, 0, len(messages), calls, results, failed)


def crewai(tasks: list[Any]) -> Count:
    messages = [message for task in tasks for message in task["messages"]]
    by_api = [call for message in messages for call in message.get("tool_calls") or []]
    in_text = [m for m in messages if m["role"] == "assistant" and "\nAction Input: " in (m["content"] or "")]
    results = sum(m["role"] == "tool" for m in messages) + sum("\nObservation: " in m["content"] for m in in_text)
    failed = sum(len(task["tool_failures"]) for task in tasks)
    return Count(1, 0, len(messages), len(by_api) + len(in_text), results, failed)


def listed(value: list[Any], path: Path) -> Count:
    """What a record that is a list holds."""
    first = value[0]
    if "status" in first and "task_name" in first:
        return Count(1, 0, len(value))
    if "stop_reason" in value[-1]:
        return autogen(value[-1]["messages"])
    if "raw_item" in first:
        return agents(value)
    if "response_id" in first:
        return items([item for response in value for item in response["output"]])
    if "mode" in first:
        return langchain([event["data"] for event in value if event["mode"] == "values"][-1]["messages"])
    if "part_kind" in (first.get("parts") or [{}])[0]:
        return pydantic_ai(value)
    if path.name.startswith("langchain") and "role" not in first:
        return langchain(value)
    return chat(value) if any("tool_calls" in message for message in value) else items(value)


def record(value: Any, path: Path) -> Count:
    """What one record of one of the known files holds."""
    if isinstance(value, list):
        return listed(value, path)
    if "request" in value:
        return exchange(value)
    if "traj" in value:
        return chat(value["traj"])
    if path.name.startswith("autogen"):
        states = value.get("agent_states", {})
        thread = [state["message_thread"] for state in states.values() if "message_thread" in state]
        return autogen(thread[0] if thread else value.get("llm_context", value)["messages"])
    if "raw" in value:
        return crewai(value.get("tasks_output") or [value])
    if "history" in value:
        return Count(1, 0, len(value["history"]))
    if "question" in value:
        return Count(1, 0, sum(map(len, value["question"])))
    if "original_input" in value:
        return agents(value["session_items"] or value["generated_items"], given=1)
    if path.name.startswith("langgraph"):
        return langchain(value.get("values", value)["messages"])
    if path.name.startswith("pydantic_ai"):
        return pydantic_ai(value["messages"])
    messages = value["data"] if "data" in value else [value["message"]]
    return ai_sdk(messages) if messages else Count(unread=1)


def count(path: Path) -> Count:
    """What one file holds: a record a line, a list of records, or one record."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return added(record(json.loads(line), path) for line in text.splitlines())
    whole = json.loads(text)
    return added(record(one, path) for one in whole) if path.name.startswith("tau") else record(whole, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, *count(Path(name)))
