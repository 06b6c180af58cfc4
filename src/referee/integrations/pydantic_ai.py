"""Pydantic AI: a capability that has every run of an agent scored."""

from __future__ import annotations

from typing import Any

from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, Instrumentation, WrapRunHandler
from pydantic_ai.run import AgentRunResult

from referee.integrations.observation import Observation
from referee.live.live import Live


class LiveCapability(AbstractCapability[Any]):
    """Has every run of an agent scored: `run`, `run_sync`, `run_stream`, `iter`.

    The agent's results and exceptions are untouched. A run that fails, is cancelled, or stops to have a tool call
    approved or answered elsewhere is not scored.

    Args:
        live: Scores the runs.

    Example:
        >>> import asyncio
        >>> from pydantic_ai import Agent
        >>> from pydantic_ai.models.test import TestModel
        >>> from referee import Live, checks
        >>> live = Live(scorers={"short": checks.max_length(words=50)})
        >>> agent = Agent(TestModel(custom_output_text="It is sunny."), capabilities=[LiveCapability(live)])
        >>> asyncio.run(agent.run("Weather?")).output
        'It is sunny.'
        >>> live.close(), live.counts["short"].scored
        (True, 1)
    """

    def __init__(self, live: Live) -> None:
        self._live = live

    def get_ordering(self) -> CapabilityOrdering:
        """Around all others, so that it sees the result that the caller gets; but inside the span of the run."""
        return CapabilityOrdering(position="outermost", wrapped_by=[Instrumentation])

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Run the agent, and hand over the result."""
        observation = Observation(
            self._live, agent=None if ctx.agent is None else ctx.agent.name, thread_id=ctx.conversation_id
        )
        result = await handler()
        if not isinstance(result.output, DeferredToolRequests):
            observation.end(result, run_id=ctx.run_id)
        return result
