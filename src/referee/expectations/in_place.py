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
from referee.jsonvalue import equal, plain_copy, same_kinds
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
    try:
        pairs = list(zip(entries, calls))
        differing = _differing(pairs)
        rest = len(entries) != len(calls)
        if differing is None or len(differing) > (not rest):
            return None
        lines = [
            CallDiff("matched", call.name, place, place, [entry], call.args)
            for place, (entry, call) in enumerate(pairs)
        ]
        for place in differing:
            entry, call = pairs[place]
            differences = _differences(call.name, entry["args"], call)
            if not differences:
                return None
            lines[place] = CallDiff("changed", call.name, place, place, [entry], call.args, differences)
        if rest and not _add_rest(lines, entries, calls, extra_allowed):
            return None
    except (TypeError, KeyError, ReadError, RecursionError):  # the long way says what is wrong
        return None
    return ToolCallDiff(lines, len(entries), len(pairs) - len(differing), len(calls))


def _differing(pairs: list[tuple[Any, ToolCall]]) -> list[int] | None:
    """The places where the arguments differ; `None` where the tools do, or an entry has more than name and arguments."""
    for entry, call in pairs:
        if entry["name"] != call.name or len(entry) != 2 or type(call.args) is not dict:
            return None
    wanted, given = [entry["args"] for entry, _ in pairs], [call.args for _, call in pairs]
    differing = [place for place, (left, right) in enumerate(zip(wanted, given)) if left != right]
    for place in reversed(differing):
        del wanted[place], given[place]
    if same_kinds(wanted, given):  # one look at all the others costs less than many
        return differing
    return [place for place, (entry, call) in enumerate(pairs) if not equal(entry["args"], call.args)]


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
