"""Shapes that the recorded files do not hold, read from the published types of each format."""

from __future__ import annotations

from typing import Any

import pytest

from referee import File, Message, Opaque, Reasoning, Run, Text, ToolResult, to_run
from referee.formats import get_format
from referee.formats.decoded import Counts


def read(format: str, record: Any, turns: Any = "all") -> tuple[Run, Counts]:
    chosen = get_format(format)
    assert chosen.detect(record)
    decoded = chosen.decode(record, turns)
    (run,) = decoded.runs
    return run, decoded.counts


def calls(run: Run) -> list[tuple[Any, ...]]:
    return [(call.id, call.name, call.args, call.state, call.result) for call in run.invocations]


# OpenAI Responses


def response(*output: Any, **more: Any) -> dict[str, Any]:
    return {"object": "response", "id": "r1", "status": "completed", "output": list(output), **more}


def test_mcp_calls_carry_their_result_or_error() -> None:
    run, _ = read(
        "openai_responses",
        response(
            {"type": "mcp_list_tools", "id": "l1", "server_label": "docs", "tools": []},
            {
                "type": "mcp_call",
                "id": "m1",
                "name": "search",
                "server_label": "docs",
                "arguments": '{"q":"x"}',
                "output": '{"hits": 2}',
                "error": None,
            },
            {
                "type": "mcp_call",
                "id": "m2",
                "name": "fetch",
                "server_label": "docs",
                "arguments": "{}",
                "output": None,
                "error": {"type": "http_error", "code": 404, "message": "gone"},
            },
        ),
    )
    assert calls(run) == [
        ("m1", "search", {"q": "x"}, "result", {"hits": 2}),
        ("m2", "fetch", {}, "error", None),
    ]
    assert run.tool_calls[1].error == "gone"
    assert [part.kind for part in run.output[0].parts if isinstance(part, Opaque)] == ["mcp_list_tools"]


def test_an_item_in_progress_is_partial_only_without_whole_arguments() -> None:
    def call(arguments: str) -> dict[str, Any]:
        item = {"type": "function_call", "call_id": "c1", "name": "sky", "status": "in_progress"}
        return {**item, "arguments": arguments}

    for arguments, state in (("", "partial"), ('{"city', "partial"), ('{"city":"Ghent"}', "call")):
        run, counts = read("openai_responses", response(call(arguments), status="incomplete"))
        assert [invocation.state for invocation in run.invocations] == [state]
        assert counts.problems == {}
        assert run.metadata == {"finish_reason": "incomplete"}


def test_outputs_of_own_tools_join_their_calls() -> None:
    run, counts = read(
        "openai_responses",
        [
            {"type": "shell_call", "call_id": "s1", "action": {"commands": ["ls"]}, "status": "completed"},
            {"type": "shell_call_output", "call_id": "s1", "output": [{"stdout": "a.txt", "stderr": ""}]},
            {"type": "file_search_call", "id": "f1", "queries": ["tax"], "status": "completed", "results": []},
            {"type": "image_generation_call", "id": "i1", "status": "failed", "error": {"message": "refused"}},
            {"type": "brand_new_call", "id": "n1", "status": "completed", "depth": 2},
            {"type": "item_reference", "id": "x1"},
        ],
    )
    assert calls(run) == [
        ("s1", "shell", {"commands": ["ls"]}, "result", [{"stdout": "a.txt", "stderr": ""}]),
        ("f1", "file_search", {"queries": ["tax"]}, "result", []),
        ("i1", "image_generation", {}, "error", None),
        ("n1", "brand_new", {"depth": 2}, "result", None),
    ]
    assert counts.opaque == {"item_reference": 1}


def test_earlier_turns_elsewhere_and_failed_responses_are_told() -> None:
    record = {
        "request": {"input": "Go on.", "model": "m", "previous_response_id": "r0"},
        "response": response(status="failed", error={"code": "server_error", "message": "busy"}),
    }
    run, counts = read("openai_responses", record)
    assert counts.problems == {"earlier turns elsewhere": 1, "the request failed": 1}
    assert (run.user_text, run.metadata) == ("Go on.", {"error": "busy"})


