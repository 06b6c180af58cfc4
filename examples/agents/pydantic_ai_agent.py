"""The shop's agent in Pydantic AI. `FunctionModel` is the framework's own scripted model."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from shop import INSTRUCTIONS, Call, cancel_order, next_step, order_status


def think(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """What the model replies."""
    parts = [part for message in messages for part in message.parts]
    question = [part.content for part in parts if isinstance(part, UserPromptPart)][-1]
    results = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    step = next_step(str(question), results)
    return ModelResponse(parts=[ToolCallPart(*step) if isinstance(step, Call) else TextPart(step)])


agent = Agent(FunctionModel(think), instructions=INSTRUCTIONS, tools=[order_status, cancel_order])
