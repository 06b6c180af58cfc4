"""Quick checks: deterministic assertions on text and tool calls, without a language model.

Each check is a function that returns a `Scorer`; it can be used wherever a scorer can.
"""

from __future__ import annotations

from referee.checks.text import equals, excludes, includes, matches, similarity
from referee.checks.tools import called_tool, did_not_call, max_tool_calls, no_tool_errors, tool_order, used_no_tools

__all__ = [
    "called_tool",
    "did_not_call",
    "equals",
    "excludes",
    "includes",
    "matches",
    "max_tool_calls",
    "no_tool_errors",
    "similarity",
    "tool_order",
    "used_no_tools",
]
