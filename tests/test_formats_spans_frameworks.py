"""Spans that the real frameworks make in the test, with scripted models and no network, read as their objects show them.

They need the dependency group `frameworks`.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from referee import Run, read_runs
from referee.formats import otel
from referee.trajectory import Step
from support import need

# What the frameworks warn of among themselves is not ours.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("swept")]


class Recorder:
    """Keeps the finished spans, and gives them in the forms in which they are written to files."""

    def __init__(self) -> None:
        trace, export, memory = need(
            "opentelemetry.sdk.trace",
            "opentelemetry.sdk.trace.export",
            "opentelemetry.sdk.trace.export.in_memory_span_exporter",
        )
        self.exporter = memory.InMemorySpanExporter()
        self.provider = trace.TracerProvider()
        self.provider.add_span_processor(export.SimpleSpanProcessor(self.exporter))

    def flat(self) -> list[dict[str, Any]]:
        return [json.loads(span.to_json()) for span in self.exporter.get_finished_spans()]

    def otlp(self) -> dict[str, Any]:
        encoder, json_format = need(
            "opentelemetry.exporter.otlp.proto.common.trace_encoder", "google.protobuf.json_format"
        )
        whole: dict[str, Any] = json_format.MessageToDict(encoder.encode_spans(self.exporter.get_finished_spans()))
        return whole

    def runs(self) -> list[Run]:
        """The runs, which are the same whatever the form and the order of the spans."""
        runs = otel.decode(self.flat()).runs
        for other in (self.flat()[::-1], self.otlp()):
            again = sorted(otel.decode(other).runs, key=lambda run: run.started_at or "")
            assert [told(run) for run in again] == [
                told(run) for run in sorted(runs, key=lambda run: run.started_at or "")
            ]
            assert [outline(run) for run in again] == [
                outline(run) for run in sorted(runs, key=lambda run: run.started_at or "")
            ]
        return runs


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def told(run: Run) -> list[tuple[Any, ...]]:
    return [(call.id, call.name, call.args, call.state, call.result, call.agent_path) for call in run.tool_calls]


def outline(run: Run) -> Any:
    """Types and names of the steps, nested."""

    def of(steps: list[Step]) -> list[Any]:
        return [(step.step_type, step.name, of(step.children)) for step in steps]

    return of(run.trajectory.steps) if run.trajectory else None


def texts(run: Run) -> list[str]:
    return [message.text for message in run.output if message.role == "assistant" and message.text]


# Pydantic AI


def pydantic_ai_runs(recorder: Recorder, version: int) -> list[Any]:
    """Two turns of an agent that asks another agent through a tool, with every span recorded."""
    ai, messages, function, instrumented, capability = need(
        "pydantic_ai",
        "pydantic_ai.messages",
        "pydantic_ai.models.function",
        "pydantic_ai.models.instrumented",
        "pydantic_ai.capabilities.instrumentation",
    )
    settings = instrumented.InstrumentationSettings(tracer_provider=recorder.provider, version=version)
    capabilities = [capability.Instrumentation(settings)]

    def research(history: list[Any], info: Any) -> Any:
        if len(history) == 1:
            return messages.ModelResponse(parts=[messages.ToolCallPart("lookup", {"query": "five"}, "inner_1")])
        return messages.ModelResponse(parts=[messages.TextPart("The source says five.")])

    def answer(history: list[Any], info: Any) -> Any:
        turn = sum(isinstance(message, messages.ModelResponse) for message in history)
        if turn % 2:
            return messages.ModelResponse(parts=[messages.TextPart("It is five.")])
        return messages.ModelResponse(
            parts=[
                messages.ThinkingPart("Whom do I ask?"),
                messages.TextPart("Let me check."),
                messages.ToolCallPart("ask", {"question": "five?"}, f"call_{turn}_1"),
                messages.ToolCallPart("get_weather", '{"city": "Atlantis"}', f"call_{turn}_2"),
            ]
        )

    researcher = ai.Agent(function.FunctionModel(research), name="researcher", capabilities=capabilities)
    boss = ai.Agent(function.FunctionModel(answer), name="boss", system_prompt="Be brief.", capabilities=capabilities)

    @researcher.tool_plain
    def lookup(query: str) -> dict[str, Any]:
        return {"hits": [query]}

    @boss.tool_plain
    async def ask(question: str) -> str:
        return str((await researcher.run(question)).output)

    @boss.tool_plain
    def get_weather(city: str) -> str:
        raise ai.ModelRetry(f"unknown city {city}")

    first = asyncio.run(boss.run("How many?"))
    return [first, asyncio.run(boss.run("Again?", message_history=first.all_messages()))]


def pydantic_ai_calls(result: Any) -> list[tuple[Any, ...]]:
    parts = [part for message in result.new_messages() for part in message.parts]
    returns = {part.tool_call_id: part for part in parts if part.part_kind in ("tool-return", "retry-prompt")}
    return [
        (part.tool_call_id, part.tool_name, part.args_as_dict(), returns[part.tool_call_id].content)
        for part in parts
        if part.part_kind == "tool-call"
    ]


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6])
def test_pydantic_ai(recorder: Recorder, version: int) -> None:
    results = pydantic_ai_runs(recorder, version)
    runs = recorder.runs()
    assert len(runs) == 2
    for run, result in zip(runs, results, strict=True):
        own = [call for call in run.tool_calls if not call.agent_path]
        assert [(call.id, call.name, call.args, call.result) for call in own] == pydantic_ai_calls(result)
        assert [call.state for call in own] == ["result", "error"]
        (inner,) = [call for call in run.tool_calls if call.agent_path]
        assert inner.agent_path == ("boss", "researcher")
        assert (inner.name, inner.args, inner.result) == ("lookup", {"query": "five"}, {"hits": ["five"]})
        assert texts(run) == ["Let me check.", "It is five."]
        assert run.final_text == result.output
        assert [message.text for message in run.system] == ["Be brief."]
        assert run.usage
        assert run.usage.input_tokens
    assert runs[0].user_text == "How many?"
    assert (runs[1].user_text, len(runs[1].history)) == ("Again?", 3)


def test_pydantic_ai_steps_are_nested_as_they_happened(recorder: Recorder) -> None:
    pydantic_ai_runs(recorder, 6)
    ((kind, name, steps),) = outline(recorder.runs()[0])
    assert (kind, name) == ("agent_run", "boss")
    assert [(step[0], step[1]) for step in steps] == [
        ("model_generation", "function:answer:"),
        ("tool_call", "ask"),
        ("tool_call", "get_weather"),
        ("model_generation", "function:answer:"),
    ]
    ((inner_kind, inner_name, inner),) = steps[1][2]
    assert (inner_kind, inner_name) == ("agent_run", "researcher")
    assert [step[0] for step in inner] == ["model_generation", "tool_call", "model_generation"]


def test_pydantic_ai_structured_answer_is_no_call(recorder: Recorder) -> None:
    ai, messages, function, instrumented, capability, pydantic = need(
        "pydantic_ai",
        "pydantic_ai.messages",
        "pydantic_ai.models.function",
        "pydantic_ai.models.instrumented",
        "pydantic_ai.capabilities.instrumentation",
        "pydantic",
    )
    settings = instrumented.InstrumentationSettings(tracer_provider=recorder.provider)
    weather = pydantic.create_model("Weather", city=str, temp_c=int)
    agent = ai.Agent(
        function.FunctionModel(
            lambda history, info: messages.ModelResponse(
                parts=[messages.ToolCallPart(info.output_tools[0].name, {"city": "Rome", "temp_c": 21}, "c1")]
            )
        ),
        output_type=ai.ToolOutput(weather, name="hand_over"),
        capabilities=[capability.Instrumentation(settings)],
    )
    result = asyncio.run(agent.run("Weather?"))
    (run,) = recorder.runs()
    assert run.tool_calls == ()
    assert json.loads(run.final_text) == result.output.model_dump()


# OpenAI Agents SDK, instrumented by OpenInference, and its own trace export


def agents_exporter(exported: list[dict[str, Any]]) -> Any:
    """Keeps what the SDK's own exporter would send."""
    (tracing,) = need("agents.tracing")

    class Exporter(tracing.TracingProcessor):  # type: ignore[misc, name-defined]
        def on_trace_start(self, trace: Any) -> None:
            exported.append(trace.export())

        def on_span_end(self, span: Any) -> None:
            exported.append(span.export())

        def on_trace_end(self, trace: Any) -> None: ...
        def on_span_start(self, span: Any) -> None: ...
        def shutdown(self) -> None: ...
        def force_flush(self) -> None: ...

    return Exporter()


