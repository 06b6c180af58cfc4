"""Recorded calls: what an agent gives and raises is untouched, whatever kind of callable it is, and is scored."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from referee import Message, OptionError, Run, Text, checks
from referee.live import Live, request
from referee.live.recording import recorded_run


class Runs:
    """Keeps the runs that were scored."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def save(self, records: Any, **_: Any) -> None:
        self.runs += [record.run for record in records]


@pytest.fixture
def store() -> Runs:
    return Runs()


@pytest.fixture
def live(store: Runs) -> Iterator[Live]:
    with Live({"check": checks.includes("sunny")}, store=store) as live:
        yield live


@pytest.fixture
def only_run(live: Live, store: Runs) -> Callable[[], Run]:
    def get() -> Run:
        assert live.flush(60)
        [run] = store.runs
        return run

    return get


class WrongError(Exception):
    pass


def test_a_function(live: Live, only_run: Callable[[], Run]) -> None:
    answer = ["It is ", "sunny."]

    @live.scored
    def agent(question: str, *, day: str = "today") -> str:
        """Answers."""
        assert (question, day) == ("Weather?", "Monday")
        return "".join(answer)

    assert agent("Weather?", day="Monday") == "It is sunny."
    assert (agent.__name__, agent.__doc__) == ("agent", "Answers.")
    assert list(inspect.signature(agent).parameters) == ["question", "day"]
    run = only_run()
    assert (run.user_text, run.output_text) == ("Weather?", "It is sunny.")
    assert run.metadata == {"source": "live", "entity": {"name": "agent"}}
    assert run.duration_ms is not None
    assert run.started_at is not None


def test_the_same_object_comes_back(live: Live) -> None:
    answer = {"messages": [{"role": "assistant", "content": "sunny"}]}

    @live.scored
    def agent(question: str) -> dict[str, Any]:
        return answer

    assert agent("Weather?") is answer


def test_a_coroutine_function(live: Live, only_run: Callable[[], Run]) -> None:
    @live.scored
    async def agent(question: str) -> str:
        await asyncio.sleep(0)
        return "sunny"

    assert inspect.iscoroutinefunction(agent)
    assert asyncio.run(agent("Weather?")) == "sunny"
    assert (only_run().user_text, only_run().output_text) == ("Weather?", "sunny")


def test_a_generator_function(live: Live, only_run: Callable[[], Run]) -> None:
    @live.scored
    def agent(question: str) -> Iterator[str]:
        yield "It is "
        yield "sunny."

    assert inspect.isgeneratorfunction(agent)
    stream = agent("Weather?")
    assert inspect.isgenerator(stream)
    assert list(stream) == ["It is ", "sunny."]
    assert (only_run().user_text, only_run().output_text) == ("Weather?", "It is sunny.")


def test_an_async_generator_function(live: Live, only_run: Callable[[], Run]) -> None:
    @live.scored
    async def agent(question: str) -> AsyncIterator[str]:
        yield "It is "
        await asyncio.sleep(0)
        yield "sunny."

    async def consume() -> list[str]:
        return [part async for part in agent("Weather?")]

    assert inspect.isasyncgenfunction(agent)
    assert asyncio.run(consume()) == ["It is ", "sunny."]
    assert (only_run().user_text, only_run().output_text) == ("Weather?", "It is sunny.")


def conversation(log: list[Any]) -> Iterator[Any]:
    """A generator that is talked to: it notes everything that happens to it."""
    try:
        log.append((yield 1))
        try:
            log.append((yield 2))
        except WrongError as error:
            log.append(type(error))
            log.append((yield 3))
    finally:
        log.append("closed")
    return "sunny"


def talk(stream: Any) -> list[Any]:
    got = [next(stream), stream.send("a"), stream.throw(WrongError("b"))]
    with pytest.raises(StopIteration) as end:
        stream.send("c")
    return [*got, end.value.value]


def test_a_generator_is_talked_to_as_before(live: Live, only_run: Callable[[], Run]) -> None:
    plain: list[Any] = []
    recorded: list[Any] = []
    assert talk(live.scored(input=None)(conversation)(recorded)) == talk(conversation(plain)) == [1, 2, 3, "sunny"]
    assert recorded == plain == ["a", WrongError, "c", "closed"]
    assert only_run().output_text == "sunny"