# Anthropic


def test_user_messages_in_a_row_and_mixed_results() -> None:
    run, counts = read(
        "anthropic",
        [
            {"role": "user", "content": "One"},
            {"role": "user", "content": [{"type": "text", "text": "Two"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "tool_use", "id": "a", "name": "sky", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "sky", "input": {"n": 2}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "b", "content": "two"},
                    {"type": "tool_result", "tool_use_id": "a"},
                    {"type": "text", "text": "Well?"},
                ],
            },
        ],
    )
    assert [message.text for message in run.input] == ["One", "Two"]
    assert calls(run) == [("a", "sky", {}, "result", None), ("b", "sky", {"n": 2}, "result", "two")]
    assert [type(part) for part in run.output[0].parts[:2]] == [Reasoning, Opaque]
    assert run.output[1] == Message("user", [Text("Well?")])
    assert (counts.messages_received, counts.results_received) == (4, 2)


def test_errors_of_server_tools_and_files() -> None:
    run, _ = read(
        "anthropic",
        {
            "type": "message",
            "role": "assistant",
            "stop_reason": "refusal",
            "id": "m",
            "content": [
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s",
                    "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
                },
            ],
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 5},
        },
    )
    (call,) = run.tool_calls
    assert (call.state, call.error) == ("error", "max_uses_exceeded")
    assert (run.metadata, run.usage.total if run.usage else 0) == ({"finish_reason": "refusal"}, 100)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    run, _ = read("anthropic", [{"role": "user", "content": [image]}])
    assert run.input[0].parts == [File("image/png", data="aGk=")]


# Gemini


def test_gemini_in_snake_case_with_wrapped_results_and_failures() -> None:
    run, _ = read(
        "gemini",
        {
            "contents": [
                {
                    "role": "user",
                    "parts": [{"text": "Hi"}, {"inline_data": {"mime_type": "image/png", "data": "aGk="}}],
                },
                {
                    "role": "model",
                    "parts": [
                        {"text": "Hm.", "thought": True},
                        {"function_call": {"name": "sky", "args": {"n": 1}}},
                        {"function_call": {"name": "sea", "args": {}}},
                        {"function_call": {"name": "sky", "args": {"n": 2}}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"function_response": {"name": "sky", "response": {"result": "blue"}}},
                        {"function_response": {"name": "sky", "response": {"error": "no sky"}}},
                        {"function_response": {"name": "sea", "response": {"depth": 3, "result": 1}}},
                    ],
                },
            ],
            "system_instruction": "Be brief.",
        },
    )
    assert calls(run) == [
        (None, "sky", {"n": 1}, "result", "blue"),
        (None, "sea", {}, "result", {"depth": 3, "result": 1}),
        (None, "sky", {"n": 2}, "error", "no sky"),
    ]
    assert run.input[0].parts[1] == File("image/png", data="aGk=")
    assert run.system[0].text == "Be brief."


