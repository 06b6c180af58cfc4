"""Pydantic AI agents as targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from referee.errors import OptionError
from referee.evaluate.answers import before_last_user
from referee.evaluate.mocks import ToolMocks, UnmockableToolError
from referee.evaluate.targets.target import Call
from referee.messages import Message, ToolCall

_RESERVED = frozenset({"user_prompt", "message_history"})


def adapt(obj: Any) -> PydanticAITarget | None:
    """A target of an agent; `None` for other objects of the package."""
    return PydanticAITarget(obj) if isinstance(obj, AbstractAgent) else None


class PydanticAITarget:
    """A Pydantic AI agent. `target_options` go to `agent.run`: `deps`, `model`, `model_settings`, ..."""

    mocks_tools = True
    converses = True

    def __init__(self, agent: AbstractAgent[Any, Any]) -> None:
        self.agent = agent

    def check(self, options: Mapping[str, Any]) -> None:
        """The options must not be what the conversation itself needs.

        Raises:
            OptionError: They are.
        """
        taken = _RESERVED & options.keys()
        if taken:
            raise OptionError(f"{', '.join(sorted(taken))}: given by the conversation itself")

    async def answer(self, call: Call) -> list[ModelMessage]:
        """Run the agent and give the messages of this turn."""
        start = before_last_user(call.messages)
        prompt = "\n".join(message.text for message in call.messages[start:])
        history = [*(call.thread.state or []), *model_messages(call.messages[:start])]
        options = dict(call.options)
        if call.mocks is not None:
            options["capabilities"] = [_Mocks(call.mocks), *(options.get("capabilities") or ())]
        result = await self.agent.run(prompt, message_history=history or None, **options)
        call.thread.state = result.all_messages()
        return result.new_messages()


@dataclass
class _Mocks(AbstractCapability[Any]):
    """Mocks for every tool of a run: the agent's, those of its capabilities, and those of the run's options."""

    mocks: ToolMocks

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return _Mocked(toolset, self.mocks)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        for tool in request_context.model_request_parameters.native_tools:
            if self.mocks.replaces(tool.kind):
                raise UnmockableToolError(f"the tool {tool.kind} runs at the provider and can't be mocked or denied")
        return request_context


@dataclass
class _Mocked(WrapperToolset[Any]):
    """A toolset whose tools are described as they are and answered by mocks."""

    mocks: ToolMocks

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if self.mocks.replaces(name):
            return await self.mocks.result_or_error(name, tool_args)
        return await super().call_tool(name, tool_args, ctx, tool)


def model_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """The messages of a recorded conversation in Pydantic AI's classes: texts, calls and their results."""
    made: list[ModelMessage] = []
    for message in messages:
        if message.role == "system":
            made.append(ModelRequest(parts=[SystemPromptPart(message.text)]))
        elif message.role == "user":
            made.append(ModelRequest(parts=[UserPromptPart(message.text)]))
        elif message.role == "assistant":
            made += _spoken(message)
    return made


def _spoken(message: Message) -> list[ModelMessage]:
    calls = [call for call in message.tool_calls if call.called]
    said: list[Any] = [TextPart(message.text)] if message.text else []
    said += [ToolCallPart(call.name, call.args, tool_call_id=_id(call)) for call in calls]
    answered = [
        ToolReturnPart(call.name, call.result, tool_call_id=_id(call)) for call in calls if call.state != "call"
    ]
    return [ModelResponse(parts=said), *([ModelRequest(parts=answered)] if answered else [])]


def _id(call: ToolCall) -> str:
    return call.id or f"call-{call.name}"
