"""Agents of the OpenAI Agents SDK as targets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from agents import Agent, FunctionTool, Handoff, Runner

from referee.errors import OptionError
from referee.evaluate.mocks import ToolMocks, UnmockableToolError
from referee.evaluate.targets.target import Call
from referee.formats import openai_agents
from referee.formats.conversation import arguments
from referee.messages import Message

_RESERVED = frozenset({"starting_agent", "input", "session", "conversation_id", "previous_response_id"})


def adapt(obj: Any) -> OpenAIAgentsTarget | None:
    """A target of an agent; `None` for other objects of the package."""
    return OpenAIAgentsTarget(obj) if isinstance(obj, Agent) else None


class OpenAIAgentsTarget:
    """An agent of the OpenAI Agents SDK. `target_options` go to `Runner.run`: `context`, `max_turns`, `run_config`, ..."""

    mocks_tools = True
    converses = True

    def __init__(self, agent: Agent[Any]) -> None:
        self.agent = agent

    def check(self, options: Mapping[str, Any]) -> None:
        """The options must not be what the conversation itself needs.

        Raises:
            OptionError: They are.
        """
        taken = _RESERVED & options.keys()
        if taken:
            raise OptionError(f"{', '.join(sorted(taken))}: given by the conversation itself")

    async def answer(self, call: Call) -> dict[str, Any]:
        """Run the agent and give the items of this turn, with the tools' results as they were."""
        agent = self.agent if call.mocks is None else _all_mocked(self.agent, call.mocks)
        said = [item for message in call.messages for item in input_items(message)]
        result = await Runner.run(agent, [*(call.thread.state or []), *said], **call.options)
        call.thread.state = result.to_input_list()
        return {**openai_agents.record_of(result), "input": []}


def _all_mocked(agent: Agent[Any], mocks: ToolMocks) -> Agent[Any]:
    made: dict[int, Agent[Any]] = {}
    copy = mocked(agent, mocks, made)
    unknown = mocks.results.keys() - {tool.name for other in made.values() for tool in other.tools}
    if unknown and any(other.mcp_servers for other in made.values()):
        raise UnmockableToolError(
            f"no agent itself has a tool {min(unknown)}, and tools of MCP servers can't be mocked"
        )
    return copy


def mocked(agent: Agent[Any], mocks: ToolMocks, made: dict[int, Agent[Any]]) -> Agent[Any]:
    """A copy of the agent, and of the agents it hands over to, whose tools are answered by mocks.

    Raises:
        UnmockableToolError: Unmocked tools are denied, and a tool runs where it can't be replaced.
    """
    if id(agent) in made:
        return made[id(agent)]
    copy = agent.clone(tools=[_mocked_tool(tool, mocks) for tool in agent.tools])
    made[id(agent)] = copy
    if mocks.unmocked == "deny" and agent.mcp_servers:
        raise UnmockableToolError(f"the agent {agent.name} has MCP servers, whose tools can't be denied")
    if any(isinstance(handoff, Handoff) for handoff in agent.handoffs):
        raise UnmockableToolError(f"the agent {agent.name} has handoffs made by handoff(), whose tools can't be mocked")
    copy.handoffs = [mocked(other, mocks, made) for other in agent.handoffs if isinstance(other, Agent)]
    return copy


def _mocked_tool(tool: Any, mocks: ToolMocks) -> Any:
    if not mocks.replaces(tool.name):
        return tool
    if not isinstance(tool, FunctionTool):
        raise UnmockableToolError(f"the tool {tool.name} runs at the provider and can't be mocked or denied")

    async def invoke(context: Any, given: str) -> Any:
        return await mocks.result_or_error(tool.name, arguments(given)[0])

    return dataclasses.replace(tool, on_invoke_tool=invoke)


def input_items(message: Message) -> list[Any]:
    """A message as input items: its text, its calls and their results."""
    items: list[Any] = []
    if message.text:
        items.append({"role": message.role, "content": message.text})
    for number, call in enumerate(call for call in message.tool_calls if call.called):
        call_id = call.id or f"call-{call.name}-{number}"
        args = call.args if isinstance(call.args, str) else _json(call.args)
        items.append({"type": "function_call", "call_id": call_id, "name": call.name, "arguments": args})
        if call.state != "call":
            result = call.result if isinstance(call.result, str) else _json(call.result)
            items.append({"type": "function_call_output", "call_id": call_id, "output": result})
    return items


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)