def test_a_list_of_response_pieces_and_a_blocked_prompt() -> None:
    run, _ = read(
        "gemini",
        [
            {"candidates": [{"content": {"parts": [{"text": "Ghe"}]}}]},
            {"candidates": [{"content": {"parts": [{"text": "nt"}]}, "finishReason": "MAX_TOKENS"}], "responseId": "r"},
        ],
    )
    assert (run.id, run.output_text, run.metadata) == ("r", "Ghent", {"finish_reason": "MAX_TOKENS"})
    run, _ = read("gemini", {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    assert (run.output, run.metadata) == ([], {"finish_reason": "PROHIBITED_CONTENT"})


# LangChain


def test_content_blocks_keep_the_place_of_calls() -> None:
    run, _ = read(
        "langchain",
        [
            {"type": "human", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
            {
                "type": "ai",
                "name": "sailor",
                "content": [
                    {"type": "reasoning", "reasoning": "Hm."},
                    {"type": "tool_use", "id": "c1", "name": "sky", "input": "{}"},
                    {"type": "text", "text": "Blue."},
                    {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"q": "sky"}},
                    {"type": "server_tool_result", "tool_call_id": "s1", "status": "error", "output": "down"},
                    {"type": "non_standard", "value": {}},
                ],
                "tool_calls": [{"name": "sky", "args": {"n": 1}, "id": "c1"}],
                "invalid_tool_calls": [{"name": "sea", "args": "{depth", "id": "c2", "error": "no JSON"}],
            },
        ],
    )
    assert [type(part).__name__ for part in run.output[0].parts] == [
        "Reasoning",
        "ToolCall",
        "Text",
        "ToolCall",
        "Opaque",
        "ToolCall",
    ]
    assert calls(run) == [
        ("c1", "sky", {"n": 1}, "call", None),
        ("s1", "web_search", {"q": "sky"}, "error", "down"),
        ("c2", "sea", "{depth", "call", None),
    ]
    assert run.invocations[2].args_invalid
    assert (run.output[0].name, run.input[0].parts) == ("sailor", [File("image", url="https://example.com/a.png")])


def test_stream_events_without_states_are_put_together() -> None:
    def piece(**fields: Any) -> dict[str, Any]:
        return {"mode": "messages", "data": [{"type": "AIMessageChunk", "id": "m1", **fields}, {"langgraph_step": 1}]}

    events = [
        piece(content="Let "),
        piece(content="me look.", tool_call_chunks=[{"index": 0, "name": "sky", "args": '{"n"', "id": "c1"}]),
        piece(content="", tool_call_chunks=[{"index": 0, "name": None, "args": ": 1}", "id": None}]),
    ]
    run, _ = read("langchain", events)
    assert (run.output_text, calls(run)) == ("Let me look.", [("c1", "sky", {"n": 1}, "call", None)])
    update = {"mode": "updates", "data": {"agent": {"messages": [{"type": "ai", "content": "Blue.", "id": "m1"}]}}}
    run, _ = read("langchain", [*events, update])
    assert run.output_text == "Blue."


def test_old_calls_in_additional_kwargs_and_removed_messages() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "sky", "arguments": '{"n": 1}'}}
    run, counts = read(
        "langchain",
        [
            {"type": "human", "data": {"content": "Sky?", "type": "human"}},
            {"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": [call]}}},
            {"type": "remove", "data": {"content": "", "id": "m0"}},
        ],
    )
    assert calls(run) == [("c1", "sky", {"n": 1}, "call", None)]
    assert counts.dropped == {"message of type 'remove'": 1}


# Pydantic AI


def test_feedback_of_the_framework_is_no_user() -> None:
    talk = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["Sky?", {"kind": "cache-point"}]}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "blu"}]},
        {
            "kind": "request",
            "parts": [
                {"part_kind": "retry-prompt", "content": [{"loc": ["color"], "msg": "unknown"}], "tool_name": None}
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": "blue"}]},
    ]
    run, _ = read("pydantic_ai", talk)
    assert [message.role for message in run.output] == ["assistant", "tool", "assistant"]
    assert run.output[1].text == "color: unknown"
    assert len(get_format("pydantic_ai").decode(talk, "split").runs) == 1


def test_output_tools_of_any_name_and_refused_output() -> None:
    def call(name: str, id: str, args: Any) -> dict[str, Any]:
        part = {"part_kind": "tool-call", "tool_name": name, "tool_call_id": id, "args": args}
        return {"kind": "response", "parts": [part]}

    def answer(name: str, id: str, content: str, outcome: str = "success") -> dict[str, Any]:
        part = {"part_kind": "tool-return", "tool_name": name, "tool_call_id": id, "content": content}
        return {"kind": "request", "parts": [{**part, "outcome": outcome}]}

    run, _ = read(
        "pydantic_ai",
        [
            call("give_answer", "c1", {"n": "x"}),
            answer("give_answer", "c1", "n is no number", "retried"),
            call("give_answer", "c2", '{"n": 4}'),
            answer("give_answer", "c2", "Final result processed."),
        ],
    )
    assert run.tool_calls == ()
    assert run.output_text == '{"n":4}'
    assert [part.kind for part in run.output[0].parts if isinstance(part, Opaque)] == ["refused output"]


# OpenAI chat


def test_custom_tools_old_functions_and_whole_calls_in_streams() -> None:
    run, _ = read(
        "openai_chat",
        [
            {
                "role": "assistant",
                "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}, 7],
            },
            {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
            {"role": "function", "name": "old", "content": "done"},
        ],
    )
    assert calls(run) == [("c1", "run", "print(1)", "call", None), (None, "old", {}, "result", "done")]
    pieces = [
        {"choices": [{"delta": {"tool_calls": [{"id": call_id, "function": {"name": "sky", "arguments": "{}"}}]}}]}
        for call_id in ("c1", "c2")
    ]
    joined = get_format("openai_chat").joined_chunks(pieces)  # type: ignore[attr-defined]
    assert [call["id"] for call in joined["choices"][0]["message"]["tool_calls"]] == ["c1", "c2"]


def test_results_are_joined_by_id_then_by_name_and_orphans_are_told() -> None:
    run, counts = read(
        "openai_chat",
        [
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "a", "arguments": "1"}}]},
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "b", "arguments": "2"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "latest"},
            {"role": "tool", "name": "a", "content": "by name"},
            {"role": "tool", "tool_call_id": "c", "content": "too many"},
        ],
    )
    assert calls(run) == [("c", "a", 1, "result", "by name"), ("c", "b", 2, "result", "latest")]
    assert run.output[-1].parts == [ToolResult("too many", "c")]
    assert counts.problems == {"result without a call": 1}


