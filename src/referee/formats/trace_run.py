"""From the spans of a trace to its run: one conversation, its tool calls with their results, and the steps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from referee.formats.conversation import Conversation
from referee.formats.decoded import Counts, Decoded, Turns
from referee.formats.fields import total
from referee.formats.span_messages import feed_results
from referee.formats.span_talk import Row, Slot, Talk, latest_free, merged_by_id
from referee.formats.spans import MADE_ID, Node, Span, grow, iso_time
from referee.formats.trace_steps import trajectory
from referee.messages import Message, Text, ToolCall
from referee.runs import Usage


def decode_spans(spans: Iterable[Span], turns: Turns, counts: Counts) -> Decoded:
    """The runs of some spans, one for each trace, in the order in which the traces first show up.

    Args:
        spans: The spans of any number of traces, in any order.
        turns: How a conversation is cut into runs.
        counts: What was counted while the records were read; it is added to.
    """
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    decoded = Decoded([], counts)
    for members in traces.values():
        add_trace(decoded, members, turns)
    return decoded


def add_trace(decoded: Decoded, spans: list[Span], turns: Turns) -> None:
    """Add the run of one trace's spans to what was decoded before."""
    one = _Trace(spans[0].trace_id, grow(spans, decoded.counts), decoded.counts).decoded(turns)
    decoded.runs += one.runs
    decoded.counts.add(one.counts)


