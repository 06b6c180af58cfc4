"""The shop's agent without a framework: a loop that answers with OpenAI's chat messages."""

from __future__ import annotations

import json
from typing import Any

from shop import Call, cancel_order, next_step, order_status

TOOLS = {"order_status": order_status, "cancel_order": cancel_order}


def agent(question: str) -> list[dict[str, Any]]:
    """The messages that the agent answers with."""
    messages: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    while isinstance(step := next_step(question, results), Call):
        call_id = f"call-{len(results)}"
        function = {"name": step.name, "arguments": json.dumps(step.args)}
        call = {"id": call_id, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        results.append(TOOLS[step.name](**step.args))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(results[-1])})
    return [*messages, {"role": "assistant", "content": step}]
