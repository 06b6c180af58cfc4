"""Optimal pairing of two sequences under a match relation: in order, or in any order. Never greedy.

The functions know the sequences only by their lengths and by `match(left, right)`, which says whether the item at
place `left` of the first fits the one at place `right` of the second. A row of the relation is one integer whose bit
`right` is that answer, so that a whole row is worked on at once; whoever has the rows already gives them instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

Match: TypeAlias = Callable[[int, int], bool]


def longest_common_subsequence(left: int, right: int, match: Match) -> list[tuple[int, int]]:
    """The longest list of matching pairs in which both places rise.

    Args:
        left: The length of the first sequence.
        right: The length of the second.
        match: Whether two places match. Asked once for each pair of places.

    Returns:
        Pairs of places in rising order. Of several longest lists always the same one.

    Source of the formula: H. Hyyrö, "Bit-Parallel LCS-length Computation Revisited", 2004; it holds for any relation,
    since it uses nothing but the differences between neighbours of the table.

    Example:
        >>> longest_common_subsequence(3, 3, lambda i, j: "abc"[i] == "xac"[j])
        [(0, 1), (2, 2)]
    """
    return common_subsequence(rows_of(left, right, match), right)


def common_subsequence(rows: Sequence[int], right: int) -> list[tuple[int, int]]:
    """`longest_common_subsequence` of a relation that is given by its rows.

    Example:
        >>> common_subsequence([0b010, 0b101], 3)
        [(0, 1), (1, 2)]
    """
    # Bit `j` of a state is 0 where the length grows from column `j` to `j + 1`.
    state = everything = (1 << right) - 1
    states = []
    for row in rows:
        grown = state & row
        state = ((state + grown) | (state - grown)) & everything
        states.append(state)
    pairs = []
    i, j = len(rows), right
    while i and j:
        if states[i - 1] >> (j - 1) & 1:
            j -= 1
        elif i > 1 and not states[i - 2] >> (j - 1) & 1:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def maximum_matching(left: int, right: int, match: Match) -> list[tuple[int, int]]:
    """The greatest number of matching pairs in which no place occurs twice, whatever the order.

    Args:
        left: The length of the first sequence.
        right: The length of the second.
        match: Whether two places match. Asked once for each pair of places.

    Returns:
        Pairs of places, by rising place in the first sequence. Of several largest matchings always the same one.

    Source of the method: augmenting paths, C. Berge, "Two Theorems in Graph Theory", 1957.

    Example:
        >>> maximum_matching(2, 2, lambda i, j: (i, j) != (1, 1))
        [(0, 1), (1, 0)]
    """
    return matching(rows_of(left, right, match), right)


def matching(rows: Sequence[int], right: int) -> list[tuple[int, int]]:
    """`maximum_matching` of a relation that is given by its rows.

    Example:
        >>> matching([0b11, 0b01], 2)
        [(0, 1), (1, 0)]
    """
    found = _Matching(rows, right)
    for start in range(len(rows)):
        found.augment(start)
    return sorted(found.partner.items())


class _Matching:
    """A matching that grows by one pair at a time."""

    def __init__(self, rows: Sequence[int], right: int) -> None:
        self._rows = rows
        self._owner: dict[int, int] = {}  # place in the second sequence -> its partner in the first
        self.partner: dict[int, int] = {}  # the other way round
        #: Places of the second sequence without a partner, and those from which one without may still be reached.
        self._free = self._useful = (1 << right) - 1

    def augment(self, start: int) -> None:
        """Find `start` a partner, moving the partners of others along a shortest path of swaps, if there is one."""
        reached_from: dict[int, int] = {}
        unseen = self._useful
        queue = [start]
        for i in queue:
            fresh = self._rows[i] & unseen
            if free := fresh & self._free:
                j = (free & -free).bit_length() - 1
                reached_from[j] = i
                self._free ^= 1 << j
                self._swap(reached_from, start, j)
                return
            unseen ^= fresh
            for j in _places(fresh):
                reached_from[j] = i
                queue.append(self._owner[j])
        self._useful = unseen  # what leads nowhere now never will

    def _swap(self, reached_from: dict[int, int], start: int, free: int) -> None:
        j = free
        while True:
            i = self._owner[j] = reached_from[j]
            before = self.partner.get(i)
            self.partner[i] = j
            if i == start or before is None:
                return
            j = before


def _places(row: int) -> Iterator[int]:
    """The places of a row whose bit is set, in rising order."""
    while row:
        lowest = row & -row
        yield lowest.bit_length() - 1
        row ^= lowest


def rows_of(left: int, right: int, match: Match) -> list[int]:
    """The rows of a relation. Asks `match` once for each pair of places."""
    rows = []
    for i in range(left):
        row = 0
        for j in range(right):
            if match(i, j):
                row |= 1 << j
        rows.append(row)
    return rows