class _Trace:
    """The spans of one trace on their way to a run."""

    def __init__(self, trace_id: str, nodes: list[Node], counts: Counts) -> None:
        self.trace_id = trace_id
        self.nodes = nodes
        self.counts = counts
        self.main = Talk(main=True)
        self.talks: dict[int, Talk] = {}
        #: Calls that only the spans of their tools tell of.
        self.untold: list[Row] = []
        #: The call that each tool's span belongs to.
        self.joined: dict[int, Slot] = {}
        #: The calls in each model's answer.
        self.answers: dict[int, list[Slot]] = {}

    def decoded(self, turns: Turns) -> Decoded:
        """The run, cut as `turns` says."""
        in_time = sorted(self.nodes, key=lambda node: (node.start or 0, node.order))
        for node in in_time:
            if node.speaks:
                self._hear(node)
        self._add_what_only_the_top_tells()
        self._join([node for node in in_time if node.span.tool is not None])
        talk = Conversation()
        remembered = self._feed(talk)
        self._apply_tools(talk)
        fields = self._fields()
        if remembered:
            fields["history"] = talk.take_history(remembered)
        talk.messages[:0] = self.main.system
        talk.counts.messages_received += len(self.main.system)
        talk.counts.messages_kept += len(self.main.system)
        return talk.decoded(turns, **fields)

    def _talk(self, node: Node) -> Talk:
        if node.scope is None:
            return self.main
        return self.talks.setdefault(id(node.scope), Talk(main=False))

    def _path(self, node: Node) -> tuple[str, ...]:
        """The agents above, when the nearest of them is a sub-agent."""
        return node.path if node.scope is not None or len(node.path) > 1 else ()

    def _hear(self, node: Node) -> None:
        self.answers[id(node)] = self._talk(node).hear(
            node.span.asked,
            node.span.answered,
            time=node.start or 0,
            speaker=node.speaker,
            path=self._path(node),
        )

    def _join(self, tools: list[Node]) -> None:
        """Find the calls that the spans of tools belong to; without one the span is the call.

        Of several calls with one id the latest belongs to the latest span. Without ids, order decides.
        """
        elsewhere = merged_by_id([self.main, *self.talks.values()])
        for node in reversed(tools):
            call_id = node.span.tool.id if node.span.tool else None
            if call_id:
                self._keep(node, self._talk(node).take_id(call_id) or latest_free(elsewhere.get(call_id)))
        for node in tools:
            call = node.span.tool
            if call is None or id(node) in self.joined:
                continue
            slot = self._talk(node).take(call)
            if slot is None and node.span.kind == "tool":
                slot = self._add_untold(node, call)
            self._keep(node, slot)

    def _keep(self, node: Node, slot: Slot | None) -> None:
        if slot is not None:
            self.joined[id(node)] = slot

    def _add_untold(self, node: Node, call: ToolCall) -> Slot:
        issued = msgspec.structs.replace(call, state="call", result=None, error=None, is_error=False)
        row = Row(
            Message("assistant", [issued]),
            main=node.scope is None,
            time=node.start or 0,
            speaker=node.speaker,
            path=self._path(node),
        )
        self.untold.append(row)
        return row.slots[0]

    def _add_what_only_the_top_tells(self) -> None:
        """A question and an answer that stand in the span of the whole, and in no model call."""
        tops = [node for node in self.nodes if node.scope is None and not node.speaks and node.span.kind != "tool"]
        given = next((node.span for node in tops if node.span.asked), None)
        said = next((node.span for node in tops if node.span.answered), None)
        if not self.main.rows:
            if given is not None:
                self.main.hear(given.asked, [], time=given.started or 0)
            for message in said.answered if said else ():
                self.main.add(message, time=math.inf)
        elif given is not None and not any(row.role == "user" for row in self.main.rows):
            for message in given.asked:
                if message.role == "user":
                    self.main.add(message, time=-math.inf)
        if said is not None:
            self._add_final_answer(said)

    def _add_final_answer(self, span: Span) -> None:
        final = next((message for message in reversed(span.answered) if message.role == "assistant"), None)
        text = final.text.strip() if final else ""
        last = next((row for row in reversed(self.main.rows) if row.role == "assistant" and row.message.text), None)
        if final is None or not text or (last is not None and text in (_last_text(last), last.message.text.strip())):
            return
        self.main.add(Message("assistant", [Text(text)], name=final.name), time=math.inf)

    def _feed(self, talk: Conversation) -> int:
        """Put the rows into a conversation, which joins the results.

        Returns:
            How many messages at its start are remembered from before.
        """
        rows = [row for talk in (self.main, *self.talks.values()) for row in talk.rows] + self.untold
        last = self.main.remembered[-1] if self.main.remembered else None
        history = 0
        for row in sorted(rows, key=lambda row: row.time):
            _feed_row(talk, row)
            if row is last:
                history = len(talk.messages)
        return history

    def _apply_tools(self, talk: Conversation) -> None:
        """What the spans of tools tell beyond the messages: results, failures, durations."""
        for node in self.nodes:
            slot = self.joined.get(id(node))
            if slot is None or node.span.tool is None:
                continue
            call = slot.call
            if call.state == "call" and node.span.tool.state != "call":
                talk.counts.results_received += 1
                talk.counts.results_kept += 1
            slot.put(_completed(call, node.span.tool, node.span.duration_ms))

    def _fields(self) -> dict[str, Any]:
        """What the spans say of the run beside its messages."""
        top = self.nodes[0].span
        trace_id = None if self.trace_id.startswith(MADE_ID) else self.trace_id or None
        starts, ends = [], []
        models: list[Node] = []
        thread_id = None
        for node in self.nodes:
            span = node.span
            if span.started is not None:
                starts.append(span.started)
            if span.ended is not None:
                ends.append(span.ended)
            if span.kind == "model" and not node.wraps:
                models.append(node)
            thread_id = thread_id or span.thread_id
        start, end = min(starts, default=None), max(ends, default=None)
        costs = [node.span.cost for node in models if node.span.cost is not None]
        fields = {
            "id": trace_id or "",
            "trace_id": trace_id,
            "span_id": None if top.id.startswith(MADE_ID) else top.id,
            "thread_id": thread_id,
            "started_at": iso_time(start),
            "duration_ms": (end - start) / 1e6 if start is not None and end is not None and end >= start else None,
            "usage": self._usage(models),
            "cost": sum(costs) if costs else None,
            "model": _model(models),
            "metadata": top.metadata or None,
            "trajectory": trajectory(self.nodes, self.joined, self.answers, self.counts),
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _usage(self, models: list[Node]) -> Usage | None:
        """The tokens of the model calls; where no model call tells, those that the top span sums up."""
        usages = [node.span.usage for node in models if node.span.usage is not None]
        if not usages:
            usages = [node.span.usage for node in self.nodes if node.parent is None and node.span.usage is not None]
        return total(usages)


def _model(models: list[Node]) -> str | None:
    """The model of the agent's own conversation; else of any."""
    found = None
    for node in models:
        if node.span.model and node.scope is None:
            return node.span.model
        found = found or node.span.model
    return found


def _last_text(row: Row) -> str:
    texts = [part.text for part in row.parts if type(part) is Text]
    return texts[-1].strip() if texts else ""


def _feed_row(talk: Conversation, row: Row) -> None:
    if row.path:
        for slot in row.slots:
            slot.put(msgspec.structs.replace(slot.call, agent_path=row.path))
    message = row.message
    if not row.main:
        # What a sub-agent says goes to the tool that called it; here only its calls are the run's.
        row.parts = [slot.call for slot in row.slots]
        for index, slot in enumerate(row.slots):
            slot.parts, slot.index = row.parts, index
    if row.parts or (row.main and not row.results):
        name = message.name or row.speaker
        talk.message(message.role, row.parts, id=message.id, name=name, created_at=message.created_at)
    elif row.main:
        talk.tool_message()
    feed_results(talk, row.results)


def _completed(call: ToolCall, tool: ToolCall, duration_ms: float | None) -> ToolCall:
    """A call as the messages have it, with what the span of its tool adds."""
    changes: dict[str, Any] = {"duration_ms": duration_ms, "id": call.id or tool.id}
    if (call.args_invalid or call.args in (None, {})) and isinstance(tool.args, dict):
        changes["args"] = tool.args
        changes["args_invalid"] = False
    known = call.state in ("result", "error")
    if not known:
        changes["result"] = tool.result
        changes["state"] = tool.state
    elif isinstance(call.result, str) and isinstance(tool.result, (dict, list)):
        changes["result"] = tool.result  # the messages have it as text only
    if tool.state == "error":
        changes["state"] = "error"
    if tool.error and not call.error:
        changes["error"] = tool.error
    return msgspec.structs.replace(call, **changes)
