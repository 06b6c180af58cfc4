"""The shop's agent in Google's ADK, with a scripted model of ADK's own interface.

ADK runs an agent inside a session. `agent` is a function that plays one session; its events are the run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from shop import INSTRUCTIONS, Call, cancel_order, next_step, order_status


class Scripted(BaseLlm):
    """Replies by the shop's rules."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """What the model replies."""
        parts = [(content.role, part) for content in llm_request.contents for part in content.parts or ()]
        question = next(part.text for role, part in parts if role == "user" and part.text)
        results = [part.function_response.response or {} for _, part in parts if part.function_response]
        step = next_step(str(question), results)
        if isinstance(step, Call):
            reply = types.Part(function_call=types.FunctionCall(name=step.name, args=step.args))
        else:
            reply = types.Part(text=step)
        yield LlmResponse(content=types.Content(role="model", parts=[reply]))


shop = LlmAgent(
    name="shop", instruction=INSTRUCTIONS, model=Scripted(model="scripted"), tools=[order_status, cancel_order]
)


async def agent(question: str) -> Any:
    """The session of one question."""
    runner = InMemoryRunner(shop, app_name="shop")
    sessions = runner.session_service
    session = await sessions.create_session(app_name="shop", user_id="customer")
    asked = types.Content(role="user", parts=[types.Part(text=question)])
    async for _ in runner.run_async(user_id="customer", session_id=session.id, new_message=asked):
        pass
    played = await sessions.get_session(app_name="shop", user_id="customer", session_id=session.id)
    return played.model_dump(mode="json") if played else None
