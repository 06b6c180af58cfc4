"""The shop's agent in the OpenAI Agents SDK, with a scripted model of the SDK's own interface."""

from __future__ import annotations

import ast
import json
from typing import Any

from agents import Agent, Model, ModelResponse, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from shop import INSTRUCTIONS, Call, cancel_order, next_step, order_status

set_tracing_disabled(disabled=True)  # traces would be sent to OpenAI


class Scripted(Model):
    """Replies by the shop's rules."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        """What the model replies."""
        items = [{"role": "user", "content": input}] if isinstance(input, str) else list(input)
        question = [item["content"] for item in items if item.get("role") == "user"][-1]
        outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
        step = next_step(str(question), [ast.literal_eval(output) for output in outputs])
        return ModelResponse(output=[_item(step, len(outputs))], usage=Usage(requests=1), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """This model does not stream."""
        raise NotImplementedError


def _item(step: Call | str, number: int) -> Any:
    if isinstance(step, Call):
        arguments = json.dumps(step.args)
        return ResponseFunctionToolCall(
            type="function_call", call_id=f"call-{number}", name=step.name, arguments=arguments
        )
    part = ResponseOutputText(type="output_text", text=step, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


agent = Agent(
    name="shop",
    instructions=INSTRUCTIONS,
    model=Scripted(),
    tools=[function_tool(order_status), function_tool(cancel_order)],
)