def test_a_record_says_more_than_its_messages() -> None:
    run, _ = read(
        "openai_chat",
        {
            "id": 7,
            "messages": [{"role": "user", "content": "Hi"}],
            "groundTruth": "Hello",
            "expected": {"tool_calls": [{"name": "a", "kwargs": {"n": 1}}]},
            "latency_ms": 12,
            "cost_usd": 0.5,
            "usage": {"prompt_tokens": 1},
            "metadata": {"k": 1},
            "threadId": "t",
            "context": "no object",
        },
    )
    assert (run.id, run.ground_truth, run.thread_id, run.metadata) == ("7", "Hello", "t", {"k": 1})
    assert (run.expected_tool_calls, run.duration_ms, run.cost) == ([{"name": "a", "args": {"n": 1}}], 12.0, 0.5)
    assert (run.context, run.usage.input_tokens if run.usage else None) == (None, 1)


def test_what_belongs_to_the_whole_is_not_given_to_each_turn() -> None:
    record = {
        "messages": [{"role": role, "content": "x"} for role in ("user", "assistant", "user", "assistant")],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1},
        "cost": 2.0,
        "model": "m",
    }
    runs = get_format("openai_chat").decode(record, "split").runs
    assert [(run.usage, run.cost, run.model) for run in runs] == [(None, None, "m")] * 2


# AutoGen and CrewAI


def test_autogen_task_results_and_team_states() -> None:
    messages = [
        {"type": "TextMessage", "source": "user", "content": "Sky?", "models_usage": None},
        {"type": "ThoughtEvent", "source": "sailor", "content": "Hm."},
        {
            "type": "ToolCallRequestEvent",
            "source": "sailor",
            "content": [{"id": "c1", "name": "sky", "arguments": '{"n": 1}'}],
            "models_usage": {"prompt_tokens": 4, "completion_tokens": 2},
        },
        {
            "type": "ToolCallExecutionEvent",
            "source": "sailor",
            "content": [{"call_id": "c1", "name": "sky", "content": "no sky", "is_error": True}],
        },
        {"type": "ModelClientStreamingChunkEvent", "source": "sailor", "content": "No "},
        {"type": "StructuredMessage[Sky]", "source": "sailor", "content": {"sky": None}},
        {"type": "SelectSpeakerEvent", "source": "manager", "content": ["sailor"]},
        {"type": "ToolCallSummaryMessage", "source": "sailor", "content": "no sky"},
    ]
    run, counts = read("autogen", {"messages": messages, "stop_reason": "done"})
    assert calls(run) == [("c1", "sky", {"n": 1}, "error", "no sky")]
    assert (run.user_text, run.final_text, run.metadata) == ("Sky?", "no sky", {"stop_reason": "done"})
    assert '{"sky":null}' in run.output_text
    assert (run.usage.total if run.usage else 0, counts.messages_received) == (6, 8)
    assert counts.opaque == {"SelectSpeakerEvent": 1}
    state = {
        "type": "TeamState",
        "agent_states": {
            "sailor": {"type": "ChatAgentContainerState", "agent_state": {"llm_context": {"messages": messages[:2]}}},
            "manager": {"type": "RoundRobinManagerState", "message_thread": messages},
        },
    }
    assert read("autogen", state)[0].output == run.output


