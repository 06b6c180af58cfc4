"""The short way to a diff: each call beside the expected one of its place.

It answers only where it finds what the optimal pairing would: as many calls as expected ones, and all of them, or all
but one, equal to the expected one of their place. With one that differs no pairing has more pairs, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from referee.diffs import CallDiff, ToolCallDiff
from referee.errors import OptionError, ReadError
from referee.expectations.calls import read_expected_call
from referee.expectations.comparison import Comparison, require_shallow
from referee.jsonvalue import equal
from referee.messages import ToolCall

_PLAIN = Comparison()


def diff_in_place(entries: Any, calls: Sequence[ToolCall]) -> ToolCallDiff | None:
    """The diff of plain `{name, args}` entries and calls, or `None` when the pairing has to be searched for.

    Example:
        >>> call = ToolCall("book", {"seat": "4A"}, state="result")
        >>> diff_in_place([{"name": "book", "args": {"seat": "4A"}}], [call]).passed
        True
        >>> diff_in_place([{"name": "book", "args": {"seat": "4A"}}], []) is None
        True
    """
    if not isinstance(entries, list) or len(entries) != len(calls):
        return None
    lines: list[CallDiff] = []
    changed = 0
    try:
        for place, (entry, call) in enumerate(zip(entries, calls)):
            args = call.args
            if len(entry) != 2 or entry["name"] != call.name or type(args) is not dict:
                return None
            if equal(entry["args"], args):
                lines.append(CallDiff("matched", call.name, place, place, [entry], args))
                continue
            require_shallow([call])
            differences = list(_PLAIN.differences(read_expected_call(entry), call))
            changed += 1
            if changed > 1 or not differences:  # none: the entry says the same in another form, such as a tuple
                return None
            lines.append(CallDiff("changed", call.name, place, place, [entry], args, differences))
    except (TypeError, KeyError, OptionError, ReadError, RecursionError):  # the long way says what is wrong
        return None
    return ToolCallDiff(lines, len(entries), len(entries) - changed, len(calls))
