"""Agents of real frameworks with scripted models, scored live: what they did arrives complete, and they notice nothing.

Needs the dependency group `frameworks`.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from referee import Live, Run, checks, to_run
from referee.live import request
from support import need
from weather_agents import ModelDownError, answer_to, langchain_agent, langchain_model, openai_agent, pydantic_ai_agent

# What the frameworks warn of among themselves is not ours.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("swept")]

WAIT = 60.0
CITIES = [f"City {number}" for number in range(25)]


def integration(name: str, framework: str) -> Any:
    """A module of `referee.integrations`; without its framework the test is skipped."""
    need(framework)
    return importlib.import_module(f"referee.integrations.{name}")


class Runs:
    """Keeps the runs that were scored."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def save(self, records: Any, **_: Any) -> None:
        self.runs += [record.run for record in records]


class Scored:
    """A live scoring, and what it has scored so far."""

    def __init__(self, **options: Any) -> None:
        self.store = Runs()
        self.live = Live({"forecast": checks.called_tool("forecast")}, store=self.store, **options)

    def runs(self) -> list[Run]:
        assert self.live.flush(WAIT)
        counts = self.live.counts["forecast"]
        assert counts.balanced
        assert counts.failed == counts.dropped == 0
        return self.store.runs

    def run(self) -> Run:
        [run] = self.runs()
        return run


@pytest.fixture
def scored() -> Iterator[Scored]:
    scored = Scored()
    yield scored
    assert scored.live.close(WAIT)


def assert_complete(run: Run, city: str = "Ghent") -> None:
    """The question, the call with its arguments and its result, and the answer."""
    assert run.user_text == f"Weather in {city}?"
    assert [(call.name, call.args, call.state, call.result) for call in run.tool_calls] == [
        ("forecast", {"city": city}, "result", {"city": city, "sky": "clear"})
    ]
    assert run.final_text.strip() == answer_to(city)
    assert run.metadata is not None
    assert run.metadata["entity"] == {"name": "weather"}
    assert run.started_at is not None
    assert run.duration_ms is not None


def assert_all_apart(runs: list[Run]) -> None:
    """Each of the cities was asked about once."""
    assert sorted(run.user_text for run in runs) == sorted(f"Weather in {city}?" for city in CITIES)
    assert len({run.id for run in runs}) == len(CITIES)
    for run in runs:
        assert_complete(run, run.user_text.removeprefix("Weather in ").removesuffix("?"))


def assert_same(run: Run, result: Any) -> None:
    """What was scored is what the result says."""
    read = to_run(result, turns="last")
    assert run.tool_calls == read.tool_calls
    assert [message.text for message in run.output] == [message.text for message in read.output]
    assert run.usage == read.usage


class Agent:
    """An agent of one framework that is scored live, under the names that the tests use."""

    def __init__(self, live: Live) -> None:
        raise NotImplementedError

    def ask(self, question: str) -> str:
        raise NotImplementedError

    async def ask_async(self, question: str) -> str:
        raise NotImplementedError

    async def stream(self, question: str, until: int | None = None) -> None:
        """Read a stream to its end, or so many items of it."""
        raise NotImplementedError


class PydanticAI(Agent):
    def __init__(self, live: Live) -> None:
        capability = integration("pydantic_ai", "pydantic_ai").LiveCapability(live)
        self.agent = pydantic_ai_agent(capabilities=[capability])

    def ask(self, question: str) -> str:
        return str(self.agent.run_sync(question).output)

    async def ask_async(self, question: str) -> str:
        return str((await self.agent.run(question)).output)

    async def stream(self, question: str, until: int | None = None) -> None:
        async with self.agent.run_stream(question) as result:
            await read(result.stream_text(delta=True, debounce_by=None), until)


class OpenAIAgents(Agent):
    def __init__(self, live: Live) -> None:
        self.runner = integration("openai_agents", "agents").LiveRunner(live)
        self.agent = openai_agent()

    def ask(self, question: str) -> str:
        return str(self.runner.run_sync(self.agent, question).final_output)

    async def ask_async(self, question: str) -> str:
        return str((await self.runner.run(self.agent, question)).final_output)

    async def stream(self, question: str, until: int | None = None) -> None:
        await read(self.runner.run_streamed(self.agent, question).stream_events(), until)


