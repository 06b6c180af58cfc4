"""Counts what recorded files of spans, sessions and logs hold, without the library: `python tests/count_spans.py FILE ...`.

One line a file: runs, messages, tool calls, results, failed calls or results. It counts by sets: a message, call or
result that many spans repeat is one. A call that only the span of its tool tells of, and an answer that only the span
of the whole tells, is a message too.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple


class Count(NamedTuple):
    runs: int = 0
    messages: int = 0
    calls: int = 0
    results: int = 0
    failures: int = 0


def key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def loaded(value: Any) -> Any:
    """JSON in text in text, as far down as it goes."""
    while isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return value
        if not isinstance(value, (dict, list, str)):
            return value
    return value


class Trace:
    """What one trace tells, as sets."""

    def __init__(self) -> None:
        self.messages: set[str] = set()
        self.calls: dict[str, str] = {}
        self.results: set[str] = set()
        self.failures: set[str] = set()
        self.answers: set[str] = set()
        self.final: str | None = None
        self.tools: list[tuple[str | None, str, Any, bool, bool]] = []

    def message(self, role: str, text: str, calls: list[Any], results: list[str]) -> None:
        self.messages.add(key([role, text, calls, results]) if text or not calls else key([role, calls, results]))
        if role == "assistant" and text:
            self.answers.add(text.strip())
        for call_id, name, args in calls:
            self.calls.setdefault(call_id or key([name, args]), key([name, args]))
        self.results.update(results)

    def count(self) -> Count:
        """Join the spans of tools to the calls, by id, else by name and arguments, else by name."""
        alone = 0
        free = dict(self.calls)
        for call_id, name, args, done, failed in self.tools:
            named = [known for known, said in free.items() if json.loads(said)[0] == name]
            same = [known for known in named if free[known] == key([name, args])]
            found = call_id if call_id in free else next(iter(same or ([] if call_id in self.calls else named)), None)
            if found is None:
                alone += 1
                found = call_id or key([name, args, alone])
                self.calls[found] = key([name, args])
            free.pop(found, None)
            if done:
                self.results.add(found)
            if failed:
                self.failures.add(found)
        ending = self.final is not None and self.final.strip() not in self.answers
        return Count(1, len(self.messages) + alone + ending, len(self.calls), len(self.results), len(self.failures))


def total(counts: list[Count]) -> Count:
    return Count(*(sum(column) for column in zip(*counts, strict=True))) if counts else Count()


def attributes_of(span: dict[str, Any]) -> dict[str, Any]:
    given = span.get("attributes") or {}
    if isinstance(given, dict):
        return given

    def plain(value: dict[str, Any]) -> Any:
        ((kind, inner),) = value.items()
        return (
            int(inner) if kind == "intValue" else [plain(v) for v in inner["values"]] if kind == "arrayValue" else inner
        )

    return {item["key"]: plain(item["value"]) for item in given}


def spans_of(document: Any) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(document, list):
        return [found for item in document for found in spans_of(item)]
    if "resourceSpans" in document:
        scopes = [scope for resource in document["resourceSpans"] for scope in resource["scopeSpans"]]
        return [(span["traceId"], span) for scope in scopes for span in scope["spans"]]
    if "attributes" in document:
        return [(document.get("trace_id") or document["context"]["trace_id"], document)]
    return [(name, {"attributes": attributes}) for name, attributes in document.items()]


def parts_message(trace: Trace, message: dict[str, Any]) -> None:
    parts = message["parts"]
    calls = [(p["id"], p["name"], loaded(p.get("arguments"))) for p in parts if p["type"] == "tool_call"]
    answers = [p for p in calls if p[1] == "final_result"]
    words = [p.get("content", "") for p in parts if p["type"] == "text"] + [key(p[2]) for p in answers]
    results = [p["id"] for p in parts if p["type"] == "tool_call_response"]
    trace.message(message["role"], "\n".join(words), [p for p in calls if p not in answers], results)


def flattened(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = defaultdict(lambda: {"text": [], "calls": defaultdict(dict)})
    for name, value in attributes.items():
        match = re.match(re.escape(prefix) + r"\.(\d+)\.message\.(.+)", name)
        if match is None:
            continue
        message, field = found[int(match[1])], match[2]
        called = re.match(r"tool_calls\.(\d+)\.tool_call\.(.+)", field)
        if called:
            message["calls"][int(called[1])][called[2]] = value
        elif field == "content" or field.endswith("message_content.text"):
            message["text"] = [*message["text"], value] if value not in message["text"] else message["text"]
        else:
            message[field] = value
    return [found[index] for index in sorted(found)]


def flattened_message(trace: Trace, message: dict[str, Any]) -> None:
    calls = [
        (call.get("id"), call["function.name"], loaded(call.get("function.arguments", "{}")))
        for call in message["calls"].values()
    ]
    results = [message["tool_call_id"]] if "tool_call_id" in message else []
    # One framework cuts off the end of an answer when it repeats it: its beginning tells it.
    text = "\n".join(message["text"])[:100]
    trace.message(message["role"], "" if results else text, calls, results)


def genai_words(trace: Trace, record: dict[str, Any], attributes: dict[str, Any]) -> None:
    if "gen_ai.system_instructions" in attributes:
        trace.messages.add(attributes["gen_ai.system_instructions"])
    if attributes.get("gen_ai.operation.name") == "invoke_agent":
        return
    for place in [attributes, *(event["attributes"] for event in record.get("span_events") or [])]:
        for name in ("gen_ai.input.messages", "gen_ai.output.messages"):
            for message in loaded(place.get(name)) or []:
                parts_message(trace, message)


def final_answer(attributes: dict[str, Any]) -> str | None:
    out = loaded(attributes.get("output.value"))
    if isinstance(out, dict) and isinstance(out.get("messages"), list):
        last = out["messages"][-1]
        out = (last.get("kwargs") or last["data"])["content"]
        out = out[0]["text"] if isinstance(out, list) else out
    return out[:100] if isinstance(out, str) else None


def span(trace: Trace, record: dict[str, Any]) -> None:
    attributes = attributes_of(record)
    status = record.get("status") or {}
    failed = status.get("code", status.get("status_code")) in (2, "ERROR")
    genai_words(trace, record, attributes)
    kind = attributes.get("openinference.span.kind")
    if kind == "LLM":
        for name in ("llm.input_messages", "llm.output_messages"):
            for message in flattened(attributes, name):
                flattened_message(trace, message)
    elif kind == "TOOL" and not record["name"].startswith("handoff to"):
        out = loaded(attributes.get("output.value"))
        out = out.get("data", out) if isinstance(out, dict) else out
        call_id = out.get("tool_call_id") if isinstance(out, dict) else None
        args = loaded(attributes.get("input.value"))
        trace.tools.append((call_id, attributes.get("tool.name", record["name"]), args, True, failed))
    elif attributes.get("gen_ai.operation.name") == "execute_tool":
        args = loaded(attributes.get("gen_ai.tool.call.arguments"))
        ended = "end_time" in record or "endTimeUnixNano" in record
        trace.tools.append((attributes["gen_ai.tool.call.id"], attributes["gen_ai.tool.name"], args, ended, failed))
    elif kind in ("CHAIN", "AGENT") and not (record.get("parent_id") or record.get("parent_span_id")):
        trace.final = final_answer(attributes)


def spans(document: Any) -> Count:
    traces: dict[str, Trace] = defaultdict(Trace)
    for trace_id, record in spans_of(document):
        span(traces[trace_id], record)
    return total([trace.count() for trace in traces.values()])


def chat_message(trace: Trace, message: dict[str, Any]) -> None:
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content)
    if isinstance(content, dict):  # the definition of a tool
        return
    listed = message.get("tool_calls") or (message.get("additional_kwargs") or {}).get("tool_calls") or []
    calls = [(call["id"], call["function"]["name"], loaded(call["function"]["arguments"])) for call in listed]
    results = [message["tool_call_id"]] if message.get("tool_call_id") else []
    trace.message(message["role"], "" if results else content or "", calls, results)


def agents_export(document: dict[str, Any]) -> Count:
    traces: dict[str, Trace] = defaultdict(Trace)
    for record in document["spans"]:
        trace, data = traces[record["trace_id"]], record["span_data"]
        if data["type"] == "generation":
            for message in [*(data["input"] or []), *(data["output"] or [])]:
                chat_message(trace, message)
        elif data["type"] == "function":
            trace.tools.append((None, data["name"], loaded(data["input"]), True, record["error"] is not None))
    return total([trace.count() for trace in traces.values()])


def content(trace: Trace, found: dict[str, Any]) -> None:
    calls = [p["function_call"] for p in found["parts"] if p.get("function_call")]
    results = [p["function_response"]["name"] for p in found["parts"] if p.get("function_response")]
    text = "\n".join(p["text"] for p in found["parts"] if p.get("text"))
    role = "assistant" if found["role"] == "model" else found["role"]
    trace.message(role, text, [(None, call["name"], call["args"]) for call in calls], [])
    trace.results.update(results)


def langfuse(document: dict[str, Any]) -> Count:
    trace = Trace()
    parents = {item["parentObservationId"] for item in document["observations"] if item["type"] == "GENERATION"}
    for item in document["observations"]:
        given, out = loaded(item["input"]), loaded(item["output"])
        if item["type"] == "GENERATION" and item["id"] not in parents:
            if isinstance(given, dict):
                trace.messages.add(given["config"]["system_instruction"])
                for found in [*given["contents"], out["content"]]:
                    content(trace, found)
                continue
            for message in [*given, out] if isinstance(out, dict) else given:
                chat_message(trace, message)
            if isinstance(out, list):
                calls = [(call["toolCallId"], call["toolName"], loaded(call["input"])) for call in out]
                trace.message("assistant", "", calls, [])
        elif item["type"] == "TOOL":
            name = item["name"].removeprefix("execute_tool ")
            known = next((i for i, said in trace.calls.items() if json.loads(said)[0] == name), None)
            if known is None or known.startswith("call_"):
                trace.tools.append((known, name, given, True, item["level"] == "ERROR"))
    return trace.count()


def adk(document: Any) -> Count:
    trace = Trace()
    if isinstance(document, list):
        calls = sum(len(turn["expected_tool_use"]) for turn in document)
        return Count(1, 2 * len(document), calls)
    if "events" in document:
        found = [event["content"] for event in document["events"]]
        parts = [part for one in found for part in one["parts"]]
        calls = sum("function_call" in part for part in parts)
        return Count(1, len(found), calls, sum("function_response" in part for part in parts))
    turns = [turn for case in document["eval_cases"] for turn in case["conversation"]]
    calls = sum(len(turn["intermediate_data"]["tool_uses"]) for turn in turns)
    said = sum((turn["user_content"] is not None) + (turn["final_response"] is not None) for turn in turns)
    return trace.count()._replace(runs=len(document["eval_cases"]), messages=said, calls=calls)


def sample(record: dict[str, Any]) -> Count:
    messages = record["messages"]
    asked = not any(message["role"] == "user" for message in messages)
    calls = sum(len(message.get("tool_calls") or []) for message in messages)
    results = [message for message in messages if message["role"] == "tool"]
    return Count(1, len(messages) + asked, calls, len(results), sum("error" in message for message in results))


def inspect_log(path: Path) -> Count:
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as log:
            names = [name for name in log.namelist() if name.startswith("samples/")]
            return total([sample(json.loads(log.read(name))) for name in names])
    return total([sample(record) for record in json.loads(path.read_text()).get("samples", [])])


def count(path: Path) -> Count:
    """The count of one file, by its shape."""
    if path.name.startswith("log__"):
        return inspect_log(path)
    text = path.read_text(encoding="utf-8")
    document = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    if isinstance(document, dict) and "span_data" in text:
        return agents_export(document)
    if isinstance(document, dict) and "observations" in document:
        return langfuse(document)
    return adk(document) if re.search(r'"(eval_cases|past_events|expected_tool_use)"', text) else spans(document)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(name, *count(Path(name)), sep="\t")
