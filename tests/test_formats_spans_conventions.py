"""Spans in the conventions of several years, trees of all shapes, and what traces do not tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from referee import Opaque, Reasoning, Run, Text
from referee.formats import otel
from referee.formats.span_messages import messages_of
from referee.trajectory import Step


def span(
    id: str, parent: str | None = None, name: str = "", start: int = 0, end: int | None = None, **attributes: Any
) -> dict[str, Any]:
    """A flat span; the attributes' names have `__` for a dot."""
    second = 1_700_000_000_000_000_000
    return {
        "trace_id": "t1",
        "span_id": id,
        "parent_span_id": parent,
        "name": name or id,
        "start_time": second + start * 1_000_000,
        "end_time": second + (start + 1 if end is None else end) * 1_000_000,
        "attributes": {key.replace("__", "."): value for key, value in attributes.items()},
    }


def genai(messages: list[Any]) -> str:
    return json.dumps(messages)


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {
        "role": role,
        "parts": [{"type": "text", "content": part} if isinstance(part, str) else part for part in parts],
    }


def called(name: str, id: str | None = None, **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": id, "name": name, "arguments": args}


def chat(id: str, parent: str | None, start: int, asked: list[Any], answered: list[Any], **more: Any) -> dict[str, Any]:
    return span(
        id,
        parent,
        start=start,
        gen_ai__operation__name="chat",
        gen_ai__input__messages=genai(asked),
        gen_ai__output__messages=genai(answered),
        **more,
    )


def tool(id: str, parent: str | None, start: int, name: str, **attributes: Any) -> dict[str, Any]:
    return span(id, parent, start=start, gen_ai__operation__name="execute_tool", gen_ai__tool__name=name, **attributes)


def only(spans: list[Any]) -> Run:
    (run,) = otel.decode(spans).runs
    return run


def outline(steps: list[Step]) -> list[Any]:
    return [(step.step_type, step.name, outline(step.children)) for step in steps]


# Conventions


def test_events_for_each_message() -> None:
    """The conventions up to 1.36, as span events."""
    call = {"id": "c1", "type": "function", "function": {"name": "sky", "arguments": '{"city": "Ghent"}'}}
    first = span("a", gen_ai__operation__name="chat", gen_ai__system="openai")
    first["events"] = [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be brief."}},
        {"name": "gen_ai.user.message", "attributes": {"content": "Sky?"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": json.dumps({"tool_calls": [call]})}},
    ]
    second = span("b", start=5, gen_ai__operation__name="chat")
    second["events"] = [
        {"name": "gen_ai.user.message", "attributes": {"content": "Sky?"}},
        {"name": "gen_ai.assistant.message", "attributes": {"tool_calls": json.dumps([call])}},
        {"name": "gen_ai.tool.message", "attributes": {"id": "c1", "content": "clear"}},
        {"name": "gen_ai.choice", "attributes": {"index": 0, "message": {"role": "assistant", "content": "Clear."}}},
        {"name": "gen_ai.choice", "attributes": {"index": 1, "message": {"role": "assistant", "content": "Blue."}}},
    ]
    decoded = otel.decode([second, first])
    (run,) = decoded.runs
    assert [(c.name, c.args, c.result) for c in run.tool_calls] == [("sky", {"city": "Ghent"}, "clear")]
    assert (run.system[0].text, run.user_text, run.output_text) == ("Be brief.", "Sky?", "Clear.")
    assert decoded.counts.problems == {"another choice than the first one was left out": 1}


def test_messages_in_two_events_as_json() -> None:
    one = span("a", gen_ai__operation__name="chat")
    one["events"] = [
        {"name": "gen_ai.content.prompt", "attributes": {"gen_ai.prompt": '[{"role": "user", "content": "Sky?"}]'}},
        {
            "name": "gen_ai.content.completion",
            "attributes": {"gen_ai.completion": '[{"role": "assistant", "content": "Clear."}]'},
        },
    ]
    run = only([one])
    assert (run.user_text, run.output_text) == ("Sky?", "Clear.")


def test_numbered_attributes() -> None:
    run = only(
        [
            span(
                "a",
                name="openai.chat",
                gen_ai__prompt__0__role="user",
                gen_ai__prompt__0__content='[{"type": "text", "text": "Sky?"}]',
                gen_ai__prompt__2__role="tool",
                gen_ai__prompt__2__tool_call_id="c1",
                gen_ai__prompt__2__content="clear",
                gen_ai__prompt__1__role="assistant",
                gen_ai__prompt__1__tool_calls__0__id="c1",
                gen_ai__prompt__1__tool_calls__0__name="sky",
                gen_ai__prompt__1__tool_calls__0__arguments='{"city": "Ghent"}',
                gen_ai__completion__0__role="assistant",
                gen_ai__completion__0__content="Clear.",
                gen_ai__usage__prompt_tokens=9,
                gen_ai__usage__completion_tokens=2,
                llm__request__type="chat",
            )
        ]
    )
    assert (run.user_text, run.final_text) == ("Sky?", "Clear.")
    assert [(call.id, call.args, call.result) for call in run.tool_calls] == [("c1", {"city": "Ghent"}, "clear")]
    assert run.usage
    assert run.usage.total == 11


def test_older_pydantic_ai() -> None:
    """Events in one attribute; `tool_arguments` and `tool_response`; an agent without an operation's name."""
    events = [
        {"content": "Sky?", "role": "user", "event.name": "gen_ai.user.message"},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "sky", "arguments": {"city": "Ghent"}}}
            ],
            "event.name": "gen_ai.assistant.message",
        },
        {"content": "clear", "role": "tool", "id": "c1", "name": "sky", "event.name": "gen_ai.tool.message"},
    ]
    choice = {"index": 0, "message": {"role": "assistant", "content": "Clear."}, "event.name": "gen_ai.choice"}
    spans = [
        span(
            "agent",
            name="agent run",
            agent_name="weather",
            all_messages_events=json.dumps([*events, {**choice["message"], "event.name": "gen_ai.assistant.message"}]),
        ),
        span("model", "agent", start=1, gen_ai__operation__name="chat", events=json.dumps([*events, choice])),
        span(
            "tool",
            "agent",
            start=2,
            gen_ai__tool__name="sky",
            gen_ai__tool__call__id="c1",
            tool_arguments='{"city": "Ghent"}',
            tool_response="clear",
        ),
    ]
    for form in (spans, spans[:1]):
        run = only(form)
        assert [(call.id, call.args, call.result) for call in run.tool_calls] == [("c1", {"city": "Ghent"}, "clear")]
        assert (run.user_text, run.final_text) == ("Sky?", "Clear.")


