"""The shop's agent as a LangGraph graph, with a scripted LangChain chat model."""

from __future__ import annotations

import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from shop import INSTRUCTIONS, Call, cancel_order, next_step, order_status


class Scripted(BaseChatModel):
    """Replies by the shop's rules."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """The rules know the tools already."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        question = [message.text for message in messages if isinstance(message, HumanMessage)][-1]
        results = [json.loads(message.text) for message in messages if isinstance(message, ToolMessage)]
        step = next_step(str(question), results)
        if isinstance(step, Call):
            reply = AIMessage("", tool_calls=[{"name": step.name, "args": step.args, "id": f"call-{len(results)}"}])
        else:
            reply = AIMessage(step)
        return ChatResult(generations=[ChatGeneration(message=reply)])


agent = create_agent(Scripted(), [order_status, cancel_order], system_prompt=INSTRUCTIONS)
