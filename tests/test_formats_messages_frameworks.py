"""Runs that the real frameworks make in the test, with scripted models and no network, read as their objects show them.

They need the dependency group `frameworks`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from referee import Message, Run, ToolCall, read_runs, to_run
from referee.formats import as_record, get_format
from support import need

# What the frameworks warn of among themselves is not ours.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("swept")]


def told(calls: Iterable[ToolCall]) -> list[tuple[Any, ...]]:
    return [(call.id, call.name, call.args, call.state, call.result) for call in calls]


def spoken(messages: Iterable[Message]) -> list[str]:
    return [message.text for message in messages if message.text]


# Pydantic AI


def pydantic_ai_agent(structured: bool) -> tuple[Any, Any]:
    ai, messages, function, pydantic = need(
        "pydantic_ai", "pydantic_ai.messages", "pydantic_ai.models.function", "pydantic"
    )
    script = [
        [
            messages.ThinkingPart("The weather, then."),
            messages.TextPart("Let me check."),
            messages.ToolCallPart("get_weather", {"city": "Rome"}, "call_1"),
            messages.ToolCallPart("get_weather", '{"city": "Atlantis"}', "call_2"),
        ],
        [messages.ToolCallPart("count", {"a": 2, "b": 3}, "call_3")],
        [messages.ToolCallPart("final_result", {"city": "Rome", "temp_c": 21}, "call_4")]
        if structured
        else [messages.TextPart("Rome is 21C.")],
    ]

    def reply(history: list[Any], info: Any) -> Any:
        answered = sum(isinstance(message, messages.ModelResponse) for message in history)
        return messages.ModelResponse(parts=script[answered % len(script)])

    output = {"output_type": pydantic.create_model("Weather", city=str, temp_c=int)} if structured else {}
    agent = ai.Agent(function.FunctionModel(reply), system_prompt="You are a weather bot.", **output)

    @agent.tool_plain
    def get_weather(city: str) -> dict[str, Any]:
        if city != "Rome":
            raise ai.ModelRetry(f"unknown city {city}")
        return {"city": city, "temp_c": 21}

    @agent.tool_plain
    def count(a: int, b: int) -> int:
        return a + b

    return agent, messages


def pydantic_ai_calls(result: Any, messages: Any) -> list[tuple[Any, ...]]:
    """The calls as the framework's own objects show them."""
    parts = [part for message in result.all_messages() for part in message.parts]
    answers = {
        part.tool_call_id: part
        for part in parts
        if isinstance(part, messages.ToolReturnPart | messages.RetryPromptPart)
    }
    shown = []
    for part in parts:
        if isinstance(part, messages.ToolCallPart) and part.tool_name != "final_result":
            answer = answers[part.tool_call_id]
            failed = getattr(answer, "outcome", "retried") != "success"
            state = "error" if failed else "result"
            shown.append((part.tool_call_id, part.tool_name, part.args_as_dict(), state, answer.content))
    return shown


@pytest.mark.parametrize("structured", [False, True])
def test_pydantic_ai(structured: bool) -> None:
    agent, messages = pydantic_ai_agent(structured)
    result = asyncio.run(agent.run("Weather in Rome and Atlantis?"))
    live = to_run(result)
    (read,) = get_format("pydantic_ai").decode(json.loads(result.all_messages_json())).runs
    for run in (live, read):
        assert told(run.tool_calls) == pydantic_ai_calls(result, messages)
        assert [call.state for call in run.tool_calls] == ["result", "error", "result"]
        assert spoken(run.input) == ["Weather in Rome and Atlantis?"]
        assert spoken(run.system) == ["You are a weather bot."]
        assert run.output_text.startswith("Let me check.")
        expected = result.output.model_dump() if structured else result.output
        assert (json.loads(run.final_text) if structured else run.final_text) == expected
        assert run.usage
        assert run.usage.output_tokens
    assert told(live.tool_calls) == told(read.tool_calls)
    assert to_run(result.all_messages()).tool_calls == live.tool_calls


def test_pydantic_ai_remembers_earlier_turns() -> None:
    agent, _ = pydantic_ai_agent(False)
    first = asyncio.run(agent.run("Weather in Rome and Atlantis?"))
    run = to_run(asyncio.run(agent.run("And again?", message_history=first.all_messages())))
    assert spoken(run.input) == ["And again?"]
    assert [message.role for message in run.history][:2] == ["user", "assistant"]
    assert len(run.tool_calls) == 3


# OpenAI Agents SDK


def agents_result() -> tuple[Any, Any]:
    agents, interface, responses, usages = need(
        "agents", "agents.models.interface", "openai.types.responses", "agents.usage"
    )
    agents.set_tracing_disabled(True)
    call = responses.ResponseFunctionToolCall

    def function_call(number: int, name: str, args: str) -> Any:
        return call(arguments=args, call_id=f"call_{number}", name=name, type="function_call", id=f"fc_{number}")

    text = responses.ResponseOutputText(annotations=[], text="Trip booked.", type="output_text", logprobs=[])
    script = [
        [function_call(1, "get_weather", '{"city":"Rome"}'), function_call(2, "get_weather", '{"city":"Atlantis"}')],
        [function_call(3, "transfer_to_booking", "{}")],
        [
            responses.ResponseOutputMessage(
                id="m1", content=[text], role="assistant", status="completed", type="message"
            )
        ],
    ]

    class Scripted(interface.Model):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.replies = iter(script)

        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            usage = usages.Usage(requests=1, input_tokens=7, output_tokens=2, total_tokens=9)
            return agents.ModelResponse(output=next(self.replies), usage=usage, response_id="resp_1")

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    @agents.function_tool
    def get_weather(city: str) -> dict[str, Any]:
        """Current weather."""
        if city != "Rome":
            raise ValueError("unknown city")
        return {"city": city, "temp_c": 21}

    model = Scripted()
    booking = agents.Agent(name="booking", model=model)
    weather = agents.Agent(name="weather", model=model, tools=[get_weather], handoffs=[booking])
    return agents, asyncio.run(agents.Runner.run(weather, "Weather in Rome, then book it."))