def test_crews_outputs_and_logs() -> None:
    task = {
        "description": "Tell the sky.",
        "agent": "sailor",
        "raw": "It is blue.",
        "messages": [
            {"role": "system", "content": "You are a sailor."},
            {"role": "user", "content": "Tell the sky."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "function": {"name": "sky", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "blue"},
            {"role": "assistant", "content": "Thought: I know.\nFinal Answer: It is blue."},
        ],
    }
    plain = {"description": "Tell the sea.", "agent": "diver", "raw": "Deep.", "messages": []}
    run, counts = read(
        "crewai", {"raw": "Deep.", "tasks_output": [task, plain], "token_usage": {"total_tokens": 9}, "json_dict": None}
    )
    assert (run.user_text, run.final_text, calls(run)) == (
        "Tell the sky.",
        "Deep.",
        [("c1", "sky", {}, "result", "blue")],
    )
    assert [message.name for message in run.output] == ["sailor", "sailor", None, "diver"]
    assert (run.usage.total if run.usage else 0, counts.messages_received) == (9, 6)
    log = [
        {"timestamp": "t1", "task_name": "a", "task": "Tell the sky.", "agent": "sailor", "status": "started"},
        {
            "timestamp": "t2",
            "task_name": "a",
            "task": "Tell",
            "agent": "sailor",
            "status": "completed",
            "output": "Blue.",
        },
    ]
    run, _ = read("crewai", log)
    assert (run.user_text, run.final_text, run.output[0].name) == ("Tell the sky.", "Blue.", "sailor")


# AI SDK and Mastra


def test_attachments_legacy_reasoning_and_denied_results() -> None:
    run, _ = read(
        "mastra",
        [
            {
                "role": "user",
                "content": {
                    "format": 2,
                    "parts": [{"type": "text", "text": "See."}],
                    "experimental_attachments": [
                        {"name": "a.png", "contentType": "image/png", "url": "https://example.com/a.png"}
                    ],
                },
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "tool-call", "toolCallId": "c1", "toolName": "pay", "input": {}},
                    {"type": "tool-call", "toolCallId": "c2", "toolName": "sky", "input": {}},
                ],
                "reasoning": "Hm.",
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c1",
                        "toolName": "pay",
                        "output": {"type": "execution-denied", "reason": "too much"},
                    },
                    {
                        "type": "tool-result",
                        "toolCallId": "c2",
                        "toolName": "sky",
                        "output": {"type": "content", "value": [{"type": "text", "text": "blue"}]},
                    },
                ],
            },
        ],
    )
    assert run.input[0].parts[1] == File("image/png", "a.png", "https://example.com/a.png")
    assert run.output[0].parts[0] == Reasoning("Hm.")
    assert calls(run) == [("c1", "pay", {}, "error", "too much"), ("c2", "sky", {}, "result", "blue")]


def test_an_unknown_state_is_told() -> None:
    part = {"type": "tool-pay", "toolCallId": "c1", "state": "approval-requested", "input": {}}
    run, counts = read("mastra", [{"role": "assistant", "parts": [part]}])
    assert run.tool_calls == ()
    assert counts.problems == {"unknown state of a call": 1}
    assert run.warnings == ["pay is in no known state and counts as no call"]


# Live objects


@pytest.mark.parametrize("holder", [list, tuple])
def test_objects_that_are_no_framework_s_are_read_as_data(holder: type) -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    if holder is list:
        assert to_run(holder(talk)).final_text == "Hello"
    else:
        with pytest.raises(ValueError, match="this tuple is in no known format"):
            to_run(holder(talk))
