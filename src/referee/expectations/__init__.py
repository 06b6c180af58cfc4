"""Expected tool calls and plans: how they are written as data, compared with calls, and aligned into a diff.

The checks `tool_calls`, `tool_plan` and `called_tool` use it. For users there is `bfcl_calls`, which reads the answers
of a public benchmark as expected calls.
"""

from __future__ import annotations

from referee.expectations.bfcl import bfcl_calls
from referee.expectations.calls import ExpectedCall, read_expected_calls

__all__ = ["ExpectedCall", "bfcl_calls", "read_expected_calls"]
