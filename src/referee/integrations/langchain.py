"""LangChain and LangGraph: a callback handler that has every run scored."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from referee.formats.live import plain
from referee.integrations.observation import Observation
from referee.jsonvalue import canonical
from referee.live.live import Live

try:
    from langgraph.callbacks import GraphCallbackHandler as Handler
except ImportError:  # LangChain alone, or a LangGraph that does not tell of interrupts
    from langchain_core.callbacks import BaseCallbackHandler as Handler  # type: ignore[assignment]


class LiveCallbackHandler(Handler):
    """Has every run of a graph, chain or chat model scored: `invoke`, `stream`, `batch` and their `async` twins.

    The outermost run that it hears of is the one that is scored; what runs inside is part of it. Of a state with
    `messages` those are what the agent did. Otherwise it is what was given back, after the tools that ran inside.
    A run that fails, is cancelled, is a stream that is not read to its end, or is interrupted to go on later is not scored.

    Args:
        live: Scores the runs.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from referee import Live, checks
        >>> live = Live(scorers={"short": checks.max_length(words=50)})
        >>> model = FakeListChatModel(responses=["It is sunny."])
        >>> model.invoke("Weather?", config={"callbacks": [LiveCallbackHandler(live)]}).text
        'It is sunny.'
        >>> live.close(), live.counts["short"].scored
        (True, 1)
    """

    #: Called where things happen and in their order, not later in another thread.
    run_inline = True

    def __init__(self, live: Live) -> None:
        self._live = live
        #: The outermost run of each run that has begun and not ended.
        self._outermost: dict[UUID, _Outermost] = {}

    def on_chain_start(self, serialized: Any, inputs: Any, **event: Any) -> None:
        """A graph, chain or a part of one begins."""
        self._begin(inputs, **event)

    def on_chain_end(self, outputs: Any, **event: Any) -> None:
        """It ends. A stream tells its inputs only now."""
        self._end(outputs, **event)

    def on_chain_error(self, error: BaseException, **event: Any) -> None:
        """It fails."""
        self._fail(error, **event)

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **event: Any) -> None:
        """A chat model is asked."""
        self._begin(messages[0], **event)

    def on_llm_start(self, serialized: Any, prompts: list[str], **event: Any) -> None:
        """A model that completes text is asked."""
        self._begin(prompts[0], **event)

    def on_llm_end(self, response: LLMResult, **event: Any) -> None:
        """A model has answered."""
        answer = next(itertools.chain(*response.generations), None)
        given = answer.message if isinstance(answer, ChatGeneration) else answer and answer.text
        self._end(given, **event)

    def on_llm_error(self, error: BaseException, **event: Any) -> None:
        """A model fails."""
        self._fail(error, **event)

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **event: Any) -> None:
        """A tool begins. A tool alone is no agent: it counts only inside a run."""
        outermost = self._outermost.get(event.get("parent_run_id"))  # type: ignore[arg-type]
        if outermost is not None:
            self._outermost[run_id] = outermost
            outermost.inside.add(run_id)
            outermost.tools[run_id] = _Tool(serialized, input_str, run_id, event)

    def on_tool_end(self, output: Any, *, run_id: UUID, **event: Any) -> None:
        """It gives its result."""
        self._note(run_id, output, "success")
        self._leave(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **event: Any) -> None:
        """It fails."""
        self._note(run_id, error, "error")
        self._fail(error, run_id=run_id)

    def on_interrupt(self, event: Any) -> None:
        """A graph stops, to go on later."""
        outermost = self._outermost.get(event.run_id)
        if outermost is not None:
            outermost.paused = True

    def _begin(
        self, given: Any, *, run_id: UUID, parent_run_id: UUID | None = None, metadata: Any = None, **event: Any
    ) -> None:
        outermost = None if parent_run_id is None else self._outermost.get(parent_run_id)
        if outermost is None:
            thread = (metadata or {}).get("thread_id")
            observation = Observation(self._live, agent=event.get("name"), thread_id=thread and str(thread))
            outermost = _Outermost(run_id, given, observation)
        outermost.inside.add(run_id)
        self._outermost[run_id] = outermost

    def _end(self, output: Any, *, run_id: UUID, inputs: Any = None, **event: Any) -> None:
        outermost = self._leave(run_id)
        # A sequence tells the end of a stream that its reader gave up too; then something inside has not ended.
        if outermost is None or outermost.paused or (inputs is not None and outermost.inside):
            return
        tools = list(outermost.tools.values())
        outermost.observation.end(
            output,
            outermost.given if inputs is None else inputs,
            run_id=str(run_id),
            make=lambda output: _what_was_done(output, tools),
        )

    def _fail(self, error: BaseException, *, run_id: UUID, **event: Any) -> None:
        outermost = self._outermost.get(run_id)
        if outermost is not None and _is_interrupt(error):
            outermost.paused = True
        self._leave(run_id)

    def _note(self, run_id: UUID, result: Any, status: str) -> None:
        outermost = self._outermost.get(run_id)
        if outermost is not None:
            outermost.tools[run_id].end(result, status)

    def _leave(self, run_id: UUID) -> _Outermost | None:
        """A run has ended. Gives it when it is an outermost one; what is still inside is forgotten with it."""
        outermost = self._outermost.pop(run_id, None)
        if outermost is None:
            return None
        outermost.inside.discard(run_id)
        if run_id != outermost.run_id:
            return None
        for inner in list(outermost.inside):
            self._outermost.pop(inner, None)
        return outermost


class _Outermost:
    """A run that no other one is known to hold."""

    __slots__ = ("given", "inside", "observation", "paused", "run_id", "tools")

    def __init__(self, run_id: UUID, given: Any, observation: Observation) -> None:
        self.run_id = run_id
        self.given = given
        self.observation = observation
        self.inside: set[UUID] = set()
        self.tools: dict[UUID, _Tool] = {}
        self.paused = False


class _Tool:
    """A tool at work inside a run."""

    __slots__ = ("args", "id", "name", "result", "status")

    def __init__(self, serialized: Any, input_str: str, run_id: UUID, event: Mapping[str, Any]) -> None:
        self.name = event.get("name") or (serialized or {}).get("name") or ""
        inputs = event.get("inputs")
        self.args: Any = inputs if isinstance(inputs, dict) else {"input": input_str}
        self.id = str(event.get("tool_call_id") or run_id)
        self.status: str | None = None
        self.result: Any = None

    def end(self, result: Any, status: str) -> None:
        self.result, self.status = result, status

    def messages(self) -> list[BaseMessage]:
        """The call and its result, if there is one, as the framework's messages."""
        call = AIMessage("", tool_calls=[{"name": self.name, "args": self.args, "id": self.id, "type": "tool_call"}])
        if self.status is None:
            return [call]
        content = self.result.content if isinstance(self.result, ToolMessage) else _text(self.result)
        status = getattr(self.result, "status", self.status)
        return [call, ToolMessage(content, tool_call_id=self.id, name=self.name, status=status)]


def _what_was_done(output: Any, tools: list[_Tool]) -> Any:
    """What the agent gave, in a form that is read: the messages of a state, or the answer after the calls of tools."""
    messages = output.get("messages") if isinstance(output, Mapping) else getattr(output, "messages", None)
    if isinstance(messages, list) and messages:
        return {"messages": messages}
    if not tools:
        return output
    answer = output if isinstance(output, BaseMessage) else AIMessage(_text(output))
    return [*(message for tool in tools for message in tool.messages()), answer]


def _text(value: Any) -> str:
    if isinstance(value, (str, BaseException)):
        return str(value)
    return canonical(plain(value)).decode()


def _is_interrupt(error: BaseException) -> bool:
    """Whether a graph only stops to go on later: every LangGraph tells so of the node that stops it."""
    return any(kind.__name__ == "GraphInterrupt" for kind in type(error).__mro__)