def test_openllmetry_workflow() -> None:
    run = only(
        [
            span("w", traceloop__span__kind="workflow", traceloop__entity__name="trip"),
            span(
                "t",
                "w",
                traceloop__span__kind="tool",
                traceloop__entity__name="sky",
                traceloop__entity__input='{"city": "Ghent"}',
                traceloop__entity__output='{"sky": "clear"}',
            ),
        ]
    )
    assert [(call.name, call.args, call.result) for call in run.tool_calls] == [
        ("sky", {"city": "Ghent"}, {"sky": "clear"})
    ]


def test_messages_that_an_exporter_cut_are_counted() -> None:
    broken = span("a", gen_ai__operation__name="chat", gen_ai__input__messages='[{"role": "user", "parts": [{"ty')
    decoded = otel.decode([broken])
    assert decoded.counts.problems == {"messages of a span are no JSON": 1}


def test_nested_attributes_of_phoenix() -> None:
    exported = {
        "name": "chat",
        "context": {"trace_id": "t1", "span_id": "a"},
        "span_kind": "LLM",
        "parent_id": None,
        "start_time": "2024-01-01T00:00:00+00:00",
        "status_code": "OK",
        "attributes": {
            "llm": {
                "input_messages": [{"message": {"role": "user", "content": "Sky?"}}],
                "output_messages": [
                    {
                        "message": {
                            "role": "assistant",
                            "tool_calls": [{"tool_call": {"id": "c1", "function": {"name": "sky", "arguments": "{}"}}}],
                        }
                    }
                ],
                "token_count": {"prompt": 3, "completion": 1, "total": 4},
                "model_name": "m",
            }
        },
    }
    run = only([exported])
    assert [(call.id, call.name, call.args) for call in run.tool_calls] == [("c1", "sky", {})]
    assert (run.user_text, run.model) == ("Sky?", "m")
    assert run.usage
    assert run.usage.total == 4


