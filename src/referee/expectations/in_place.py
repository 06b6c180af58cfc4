"""The short way to a diff: each call beside the expected one of its place.

It answers only where it finds what the optimal pairing would: all of them, or all but one, are equal to the expected one
of their place, or those of the shorter side all are, and the rest is missing or extra. With as many calls as expected
ones and one that differs no pairing has more pairs, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from referee.diffs import ArgumentDiff, CallDiff, ToolCallDiff
from referee.errors import ReadError
from referee.expectations.calls import MAX_DEPTH, ExpectedCall
from referee.expectations.comparison import Comparison, arguments_of, require_shallow
from referee.jsonvalue import equal, plain_copy
from referee.messages import ToolCall

_PLAIN = Comparison()


def diff_in_place(entries: Any, calls: Sequence[ToolCall], *, extra_allowed: bool) -> ToolCallDiff | None:
    """The diff of plain `{name, args}` entries and calls, or `None` when the pairing has to be searched for.

    Example:
        >>> call = ToolCall("book", {"seat": "4A"}, state="result")
        >>> diff_in_place([{"name": "book", "args": {"seat": "4A"}}], [call], extra_allowed=False).passed
        True
        >>> diff_in_place([{"name": "pay", "args": {}}], [call], extra_allowed=False) is None
        True
    """
    if type(entries) is not list:
        return None
    lines: list[CallDiff] = []
    changed = 0
    try:
        # Equal ones are the rule, and one comparison of all costs less than many.
        pairs = list(zip(entries, calls))
        same = equal([entry["args"] for entry, _ in pairs], [call.args for _, call in pairs])
        for place, (entry, call) in enumerate(pairs):
            args = call.args
            name = entry["name"]
            wanted = entry["args"]
            if name != call.name or len(entry) != 2 or type(args) is not dict:
                return None
            if same or equal(wanted, args):
                lines.append(CallDiff("matched", name, place, place, [entry], args))
                continue
            changed += 1
            differences = _differences(name, wanted, call) if changed == 1 else None
            if not differences:
                return None
            lines.append(CallDiff("changed", name, place, place, [entry], args, differences))
        matched = len(lines) - changed
        if len(entries) != len(calls) and (changed or not _add_rest(lines, entries, calls, extra_allowed)):
            return None
    except (TypeError, KeyError, ReadError, RecursionError):  # the long way says what is wrong
        return None
    return ToolCallDiff(lines, len(entries), matched, len(calls))


def _differences(name: str, wanted: Any, call: ToolCall) -> list[ArgumentDiff] | None:
    """How the arguments differ; `None` where the entry is no plain JSON and may say the same in another form."""
    plain = plain_copy(wanted, MAX_DEPTH)
    if plain is None:
        return None
    require_shallow([call])
    return list(_PLAIN.differences(ExpectedCall(name, plain), call))


def _add_rest(lines: list[CallDiff], entries: list[Any], calls: Sequence[ToolCall], extra_allowed: bool) -> bool:
    """Add what only one side has; false when an entry is not plain."""
    both = len(lines)
    for place in range(both, len(entries)):
        entry = entries[place]
        name = entry["name"]
        if type(name) is not str or not name or len(entry) != 2 or plain_copy(entry["args"], MAX_DEPTH) is None:
            return False
        lines.append(CallDiff("missing", name, place, None, [entry]))
    rest = calls[both:]
    require_shallow(rest)
    for place, call in enumerate(rest, both):
        args = arguments_of(call)
        lines.append(CallDiff("extra", call.name, None, place, [], args, [], extra_allowed))
    return True