class LangChain(Agent):
    def __init__(self, live: Live) -> None:
        self.handler = integration("langchain", "langchain_core").LiveCallbackHandler(live)
        self.agent = langchain_agent()
        self.config = {"callbacks": [self.handler]}

    def ask(self, question: str) -> str:
        return str(self.agent.invoke(asked(question), self.config)["messages"][-1].text)

    async def ask_async(self, question: str) -> str:
        return str((await self.agent.ainvoke(asked(question), self.config))["messages"][-1].text)

    async def stream(self, question: str, until: int | None = None) -> None:
        await read(self.agent.astream(asked(question), self.config, stream_mode="messages"), until)


AGENTS = [PydanticAI, OpenAIAgents, LangChain]


def asked(question: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}]}


async def read(stream: Any, until: int | None) -> None:
    count = 0
    async for _ in stream:
        count += 1
        if count == until:
            await stream.aclose()
            return
    assert until is None, "the stream was shorter"


@pytest.mark.parametrize("make", AGENTS)
def test_a_run_arrives_complete(make: Callable[[Live], Agent], scored: Scored) -> None:
    assert make(scored.live).ask("Weather in Ghent?") == answer_to("Ghent")
    assert_complete(scored.run())


@pytest.mark.parametrize("make", AGENTS)
def test_a_tool_that_fails_is_a_failed_call(make: Callable[[Live], Agent], scored: Scored) -> None:
    make(scored.live).ask("Weather in Atlantis?")
    [call] = scored.run().tool_calls
    if make is OpenAIAgents:  # it tells a failure as a result, and keeps what failed to itself
        assert "An error occurred" in str(call.result)
    else:
        assert call.failed
        assert "no such city" in str(call.error)


@pytest.mark.parametrize("make", AGENTS)
def test_parallel_runs_do_not_mix(make: Callable[[Live], Agent], scored: Scored) -> None:
    agent = make(scored.live)

    async def ask_all() -> list[str]:
        return await asyncio.gather(*(agent.ask_async(f"Weather in {city}?") for city in CITIES))

    assert asyncio.run(ask_all()) == [answer_to(city) for city in CITIES]
    assert_all_apart(scored.runs())