@pytest.mark.parametrize(
    ("message", "role", "text"),
    [
        ({"role": "user", "parts": [{"type": "text", "content": "Hi"}]}, "user", "Hi"),
        ({"role": "model", "parts": [{"text": "Hi"}]}, "assistant", "Hi"),
        ({"role": "developer", "content": "Hi"}, "system", "Hi"),
        ({"type": "human", "data": {"content": "Hi"}}, "user", "Hi"),
        (
            {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": {"content": "Hi"}},
            "assistant",
            "Hi",
        ),
        (
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
            "assistant",
            "Hi",
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "image", "image": "data:x"}]},
            "user",
            "Hi",
        ),
        ("Hi", "user", "Hi"),
    ],
)
def test_spellings_of_a_message(message: Any, role: str, text: str) -> None:
    (read,) = messages_of(message)
    assert (read.role, read.text) == (role, text)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "sky", "arguments": {"city": "Ghent"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "sky", "arguments": '{"city": "Ghent"}'}}]},
        {"type": "ai", "content": "", "tool_calls": [{"id": "c1", "name": "sky", "args": {"city": "Ghent"}}]},
        {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "sky", "args": {"city": "Ghent"}}, "text": None}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "sky", "args": {"city": "Ghent"}}}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "sky", "input": {"city": "Ghent"}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "sky", "input": {"city": "Ghent"}}]},
        {"type": "function_call", "call_id": "c1", "name": "sky", "arguments": "{'city': 'Ghent'}"},
    ],
)  # fmt: skip
def test_spellings_of_a_call(message: Any) -> None:
    (read,) = messages_of(message)
    (call,) = read.tool_calls
    assert (call.id, call.name, call.args, call.args_invalid) == ("c1", "sky", {"city": "Ghent"}, False)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": {"sky": "clear"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"sky": "clear"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"sky": "clear"}'},
        {"type": "tool", "data": {"content": '{"sky": "clear"}', "tool_call_id": "c1", "status": "success"}},
        {"role": "user", "parts": [{"function_response": {"id": "c1", "name": "sky", "response": {"sky": "clear"}}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "json", "value": {"sky": "clear"}}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"sky": "clear"}'}]},
        {"type": "function_call_output", "call_id": "c1", "output": "{'sky': 'clear'}"},
    ],
)  # fmt: skip
def test_spellings_of_a_result(message: Any) -> None:
    (read,) = messages_of(message)
    (result,) = read.parts
    assert read.role == "tool"
    assert (getattr(result, "id", None), getattr(result, "result", None)) == ("c1", {"sky": "clear"})


def test_unknown_parts_and_roles_are_kept_and_counted() -> None:
    decoded = otel.decode(
        [
            chat(
                "a",
                None,
                0,
                [said("user", "Sky?", {"type": "hologram"}), {"role": "oracle", "content": "?"}],
                [said("assistant", "Clear.")],
            )
        ]
    )
    (run,) = decoded.runs
    assert decoded.counts.opaque == {"hologram": 1, "message of role oracle": 1}
    kept = [part for message in run.input for part in message.parts if isinstance(part, Opaque)]
    assert [part.kind for part in kept] == ["hologram", "message of role oracle"]


