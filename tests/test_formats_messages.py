"""Other people's recorded messages: every file reads, nothing is lost, and what each file is known for is survived."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from count_messages import Count, count
from referee import Opaque, Reasoning, Run, Text, ToolCall, ToolResult, read_runs
from referee.formats import get_format
from support import FRAMEWORKS, need_traces

#: What each file of the folder holds, as the counting script says it.
FILES = {
    "ai_sdk_uimessages_and_mastra.jsonl": Count(97, 1, 129, 66, 41, 9),
    "anthropic_http.jsonl": Count(43, 1, 95, 18, 4, 0),
    "bfcl_114_questions_with_answers.jsonl": Count(114, 0, 125, 0, 0, 0),
    "gemini_http.jsonl": Count(30, 0, 78, 13, 5, 0),
    "inspect_adk/v1_13_pending_tool_approval.json": Count(1, 0, 3, 1, 0, 0),
    "inspect_adk/v1_13_programmatic_tool_calling.json": Count(1, 0, 4, 2, 1, 0),
    "openai_chat_family_http.jsonl": Count(78, 5, 225, 38, 20, 0),
    "openai_responses_http.jsonl": Count(30, 0, 106, 24, 13, 0),
    "pydantic_ai_model_messages_60.jsonl": Count(60, 0, 199, 27, 27, 9),
    "tau_airline_21runs.json": Count(21, 0, 372, 58, 58, 0),
    "whowhen_7runs.jsonl": Count(7, 0, 95, 0, 0, 0),
}
FRAMEWORK_FILES = {
    "autogen_agent_state.json": Count(1, 0, 4, 2, 2, 1),
    "autogen_stream.json": Count(1, 0, 5, 2, 2, 1),
    "autogen_structured.json": Count(1, 0, 2, 0, 0, 0),
    "autogen_task_result.json": Count(1, 0, 5, 2, 2, 1),
    "autogen_team_state.json": Count(1, 0, 7, 2, 2, 1),
    "autogen_tool_summary.json": Count(1, 0, 4, 1, 1, 0),
    "crewai_agent_output.json": Count(1, 0, 4, 1, 1, 0),
    "crewai_crew_output.json": Count(1, 0, 6, 1, 1, 0),
    "crewai_failures.json": Count(1, 0, 8, 3, 3, 2),
    "crewai_log.json": Count(1, 0, 4, 0, 0, 0),
    "crewai_native.json": Count(1, 0, 7, 2, 2, 1),
    "langchain_convert_to_openai_messages.json": Count(1, 0, 5, 2, 2, 0),
    "langchain_dumpd.json": Count(1, 0, 5, 2, 2, 1),
    "langchain_messages_to_dict.json": Count(1, 0, 5, 2, 2, 1),
    "langchain_model_dump.json": Count(1, 0, 5, 2, 2, 1),
    "langgraph_get_state.json": Count(1, 0, 5, 2, 2, 1),
    "langgraph_state.json": Count(1, 0, 5, 2, 2, 1),
    "langgraph_stream_events.json": Count(1, 0, 2, 0, 0, 0),
    "openai_agents_chatcompletions_to_input_list.json": Count(1, 0, 4, 1, 1, 0),
    "openai_agents_new_items.json": Count(1, 0, 7, 3, 3, 0),
    "openai_agents_raw_responses.json": Count(1, 0, 4, 3, 0, 0),
    "openai_agents_run_state.json": Count(1, 0, 8, 3, 3, 0),
    "openai_agents_to_input_list.json": Count(1, 0, 8, 3, 3, 0),
    "openai_agents_to_input_list_simple.json": Count(1, 0, 4, 1, 1, 0),
    "pydantic_ai_messages_structured.json": Count(1, 0, 7, 4, 4, 2),
    "pydantic_ai_messages_structured_multiturn.json": Count(1, 0, 14, 8, 8, 4),
    "pydantic_ai_messages_testmodel.json": Count(1, 0, 4, 1, 1, 0),
    "pydantic_ai_messages_text.json": Count(1, 0, 6, 4, 4, 2),
    "pydantic_ai_messages_text_multiturn.json": Count(1, 0, 12, 8, 8, 4),
    "pydantic_ai_openai_messages.json": Count(1, 0, 4, 1, 1, 0),
}


def calls_of(run: Run) -> list[ToolCall]:
    return [part for message in run.input + run.output for part in message.parts if isinstance(part, ToolCall)]


def as_read(path: Path) -> Count:
    """What the reader gives of a file."""
    reader = read_runs(path, on_error="collect")
    runs = list(reader)
    calls = [call for run in runs for call in calls_of(run)]
    parts = [part for run in runs for message in run.input + run.output for part in message.parts]
    orphans = [part for part in parts if isinstance(part, ToolResult)]
    counts = reader.counts
    assert counts.messages_kept == counts.messages_received - sum(counts.dropped.values())
    assert counts.tool_calls_kept == counts.tool_calls_received == len(calls)
    assert counts.results_kept == counts.results_received
    return Count(
        len(runs),
        reader.error_count,
        counts.messages_received,
        len(calls),
        sum(call.state in ("result", "error") for call in calls) + len(orphans),
        sum(call.state == "error" for call in calls) + sum(orphan.is_error for orphan in orphans),
    )


@pytest.mark.parametrize("name", FILES)
def test_a_recorded_file_reads_as_it_is_counted(name: str) -> None:
    path = need_traces() / name
    assert as_read(path) == count(path) == FILES[name]


@pytest.mark.parametrize("name", FRAMEWORK_FILES)
def test_a_framework_file_reads_as_it_is_counted(name: str) -> None:
    path = FRAMEWORKS / name
    assert as_read(path) == count(path) == FRAMEWORK_FILES[name]


def records(name: str) -> list[Any]:
    path = need_traces() / name
    content = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in content.splitlines()] if path.suffix == ".jsonl" else json.loads(content)


def run_of(record: Any, format: str) -> Run:
    (run,) = get_format(format).decode(record).runs
    return run


def test_tau_joins_each_result_to_the_latest_call_of_its_id() -> None:
    reused = 0
    for record in records("tau_airline_21runs.json"):
        calls = calls_of(run_of(record, "openai_chat"))
        # Told from the record alone: each result belongs to the latest call of its id that has none yet.
        issued: list[tuple[str, str]] = []
        answers: dict[int, str] = {}
        for message in record["traj"]:
            issued += [(call["id"], call["function"]["name"]) for call in message.get("tool_calls") or []]
            if message["role"] == "tool":
                places = [place for place, (known, _) in enumerate(issued) if known == message["tool_call_id"]]
                answers[max(place for place in places if place not in answers)] = message["content"]
        assert [(call.id, call.name) for call in calls] == issued
        reused += sum(times > 1 for times in Counter(known for known, _ in issued).values())
        for place, answer in answers.items():
            assert calls[place].result == answer or calls[place].result == json.loads(answer)
    assert reused > 0


def test_tau_keeps_empty_results_text_failures_and_odd_endings() -> None:
    found = records("tau_airline_21runs.json")
    runs = [run_of(record, "openai_chat") for record in found]
    assert any(call.result == "" and call.state == "result" for run in runs for call in calls_of(run))
    assert any(str(call.result).startswith("Error") for run in runs for call in calls_of(run))
    assert {record["traj"][-1]["role"] for record in found} == {"user", "tool"}
    assert all(run.metadata and run.metadata["reward"] in (0, 1) for run in runs)
    assert len({run.id for run in runs}) == 21
    assert runs[0].expected_tool_calls[0].keys() == {"name", "args"}


def test_chat_survives_empty_ids_missing_content_and_missing_types() -> None:
    found = records("openai_chat_family_http.jsonl")
    (call,) = run_of(found[1], "openai_chat").tool_calls
    assert call == ToolCall("get_current_time", {}, None, "call")
    (call,) = run_of(found[64], "openai_chat").tool_calls  # Mistral: no type
    assert (call.name, call.id) == ("get_image", "utZJMAZN4")
    run = run_of(found[68], "openai_chat")
    assert [type(part) for part in run.output[-1].parts] == [Reasoning, Text]


def test_chat_keeps_a_refused_call_as_what_it_is() -> None:
    run = run_of(records("openai_chat_family_http.jsonl")[80], "openai_chat")
    assert run.tool_calls == ()
    (part,) = run.output[0].parts
    assert isinstance(part, Opaque)
    assert "get_something_by_name" in part.value
    assert run.metadata
    assert "Tool call validation failed" in run.metadata["error"]
    assert any("the request failed" in warning for warning in run.warnings)


def test_pairs_without_messages_are_reported_and_no_crash() -> None:
    reader = read_runs(need_traces() / "openai_chat_family_http.jsonl", on_error="collect")
    list(reader)
    assert [error.line for error in reader.errors] == [7, 13, 15, 27, 60]
    assert all("in no known format" in str(error) for error in reader.errors)
    assert reader.counts.problems["response not understood"] == 2
    assert reader.counts.problems["the request failed"] == 7


def test_responses_survive_custom_input_and_items_of_own_tools() -> None:
    found = records("openai_responses_http.jsonl")
    run = run_of(found[29], "openai_responses")
    (call,) = run.tool_calls
    assert (call.name, call.args, call.args_invalid) == ("execute_code", "print(3**3)", True)
    (search,) = run_of(found[8], "openai_responses").tool_calls
    assert (search.name, search.state, search.args["query"]) == ("web_search", "result", "latest news on AI")
    patch = run_of(found[17], "openai_responses").tool_calls[0]
    assert (patch.name, patch.result, patch.args["path"]) == ("apply_patch", "Created hello.txt", "hello.txt")
    compacted = run_of(found[24], "openai_responses")
    assert [part.kind for part in compacted.output[-1].parts if isinstance(part, Opaque)] == ["compaction"]


def test_anthropic_reads_server_tools_with_their_results() -> None:
    run = run_of(records("anthropic_http.jsonl")[41], "anthropic")
    kinds = [type(part).__name__ for part in run.output[0].parts]
    assert kinds == ["Text", "ToolCall", "Text", "ToolCall"]
    search, weather = run.tool_calls
    assert (search.name, search.state) == ("tool_search_tool_bm25", "result")
    assert search.result["tool_references"][0]["tool_name"] == "get_weather"
    assert (weather.name, weather.state) == ("get_weather", "call")


def test_gemini_joins_parallel_calls_without_ids_and_survives_a_safety_stop() -> None:
    found = records("gemini_http.jsonl")
    first, second = run_of(found[27], "gemini").tool_calls
    assert (first.args, second.args) == ({"location": "Boston"}, {"location": "New Delhi"})
    assert run_of(found[28], "gemini").tool_calls == run_of(found[27], "gemini").tool_calls
    stopped = run_of(found[21], "gemini")
    assert (stopped.output_text, stopped.metadata) == ("", {"finish_reason": "SAFETY"})
    pieces = found[18]["request"]["contents"][1]["parts"]
    assert run_of(found[18], "gemini").output[0].text == "".join(piece["text"] for piece in pieces)


def test_pydantic_ai_histories_may_begin_with_a_tool_return() -> None:
    whole = json.loads((FRAMEWORKS / "pydantic_ai_messages_testmodel.json").read_text(encoding="utf-8"))
    decoded = get_format("pydantic_ai").decode(whole[2:])
    (run,) = decoded.runs
    (orphan,) = [part for message in run.input for part in message.parts]
    assert orphan == ToolResult(0, whole[2]["parts"][0]["tool_call_id"], "add")
    assert decoded.counts.problems == {"result without a call": 1}


def test_pydantic_ai_arguments_results_retries_and_output() -> None:
    whole = json.loads((FRAMEWORKS / "pydantic_ai_messages_structured.json").read_text(encoding="utf-8"))
    run = run_of(whole, "pydantic_ai")
    assert [(call.name, call.args, call.state) for call in run.tool_calls] == [
        ("get_weather", {"city": "Rome"}, "result"),
        ("get_weather", {"city": "Atlantis"}, "error"),
        ("get_weather", {"city": "Paris"}, "result"),
        ("broken", {}, "error"),
    ]
    assert [call.error for call in run.tool_calls] == [None, "unknown city Atlantis", None, "database is down"]
    assert json.loads(run.final_text) == {"text": "Rome 21C, Paris 17C", "cities": ["Rome", "Paris"]}
    assert run.thread_id == whole[0]["conversation_id"]


def test_ai_sdk_states_and_legacy_invocations() -> None:
    found = records("ai_sdk_uimessages_and_mastra.jsonl")
    requested, without_state = calls_of(run_of(found[33], "mastra"))
    assert (requested.state, without_state.state, without_state.called) == ("unknown", "unknown", False)
    (failed,) = run_of(found[19], "mastra").tool_calls
    assert (failed.state, failed.error, failed.args) == (
        "error",
        "Error: Invalid input",
        {"operation": "add", "numbers": [1, 2]},
    )
    (legacy,) = run_of(found[89], "mastra").tool_calls
    assert (legacy.name, legacy.state, legacy.error) == ("testTool", "error", "Tool execution failed")
    joined = run_of(found[96], "mastra").tool_calls
    assert [(call.state, call.is_error) for call in joined] == [("error", True)]


def test_run_states_list_a_call_that_waits_for_approval_once() -> None:
    run = run_of(records("inspect_adk/v1_13_pending_tool_approval.json"), "openai_agents")
    assert [(call.name, call.state) for call in run.tool_calls] == [("historical_approval", "call")]
    assert run.user_text == "historical input"
    assert run.trace_id == "trace_179a5e809d614cf89ac5a1f24b415704"


def test_histories_of_several_agents_keep_their_speakers() -> None:
    found = records("whowhen_7runs.jsonl")
    runs = [run_of(record, "autogen") for record in found]
    elsewhere = 0
    for record, run in zip(found, runs, strict=True):
        assert run.ground_truth == record["ground_truth"]
        assert run.id == record["question_ID"]
        assert {message.role for message in run.output} == {"assistant"}
        spoken = [entry for entry in record["history"] if entry["role"] != "human"]
        assert [message.name for message in run.output] == [entry.get("name", entry["role"]) for entry in spoken]
        assert run.metadata
        step = record["history"][int(run.metadata["mistake_step"])]
        elsewhere += run.metadata["mistake_agent"] != step.get("name", step["role"])
    assert elsewhere == 3
    assert [run.user_text for run in runs[:5]] == [record["question"] for record in found[:5]]


def test_new_items_keep_objects_that_the_input_list_turns_into_text() -> None:
    def read(name: str) -> list[ToolCall]:
        return list(run_of(json.loads((FRAMEWORKS / name).read_text(encoding="utf-8")), "openai_agents").tool_calls)

    kept, text = read("openai_agents_new_items.json"), read("openai_agents_to_input_list.json")
    assert [call.name for call in kept] == [call.name for call in text]
    assert kept[0].result == {"city": "Rome", "temp_c": 21}
    assert text[0].result == "{'city': 'Rome', 'temp_c': 21}"


def test_langchain_keeps_a_failure_that_its_openai_form_loses() -> None:
    def read(name: str, format: str) -> list[str]:
        run = run_of(json.loads((FRAMEWORKS / name).read_text(encoding="utf-8")), format)
        return [call.state for call in run.tool_calls]

    for name in ("langchain_dumpd.json", "langchain_messages_to_dict.json", "langchain_model_dump.json"):
        assert read(name, "langchain") == ["result", "error"]
    assert read("langchain_convert_to_openai_messages.json", "openai_chat") == ["result", "result"]


def framework_run(name: str, format: str) -> Run:
    return run_of(json.loads((FRAMEWORKS / name).read_text(encoding="utf-8")), format)


@pytest.mark.parametrize("name", ["task_result", "stream", "agent_state", "team_state"])
def test_autogen_says_the_same_in_results_streams_and_states(name: str) -> None:
    """A tool's object is Python text in all of them."""
    run = framework_run(f"autogen_{name}.json", "autogen")
    assert [(call.id, call.name, call.args, call.state, call.result) for call in run.tool_calls] == [
        ("call_1", "get_weather", {"city": "Rome"}, "result", {"city": "Rome", "temp_c": 21}),
        ("call_2", "get_weather", {"city": "Atlantis"}, "error", "unknown city Atlantis"),
    ]
    assert "The weather, then." not in run.output_text  # a thought
    assert run.output_text.count("Rome is 21C.") == 1
    assert run.user_text == "Weather in Rome and Atlantis?"