@pytest.mark.parametrize("ending", ["close", "error", "collected"])
def test_a_generator_that_is_not_read_to_its_end(live: Live, ending: str) -> None:
    log: list[Any] = []
    stream: Any = live.scored(conversation)(log)
    assert next(stream) == 1
    if ending == "close":
        stream.close()
    elif ending == "error":
        with pytest.raises(WrongError):
            stream.throw(WrongError())
    else:
        del stream
        gc.collect()
    assert log == ["closed"]
    assert live.counts["check"].received == 0


async def async_conversation(log: list[Any]) -> AsyncIterator[Any]:
    try:
        log.append((yield 1))
        await asyncio.sleep(0)
        try:
            log.append((yield 2))
        except WrongError as error:
            log.append(type(error))
            log.append((yield 3))
    finally:
        await asyncio.sleep(0)
        log.append("closed")


async def async_talk(stream: Any) -> list[Any]:
    got = [await stream.__anext__(), await stream.asend("a"), await stream.athrow(WrongError("b"))]
    with pytest.raises(StopAsyncIteration):
        await stream.asend("c")
    return got


def test_an_async_generator_is_talked_to_as_before(live: Live) -> None:
    plain: list[Any] = []
    recorded: list[Any] = []
    got = asyncio.run(async_talk(live.scored(async_conversation)(recorded)))
    assert got == asyncio.run(async_talk(async_conversation(plain))) == [1, 2, 3]
    assert recorded == plain == ["a", WrongError, "c", "closed"]
    assert live.counts["check"].received == 1


@pytest.mark.parametrize("ending", ["close", "error", "left", "cancelled"])
def test_an_async_generator_that_is_not_read_to_its_end(live: Live, ending: str) -> None:
    async def consume(stream: Any) -> None:
        async for item in stream:
            assert item == 1
            break
        if ending == "close":
            await stream.aclose()
        elif ending == "error":
            with pytest.raises(WrongError):
                await stream.athrow(WrongError())
        elif ending == "cancelled":
            with pytest.raises(asyncio.CancelledError):
                await stream.athrow(asyncio.CancelledError())

    plain: list[Any] = []
    recorded: list[Any] = []
    asyncio.run(consume(async_conversation(plain)))
    asyncio.run(consume(live.scored(async_conversation)(recorded)))
    assert recorded == plain
    assert live.counts["check"].received == 0


def test_generators_that_will_not_close_say_so_as_before(live: Live) -> None:
    @live.scored
    def stubborn(question: str) -> Iterator[int]:
        with contextlib.suppress(GeneratorExit):
            yield 1
        yield 2

    @live.scored
    async def stubborn_async(question: str) -> AsyncIterator[int]:
        with contextlib.suppress(GeneratorExit):
            yield 1
        yield 2

    async def close() -> None:
        other: Any = stubborn_async("?")
        await other.__anext__()
        with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
            await other.aclose()

    stream: Any = stubborn("?")
    next(stream)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        stream.close()
    asyncio.run(close())


def test_cancellation_reaches_the_agent_and_its_caller(live: Live) -> None:
    log: list[str] = []

    @live.scored
    async def agent(question: str) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        return "never"

    async def cancel() -> None:
        task = asyncio.ensure_future(agent("Weather?"))
        await asyncio.sleep(0)
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await agent("Weather?")

    asyncio.run(cancel())
    assert log == ["cancelled", "cancelled"]
    assert live.counts["check"].received == 0


