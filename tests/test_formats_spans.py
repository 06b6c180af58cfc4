"""Other people's recorded spans, sessions and logs: every file reads as the counting script counts it, quirks included."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from count_spans import Count, count
from referee import Opaque, ReadError, Run, ToolCall, ToolResult, read_runs
from referee.formats import detect_format, otel
from referee.trajectory import Step
from support import FRAMEWORKS, need_traces

#: What each file of the folder holds, as the counting script says it: runs, messages, calls, results, failures.
FILES = {
    "inspect_adk/ecommerce_customer_service_agent__order_query.test.json": Count(1, 8, 7, 0, 0),
    "inspect_adk/flow_complex_spark__sample.session.json": Count(1, 9, 2, 2, 0),
    "inspect_adk/home_automation_agent__simple_test2.test.json": Count(1, 2, 1, 0, 0),
    "inspect_adk/log__test_eval_log__log_message_deduplication.eval": Count(1, 12, 5, 5, 0),
    "inspect_adk/log__test_eval_log__log_streaming.eval": Count(4, 12, 0, 0, 0),
    "inspect_adk/log__test_eval_log__log_tool_call_error.json": Count(1, 12, 0, 11, 11),
    "inspect_adk/log__test_eval_log__log_with_nan.txt": Count(0, 0, 0, 0, 0),
    "langfuse/google-adk-2025-08-28.trace.json": Count(1, 5, 1, 1, 0),
    "langfuse/langgraph-python-2025-08-22.trace.json": Count(1, 5, 1, 1, 0),
    "langfuse/vercel-aisdk-2025-11-17.trace.json": Count(1, 2, 1, 1, 0),
    "otel/examples.json": Count(6, 7, 1, 0, 0),
    "otel/openai_agents_0.24.0_oi_2.5.3.jsonl": Count(1, 9, 2, 2, 0),
    "otel/openinference_live_spans.json": Count(1, 6, 2, 1, 0),
    "otel/otel_genai_convention_spans.json": Count(1, 5, 2, 2, 1),
    "otel/pydantic_ai_2.58.0.json": Count(2, 8, 2, 2, 0),
    "otel/smolagents_live_spans.json": Count(1, 9, 2, 2, 0),
}
FRAMEWORK_FILES = {
    "langgraph_openinference_spans.json": Count(2, 8, 2, 2, 1),
    "openai_agents_chatcompletions_openinference_spans.json": Count(1, 5, 1, 1, 0),
    "openai_agents_chatcompletions_sdk_trace_export.json": Count(1, 5, 1, 1, 0),
    "openai_agents_openinference_spans.json": Count(2, 3, 3, 3, 1),
    "openai_agents_sdk_trace_export.json": Count(2, 3, 3, 3, 1),
    "pydantic_ai_openai_otel_spans_v6.json": Count(1, 5, 1, 1, 0),
    "pydantic_ai_otel_spans_v5_structured.json": Count(1, 8, 4, 4, 2),
    "pydantic_ai_otel_spans_v5_text.json": Count(1, 8, 4, 4, 2),
    "pydantic_ai_otel_spans_v6_structured.json": Count(1, 8, 4, 4, 2),
    "pydantic_ai_otel_spans_v6_text.json": Count(1, 8, 4, 4, 2),
}


def read(path: Path, **options: Any) -> list[Run]:
    return list(read_runs(path, on_error="raise", **options))


def told(run: Run) -> list[tuple[Any, ...]]:
    return [(call.id, call.name, call.args, call.state, call.result) for call in run.tool_calls]


def spoken(run: Run) -> list[str]:
    return [message.text for message in run.output if message.role == "assistant" and message.text]


def outline(steps: list[Step]) -> list[Any]:
    return [
        (step.step_type, step.name, outline(step.children)) if step.children else (step.step_type, step.name)
        for step in steps
    ]


def as_read(path: Path) -> Count:
    """What the reader gives of a file."""
    reader = read_runs(path, on_error="raise")
    runs = list(reader)
    counts = reader.counts
    assert counts.messages_received == counts.messages_kept
    assert counts.results_received == counts.results_kept
    parts = [part for run in runs for message in run.history + run.input + run.output for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    orphans = [part for part in parts if isinstance(part, ToolResult)]
    assert counts.tool_calls_received == counts.tool_calls_kept == len(calls)
    assert sum(call.state in ("result", "error") for call in calls) + len(orphans) == counts.results_received
    failures = sum(call.state == "error" for call in calls) + sum(result.is_error for result in orphans)
    return Count(len(runs), counts.messages_received, len(calls), counts.results_received, failures)


@pytest.mark.parametrize("name", FILES)
def test_recorded_file_reads_as_counted(name: str) -> None:
    path = need_traces() / name
    assert count(path) == FILES[name]
    assert as_read(path) == FILES[name]


@pytest.mark.parametrize("name", FRAMEWORK_FILES)
def test_framework_file_reads_as_counted(name: str) -> None:
    path = FRAMEWORKS / name
    assert count(path) == FRAMEWORK_FILES[name]
    assert as_read(path) == FRAMEWORK_FILES[name]


def test_every_file_of_the_folders_is_in_the_table() -> None:
    folder = need_traces()
    there = {
        f"{kind}/{path.name}" for kind in ("otel", "langfuse", "inspect_adk") for path in (folder / kind).iterdir()
    }
    elsewhere = {name for name in there if "v1_13_" in name or "log_invalid" in name}  # run states; a cut log, below
    assert there - elsewhere == set(FILES)
    spans = {path.name for path in FRAMEWORKS.iterdir() if "spans" in path.name or "sdk_trace" in path.name}
    assert spans == set(FRAMEWORK_FILES)


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("otel/examples.json", "otel"),
        ("otel/otel_genai_convention_spans.json", "otel"),
        ("otel/pydantic_ai_2.58.0.json", "otel"),
        ("otel/openinference_live_spans.json", "openinference"),
        ("langfuse/vercel-aisdk-2025-11-17.trace.json", "langfuse"),
        ("inspect_adk/flow_complex_spark__sample.session.json", "adk"),
        ("inspect_adk/home_automation_agent__simple_test2.test.json", "adk"),
        ("inspect_adk/log__test_eval_log__log_tool_call_error.json", "inspect_log"),
        ("frameworks/openai_agents_sdk_trace_export.json", "openai_agents_trace"),
    ],
)
def test_format_is_recognised(name: str, format: str) -> None:
    found = detect_format(json.loads((need_traces() / name).read_text(encoding="utf-8")))
    assert found
    assert format == found.NAME


# Spans: their order, their ids, numbers as text, JSON in text, Python's text


@pytest.mark.parametrize("name", [name for name in FRAMEWORK_FILES if "otel" in name or "openinference" in name])
def test_order_of_spans_does_not_matter(name: str) -> None:
    spans = json.loads((FRAMEWORKS / name).read_text(encoding="utf-8"))
    runs = {run.id: run for run in otel.decode(spans).runs}
    for seed in range(5):
        mixed = list(spans)
        random.Random(seed).shuffle(mixed)
        again = {run.id: run for run in otel.decode(mixed).runs}
        assert again == runs


def test_children_before_parents_and_trace_spread_over_lines() -> None:
    """Three lines hold one trace, and most children stand before their parents."""
    (run,) = read(need_traces() / "otel/openai_agents_0.24.0_oi_2.5.3.jsonl")
    assert told(run) == [
        ("call_lookup_1", "lookup_order", {"order_id": "A1"}, "result", "order A1: shipped"),
        ("call_handoff_1", "transfer_to_refunds", {}, "result", {"assistant": "Refunds"}),
    ]
    assert spoken(run) == ["Checking.", "Refund started for order A1."]
    assert [message.name for message in run.output if message.text] == ["Triage", "Refunds"]
    assert run.trajectory
    assert outline(run.trajectory.steps) == [
        ("agent_run", "Agent workflow", [
            ("workflow_step", "Agent workflow", [
                ("agent_run", "Triage", [
                    ("workflow_step", "turn", [("model_generation", "fake-model"), ("tool_call", "lookup_order")]),
                    ("workflow_step", "turn", [("model_generation", "fake-model"), ("handoff", "handoff to Refunds")]),
                ]),
                ("agent_run", "Refunds", [("workflow_step", "turn", [("model_generation", "fake-model")])]),
            ]),
        ]),
    ]  # fmt: skip
    assert run.trajectory.total_duration_ms == pytest.approx(15.306)


def test_64_bit_numbers_as_text() -> None:
    first, second = read(need_traces() / "otel/pydantic_ai_2.58.0.json")
    assert first.usage
    assert (first.usage.input_tokens, first.usage.output_tokens) == (132, 40)
    assert first.duration_ms == pytest.approx(7.528)
    assert first.started_at == "2026-10-20T09:40:24.993722Z"
    assert (second.user_text, second.final_text) == ("Thanks.", "Anytime.")


def test_messages_in_span_events_and_failed_tool() -> None:
    (run,) = read(need_traces() / "otel/otel_genai_convention_spans.json")
    assert told(run) == [
        ("call_paris_001", "get_weather", {"location": "Paris"}, "result", "rainy, 57°F"),
        ("call_london_001", "get_weather", {"location": "London"}, "error", "Error: TimeoutError"),
    ]
    assert run.tool_calls[1].error == "TimeoutError"
    assert run.tool_calls[1].duration_ms == 1000
    assert (run.thread_id, run.model) == ("conv_otel_test_001", "gpt-4o")
    assert run.usage  # of the model calls, not once more of the agent
    assert run.usage.total == 260


def test_python_text_of_arguments_and_one_argument_without_its_name() -> None:
    (run,) = read(need_traces() / "otel/smolagents_live_spans.json")
    search, answer = run.tool_calls
    assert (search.name, search.args) == ("web_search", {"query": "population of Tokyo"})
    assert (answer.name, list(answer.args)) == ("final_answer", ["answer"])
    assert run.final_text == answer.result
    opaque = [part for message in run.output for part in message.parts if isinstance(part, Opaque)]
    assert [part.kind for part in opaque] == ["message of role tool-call", "message of role tool-response"]

    (graph, _) = read(FRAMEWORKS / "langgraph_openinference_spans.json")
    assert [call.args for call in graph.tool_calls] == [{"city": "Rome"}, {"city": "Atlantis"}]
    assert [call.error for call in graph.tool_calls] == [None, "unknown city"]

    (agents, _) = read(FRAMEWORKS / "openai_agents_sdk_trace_export.json")
    assert agents.tool_calls[0].result == {"city": "Rome", "temp_c": 21}


def test_answer_that_only_the_whole_tells() -> None:
    (run,) = read(need_traces() / "otel/openinference_live_spans.json")
    assert run.final_text == "Taipei is warmer than Seattle overall."
    assert [(call.id, call.state) for call in run.tool_calls] == [("toolu_001", "call"), ("toolu_002", "result")]
    assert run.tool_calls[1].result == "Taipei is warmer than Seattle."


@pytest.mark.parametrize("version", ["v5", "v6"])
@pytest.mark.parametrize("kind", ["text", "structured"])
def test_pydantic_ai_spans_say_what_its_messages_say(version: str, kind: str) -> None:
    """Results under role `user` or `tool`, `result` or `response`; a structured answer is no call."""
    (spans,) = read(FRAMEWORKS / f"pydantic_ai_otel_spans_{version}_{kind}.json")
    (messages,) = read(FRAMEWORKS / f"pydantic_ai_messages_{kind}.json")
    assert told(spans) == told(messages)
    assert spoken(spans) == spoken(messages)
    assert spans.final_text == messages.final_text
    assert spans.input_text == messages.input_text


def test_langgraph_spans_say_what_its_state_says() -> None:
    spans = read(FRAMEWORKS / "langgraph_openinference_spans.json")[0]
    (state,) = read(FRAMEWORKS / "langgraph_state.json")
    assert [call[:4] for call in told(spans)] == [call[:4] for call in told(state)]
    assert spoken(spans) == spoken(state)


def test_parts_that_are_files() -> None:
    runs = {run.id: run for run in read(need_traces() / "otel/examples.json")}
    files = runs["multimodal_input"].input[0].parts[1:]
    assert [getattr(part, "url", None) is not None for part in files] == [True, True, True, True, False, False, True]
    assert runs["execute_tool_span_content_disabled"].tool_calls[0].args is None


def test_several_traces_are_several_runs_and_lines_may_be_mixed(tmp_path: Path) -> None:
    spans = json.loads((FRAMEWORKS / "openai_agents_openinference_spans.json").read_text(encoding="utf-8"))
    mixed = sorted(spans, key=lambda span: span["name"])
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(span) + "\n" for span in mixed), encoding="utf-8")
    by_line = {run.id: run for run in read(path)}
    assert by_line == {run.id: run for run in read(FRAMEWORKS / "openai_agents_openinference_spans.json")}
    assert len(by_line) == 2


def test_damaged_lines_leave_the_other_spans(tmp_path: Path) -> None:
    spans = json.loads((FRAMEWORKS / "pydantic_ai_openai_otel_spans_v6.json").read_text(encoding="utf-8"))
    lines = [json.dumps(span) for span in spans]
    path = tmp_path / "spans.jsonl"
    path.write_text("\n".join([lines[0], "{cut", *lines[1:], '{"no": "span"}']), encoding="utf-8")
    reader = read_runs(path, on_error="collect")
    (run,) = list(reader)
    assert run.final_text == "Rome is 21C."
    assert [error.line for error in reader.errors] == [2, 6]


@pytest.mark.parametrize("turns", ["last", "split"])
def test_spans_are_cut_into_turns(turns: str) -> None:
    path = need_traces() / "otel/openinference_live_spans.json"
    runs = read(path, turns=turns)
    assert runs[-1].user_text == "Now compare them."
    assert [call.name for call in runs[-1].tool_calls] == ["finish"]
    assert len(runs) == (1 if turns == "last" else 2)


# Langfuse


def test_definitions_of_tools_are_no_messages() -> None:
    path = need_traces() / "langfuse/langgraph-python-2025-08-22.trace.json"
    reader = read_runs(path, on_error="raise")
    (run,) = list(reader)
    assert reader.counts.dropped == {"tool definition among the messages": 2}
    assert [message.role for message in run.input] == ["user", "user"]
    assert told(run) == [
        (
            "call_1oGK863sxQHlPreFhDdEs3yl",
            "Web-Search",
            {"query": "example"},
            "result",
            [{"url": "https://example.com", "title": "Example Result", "q": "example"}],
        )
    ]
    assert run.thread_id == "demo-thread-1"
    assert run.metadata
    assert [score["name"] for score in run.metadata["scores"]] == ["hallucination", "toxicity"]
    assert run.cost == pytest.approx(0.000234)


def test_json_in_json_in_json() -> None:
    (run,) = read(need_traces() / "langfuse/google-adk-2025-08-28.trace.json")
    assert (run.user_text, run.final_text) == ("hi", "Hello Langfuse 👋!\n")
    assert [(call.name, call.args, call.result) for call in run.tool_calls] == [
        ("say_hello", {}, {"greeting": "Hello Langfuse 👋"})
    ]
    assert run.system[0].text.startswith("Always greet using the say_hello tool.")


def test_wrapper_around_a_generation_counts_once() -> None:
    (run,) = read(need_traces() / "langfuse/vercel-aisdk-2025-11-17.trace.json")
    assert told(run) == [
        (
            "call_DgKARp7a7IhJPDczfifMp6Ra",
            "getWeather",
            {"location": "San Francisco"},
            "result",
            {"location": "San Francisco", "temperature": 64},
        )
    ]
    assert run.usage
    assert run.usage.total == 147
    assert run.trajectory
    assert outline(run.trajectory.steps) == [
        ("workflow_run", "ai.generateText", [("model_generation", "gpt-5-2025-08-07"), ("tool_call", "getWeather")])
    ]


def test_langfuse_trace_of_the_api_and_observations_alone(tmp_path: Path) -> None:
    document = json.loads((need_traces() / "langfuse/vercel-aisdk-2025-11-17.trace.json").read_text(encoding="utf-8"))
    (run,) = read(need_traces() / "langfuse/vercel-aisdk-2025-11-17.trace.json")
    by_api = {**document["trace"], "observations": document["observations"]}
    path = tmp_path / "observations.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in document["observations"]), encoding="utf-8")
    for again in (list(read_runs([by_api], on_error="raise")), read(path)):
        assert told(again[0]) == told(run)
        assert (again[0].id, len(again)) == (run.id, 1)


# Google ADK and Inspect


def test_every_field_explicitly_null() -> None:
    (run,) = read(need_traces() / "inspect_adk/ecommerce_customer_service_agent__order_query.test.json")
    assert all(call.id is None and call.state == "call" for call in run.tool_calls)
    assert run.final_text == "User user_b has placed one order with order ID 2.\n"
    assert run.ground_truth == run.final_text


def test_same_call_listed_twice_is_two_calls() -> None:
    path = need_traces() / "inspect_adk/ecommerce_customer_service_agent__order_query.test.json"
    (run,) = read(path)
    names = [call.name for call in run.tool_calls]
    assert names.count("get_order_status") == 3
    assert [call["name"] for call in run.expected_tool_calls] == names
    turns = read(path, turns="split")
    assert [[call["name"] for call in run.expected_tool_calls] for run in turns] == [
        ["send_email"],
        ["get_order_status"],
        ["get_order_ids_for_user", "get_order_status", "get_order_status", "cancel_order"],
        ["get_order_ids_for_user"],
    ]
    assert [run.ground_truth for run in turns] == [run.final_text for run in turns]


def test_eval_set_of_the_older_generation() -> None:
    (run,) = read(need_traces() / "inspect_adk/home_automation_agent__simple_test2.test.json")
    expected = {"location": "Bedroom", "device_id": "device_3", "status": "OFF"}
    assert run.expected_tool_calls == [{"name": "set_device_info", "args": expected}]
    assert run.ground_truth == "I have set the device_3 status to off."
    sets = [
        {
            "name": "lights",
            "data": [{"query": "Off.", "expected_tool_use": [], "reference": "Done."}],
            "initial_session": {"state": {"room": 1}, "app_name": "home", "user_id": "u"},
        }
    ]
    (case,) = read_runs([sets], on_error="raise")
    assert (case.id, case.ground_truth, case.expected_tool_calls) == ("lights", "Done.", [])
    assert (case.context, case.metadata) == ({"room": 1}, {"app_name": "home", "user_id": "u"})


def test_session_with_several_agents() -> None:
    (run,) = read(need_traces() / "inspect_adk/flow_complex_spark__sample.session.json")
    assert [call.name for call in run.tool_calls] == ["transfer_to_other_agent"] * 2
    assert [call.result["target_agent_name"] for call in run.tool_calls] == ["research_assistant", "spark_assistant"]
    assert [message.name for message in run.output if message.text][-1] == "summary_agent"
    assert run.started_at == "2024-12-15T19:51:10.899412Z"


def test_nan_in_a_log_is_null() -> None:
    reader = read_runs(need_traces() / "inspect_adk/log__test_eval_log__log_with_nan.txt", on_error="raise")
    assert list(reader) == []
    assert reader.counts.problems == {"log without samples": 1}


def test_cut_log_is_one_clear_line() -> None:
    reader = read_runs(need_traces() / "inspect_adk/log__test_eval_log__log_invalid.txt", on_error="collect")
    assert list(reader) == []
    (error,) = reader.errors
    assert "is cut: the JSON ends in the middle of a value (line 2, column 29)" in str(error)


def test_failed_tool_calls_of_a_log() -> None:
    (run,) = read(need_traces() / "inspect_adk/log__test_eval_log__log_tool_call_error.json")
    results = [part for message in run.input for part in message.parts if isinstance(part, ToolResult)]
    assert [result.is_error for result in results] == [True] * 11
    assert run.warnings == [f"the result bash_{number} has no call" for number in range(1, 12)]


def test_eval_file_is_a_zip_of_samples() -> None:
    runs = read(need_traces() / "inspect_adk/log__test_eval_log__log_streaming.eval")
    assert sorted(run.id for run in runs) == ["1_epoch_1", "1_epoch_2", "2_epoch_1", "2_epoch_2"]
    by_id = {run.id: run for run in runs}
    assert (by_id["1_epoch_2"].ground_truth, by_id["1_epoch_2"].final_text) == (" Yes", "Yes.")
    assert by_id["1_epoch_2"].metadata
    assert by_id["1_epoch_2"].metadata["scores"] == {"match": "C"}

    (guess,) = read(need_traces() / "inspect_adk/log__test_eval_log__log_message_deduplication.eval")
    assert [call.id for call in guess.tool_calls] == [f"hardcoded_{number}" for number in range(5)]
    assert (guess.final_text, guess.ground_truth) == ("done", "42.7")
    assert guess.trajectory
    ((_, _, solvers),) = outline(guess.trajectory.steps)
    assert [kind for kind, *_ in solvers[1][2]] == ["model_generation", "tool_call"] * 5 + ["model_generation"]


def test_eval_file_by_standard_input_and_packed(tmp_path: Path) -> None:
    import gzip
    import io

    content = (need_traces() / "inspect_adk/log__test_eval_log__log_streaming.eval").read_bytes()
    packed = tmp_path / "log.eval.gz"
    packed.write_bytes(gzip.compress(content))
    for source in (io.BytesIO(content), packed):
        assert len(list(read_runs(source, on_error="raise"))) == 4


@pytest.mark.parametrize("format", ["langfuse", "openai_agents_trace", "inspect_log", "adk", "table"])
def test_file_of_another_format_is_an_error(format: str) -> None:
    with pytest.raises(ReadError):
        read(need_traces() / "otel/otel_genai_convention_spans.json", format=format)
    with pytest.raises(ReadError, match="holds no spans"):
        read(need_traces() / "inspect_adk/flow_complex_spark__sample.session.json", format="otel")


def test_spans_on_one_line_of_a_document(tmp_path: Path) -> None:
    spans = json.loads((FRAMEWORKS / "pydantic_ai_openai_otel_spans_v6.json").read_text(encoding="utf-8"))
    path = tmp_path / "spans.json"
    path.write_text(json.dumps(spans), encoding="utf-8")
    assert read(path) == read(FRAMEWORKS / "pydantic_ai_openai_otel_spans_v6.json")
    traces = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(FRAMEWORKS.glob("*agents*trace_export.json"))
    ]
    path.write_text(
        "".join(json.dumps([*trace["traces"], *trace["spans"]]) + "\n" for trace in traces), encoding="utf-8"
    )
    assert len(read(path)) == 3