def test_crewai_calls_in_the_text_of_a_model_and_by_its_api() -> None:
    native = framework_run("crewai_native.json", "crewai")
    in_text = framework_run("crewai_failures.json", "crewai")
    rome = ("get_weather", {"city": "Rome"}, "result", {"city": "Rome", "temp_c": 21}, None)
    told = [[(c.name, c.args, c.state, c.result, c.error) for c in run.tool_calls] for run in (native, in_text)]
    assert told[0][0] == told[1][1] == rome
    for run, place in ((native, 1), (in_text, 0)):
        failed = run.tool_calls[place]
        assert (failed.args, failed.state, failed.error) == ({"city": "Atlantis"}, "error", "unknown city Atlantis")
        assert run.final_text == "Rome is 21C."
    assert (in_text.tool_calls[2].name, in_text.tool_calls[2].state) == ("unknown_tool", "error")
    thoughts = [part for message in in_text.output for part in message.parts if isinstance(part, Reasoning)]
    assert [thought.text for thought in thoughts] == ["I look.", "again", "x"]
    assert "Thought" not in in_text.output_text


@pytest.mark.parametrize(
    "text", ["", "Action: sky", "Action:\nAction Input: {}", "I say: Final Answer: no", "Final Answer: Blue."]
)
def test_other_text_of_crewai_stays_text(text: str) -> None:
    task = {"description": "d", "agent": "a", "raw": "", "messages": [{"role": "assistant", "content": text}]}
    run = run_of({"raw": "", "tasks_output": [task]}, "crewai")
    assert (run.output_text, run.tool_calls) == (text, ())


def test_crewai_failures_without_a_call_are_told() -> None:
    failures = [{"tool_name": "sky", "tool_args": "{", "failure": {"reason": "exception"}}, {}]
    task = {"description": "d", "agent": "a", "raw": "r", "messages": [], "tool_failures": failures}
    run = run_of({"raw": "r", "tasks_output": [task]}, "crewai")
    assert run.warnings == ["the failure of sky has no call", "the failure of a tool has no call"]


def test_bfcl_questions_keep_their_allowed_values() -> None:
    run = run_of(records("bfcl_114_questions_with_answers.jsonl")[0], "bfcl")
    assert run.metadata
    assert run.metadata["possible_answer"][0]["calculate_triangle_area"]["unit"] == ["units", ""]
    assert run.user_text.startswith("Find the area")
    assert run.output == []