# The conversation


def test_repeated_messages_of_equal_text_stay_several() -> None:
    first, second = said("user", "ok"), said("assistant", "fine")
    spans = [
        chat("a", None, 0, [first], [second]),
        chat("b", None, 5, [first, second, first], [second]),
    ]
    run = only(spans)
    assert [message.text for message in run.input + run.output] == ["ok", "fine", "ok", "fine"]


def test_one_id_for_two_calls_in_two_turns() -> None:
    ask = said("assistant", called("sky", "c1", city="Ghent"))
    answer = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "clear"}]}
    later = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]}
    before = [said("user", "Sky?"), ask, answer, said("assistant", "Clear."), said("user", "And now?")]
    run = only(
        [
            chat("a", None, 0, before, [ask]),
            tool("t", None, 2, "sky", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="rain"),
            chat("b", None, 5, [*before, ask, later], [said("assistant", "Rain.")]),
        ]
    )
    assert [(call.result, call.duration_ms) for call in run.tool_calls] == [("rain", 1.0)]
    assert [message.text for message in run.history] == ["Sky?", "", "Clear."]
    assert run.history[1].tool_calls[0].result == "clear"
    assert (run.user_text, run.final_text) == ("And now?", "Rain.")


def test_results_without_ids_join_by_name_and_order() -> None:
    ask = said("assistant", called("sky", city="Ghent"), called("sky", city="Oslo"))
    answers = {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "name": "sky", "response": word} for word in ("clear", "snow")],
    }
    run = only(
        [
            chat("a", None, 0, [said("user", "Sky?")], [ask]),
            chat("b", None, 5, [said("user", "Sky?"), ask, answers], [said("assistant", "Done.")]),
        ]
    )
    assert [(call.args["city"], call.result) for call in run.tool_calls] == [("Ghent", "clear"), ("Oslo", "snow")]


def test_span_of_a_tool_finds_its_call_by_arguments() -> None:
    ask = said("assistant", called("sky", city="Ghent"), called("sky", city="Oslo"))
    run = only(
        [
            chat("a", None, 0, [said("user", "Sky?")], [ask]),
            tool(
                "t1",
                None,
                2,
                "sky",
                gen_ai__tool__call__arguments='{"city": "Oslo"}',
                gen_ai__tool__call__result="snow",
            ),
            tool(
                "t2",
                None,
                3,
                "sky",
                gen_ai__tool__call__arguments='{"city": "Ghent"}',
                gen_ai__tool__call__result="clear",
            ),
        ]
    )
    assert [(call.args["city"], call.result) for call in run.tool_calls] == [("Ghent", "clear"), ("Oslo", "snow")]


def test_call_told_first_by_the_span_of_its_tool() -> None:
    """The first answer was not recorded; the second call repeats it, with its words."""
    ask = said("assistant", "Let me look.", called("sky", "c1", city="Ghent"))
    run = only(
        [
            span("a", start=0, gen_ai__operation__name="chat"),
            tool("t", None, 2, "sky", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="clear"),
            chat(
                "b",
                None,
                5,
                [
                    said("user", "Sky?"),
                    ask,
                    said("tool", {"type": "tool_call_response", "id": "c1", "response": "clear"}),
                ],
                [said("assistant", "Clear.")],
            ),
        ]
    )
    assert [(call.id, call.result) for call in run.tool_calls] == [("c1", "clear")]
    assert run.output_text == "Let me look.\nClear."


def test_message_of_results_and_words() -> None:
    ask = said("assistant", called("sky", "c1"))
    both = said("user", {"type": "tool_call_response", "id": "c1", "result": "clear"}, "And the sea?")
    run = only(
        [
            chat("a", None, 0, [said("user", "Sky?")], [ask]),
            chat("b", None, 5, [said("user", "Sky?"), ask, both], [said("assistant", "Calm.")]),
        ]
    )
    assert run.tool_calls[0].result == "clear"
    assert [message.text for message in run.output if message.role == "user"] == ["And the sea?"]


