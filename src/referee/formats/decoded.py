"""What a reader gives for one record: runs, and an honest count of what it received and what it kept."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from referee.runs import Run

#: How a flat conversation becomes runs: `all` one run whose input is everything before the first assistant message;
#: `last` one run of the last user message, the earlier ones as history; `split` one run per user turn.
Turns: TypeAlias = Literal["all", "last", "split"]


class Counts(msgspec.Struct):
    """How many messages, tool calls and tool results came in and how many the runs carry.

    A call is kept when it is a part of a message, a result when it was joined to its call or stands as an orphan.
    `opaque` counts the parts of types that the reader does not know; they are kept as they came. `dropped` counts by
    type what could not be kept at all. `problems` counts the warnings by their kind.
    """

    messages_received: int = 0
    messages_kept: int = 0
    tool_calls_received: int = 0
    tool_calls_kept: int = 0
    results_received: int = 0
    results_kept: int = 0
    opaque: dict[str, int] = {}
    dropped: dict[str, int] = {}
    problems: dict[str, int] = {}

    def add(self, other: Counts) -> None:
        """Add the other's numbers to these."""
        self.messages_received += other.messages_received
        self.messages_kept += other.messages_kept
        self.tool_calls_received += other.tool_calls_received
        self.tool_calls_kept += other.tool_calls_kept
        self.results_received += other.results_received
        self.results_kept += other.results_kept
        if other.opaque or other.dropped or other.problems:
            self._add_kinds(other)

    def _add_kinds(self, other: Counts) -> None:
        for name in ("opaque", "dropped", "problems"):
            for kind, count in getattr(other, name).items():
                increase(getattr(self, name), kind, count)

    @property
    def complete(self) -> bool:
        """Whether everything that was received was kept."""
        return (
            self.messages_received == self.messages_kept
            and self.tool_calls_received == self.tool_calls_kept
            and self.results_received == self.results_kept
            and not self.dropped
        )


class Decoded(msgspec.Struct):
    """The runs of one record and what was counted."""

    runs: list[Run]
    counts: Counts


#: A report of more kinds says nothing, and what a record calls its parts is for the record to choose.
MOST_KINDS = 1000
_OTHERS = "of other kinds"


def increase(counts: dict[str, int], kind: str, by: int = 1) -> None:
    """Count one more of a kind; beyond a thousand kinds, one more of the others."""
    if kind not in counts and len(counts) >= MOST_KINDS:
        kind = _OTHERS
    counts[kind] = counts.get(kind, 0) + by