def scripted_agents_model(spoken_in: str) -> Any:
    """The class of a model that gives its replies one after the other, and records them as a model of the SDK does."""
    agents, tracing, interface, responses, usages = need(
        "agents", "agents.tracing", "agents.models.interface", "openai.types.responses", "agents.usage"
    )

    class Scripted(interface.Model):  # type: ignore[misc, name-defined]
        def __init__(self, *replies: Any) -> None:
            self.replies = list(replies)

        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
            output = self.replies.pop(0)
            if spoken_in == "responses":
                with tracing.response_span() as span:
                    span.span_data.input = input
                    span.span_data.response = responses.Response(
                        id=f"resp_{len(self.replies)}",
                        created_at=0,
                        model="scripted",
                        object="response",
                        output=output,
                        parallel_tool_calls=True,
                        tool_choice="auto",
                        tools=[],
                        instructions=system_instructions,
                    )
            usage = usages.Usage(requests=1, input_tokens=7, output_tokens=2, total_tokens=9)
            return agents.ModelResponse(output=output, usage=usage, response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    return Scripted


def function_call(number: int, name: str, args: str) -> Any:
    (responses,) = need("openai.types.responses")
    return responses.ResponseFunctionToolCall(
        arguments=args, call_id=f"call_{number}", name=name, type="function_call", id=f"fc_{number}"
    )


def answer_item(text: str) -> Any:
    (responses,) = need("openai.types.responses")
    part = responses.ResponseOutputText(annotations=[], text=text, type="output_text", logprobs=[])
    return responses.ResponseOutputMessage(
        id=f"m_{text[:3]}", content=[part], role="assistant", status="completed", type="message"
    )


def triage_agent(spoken_in: str) -> Any:
    """It calls two tools, one of which fails, asks an agent as a tool, and hands over."""
    (agents,) = need("agents")
    scripted = scripted_agents_model(spoken_in)

    @agents.function_tool
    def get_weather(city: str) -> dict[str, Any]:
        """Current weather."""
        if city != "Rome":
            raise ValueError("unknown city")
        return {"city": city, "temp_c": 21}

    rome, atlantis = '{"city":"Rome"}', '{"city":"Atlantis"}'
    inner = scripted([function_call(11, "get_weather", rome)], [answer_item("It is warm.")])
    expert = agents.Agent(name="expert", model=inner, tools=[get_weather])
    booking = agents.Agent(name="Booking desk", model=scripted([answer_item("Trip booked.")]), instructions="Book it.")
    replies = [
        [
            answer_item("Checking."),
            function_call(1, "get_weather", rome),
            function_call(2, "get_weather", atlantis),
        ],
        [function_call(3, "ask_expert", '{"input":"warm?"}')],
        [function_call(4, "transfer_to_booking_desk", "{}")],
    ]
    return agents.Agent(
        name="triage",
        instructions="Route.",
        model=scripted(*replies),
        tools=[get_weather, expert.as_tool("ask_expert", "Asks the expert.")],
        handoffs=[booking],
    )


def openai_agents_result(recorder: Recorder, spoken_in: str) -> tuple[Any, list[dict[str, Any]]]:
    """The result of a run, and what the SDK exports of it."""
    agents, oi = need("agents", "openinference.instrumentation.openai_agents")
    exported: list[dict[str, Any]] = []
    instrumentor = oi.OpenAIAgentsInstrumentor()
    agents.set_tracing_disabled(False)
    instrumentor.instrument(tracer_provider=recorder.provider)
    agents.add_trace_processor(agents_exporter(exported))
    try:
        return asyncio.run(agents.Runner.run(triage_agent(spoken_in), "Weather in Rome, then book it.")), exported
    finally:
        instrumentor.uninstrument()
        agents.set_trace_processors([])


def openai_agents_calls(result: Any) -> list[tuple[Any, ...]]:
    """The calls of the run's own items; those inside an agent that is a tool are not among them."""
    outputs = {
        item.raw_item["call_id"]: item.output for item in result.new_items if item.type == "tool_call_output_item"
    }
    return [
        (item.raw_item.name, json.loads(item.raw_item.arguments), outputs.get(item.raw_item.call_id))
        for item in result.new_items
        if item.type in ("tool_call_item", "handoff_call_item")
    ]


def test_openai_agents_openinference(recorder: Recorder) -> None:
    result, _ = openai_agents_result(recorder, "responses")
    (run,) = recorder.runs()
    own = [call for call in run.tool_calls if not call.agent_path]
    shown = openai_agents_calls(result)
    assert [(call.name, call.args) for call in own] == [(name, args) for name, args, _ in shown]
    assert [call.result for call in own[:3]] == [output for _, _, output in shown[:3]]
    assert own[0].result == {"city": "Rome", "temp_c": 21}
    assert [call.state for call in own] == ["result", "error", "result", "result"]
    (inner,) = [call for call in run.tool_calls if call.agent_path]
    assert inner.agent_path == ("triage", "expert")
    assert (inner.name, inner.args, inner.result) == ("get_weather", {"city": "Rome"}, {"city": "Rome", "temp_c": 21})
    assert texts(run) == ["Checking.", "Trip booked."]
    assert run.final_text == result.final_output
    assert run.user_text == "Weather in Rome, then book it."
    assert [message.name for message in run.output if message.text] == ["triage", "Booking desk"]


def test_openai_agents_trace_export(recorder: Recorder) -> None:
    """The SDK's own export of the same run tells the tools; of the Responses API's words it keeps none."""
    result, exported = openai_agents_result(recorder, "responses")
    (run,) = read_runs([exported], on_error="raise")
    shown = [call for call in openai_agents_calls(result) if not call[0].startswith("transfer_")]
    own = [call for call in run.tool_calls if not call.agent_path]
    assert [(call.name, call.args, call.result) for call in own] == shown
    assert [call.state for call in own] == ["result", "error", "result"]
    assert [call.agent_path for call in run.tool_calls if call.agent_path] == [("triage", "expert")]


def test_openai_agents_without_recorded_words(recorder: Recorder) -> None:
    result, _ = openai_agents_result(recorder, "nothing")
    (run,) = recorder.runs()
    shown = [call for call in openai_agents_calls(result) if not call[0].startswith("transfer_")]
    assert [(call.name, call.args, call.result) for call in run.tool_calls if not call.agent_path] == shown
    assert run.input == []
    assert run.output_text == ""


# LangGraph, instrumented by OpenInference


def test_langgraph_openinference(recorder: Recorder) -> None:
    core, tools, models, graph, prebuilt, memory, oi = need(
        "langchain_core.messages",
        "langchain_core.tools",
        "langchain_core.language_models.fake_chat_models",
        "langgraph.graph",
        "langgraph.prebuilt",
        "langgraph.checkpoint.memory",
        "openinference.instrumentation.langchain",
    )

    @tools.tool
    def get_weather(city: str) -> dict[str, Any]:
        """Current weather."""
        if city == "Atlantis":
            raise ValueError("unknown city")
        return {"city": city, "temp_c": 21}

    def call(number: int, city: str) -> dict[str, Any]:
        return {"name": "get_weather", "args": {"city": city}, "id": f"call_{number}"}

    replies = iter(
        [
            core.AIMessage("Let me check.", tool_calls=[call(1, "Rome"), call(2, "Atlantis")]),
            core.AIMessage([{"type": "text", "text": "Rome is 21C."}]),
            core.AIMessage("You are welcome."),
        ]
    )
    model = models.GenericFakeChatModel(messages=replies)
    builder = graph.StateGraph(graph.MessagesState)
    builder.add_node(
        "agent", lambda state: {"messages": [model.invoke([core.SystemMessage("Be brief."), *state["messages"]])]}
    )
    builder.add_node("tools", prebuilt.ToolNode([get_weather], handle_tool_errors=True))
    builder.add_edge(graph.START, "agent")
    builder.add_conditional_edges("agent", prebuilt.tools_condition)
    builder.add_edge("tools", "agent")
    app = builder.compile(checkpointer=memory.InMemorySaver())
    instrumentor = oi.LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=recorder.provider)
    config = {"configurable": {"thread_id": "t1"}}
    try:
        first = app.invoke({"messages": [core.HumanMessage("Weather in Rome and Atlantis?")]}, config)
        second = app.invoke({"messages": [core.HumanMessage("Thanks.")]}, config)
    finally:
        instrumentor.uninstrument()

    runs = recorder.runs()
    results = {message.tool_call_id: message for message in first["messages"] if message.type == "tool"}
    shown = [call for message in first["messages"] if message.type == "ai" for call in message.tool_calls]
    calls = runs[0].tool_calls
    assert [(call.id, call.name, call.args) for call in calls] == [(c["id"], c["name"], c["args"]) for c in shown]
    assert calls[0].result == json.loads(results["call_1"].content)
    assert (calls[1].result, calls[1].state, calls[1].error) == (results["call_2"].content, "error", "unknown city")
    assert texts(runs[0]) == ["Let me check.", "Rome is 21C."]
    assert runs[0].user_text == "Weather in Rome and Atlantis?"
    assert [message.text for message in runs[0].system] == ["Be brief."]
    assert texts(runs[1]) == [second["messages"][-1].content]
    assert (runs[1].user_text, runs[1].tool_calls) == ("Thanks.", ())
    assert len(runs[1].history) == len(first["messages"]) - len(results)
    assert {run.thread_id for run in runs} == {"t1"}
    ((kind, name, steps),) = outline(runs[0])
    assert (kind, name) == ("workflow_run", "LangGraph")
    assert [step[1] for step in steps] == ["agent", "tools", "agent"]