def test_reasoning_is_no_text() -> None:
    run = only(
        [
            chat(
                "a",
                None,
                0,
                [said("user", "Sky?")],
                [said("assistant", {"type": "reasoning", "content": "Hm."}, "Clear.")],
            )
        ]
    )
    assert run.output[0].parts == [Reasoning("Hm."), Text("Clear.")]


# Agents in agents


def test_call_of_a_sub_agent_carries_its_path_and_its_words_stay_inside() -> None:
    inner = [
        span("sub", "ask", start=3, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="researcher"),
        chat("m2", "sub", 4, [said("user", "Look")], [said("assistant", "Looking.", called("find", "i1"))]),
        tool("find", "sub", 5, "find", gen_ai__tool__call__id="i1", gen_ai__tool__call__result="5"),
        chat("m3", "sub", 6, [said("user", "Look")], [said("assistant", "Five, says the source.")]),
    ]
    outer = [
        span("boss", start=0, end=20, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="boss"),
        chat("m1", "boss", 1, [said("user", "How many?")], [said("assistant", called("ask", "c1"))]),
        tool("ask", "boss", 2, "ask", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="five"),
        chat("m4", "boss", 9, [said("user", "How many?")], [said("assistant", "Five.")]),
    ]
    run = only([*inner, *outer])
    assert [(call.name, call.agent_path) for call in run.tool_calls] == [("ask", ()), ("find", ("boss", "researcher"))]
    assert run.output_text == "Five."
    assert run.trajectory
    ((_, _, steps),) = outline(run.trajectory.steps)
    assert steps[1] == ("tool_call", "ask", [("agent_run", "researcher", [("model_generation", "m2", []), ("tool_call", "find", []), ("model_generation", "m3", [])])])  # fmt: skip
    assert run.trajectory.steps[0].children[1].children[0].children[2].fields["output"] == "Five, says the source."


def test_agent_inside_an_agent_without_a_tool_between_speaks_to_the_user() -> None:
    run = only(
        [
            span("root", gen_ai__operation__name="invoke_agent", gen_ai__agent__name="root", end=20),
            chat("m1", "root", 1, [said("user", "Hi")], [said("assistant", called("transfer", "c1"))]),
            span("sub", "root", start=3, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="closer"),
            chat("m2", "sub", 4, [said("user", "Hi")], [said("assistant", "Bye.", called("log", "c2"))]),
        ]
    )
    assert run.final_text == "Bye."
    assert [call.agent_path for call in run.tool_calls] == [(), ("root", "closer")]


def test_model_inside_a_tool_is_not_the_agent() -> None:
    run = only(
        [
            chat("m1", None, 0, [said("user", "Sum it up")], [said("assistant", called("summarise", "c1"))]),
            tool("t", None, 1, "summarise", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="short"),
            chat("m2", "t", 2, [said("user", "Summarise: long")], [said("assistant", "short", called("store", "c2"))]),
        ]
    )
    assert run.output_text == ""
    assert [(call.name, call.agent_path) for call in run.tool_calls] == [("summarise", ()), ("store", ("summarise",))]


# The tree


def test_spans_of_others_are_left_out_and_counted() -> None:
    http = span("http", "m", name="POST", start=1, http__method="POST")
    http["scope"] = {"name": "httpx"}
    decoded = otel.decode(
        [chat("m", "web", 0, [said("user", "Hi")], [said("assistant", "Ho")]), http, span("web", name="GET /chat")]
    )
    (run,) = decoded.runs
    assert decoded.counts.dropped == {"span of httpx": 1}
    assert run.trajectory
    assert outline(run.trajectory.steps) == [("model_generation", "m", [])]