@pytest.mark.parametrize("make", AGENTS)
def test_parallel_threads_do_not_mix(make: Callable[[Live], Agent], scored: Scored) -> None:
    agent = make(scored.live)
    threads = [threading.Thread(target=agent.ask, args=(f"Weather in {city}?",)) for city in CITIES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_all_apart(scored.runs())


@pytest.mark.parametrize("make", AGENTS)
def test_a_stream_is_scored_when_it_ends(make: Callable[[Live], Agent], scored: Scored) -> None:
    asyncio.run(make(scored.live).stream("Weather in Ghent?"))
    assert_complete(scored.run())


@pytest.mark.parametrize("make", AGENTS)
def test_parallel_streams_do_not_mix(make: Callable[[Live], Agent], scored: Scored) -> None:
    agent = make(scored.live)

    async def read_all() -> None:
        await asyncio.gather(*(agent.stream(f"Weather in {city}?") for city in CITIES))

    asyncio.run(read_all())
    assert_all_apart(scored.runs())


@pytest.mark.parametrize("make", AGENTS)
def test_a_stream_that_is_not_read_to_its_end_is_not_scored(make: Callable[[Live], Agent], scored: Scored) -> None:
    asyncio.run(make(scored.live).stream("Weather in Ghent?", until=1))
    assert scored.runs() == []


@pytest.mark.parametrize("make", AGENTS)
def test_a_run_that_fails_is_not_scored(make: Callable[[Live], Agent], scored: Scored) -> None:
    agent = make(scored.live)
    with pytest.raises(ModelDownError):
        agent.ask("fail")
    with pytest.raises(ModelDownError):
        asyncio.run(agent.ask_async("fail"))
    with pytest.raises(ModelDownError):
        asyncio.run(agent.stream("fail"))
    assert scored.runs() == []
    agent.ask("Weather in Ghent?")
    assert_complete(scored.run())


@pytest.mark.parametrize("make", AGENTS)
def test_a_run_that_is_cancelled_is_not_scored(make: Callable[[Live], Agent], scored: Scored) -> None:
    agent = make(scored.live)

    async def cancel() -> None:
        task = asyncio.ensure_future(agent.ask_async("Weather in Ghent?"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert scored.runs() == []


@pytest.mark.parametrize("make", AGENTS)
def test_the_agent_notices_nothing_of_what_goes_wrong(
    make: Callable[[Live], Agent], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def raises(run: Run) -> bool:
        raise LookupError

    live = Live({"raises": raises, "again": {"scorer": raises, "sampling": {"type": "ratio", "rate": 0.5}}})
    agent = make(live)
    assert agent.ask("Weather in Ghent?") == answer_to("Ghent")
    assert live.flush(WAIT)
    assert live.counts["raises"].failed == 1

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("can't start new thread")

    assert live.close(WAIT)
    assert agent.ask("Weather in Ghent?") == answer_to("Ghent")
    assert live.counts["raises"].dropped == 1
    broken = Live({"raises": raises})
    monkeypatch.setattr(broken, "_started", fails)
    assert make(broken).ask("Weather in Ghent?") == answer_to("Ghent")
    assert broken.counts["raises"].dropped == 1
    assert "Error in LiveCallbackHandler" not in caplog.text


@pytest.mark.parametrize("make", AGENTS)
def test_the_request_is_told_around_the_agent(make: Callable[[Live], Agent], scored: Scored) -> None:
    with request(context={"plan": "pro"}, entity="assistant", source="test", thread_id="t", trace_id="ab" * 16):
        make(scored.live).ask("Weather in Ghent?")
    run = scored.run()
    assert (run.context, run.thread_id, run.trace_id) == ({"plan": "pro"}, "t", "ab" * 16)
    assert run.metadata is not None
    assert (run.metadata["source"], run.metadata["entity"]) == ("test", {"name": "assistant"})


# Pydantic AI


def test_pydantic_ai_names_runs_and_conversations(scored: Scored) -> None:
    agent = PydanticAI(scored.live).agent
    first = agent.run_sync("Weather in Ghent?")
    second = agent.run_sync("Weather in Rome?", message_history=first.all_messages())
    one, two = scored.runs()
    assert_same(one, first)
    assert_same(two, second)
    assert_complete(two, "Rome")
    assert two.history[0].text == "Weather in Ghent?"
    assert (one.id, two.id) == (first.run_id, second.run_id)
    assert (one.thread_id, two.thread_id) == (first.conversation_id, second.conversation_id)


def test_pydantic_ai_iterated(scored: Scored) -> None:
    agent = PydanticAI(scored.live).agent

    async def iterate() -> None:
        async with agent.iter("Weather in Ghent?") as nodes:
            async for _ in nodes:
                pass
        async with agent.iter("Weather in Rome?") as nodes:
            async for _ in nodes:
                break

    asyncio.run(iterate())
    assert_complete(scored.run())


def test_pydantic_ai_stops_for_an_approval(scored: Scored) -> None:
    from pydantic_ai import DeferredToolRequests, DeferredToolResults

    capability = integration("pydantic_ai", "pydantic_ai").LiveCapability(scored.live)
    agent = pydantic_ai_agent(capabilities=[capability], output_type=[str, DeferredToolRequests])
    agent._function_toolset.tools["forecast"].requires_approval = True
    stopped = agent.run_sync("Weather in Ghent?")
    [call] = stopped.output.approvals
    assert scored.runs() == []
    approved = DeferredToolResults(approvals={call.tool_call_id: True})
    agent.run_sync(message_history=stopped.all_messages(), deferred_tool_results=approved)
    assert scored.run().final_text == answer_to("Ghent")


def test_pydantic_ai_s_own_span_is_the_scored_operation(scored: Scored) -> None:
    capability = integration("pydantic_ai", "pydantic_ai").LiveCapability(scored.live)
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.models.instrumented import InstrumentationSettings

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentation = Instrumentation(settings=InstrumentationSettings(tracer_provider=provider))
    pydantic_ai_agent(capabilities=[capability, instrumentation]).run_sync("Weather in Ghent?")
    run = scored.run()
    [span] = [span for span in exporter.get_finished_spans() if "invoke_agent" in span.name]
    assert span.context is not None
    assert run.span_id == format(span.context.span_id, "016x")
    assert run.trace_id == format(span.context.trace_id, "032x")


# OpenAI Agents SDK


def test_openai_agents_with_the_same_result(scored: Scored) -> None:
    agent = OpenAIAgents(scored.live)
    result = asyncio.run(agent.runner.run(agent.agent, "Weather in Ghent?"))
    assert_same(scored.run(), result)


def test_openai_agents_that_hand_over_or_are_tools(scored: Scored) -> None:
    runner = OpenAIAgents(scored.live).runner
    from agents import handoff

    inner = openai_agent(name="forecaster")
    outer = openai_agent(name="weather", tools=[inner.as_tool("forecast", "The weather.")])
    result = asyncio.run(runner.run(outer, "Weather in Ghent?"))
    run = scored.run()  # the run of the inner agent is a part of it
    assert_same(run, result)
    scored.store.runs.clear()
    first = openai_agent(name="first", tools=[], handoffs=[handoff(inner, tool_name_override="forecast")])
    result = asyncio.run(runner.run(first, "Weather in Ghent?"))
    run = scored.run()
    assert_same(run, result)
    assert [call.state for call in run.tool_calls] == ["result"]


def test_openai_agents_whose_answer_is_withheld(scored: Scored) -> None:
    agent = OpenAIAgents(scored.live)
    import agents

    @agents.output_guardrail
    def never(context: Any, agent: Any, output: Any) -> Any:
        return agents.GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    guarded = openai_agent(output_guardrails=[never])
    with pytest.raises(agents.OutputGuardrailTripwireTriggered):
        asyncio.run(agent.runner.run(guarded, "Weather in Ghent?"))

    async def stream() -> None:
        async for _ in agent.runner.run_streamed(guarded, "Weather in Ghent?").stream_events():
            pass

    with pytest.raises(agents.OutputGuardrailTripwireTriggered):
        asyncio.run(stream())
    with pytest.raises(agents.MaxTurnsExceeded):
        asyncio.run(agent.runner.run(agent.agent, "Weather in Ghent?", max_turns=1))
    assert scored.runs() == []


def test_openai_agents_that_stop_for_an_approval(scored: Scored) -> None:
    agent = OpenAIAgents(scored.live)
    agent.agent.tools[0].needs_approval = True

    async def approve() -> Any:
        stopped = await agent.runner.run(agent.agent, "Weather in Ghent?")
        assert scored.runs() == []
        state = stopped.to_state()
        state.approve(stopped.interruptions[0])
        return await agent.runner.run(agent.agent, state)

    result = asyncio.run(approve())
    assert_same(scored.run(), result)
    assert_complete(scored.run())


def test_openai_agents_whose_stream_is_read_twice(scored: Scored) -> None:
    agent = OpenAIAgents(scored.live)

    async def stream() -> None:
        result = agent.runner.run_streamed(agent.agent, "Weather in Ghent?")
        await read(result.stream_events(), None)
        assert result.final_output == answer_to("Ghent")
        await read(result.stream_events(), None)

    asyncio.run(stream())
    assert_complete(scored.run())


# LangChain and LangGraph


@pytest.fixture
def langchain(scored: Scored) -> Iterator[LangChain]:
    agent = LangChain(scored.live)
    yield agent
    assert agent.handler._outermost == {}, "something is kept of runs that are over"


def test_langgraph_in_every_way_that_it_is_called(langchain: LangChain, scored: Scored) -> None:
    agent, config = langchain.agent, langchain.config
    for mode in ("values", "updates", "messages", "custom", "debug"):
        for _ in agent.stream(asked(f"Weather in {mode}?"), config, stream_mode=mode):
            pass
    agent.batch([asked("Weather in batch?"), asked("Weather in batches?")], config)

    async def events() -> None:
        async for _ in agent.astream_events(asked("Weather in events?"), config, version="v2"):
            pass

    asyncio.run(events())
    for run in scored.runs():
        assert_complete(run, run.user_text.removeprefix("Weather in ").removesuffix("?"))
    assert len(scored.runs()) == 8


def test_langgraph_gives_up_a_stream(langchain: LangChain, scored: Scored) -> None:
    stream = langchain.agent.stream(asked("Weather in Ghent?"), langchain.config, stream_mode="messages")
    next(stream)
    stream.close()
    assert scored.runs() == []


def test_langgraph_remembers_and_is_interrupted(langchain: LangChain, scored: Scored) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    config = {**langchain.config, "configurable": {"thread_id": "t-1"}}
    agent = langchain_agent(checkpointer=InMemorySaver())
    agent.invoke(asked("Weather in Rome?"), config)
    result = agent.invoke(asked("Weather in Ghent?"), config)
    one, two = scored.runs()
    assert_complete(one, "Rome")
    assert_complete(two)
    assert two.history[0].text == "Weather in Rome?"
    assert_same(two, {"messages": result["messages"]})
    assert one.thread_id == two.thread_id == "t-1"
    scored.store.runs.clear()
    stops = langchain_agent(checkpointer=InMemorySaver(), interrupt_before=["tools"])
    stops.invoke(asked("Weather in Ghent?"), config)
    assert scored.runs() == []
    stops.invoke(Command(resume=True), config)
    assert_complete(scored.run())


def test_langgraph_is_interrupted_by_a_tool(langchain: LangChain, scored: Scored) -> None:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command, interrupt

    @tool
    def forecast(city: str) -> Any:
        """The weather."""
        return {"city": city, "sky": interrupt("which sky?")}

    config = {**langchain.config, "configurable": {"thread_id": "t-1"}}
    agent = create_agent(langchain_model(), [forecast], name="weather", checkpointer=InMemorySaver())
    agent.invoke(asked("Weather in Ghent?"), config)
    assert scored.runs() == []
    agent.invoke(Command(resume="clear"), config)
    assert_complete(scored.run())


def test_langchain_chains_and_models(langchain: LangChain, scored: Scored) -> None:
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    chain = ChatPromptTemplate.from_messages([("user", "Weather in {city}?")]) | langchain_model() | StrOutputParser()
    model = langchain_model()
    config = langchain.config
    assert chain.invoke({"city": "Ghent"}, config) == answer_to("Ghent")
    assert "".join(chain.stream({"city": "Ghent"}, config)) == answer_to("Ghent")
    model.invoke("Weather in Ghent?", config)
    for _ in model.stream("Weather in Ghent?", config):
        pass
    runs = scored.runs()
    assert [run.output_text for run in runs] == [answer_to("Ghent")] * 4
    assert [run.input_text for run in runs] == ['{"city":"Ghent"}'] * 2 + ["Weather in Ghent?"] * 2


def test_a_model_that_answers_nothing(langchain: LangChain, scored: Scored) -> None:
    from langchain_core.outputs import LLMResult

    run_id = uuid4()
    langchain.handler.on_llm_start({}, ["Weather in Ghent?"], run_id=run_id)
    langchain.handler.on_llm_end(LLMResult(generations=[[]]), run_id=run_id)
    assert scored.run().output_text == ""


def test_langchain_gives_up_the_stream_of_a_chain(langchain: LangChain, scored: Scored) -> None:
    from langchain_core.output_parsers import StrOutputParser

    chain = langchain_model() | StrOutputParser()
    stream = chain.stream("Weather in Ghent?", langchain.config)
    next(stream)
    stream.close()

    async def give_up() -> None:
        await read(chain.astream("Weather in Ghent?", langchain.config), 1)

    asyncio.run(give_up())
    assert scored.runs() == []


def test_a_graph_without_messages_is_told_by_its_tools_and_its_state(langchain: LangChain, scored: Scored) -> None:
    from langchain_core.tools import tool
    from langgraph.graph import END, START, StateGraph

    @tool
    def forecast(city: str) -> Any:
        """The weather."""
        if city == "Atlantis":
            raise LookupError("no such city")
        return {"city": city, "sky": "clear"}

    def look(state: dict[str, Any]) -> dict[str, Any]:
        with contextlib.suppress(LookupError):
            forecast.invoke({"city": "Atlantis"})
        return {"sky": forecast.invoke({"city": state["city"]})["sky"]}

    graph = StateGraph(dict)
    graph.add_node("look", look)
    graph.add_edge(START, "look")
    graph.add_edge("look", END)
    graph.compile().invoke({"city": "Ghent"}, langchain.config)
    run = scored.run()
    assert [(call.name, call.args, call.state, call.result or call.error) for call in run.tool_calls] == [
        ("forecast", {"city": "Atlantis"}, "error", "no such city"),
        ("forecast", {"city": "Ghent"}, "result", {"city": "Ghent", "sky": "clear"}),
    ]
    assert (run.input_text, run.final_text) == ('{"city":"Ghent"}', '{"sky":"clear"}')


def test_a_model_inside_is_scored_where_the_handler_is_given_to_it_alone(langchain: LangChain, scored: Scored) -> None:
    from langchain_core.runnables import RunnableLambda

    model = langchain_model().with_config(callbacks=[langchain.handler])
    RunnableLambda(model.invoke).invoke("Weather in Ghent?")
    assert scored.run().output_text == answer_to("Ghent")
    langchain.agent.nodes["tools"].bound.tools_by_name["forecast"].invoke({"city": "Ghent"}, langchain.config)
    assert len(scored.runs()) == 1  # a tool alone is no agent
