"""Runs Google ADK agents with scripted models and prints, as one line of JSON, their spans and their session.

`python tests/record_adk.py own | openinference`: which spans are recorded.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.evaluation_generator import EvaluationGenerator
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Scripted(BaseLlm):
    replies: list[Any]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        yield LlmResponse(content=types.Content(role="model", parts=self.replies.pop(0)))


def say(text: str) -> types.Part:
    return types.Part(text=text)


def call(name: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def get_weather(city: str) -> dict[str, Any]:
    """Current weather."""
    return {"error": "unknown city"} if city == "Atlantis" else {"temp_c": 21}


def agent() -> LlmAgent:
    """It calls a tool twice at once, asks an agent as a tool, and transfers to another agent."""
    answers = [[call("get_weather", city="Oslo")], [say("Oslo has 21.")]]
    expert = LlmAgent(
        name="expert", description="Knows.", tools=[get_weather], model=Scripted(model="m", replies=answers)
    )
    closer = LlmAgent(name="closer", description="Closes.", model=Scripted(model="m", replies=[[say("All done.")]]))
    replies = [
        [say("Checking."), call("get_weather", city="Rome"), call("get_weather", city="Atlantis")],
        [call("expert", request="Oslo?")],
        [call("transfer_to_agent", agent_name="closer")],
    ]
    return LlmAgent(
        name="root",
        instruction="Be brief.",
        tools=[get_weather, AgentTool(expert)],
        sub_agents=[closer],
        model=Scripted(model="m", replies=replies),
    )


async def play() -> Any:
    runner = InMemoryRunner(agent(), app_name="trips")
    session = await runner.session_service.create_session(app_name="trips", user_id="u")
    question = types.Content(role="user", parts=[say("Weather?")])
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=question):
        pass
    return await runner.session_service.get_session(app_name="trips", user_id="u", session_id=session.id)


def main(spans: str) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    if spans == "own":
        trace.set_tracer_provider(provider)
    else:
        from openinference.instrumentation.google_adk import GoogleADKInstrumentor

        GoogleADKInstrumentor().instrument(tracer_provider=provider)
    session = asyncio.run(play())
    conversation = EvaluationGenerator.convert_events_to_eval_invocations(session.events)
    saved = EvalSet(eval_set_id="s", eval_cases=[EvalCase(eval_id="trip", conversation=conversation)])
    recording = {
        "spans": [json.loads(span.to_json()) for span in exporter.get_finished_spans()],
        "session": session.model_dump(mode="json"),
        "session_by_web": session.model_dump(mode="json", by_alias=True),
        "eval_set": saved.model_dump(mode="json"),
        "eval_set_by_web": saved.model_dump(mode="json", by_alias=True),
    }
    print(json.dumps(recording))


if __name__ == "__main__":
    main(sys.argv[1])