@pytest.mark.parametrize("error", [WrongError("x"), KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_exceptions_are_the_agent_s_own(live: Live, error: BaseException) -> None:
    @live.scored
    def agent(question: str) -> str:
        raise error

    @live.scored
    async def agent_async(question: str) -> str:
        raise error

    @live.scored
    def stream(question: str) -> Iterator[str]:
        yield "a"
        raise error

    with pytest.raises(type(error)) as raised:
        agent("Weather?")
    assert raised.value is error
    coroutine = agent_async("Weather?")
    with pytest.raises(type(error)) as raised:
        coroutine.send(None)
    assert raised.value is error
    with pytest.raises(type(error)) as raised:
        list(stream("Weather?"))
    assert raised.value is error
    assert live.counts["check"].received == 0


def test_arguments_that_do_not_fit_are_the_agent_s_error(live: Live) -> None:
    @live.scored
    def agent(question: str) -> str:
        return question

    @live.scored
    async def agent_async(question: str) -> str:
        return question

    wrong: Any = agent
    with pytest.raises(TypeError, match="question"):
        wrong()
    wrong = agent_async
    with pytest.raises(TypeError, match="question"):
        asyncio.run(wrong())


class Agent:
    def __init__(self, answer: str) -> None:
        self.answer = answer

    def ask(self, question: str) -> str:
        return self.answer

    @classmethod
    def of_class(cls, question: str) -> str:
        return cls.__name__

    @staticmethod
    def static(question: str) -> str:
        return "static"

    def __call__(self, question: str) -> str:
        return self.answer


class AsyncAgent:
    async def __call__(self, question: str) -> str:
        await asyncio.sleep(0)
        return "sunny"


def test_methods_and_objects(live: Live, store: Runs) -> None:
    class Recorded(Agent):
        ask = live.scored(Agent.ask)
        over = live.scored(Agent.__dict__["of_class"])
        above = live.scored(Agent.__dict__["static"])

    agent = Recorded("sunny")
    assert agent.ask("1") == "sunny"
    assert Recorded.over("2") == agent.over("2") == "Recorded"
    assert Recorded.above("3") == agent.above("3") == "static"
    assert live.scored(agent)("4") == "sunny"
    assert live.scored(Agent("sunny").ask)("5") == "sunny"
    assert live.scored(functools.partial(Agent("sunny").ask))("6") == "sunny"
    object_ = live.scored(AsyncAgent())
    assert inspect.iscoroutinefunction(object_)
    assert asyncio.run(object_("7")) == "sunny"
    assert live.flush(60)
    assert sorted(run.user_text for run in store.runs) == ["1", "2", "2", "3", "3", "4", "5", "6", "7"]


def test_a_plain_function_that_gives_a_coroutine_or_a_stream(live: Live, store: Runs) -> None:
    async def later(question: str) -> str:
        return "sunny"

    def parts(question: str) -> Iterator[str]:
        yield from ("sun", "ny")

    async def later_parts(question: str) -> AsyncIterator[str]:
        yield "sun"
        yield "ny"

    async def consume() -> list[str]:
        return [part async for part in live.scored(later_parts)("3")]

    assert asyncio.run(live.scored(later)("1")) == "sunny"
    assert list(live.scored(parts)("2")) == ["sun", "ny"]
    assert asyncio.run(consume()) == ["sun", "ny"]
    assert live.flush(60)
    assert [(run.user_text, run.output_text) for run in store.runs] == [("1", "sunny"), ("2", "sunny"), ("3", "sunny")]


def test_decorating_twice_scores_twice(live: Live) -> None:
    @live.scored
    @live.scored
    def agent(question: str) -> str:
        return "sunny"

    assert agent("Weather?") == "sunny"
    assert live.counts["check"].received == 2


def test_the_input_is_a_parameter_of_your_choice(live: Live, store: Runs) -> None:
    def agent(user: str, question: str = "Weather?", *, language: str = "en") -> str:
        return "sunny"

    live.scored(input="question")(agent)("Ann")
    live.scored(input="question")(agent)("Ann", "Rain?")
    live.scored(input="question")(agent)("Ann", question="Snow?")
    live.scored(input="language")(agent)("Ann", language="nl")
    live.scored(input="language")(agent)("Ann")
    live.scored(input=None)(agent)("Ann")
    live.scored(lambda: "sunny")()
    live.scored(agent)(user="Bob")
    assert live.flush(60)
    assert [run.input_text for run in store.runs] == ["Weather?", "Rain?", "Snow?", "nl", "en", "", "", "Bob"]


def test_the_output_is_what_a_function_makes_of_it(live: Live, store: Runs) -> None:
    live.scored(output=lambda answer: answer["text"])(lambda question: {"text": "sunny"})("?")

    @live.scored(output=lambda parts: parts[-1]["text"], entity={"name": "weather", "version": 2})
    def stream(question: str) -> Iterator[dict[str, str]]:
        yield {"text": "sun"}
        yield {"text": "sunny"}

    list(stream("?"))
    assert live.flush(60)
    assert [run.output_text for run in store.runs] == ["sunny", "sunny"]
    assert store.runs[1].metadata == {"source": "live", "entity": {"name": "weather", "version": 2}}


@pytest.mark.parametrize("thing", ["text", 3, Agent])
def test_what_is_no_function_is_refused(live: Live, thing: Any) -> None:
    with pytest.raises(OptionError, match="scored: expected a function"):
        live.scored(thing)


def test_an_unknown_input_is_refused(live: Live) -> None:
    with pytest.raises(OptionError, match="scored: agent has no parameter 'query'"):

        @live.scored(input="query")
        def agent(question: str) -> str:
            return question


def test_the_request_is_told_around_the_agent(live: Live, only_run: Callable[[], Run]) -> None:
    @live.scored
    def agent(question: str) -> Iterator[str]:
        yield "sunny"

    outer = request(context={"plan": "pro", "user": "Ann"}, source="test")
    with outer, request(context={"user": "Bob"}, thread_id="t-1", entity="support", trace_id="ab" * 16):
        assert list(agent("Weather?")) == ["sunny"]
    run = only_run()
    assert (run.context, run.thread_id, run.trace_id) == ({"plan": "pro", "user": "Bob"}, "t-1", "ab" * 16)
    assert run.metadata == {"source": "test", "entity": {"name": "support"}}


def test_a_wrong_request_is_refused() -> None:
    wrong: Any = "pro"
    with pytest.raises(OptionError, match="request: context must be an object"), request(context=wrong):
        pass


def test_a_list_that_goes_on_changing_is_scored_as_it_was(live: Live, only_run: Callable[[], Run]) -> None:
    talk: list[dict[str, Any]] = []

    @live.scored
    def agent(question: str) -> list[dict[str, Any]]:
        talk.append({"role": "user", "content": question})
        talk.append({"role": "assistant", "content": "sunny"})
        return talk

    agent("Weather?")
    talk[-1]["content"] = "changed"
    talk.append({"role": "user", "content": "Thanks"})
    assert (only_run().user_text, only_run().output_text) == ("Weather?", "sunny")


@dataclass
class Answer:
    text: str
    sure: bool


@pytest.mark.parametrize(
    ("output", "given", "expected"),
    [
        ("Sunny.", "Weather?", ([], "Weather?", "Sunny.")),
        (None, "Weather?", ([], "Weather?", "")),
        ({"degrees": 21}, "Weather?", ([], "Weather?", '{"degrees":21}')),
        (Answer("Sunny", True), "Weather?", ([], "Weather?", '{"sure":true,"text":"Sunny"}')),
        ([1, 2], "Weather?", ([], "Weather?", "[1,2]")),
        (Message("assistant", [Text("Sunny.")]), "Weather?", ([], "Weather?", "Sunny.")),
        (Run(output=[Message("assistant", [Text("Sunny.")])]), "Weather?", ([], "Weather?", "Sunny.")),
        ([{"role": "assistant", "content": "Sunny."}], "Weather?", ([], "Weather?", "Sunny.")),
        (
            [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
                {"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": "Sunny."},
            ],
            "ignored",
            (["Hi", "Hello"], "Weather?", "Sunny."),
        ),
        (
            "Sunny.",
            [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
                {"role": "user", "content": "Weather?"},
            ],
            (["Hi", "Hello"], "Weather?", "Sunny."),
        ),
        ("Sunny.", {"city": "Ghent"}, ([], '{"city":"Ghent"}', "Sunny.")),
    ],
)
def test_what_becomes_of_a_call(output: Any, given: Any, expected: tuple[list[str], str, str]) -> None:
    run = recorded_run(output, given)
    assert ([message.text for message in run.history], run.input_text, run.output_text) == expected


def test_an_object_in_no_known_format_is_a_failure(live: Live) -> None:
    @live.scored
    def agent(question: str) -> object:
        return object()

    agent("Weather?")
    assert live.flush(60)
    assert live.counts["check"].failed == 1