def test_call_without_a_span_of_its_tool_is_a_step_too() -> None:
    run = only([chat("m", None, 0, [said("user", "Hi")], [said("assistant", called("sky", "c1"))])])
    assert run.trajectory
    assert outline(run.trajectory.steps) == [("model_generation", "m", []), ("tool_call", "sky", [])]


def test_span_that_comes_twice_counts_once() -> None:
    one = chat("m", None, 0, [said("user", "Hi")], [said("assistant", "Ho")])
    decoded = otel.decode([one, one])
    assert decoded.runs[0].output_text == "Ho"
    assert decoded.counts.dropped == {"span that is there twice": 1}


def test_spans_that_are_each_others_parents() -> None:
    ring = [
        chat("a", "b", 0, [said("user", "Hi")], [said("assistant", "Ho")]),
        span("b", "a", gen_ai__operation__name="chat"),
    ]
    run = only([*ring, span("c", "c", gen_ai__operation__name="chat")])
    assert run.output_text == "Ho"
    assert run.trajectory


def test_deep_trees_are_flattened() -> None:
    count = 5_000
    chain = [span(f"s{n}", f"s{n - 1}", start=n, gen_ai__operation__name="invoke_workflow") for n in range(count)]
    decoded = otel.decode(chain[::-1])
    (run,) = decoded.runs
    assert run.trajectory
    depth, steps = 0, run.trajectory.steps
    while steps:
        depth, steps = depth + 1, steps[0].children
    assert depth == 101
    assert decoded.counts.problems == {"step nested too deeply": count - 101}


def test_long_path_of_agents_is_cut() -> None:
    spans: list[dict[str, Any]] = []
    for n in range(300):
        parent = f"t{n - 1}" if n else None
        spans.append(
            span(f"a{n}", parent, start=n, gen_ai__operation__name="invoke_agent", gen_ai__agent__name=f"a{n}")
        )
        spans.append(tool(f"t{n}", f"a{n}", n, "next"))
    run = only(spans)
    assert max(len(call.agent_path) for call in run.tool_calls) == 100


def test_times_that_are_missing_or_run_backwards() -> None:
    one = chat("m", None, 5, [said("user", "Hi")], [said("assistant", "Ho")])
    one["end_time"] = one["start_time"] - 1
    other = span("x", "m", gen_ai__operation__name="chat")
    del other["start_time"], other["end_time"]
    run = only([one, other])
    assert run.duration_ms is None
    assert run.trajectory
    assert run.trajectory.steps[0].duration_ms is None


def test_spans_without_ids_are_one_run_without_made_ids() -> None:
    bare = {"gen_ai.output.messages": [said("assistant", "Ho")]}
    run = only([bare])
    assert run.output_text == "Ho"
    assert (run.trace_id, run.span_id) == (None, None)
    assert len(run.id) == 64


def test_cost_usage_and_model_are_those_of_the_model_calls() -> None:
    run = only(
        [
            span("agent", gen_ai__operation__name="invoke_agent", gen_ai__usage__input_tokens=99, end=9),
            chat(
                "m1",
                "agent",
                1,
                [said("user", "Hi")],
                [said("assistant", "Ho")],
                gen_ai__usage__input_tokens=3,
                gen_ai__usage__output_tokens=1,
                operation__cost=0.25,
                gen_ai__request__model="big",
            ),
            chat(
                "m2",
                "agent",
                2,
                [said("user", "Hi")],
                [said("assistant", "Hum")],
                gen_ai__usage__input_tokens=4,
                operation__cost=0.5,
            ),
        ]
    )
    assert run.usage
    assert (run.usage.input_tokens, run.usage.output_tokens, run.cost, run.model) == (7, 1, 0.75, "big")
    agent_only = only([span("agent", gen_ai__operation__name="invoke_agent", gen_ai__usage__input_tokens=99)])
    assert agent_only.usage
    assert agent_only.usage.input_tokens == 99
