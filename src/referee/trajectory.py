"""Trajectories: the steps an agent took, nested as they happened."""

from __future__ import annotations

from typing import Any

import msgspec


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a trajectory.

    Attributes:
        name: The name of the tool, agent, workflow step or model.
        step_type: `tool_call`, `mcp_tool_call`, `provider_tool_call`, `model_generation`, `agent_run`,
            `workflow_step`, `workflow_run`, `processor_run` or another word of the source.
        fields: The typed fields of this kind of step, in snake_case: `tool_args`, `tool_result`, `success`,
            `model_id`, `prompt_tokens`, `completion_tokens`, `agent_id`, `status` and so on.
        duration_ms: How long the step took.
        children: The steps inside this one, in order.
    """

    name: str
    step_type: str | None = None
    fields: dict[str, Any] = {}
    duration_ms: float | None = None
    children: list[Step] = []


class Trajectory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The steps of a run and its total duration in milliseconds."""

    steps: list[Step] = []
    total_duration_ms: float | None = None
