"""The steps of a trace, nested as its spans are."""

from __future__ import annotations

from typing import Any

from referee.formats.decoded import Counts, increase
from referee.formats.span_talk import Slot
from referee.formats.spans import DEEPEST, Node, Span
from referee.messages import ToolCall
from referee.trajectory import Step, Trajectory

_STEP_TYPES = {
    "agent": "agent_run",
    "model": "model_generation",
    "tool": "tool_call",
    "handoff": "handoff",
    "processor": "processor_run",
}


def trajectory(
    nodes: list[Node], joined: dict[int, Slot], answers: dict[int, list[Slot]], counts: Counts
) -> Trajectory | None:
    """The steps of a trace and how long it took.

    A call that no span of a tool tells of becomes a step behind the model call that made it. Spans that belong to no
    agent are left out and counted, unless steps of an agent stand below them.

    Args:
        nodes: The spans, parents before children.
        joined: The call of each tool's span.
        answers: The calls in each model call's answer.
        counts: Counts what is left out.
    """
    run_by_span = {id(slot) for slot in joined.values()}
    homes = _homes(nodes, counts)
    below: dict[int, list[Step]] = {}
    tops: list[Step] = []
    for node in reversed(nodes):
        children = below.pop(node.order, [])[::-1]
        home = homes[node.order]
        siblings = tops if home is None else below.setdefault(home, [])
        if _is_no_step(node, children):
            if not children and node.span.kind == "other":
                increase(counts.dropped, f"span of {node.span.source or 'no agent'}")
            siblings += children
            continue
        slot = joined.get(id(node))
        unrun = [_call_step(other.call) for other in answers.get(id(node), ()) if id(other) not in run_by_span]
        siblings += unrun[::-1]
        siblings.append(_step(node, slot.call if slot else node.span.tool, children))
    steps = tops[::-1]
    return Trajectory(steps=steps, total_duration_ms=_duration(nodes)) if steps else None


def _is_no_step(node: Node, children: list[Step]) -> bool:
    """Whether a span is none of an agent's and holds nothing together: there are no steps in it, or one at the top."""
    return node.span.kind in ("mark", "other") and (not children or (len(children) == 1 and node.parent is None))


def _homes(nodes: list[Node], counts: Counts) -> list[int | None]:
    """Under which node each one's step stands: its parent, or where the tree would be too deep, one further up."""
    depths: list[int] = []
    homes: list[int | None] = []
    for node in nodes:
        home = None if node.parent is None else node.parent.order
        if home is not None and depths[home] >= DEEPEST:
            home = homes[home]
            increase(counts.problems, "step nested too deeply")
        homes.append(home)
        depths.append(0 if home is None else depths[home] + 1)
    return homes


def _duration(nodes: list[Node]) -> float | None:
    tops = [node.span for node in nodes if node.parent is None and node.span.kind != "other"]
    tops = tops or [nodes[0].span]
    if len(tops) == 1:
        return tops[0].duration_ms
    starts = [span.started for span in tops if span.started is not None]
    ends = [span.ended for span in tops if span.ended is not None]
    return (max(ends) - min(starts)) / 1e6 if starts and ends and max(ends) >= min(starts) else None


def _step(node: Node, call: ToolCall | None, children: list[Step]) -> Step:
    span = node.span
    kind = "" if node.wraps else _STEP_TYPES.get(span.kind, "")
    kind = kind or ("workflow_step" if node.parent else "workflow_run")
    name = span.name
    fields: dict[str, Any] = {}
    if span.kind == "tool" and call is not None:
        name = call.name
        fields = _call_fields(call)
    elif span.kind == "model" and not node.wraps:
        name = span.model or span.name
        fields = _model_fields(node)
    elif span.kind == "agent":
        name = span.actor or span.name
        fields = {"agent_id": name}
    elif span.failed:
        fields = {"status": "failed"}
    if span.failed and span.error and span.kind != "tool":
        fields["error"] = span.error
    return Step(
        name=name, step_type=span.step_type or kind, fields=fields, duration_ms=span.duration_ms, children=children
    )


def _call_step(call: ToolCall) -> Step:
    return Step(name=call.name, step_type="tool_call", fields=_call_fields(call))


def _call_fields(call: ToolCall) -> dict[str, Any]:
    fields: dict[str, Any] = {"tool_args": call.args}
    if call.state in ("result", "error"):
        fields["tool_result"] = call.result
        fields["success"] = not call.failed
    return fields


def _model_fields(node: Node) -> dict[str, Any]:
    span: Span = node.span
    usage = span.usage
    fields = {
        "model_id": span.model,
        "prompt_tokens": usage.input_tokens if usage else None,
        "completion_tokens": usage.output_tokens if usage else None,
        "finish_reason": span.finish_reason,
        # What a sub-agent says stands in no message of the run.
        "output": "\n".join(message.text for message in span.answered) if node.scope is not None else None,
    }
    return {name: value for name, value in fields.items() if value is not None}