def test_openai_agents() -> None:
    _, result = agents_result()
    run = to_run(result)
    outputs = {item.call_id: item.output for item in result.new_items if item.type == "tool_call_output_item"}
    raw = [item.raw_item for item in result.new_items if item.type in ("tool_call_item", "handoff_call_item")]
    assert [(call.id, call.name, call.args) for call in run.tool_calls] == [
        (item.call_id, item.name, json.loads(item.arguments)) for item in raw
    ]
    assert [call.result for call in run.tool_calls[:2]] == [outputs["call_1"], outputs["call_2"]]
    assert run.tool_calls[0].result == {"city": "Rome", "temp_c": 21}
    assert run.final_text == result.final_output
    assert [message.name for message in run.output] == ["weather", "weather", "booking"]
    assert (run.user_text, run.usage.total if run.usage else None) == ("Weather in Rome, then book it.", 27)


def test_openai_agents_saved_forms_say_the_same() -> None:
    _, result = agents_result()
    live = to_run(result)
    state = to_run(result.to_state().to_json())
    assert told(state.tool_calls) == told(live.tool_calls)
    assert spoken(state.output) == spoken(live.output)
    given = to_run(result.to_input_list())
    assert [(call.id, call.name, call.args) for call in given.tool_calls] == [
        (call.id, call.name, call.args) for call in live.tool_calls
    ]
    assert to_run(list(result.new_items)).tool_calls == live.tool_calls


# LangChain and LangGraph


def langgraph_state() -> tuple[Any, Any, Any]:
    factory, models, outputs, messages, tools, memory = need(
        "langchain.agents",
        "langchain_core.language_models.chat_models",
        "langchain_core.outputs",
        "langchain_core.messages",
        "langchain_core.tools",
        "langgraph.checkpoint.memory",
    )
    script = [
        messages.AIMessage(
            "Let me check.",
            tool_calls=[
                {"name": "get_weather", "args": {"city": "Rome"}, "id": "call_1", "type": "tool_call"},
                {"name": "get_weather", "args": {"city": "Paris"}, "id": "call_2", "type": "tool_call"},
            ],
            usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        ),
        messages.AIMessage(
            [{"type": "text", "text": "Rome is 21C."}],
            usage_metadata={"input_tokens": 20, "output_tokens": 6, "total_tokens": 26},
        ),
    ]

    class Scripted(models.BaseChatModel):  # type: ignore[misc, name-defined]
        def _generate(self, history: list[Any], *args: Any, **kwargs: Any) -> Any:
            answered = sum(isinstance(message, messages.AIMessage) for message in history)
            return outputs.ChatResult(generations=[outputs.ChatGeneration(message=script[answered])])

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
            return self

    @tools.tool
    def get_weather(city: str) -> dict[str, Any]:
        """Current weather."""
        return {"city": city, "temp_c": 21}

    agent = factory.create_agent(Scripted(), [get_weather], checkpointer=memory.InMemorySaver())
    config = {"configurable": {"thread_id": "t1"}}
    state = agent.invoke({"messages": [{"role": "user", "content": "Weather in Rome?"}]}, config)
    return state, messages, agent.get_state(config)


def test_langgraph() -> None:
    state, messages, snapshot = langgraph_state()
    run = to_run(state)
    answers = {m.tool_call_id: m for m in state["messages"] if isinstance(m, messages.ToolMessage)}
    calls = [call for m in state["messages"] if isinstance(m, messages.AIMessage) for call in m.tool_calls]
    assert [(call.id, call.name, call.args) for call in run.tool_calls] == [
        (call["id"], call["name"], call["args"]) for call in calls
    ]
    assert [call.result for call in run.tool_calls] == [json.loads(answers[call["id"]].content) for call in calls]
    assert [call.state for call in run.tool_calls] == ["result", "result"]
    assert run.final_text == state["messages"][-1].text == "Rome is 21C."
    assert run.usage
    assert run.usage.total == 41
    kept = to_run(snapshot)
    assert (told(kept.tool_calls), kept.thread_id) == (told(run.tool_calls), "t1")


def test_langchain_saved_forms_say_the_same() -> None:
    state, messages, _ = langgraph_state()
    (dump,) = need("langchain_core.load")
    talk = state["messages"]
    live = to_run(talk)
    for record in (
        messages.messages_to_dict(talk),
        [message.model_dump() for message in talk],
        [dump.dumpd(message) for message in talk],
        {"messages": [message.model_dump() for message in talk], "user_id": "u1"},
    ):
        assert told(to_run(record).tool_calls) == told(live.tool_calls)
        assert spoken(to_run(record).output) == spoken(live.output)
    assert told(to_run(messages.convert_to_openai_messages(talk)).tool_calls) == told(live.tool_calls)


# What is not a framework's


def test_live_objects_are_read_in_an_iterable_too() -> None:
    state, _, _ = langgraph_state()
    runs = list(read_runs([state, [{"role": "user", "content": "Hi"}]]))
    assert [len(run.tool_calls) for run in runs] == [2, 0]
    assert isinstance(runs[0], Run)


def test_other_objects_stay_what_they_are() -> None:
    record = SimpleNamespace(messages=[])
    assert as_record(record) is record
