"""Quick checks: deterministic assertions on text and tool calls, without a language model.

Each check is a function that returns a `Scorer`; it can be used wherever a scorer can.
"""

from __future__ import annotations

from referee.checks.answers import ends_with, max_length, one_of, starts_with
from referee.checks.calls import tool_calls, tool_plan
from referee.checks.combined import all_of, any_of, not_
from referee.checks.limits import max_cost, max_duration, max_tokens
from referee.checks.schemas import is_json, tool_args_valid
from referee.checks.text import equals, excludes, includes, matches, similarity
from referee.checks.tools import called_tool, did_not_call, max_tool_calls, no_tool_errors, tool_order, used_no_tools

__all__ = [
    "all_of",
    "any_of",
    "called_tool",
    "did_not_call",
    "ends_with",
    "equals",
    "excludes",
    "includes",
    "is_json",
    "matches",
    "max_cost",
    "max_duration",
    "max_length",
    "max_tokens",
    "max_tool_calls",
    "no_tool_errors",
    "not_",
    "one_of",
    "similarity",
    "starts_with",
    "tool_args_valid",
    "tool_calls",
    "tool_order",
    "tool_plan",
    "used_no_tools",
]
