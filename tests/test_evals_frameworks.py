"""Real objects of agent frameworks as targets, with scripted models: what they do arrives complete.

Needs the dependency group `frameworks`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from referee import Run, ToolCall, checks
from referee.evaluate import run_evals_sync
from referee.results import ItemResult
from support import need

pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("swept")]

CITY = {"city": "Ghent"}
FORECAST = {"sky": "clear", "degrees": 21}


def ask(target: Any, *inputs: Any, mocks: dict[str, Any] | None = None, **options: Any) -> ItemResult:
    item: dict[str, Any] = {"id": "i", "inputs": list(inputs)}
    if mocks is not None:
        item["tool_mocks"] = mocks
    return run_evals_sync(target=target, data=[item], gates=[checks.called_tool("forecast")], **options).results[0]


def run_of(result: ItemResult) -> Run:
    assert result.error is None, result.error
    assert result.run is not None
    return result.run


def assert_complete(run: Run) -> None:
    """Both turns called the tool once; each call has its arguments and its result."""
    calls = [(call.name, call.args, call.state, call.result) for call in run.tool_calls]
    assert calls == [("forecast", CITY, "result", FORECAST)] * 2
    assert [message.text for message in run.input] == ["Weather?", "And now?"]
    assert run.final_text.startswith("It is clear")


def pydantic_ai_agent() -> Any:
    (pydantic_ai,) = need("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.models.function import FunctionModel

    def model(messages: list[Any], info: Any) -> Any:
        returned = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if returned:
            asked = sum(isinstance(part, UserPromptPart) for message in messages for part in message.parts)
            return ModelResponse(parts=[TextPart(f"It is {_sky(returned[0])}, answer {asked}.")])
        return ModelResponse(parts=[TextPart("Let me look."), ToolCallPart("forecast", CITY)])

    agent = pydantic_ai.Agent(FunctionModel(model), system_prompt="Be brief.")

    @agent.tool_plain
    def forecast(city: str) -> dict[str, Any]:
        """The weather."""
        if city != "Ghent":
            raise RuntimeError("must not be called")
        return FORECAST

    return agent


def openai_agent() -> Any:
    (agents,) = need("agents")
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    agents.set_tracing_disabled(True)
    usage = agents.Usage(requests=1, input_tokens=3, output_tokens=2, total_tokens=5)

    class Scripted(agents.Model):  # type: ignore[misc,name-defined]
        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            items = kwargs.get("input") or args[1]
            last = items[-1]
            if last.get("type") != "function_call_output":
                call = ResponseFunctionToolCall(
                    type="function_call", call_id=f"c{len(items)}", name="forecast", arguments=json.dumps(CITY)
                )
                return agents.ModelResponse(output=[call], usage=usage, response_id=None)
            asked = sum(item.get("role") == "user" for item in items)
            part = ResponseOutputText(
                type="output_text", text=f"It is {_sky(last['output'])}, answer {asked}.", annotations=[]
            )
            message = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[part]
            )
            return agents.ModelResponse(output=[message], usage=usage, response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    @agents.function_tool
    def forecast(city: str) -> dict[str, Any]:
        """The weather."""
        return FORECAST

    return agents.Agent(name="weather", instructions="Be brief.", model=Scripted(), tools=[forecast])


def langchain_agent(checkpointer: Any = None) -> Any:
    need("langgraph")
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            if isinstance(messages[-1], ToolMessage):
                asked = sum(isinstance(message, HumanMessage) for message in messages)
                answer = AIMessage(f"It is {_sky(messages[-1].content)}, answer {asked}.")
            else:
                call = {"name": "forecast", "args": CITY, "id": f"c{len(messages)}"}
                answer = AIMessage("Let me look.", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=answer)])

    def forecast(city: str) -> dict[str, Any]:
        """The weather."""
        return FORECAST

    return create_agent(Scripted(), [forecast], system_prompt="Be brief.", checkpointer=checkpointer)


def langchain_agent_that_remembers() -> Any:
    need("langgraph")
    from langgraph.checkpoint.memory import InMemorySaver

    return langchain_agent(InMemorySaver())


def _sky(result: Any) -> str:
    return "clear" if "clear" in str(result) else str(result)


AGENTS = [pydantic_ai_agent, openai_agent, langchain_agent, langchain_agent_that_remembers]
MOCKABLE = [pydantic_ai_agent, openai_agent]


@pytest.mark.parametrize("make", AGENTS)
def test_tool_calls_arrive_complete_over_two_turns(make: Any) -> None:
    run = run_of(ask(make(), "Weather?", "And now?"))
    assert_complete(run)
    assert run.final_text == "It is clear, answer 2."


@pytest.mark.parametrize("make", AGENTS)
def test_many_items_at_once_do_not_mix(make: Any) -> None:
    data = [{"id": str(number), "inputs": ["Weather?", "And now?"]} for number in range(20)]
    report = run_evals_sync(target=make(), data=data, gates=[checks.called_tool("forecast", times=2)], concurrency=10)
    assert report.verdict == "passed"
    for result in report.results:
        assert_complete(run_of(result))


@pytest.mark.parametrize("make", AGENTS)
def test_a_recorded_conversation_goes_on(make: Any) -> None:
    asked = [
        {"role": "user", "content": "Weather in Bruges?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "forecast", "arguments": '{"city": "Bruges"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": '{"sky": "grey"}'},
        {"role": "assistant", "content": "Grey."},
        {"role": "user", "content": "And in Ghent?"},
    ]
    run = run_of(ask(make(), asked))
    assert run.user_text == "And in Ghent?"
    assert run.final_text == "It is clear, answer 2."
    assert [(call.args, call.result) for call in run.tool_calls] == [(CITY, FORECAST)]


@pytest.mark.parametrize("make", MOCKABLE)
def test_tools_are_mocked_for_one_item_alone(make: Any) -> None:
    agent = make()

    def call(mocks: dict[str, Any] | None, **options: Any) -> ToolCall:
        return run_of(ask(agent, "Weather?", mocks=mocks, **options)).tool_calls[0]

    assert call({"forecast": {"sky": "green"}}).result == {"sky": "green"}
    assert call({"forecast": lambda args: {"seen": args}}).result == {"seen": CITY}
    assert call({"other": 1}).result == FORECAST
    assert call({"other": 1}, unmocked_tools="deny").failed
    assert call({"forecast": {"$error": "down"}}).result == {"error": "down"}
    assert call(None).result == FORECAST


def test_graphs_refuse_mocks() -> None:
    from referee import OptionError

    with pytest.raises(OptionError, match="can't run with them"):
        ask(langchain_agent(), "Weather?", mocks={"forecast": 1})


def test_options_reach_the_framework() -> None:
    agent = pydantic_ai_agent()
    from pydantic_ai import UsageLimits

    result = ask(agent, "Weather?", target_options={"usage_limits": UsageLimits(request_limit=1)})
    assert result.error is not None
    assert result.error.error_class == "UsageLimitExceeded"
    run = run_of(ask(openai_agent(), "Weather?", target_options={"max_turns": 3}))
    assert run.usage is not None
    assert run.usage.total == 10


def test_langchain_runnables() -> None:
    need("langchain_core")
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda

    def model() -> Any:
        return GenericFakeChatModel(messages=iter([AIMessage("Sunny."), AIMessage("Still sunny.")]))

    assert run_of(ask(model(), "Weather?", "And now?")).output_text == "Sunny.\nStill sunny."
    chain = ChatPromptTemplate.from_messages([("user", "Weather in {city}?")]) | model() | StrOutputParser()
    run = run_of(ask(chain, CITY))
    assert (run.output_text, run.input_text) == ("Sunny.", '{"city":"Ghent"}')
    assert run_of(ask(RunnableLambda(lambda given: {"sky": given}), "clear")).output_text == '{"sky":"clear"}'


def test_a_graph_with_a_state_of_its_own() -> None:
    need("langgraph")
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(dict)
    graph.add_node("double", lambda state: {"number": state["number"] * 2})
    graph.add_edge(START, "double")
    graph.add_edge("double", END)
    assert run_of(ask(graph.compile(), {"number": 21})).output_text == '{"number":42}'


def test_handoffs_are_mocked_too() -> None:
    (agents,) = need("agents")
    inner = openai_agent()
    outer = agents.Agent(name="outer", model=inner.model, tools=[], handoffs=[inner])
    inner.handoffs = [outer]
    from referee.evaluate.mocks import ToolMocks
    from referee.evaluate.targets.openai_agents import mocked

    copy = mocked(outer, ToolMocks({}, "deny"), {})
    assert copy is not outer
    assert copy.handoffs[0].handoffs[0] is copy
    assert copy.handoffs[0].tools[0] is not inner.tools[0]


@pytest.mark.parametrize("remembers", [False, True])
def test_a_graph_may_shorten_its_messages(remembers: bool) -> None:
    need("langgraph")
    from langchain_core.messages import AIMessage, RemoveMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    def answer(state: Any) -> Any:
        *old, asked = state["messages"]
        return {"messages": [*(RemoveMessage(id=message.id) for message in old), AIMessage(f"About {asked.content}.")]}

    graph = StateGraph(MessagesState).add_node("answer", answer)
    graph = graph.add_edge(START, "answer").add_edge("answer", END)
    run = run_of(ask(graph.compile(checkpointer=InMemorySaver() if remembers else None), "one", "two", "three"))
    assert (run.input_text, run.output_text) == ("one\ntwo\nthree", "About one.\nAbout two.\nAbout three.")


def test_a_graph_may_keep_only_its_answer() -> None:
    need("langgraph")
    from typing import TypedDict

    from langchain_core.messages import AIMessage
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        messages: list[Any]

    graph = StateGraph(State).add_node("answer", lambda state: {"messages": [AIMessage("Sunny.")]})
    run = run_of(ask(graph.add_edge(START, "answer").add_edge("answer", END).compile(), "one", "two"))
    assert (run.input_text, run.output_text) == ("one\ntwo", "Sunny.\nSunny.")


def test_mocks_reach_every_tool_of_a_pydantic_ai_run() -> None:
    agent = pydantic_ai_agent()
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import NativeTool, Toolset
    from pydantic_ai.native_tools import WebSearchTool
    from pydantic_ai.toolsets import FunctionToolset

    def forecast(city: str) -> str:
        raise RuntimeError("must not be called")

    async def mocked(args: Any) -> Any:
        return {**FORECAST, "asked": args}

    bare = Agent(agent.model)
    for options in (
        {"toolsets": [FunctionToolset([forecast])]},
        {"capabilities": [Toolset(FunctionToolset([forecast]))]},
    ):
        (call,) = run_of(ask(bare, "Weather?", mocks={"forecast": mocked}, target_options=options)).tool_calls
        assert call.result == {**FORECAST, "asked": CITY}
        (call,) = run_of(ask(bare, "Weather?", unmocked_tools="deny", target_options=options)).tool_calls
        assert "denied" in str(call.result)
    searching = ask(Agent(agent.model, capabilities=[NativeTool(WebSearchTool())]), "Weather?", unmocked_tools="deny")
    assert searching.error is not None
    assert "web_search runs at the provider" in searching.error.message


def test_a_mock_that_could_only_be_of_an_mcp_server_is_refused() -> None:
    agent = openai_agent()
    mocks = {"forecast": FORECAST}
    agent.mcp_servers = [object()]
    for refused in ({"mocks": {"search": 1}}, {"mocks": mocks, "unmocked_tools": "deny"}):
        result = ask(agent, "Weather?", **refused)
        assert result.error is not None
        assert result.error.error_class == "UnmockableToolError"
