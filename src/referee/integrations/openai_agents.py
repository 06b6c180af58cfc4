"""OpenAI Agents SDK: a runner that has every run scored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from agents import Agent, Runner, RunResult, RunResultStreaming, StreamEvent, get_current_trace

from referee.integrations.observation import Observation
from referee.live.live import Live


class LiveRunner:
    """Runs agents as `agents.Runner` does, with the same arguments and results, and has every run scored.

    Results and exceptions are untouched. A run that fails, is cancelled, is a stream that is not read to its end, or stops
    for an approval is not scored. An agent that another one uses as a tool is part of that one's run.

    Args:
        live: Scores the runs.

    Example:
        >>> import asyncio
        >>> from agents import Agent, RunConfig
        >>> from agents.testing import ScriptedModel, assistant_message
        >>> from referee import Live, checks
        >>> live = Live(scorers={"short": checks.max_length(words=50)})
        >>> agent = Agent("weather", model=ScriptedModel([[assistant_message("It is sunny.")]]))
        >>> result = asyncio.run(LiveRunner(live).run(agent, "Weather?", run_config=RunConfig(tracing_disabled=True)))
        >>> result.final_output
        'It is sunny.'
        >>> live.close(), live.counts["short"].scored
        (True, 1)
    """

    def __init__(self, live: Live) -> None:
        self._live = live

    async def run(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """`Runner.run`."""
        observation = self._observe(starting_agent, options)
        result = await Runner.run(starting_agent, input, **options)
        _end(observation, result)
        return result

    def run_sync(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResult:
        """`Runner.run_sync`."""
        observation = self._observe(starting_agent, options)
        result = Runner.run_sync(starting_agent, input, **options)
        _end(observation, result)
        return result

    def run_streamed(self, starting_agent: Agent[Any], input: Any, **options: Any) -> RunResultStreaming:
        """`Runner.run_streamed`. The run is scored when its events have been read to their end."""
        observation = self._observe(starting_agent, options)
        result = Runner.run_streamed(starting_agent, input, **options)
        stream_events = result.stream_events

        async def observed() -> AsyncIterator[StreamEvent]:
            async with aclosing(stream_events()) as events:  # type: ignore[type-var]
                async for event in events:
                    yield event
            _end(observation, result)

        result.stream_events = observed  # type: ignore[method-assign]
        return result

    def _observe(self, agent: Agent[Any], options: dict[str, Any]) -> Observation:
        told = getattr(options.get("run_config"), "trace_id", None)
        trace = get_current_trace()
        return Observation(
            self._live,
            agent=getattr(agent, "name", None),
            thread_id=options.get("conversation_id"),
            trace_id=told or (None if trace is None else trace.trace_id),
        )


def _end(observation: Observation, result: RunResult | RunResultStreaming) -> None:
    if not result.interruptions:
        observation.end(result)
