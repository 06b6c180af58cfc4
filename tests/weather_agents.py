"""The same agent in several frameworks, with a scripted model: asked "Weather in CITY?", it asks a tool and answers.

In Atlantis the tool fails. Asked "fail", the model fails.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any


class ModelDownError(Exception):
    """What the model fails with."""


def city_of(question: str) -> str:
    return question.removeprefix("Weather in ").removesuffix("?")


def forecast_of(city: str) -> dict[str, Any]:
    if city == "Atlantis":
        raise LookupError("no such city")
    return {"city": city, "sky": "clear"}


def answer_to(city: str) -> str:
    return f"It is clear in {city}, or not."


def pydantic_ai_agent(**options: Any) -> Any:
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, UserPromptPart
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    def asked(messages: list[Any]) -> tuple[str, bool]:
        """The question, and whether the tool has answered."""
        prompts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
        last = any(part.part_kind in ("tool-return", "retry-prompt") for part in messages[-1].parts)
        if prompts[-1].content == "fail":
            raise ModelDownError("the model is down")
        return city_of(str(prompts[-1].content)), last

    def respond(messages: list[Any], info: Any) -> Any:
        city, answered = asked(messages)
        if answered:
            return ModelResponse(parts=[TextPart(answer_to(city))])
        return ModelResponse(parts=[TextPart("Let me look."), ToolCallPart("forecast", {"city": city})])

    async def stream(messages: list[Any], info: Any) -> AsyncIterator[Any]:
        city, answered = asked(messages)
        if answered:
            for word in answer_to(city).split(" "):
                yield word + " "
        else:
            yield {0: DeltaToolCall(name="forecast", json_args=json.dumps({"city": city}), tool_call_id=f"c-{city}")}

    agent = Agent(FunctionModel(respond, stream_function=stream), name="weather", **options)

    @agent.tool_plain
    def forecast(city: str) -> dict[str, Any]:
        """The weather."""
        try:
            return forecast_of(city)
        except LookupError as error:
            raise ModelRetry(str(error)) from None

    return agent


def openai_agent(**options: Any) -> Any:
    import agents
    from openai.types.responses import (
        Response,
        ResponseCompletedEvent,
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    agents.set_tracing_disabled(True)

    def respond(given: Any) -> Any:
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        question = [item for item in items if item.get("role") == "user"][-1]["content"]
        if question == "fail":
            raise ModelDownError("the model is down")
        city = city_of(question)
        if items[-1].get("type") != "function_call_output":
            arguments = json.dumps({"city": city})
            return ResponseFunctionToolCall(
                type="function_call", call_id=f"c-{len(items)}-{city}", name="forecast", arguments=arguments
            )
        part = ResponseOutputText(type="output_text", text=answer_to(city), annotations=[])
        return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])

    class Scripted(agents.Model):  # type: ignore[misc,name-defined]
        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
            usage = agents.Usage(requests=1, input_tokens=3, output_tokens=2, total_tokens=5)
            return agents.ModelResponse(output=[respond(input)], usage=usage, response_id=None)

        async def stream_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
            response = Response(
                id="r",
                created_at=0,
                model="scripted",
                object="response",
                output=[respond(input)],
                parallel_tool_calls=False,
                tool_choice="auto",
                tools=[],
            )
            yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)

    @agents.function_tool
    def forecast(city: str) -> dict[str, Any]:
        """The weather."""
        return forecast_of(city)

    return agents.Agent(**{"name": "weather", "model": Scripted(), "tools": [forecast], **options})


def langchain_model() -> Any:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

    class Scripted(BaseChatModel):
        uses_tools: bool = False

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return Scripted(uses_tools=True)

        def _reply(self, messages: Any) -> Any:
            question = [message for message in messages if isinstance(message, HumanMessage)][-1].text
            if question == "fail":
                raise ModelDownError("the model is down")
            city = city_of(question)
            if self.uses_tools and not isinstance(messages[-1], ToolMessage):
                call = {"name": "forecast", "args": {"city": city}, "id": f"c-{len(messages)}-{city}"}
                return AIMessage("Let me look.", tool_calls=[call])
            return AIMessage(answer_to(city))

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])

        def _stream(self, messages: Any, *_: Any, **__: Any) -> Iterator[Any]:
            reply = self._reply(messages)
            for word in reply.text.split(" ")[:-1]:
                yield ChatGenerationChunk(message=AIMessageChunk(word + " "))
            last = AIMessageChunk(reply.text.split(" ")[-1], tool_calls=reply.tool_calls, chunk_position="last")
            yield ChatGenerationChunk(message=last)

    return Scripted()


def langchain_agent(**options: Any) -> Any:
    from langchain.agents import create_agent
    from langchain_core.tools import ToolException, tool

    @tool
    def forecast(city: str) -> Any:
        """The weather."""
        try:
            return forecast_of(city)
        except LookupError as error:
            raise ToolException(str(error)) from None

    forecast.handle_tool_error = True
    return create_agent(langchain_model(), [forecast], name="weather", **options)
