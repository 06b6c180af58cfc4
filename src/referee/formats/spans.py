"""Spans and the tree they form.

Readers of OpenTelemetry, OpenInference, Langfuse and OpenAI Agents traces turn their records into `Span`. `grow` puts
the spans of one trace into their tree, in whatever order they come, and finds out who acts where in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

from referee.formats.decoded import Counts, increase
from referee.messages import Message, ToolCall
from referee.runs import Usage

#: Deeper nesting is cut off, in a path of agents and in the tree of steps.
DEEPEST = 100

#: How the id of a span starts that has none in the source.
MADE_ID = "#"

#: What a span stands for. A `processor` works on the talk from outside (guardrail, retriever, evaluator); a `mark` only
#: repeats what others tell; `other` is no span of an agent.
Kind: TypeAlias = Literal["agent", "model", "tool", "handoff", "workflow", "processor", "mark", "other"]


class Span(msgspec.Struct, gc=False):
    """One span, in our words.

    Attributes:
        id, parent_id, trace_id, name: As recorded.
        kind: What it stands for.
        started, ended: Nanoseconds since 1970.
        failed, error: Whether its status is an error, and the message.
        actor: The agent's name, of a span of an agent.
        tool: Of a tool's span: the call, with its result.
        asked, answered: The messages that went in and came out, of a model's span; of others what they were given
            and gave back, as far as it is words.
        model, usage, cost, finish_reason: Of a model's span.
        step_type: The trajectory's word for it, where the kind does not say enough.
        thread_id: The conversation or session.
        source: The instrumentation, for the report.
        metadata: What else is worth keeping of a trace's first span.
    """

    id: str
    trace_id: str = ""
    parent_id: str | None = None
    name: str = ""
    kind: Kind = "other"
    started: int | None = None
    ended: int | None = None
    failed: bool = False
    error: str | None = None
    actor: str | None = None
    tool: ToolCall | None = None
    asked: Sequence[Message] = ()
    answered: Sequence[Message] = ()
    model: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    finish_reason: str | None = None
    step_type: str | None = None
    thread_id: str | None = None
    source: str = ""
    metadata: dict[str, Any] | None = None

    @property
    def duration_ms(self) -> float | None:
        """How long it took; `None` where a time is missing or the clock ran backwards."""
        if self.started is None or self.ended is None or self.ended < self.started:
            return None
        return (self.ended - self.started) / 1_000_000


class Node:
    """A span in its tree.

    Attributes:
        span, parent: The span, and the one that it stands in.
        children: Those in it, in order of their start, while the tree grows.
        acts: An agent, or a tool, that calls models or tools itself.
        start: When it started, or its parent, where that is not recorded.
        order: Its position when the tree is walked from the top.
        scope: The tool or processor inside which it stands; `None` in the agent's own conversation.
        path: The names of the agents that act above it, from the outermost.
        speaker: The name of the nearest of them, where it has one of its own.
        speaks: It is the model call whose messages count, and not a wrapper around another recording of it.
        wraps: It is a wrapper around other model calls.
    """

    __slots__ = ("acts", "children", "order", "parent", "path", "scope", "span", "speaker", "speaks", "start", "wraps")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.parent: Node | None = None
        self.children: Sequence[Node] = ()
        self.start = span.started
        self.order = 0
        self.scope: Node | None = None
        self.path: tuple[str, ...] = ()
        self.speaker: str | None = None
        self.acts = False
        self.speaks = False
        self.wraps = False

    @property
    def holds_talk(self) -> bool:
        """Whether what goes on inside is a conversation of its own."""
        return self.span.kind in ("tool", "processor")


def grow(spans: Iterable[Span], counts: Counts) -> list[Node]:
    """The nodes of one trace, parents before children.

    A span that comes twice counts once. Spans whose parent is not there stand at the top, and so does the first of
    spans that are each other's parents.

    Example:
        >>> child, parent = Span(id="b", parent_id="a"), Span(id="a")
        >>> [node.span.id for node in grow([child, parent], Counts())]
        ['a', 'b']
    """
    nodes: dict[str, Node] = {}
    for span in spans:
        if span.id in nodes:
            increase(counts.dropped, "span that is there twice")
        else:
            nodes[span.id] = Node(span)
    tops = []
    children: dict[str, list[Node]] = {}
    for node in nodes.values():
        parent = nodes.get(node.span.parent_id or "")
        if parent is None or parent is node:
            tops.append(node)
        else:
            node.parent = parent
            children.setdefault(parent.span.id, []).append(node)
    for span_id, found in children.items():
        nodes[span_id].children = _by_start(found)
    ordered = _walked(tops)
    if len(ordered) < len(nodes):
        seen = {id(node) for node in ordered}
        for node in nodes.values():
            if id(node) not in seen and node.parent is not None:  # one of a ring of parents
                node.parent.children = [child for child in node.parent.children if child is not node]
                node.parent = None
                more = _walked([node])
                seen.update(map(id, more))
                ordered += more
    for order, node in enumerate(ordered):
        node.order = order
    _find_actors(ordered)
    for node in ordered:
        node.children = ()  # the tree goes by parents from here; without rings it is freed at once
    return ordered


def _walked(tops: list[Node]) -> list[Node]:
    """The nodes from the top: each before its children, children in order of their start."""
    ordered: list[Node] = []
    waiting = _by_start(tops)[::-1]
    while waiting:
        node = waiting.pop()
        if node.start is None and node.parent is not None:
            node.start = node.parent.start
        ordered.append(node)
        waiting += node.children[::-1]
    return ordered


def _by_start(nodes: list[Node]) -> list[Node]:
    """In order of start; spans without a time keep their place behind the others."""
    return sorted(nodes, key=lambda node: (node.span.started is None, node.span.started or 0))


def _find_actors(ordered: list[Node]) -> None:
    for node in reversed(ordered):
        if node.span.kind == "model":
            inner = list(_models_just_below(node))
            node.wraps = bool(inner)
            node.speaks = bool(node.span.asked or node.span.answered) and not any(child.speaks for child in inner)
    actors: list[Node | None] = []
    for node in ordered:
        above = node.parent
        holder = above is not None and above.span.kind in ("agent", "tool", "processor")
        actors.append(above if above is None or holder else actors[above.order])
        actor = actors[-1]
        if actor is not None and node.span.kind in ("model", "tool"):
            actor.acts = True
    for node in ordered:
        above = node.parent
        if above is not None:
            node.scope = above if above.holds_talk else above.scope
            node.path = above.path
            node.speaker = above.speaker
            if above.acts:
                node.speaker = above.span.actor
                if len(node.path) < DEEPEST:
                    node.path = (*above.path, above.span.actor or _tool_name(above) or above.span.name)


def _models_just_below(node: Node) -> Iterator[Node]:
    """Model calls below a model call with nothing between that acts by itself."""
    for child in node.children:
        if child.span.kind == "model":
            yield child
        elif child.span.kind == "other":
            yield from (inner for inner in child.children if inner.span.kind == "model")


def _tool_name(node: Node) -> str | None:
    return node.span.tool.name if node.span.tool else None


#: Numbers above these are nanoseconds, microseconds, milliseconds; smaller ones are seconds.
_NANOSECONDS = 10**17
_TOO_LATE = 10**19
_UNITS = ((_NANOSECONDS, 1), (1e14, 1_000), (1e11, 1_000_000), (0, 1_000_000_000))


def nanoseconds(value: Any) -> int | None:
    """A time in nanoseconds since 1970, from a number, a number as text, or an ISO 8601 text.

    Example:
        >>> nanoseconds("1700000000000000000") == nanoseconds(1700000000) == nanoseconds("2023-11-14T22:13:20Z")
        True
    """
    if type(value) is int and _NANOSECONDS < value < _TOO_LATE:
        return value
    if isinstance(value, str):
        if value.isdecimal() and len(value) < 20:
            value = int(value)
        else:
            try:
                moment = datetime.fromisoformat(value)
            except ValueError:
                return None
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            since = moment - _EPOCH
            return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _TOO_LATE:
        return None
    return next(int(value * factor) for least, factor in _UNITS if value > least)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_time(value: int | None) -> str | None:
    """The time as ISO 8601 text.

    Example:
        >>> iso_time(1_700_000_000_000_000_000)
        '2023-11-14T22:13:20Z'
    """
    if value is None:
        return None
    try:
        return datetime.fromtimestamp(value / 1_000_000_000, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return None