# Google ADK: its own spans, OpenInference's, and the session


def adk_recording(spans: str) -> dict[str, Any]:
    """What `record_adk.py` records, in a process of its own: ADK keeps the first tracer provider that it sees."""
    need("google.adk", "openinference.instrumentation.google_adk")
    script = Path(__file__).with_name("record_adk.py")
    environment = {
        **os.environ,
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    }
    done = subprocess.run([sys.executable, script, spans], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    recording: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return recording


def adk_calls(session: dict[str, Any]) -> list[tuple[Any, ...]]:
    parts = [part for event in session["events"] for part in (event["content"] or {}).get("parts", [])]
    responses = {
        part["function_response"]["id"]: part["function_response"] for part in parts if part["function_response"]
    }
    calls = [part["function_call"] for part in parts if part["function_call"]]
    return [(call["id"], call["name"], call["args"], responses[call["id"]]["response"]) for call in calls]


@pytest.mark.parametrize("spans", ["own", "openinference"])
def test_adk(spans: str) -> None:
    recording = adk_recording(spans)
    shown = adk_calls(recording["session"])
    for form in (recording["spans"], recording["spans"][::-1]):
        (run,) = otel.decode(form).runs
        own = [call for call in run.tool_calls if not call.agent_path]
        assert [(call.id, call.name, call.args, call.result) for call in own] == shown
        assert [call.failed for call in own] == [False, True, False, False]
        (inner,) = [call for call in run.tool_calls if call.agent_path]
        assert inner.agent_path == ("root", "expert")
        assert (inner.name, inner.args, inner.result) == ("get_weather", {"city": "Oslo"}, {"temp_c": 21})
        assert run.user_text == "Weather?"
        assert run.final_text == "All done."
        if spans == "own":  # the other does not record this model's words
            assert texts(run) == ["Checking.", "All done."]


def test_adk_session_and_the_eval_set_made_of_it() -> None:
    recording = adk_recording("own")
    shown = adk_calls(recording["session"])
    for record in (recording["session"], recording["session_by_web"]):
        (run,) = read_runs([record], on_error="raise")
        assert [(call.id, call.name, call.args, call.result) for call in run.tool_calls] == shown
        assert texts(run) == ["Checking.", "All done."]
        assert [message.name for message in run.output if message.text] == ["root", "closer"]
    for record in (recording["eval_set"], recording["eval_set_by_web"]):
        (run,) = read_runs([record], on_error="raise")
        assert [(call.name, call.args) for call in run.tool_calls] == [call[1:3] for call in shown]
        assert run.expected_tool_calls == [{"name": name, "args": args} for _, name, args, _ in shown]
        assert (run.id, run.user_text, run.ground_truth) == ("trip", "Weather?", "All done.")
