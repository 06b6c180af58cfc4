"""Optimal pairing of two sequences under a match relation: in order, or in any order. Never greedy.

Both functions know the sequences only by their lengths and by `match(left, right)`, which says whether the item at
place `left` of the first fits the one at place `right` of the second. A row of the relation is one integer whose bit
`right` is that answer, so that a whole row is worked on at once.
"""

from __future__ import annotations

from collections.abc import Callable
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
    # Bit `j` of a state is 0 where the length grows from column `j` to `j + 1`.
    state = everything = (1 << right) - 1
    states = []
    for row in _rows(left, right, match):
        grown = state & row
        state = ((state + grown) | (state - grown)) & everything
        states.append(state)
    pairs = []
    i, j = left, right
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
    rows = _rows(left, right, match)
    owner: dict[int, int] = {}  # place in the second sequence -> its partner in the first
    for start in range(left):
        _augment(rows, owner, start, right)
    return sorted((i, j) for j, i in owner.items())


def _augment(rows: list[int], owner: dict[int, int], start: int, right: int) -> None:
    """Find `start` a partner, moving the partners of others along a shortest path of swaps, if there is one."""
    reached_from: dict[int, int] = {}
    unseen = (1 << right) - 1
    queue = [start]
    for i in queue:
        fresh = rows[i] & unseen
        unseen ^= fresh
        while fresh:
            lowest = fresh & -fresh
            fresh ^= lowest
            j = lowest.bit_length() - 1
            reached_from[j] = i
            if j not in owner:
                _swap(owner, reached_from, start, j)
                return
            queue.append(owner[j])


def _swap(owner: dict[int, int], reached_from: dict[int, int], start: int, free: int) -> None:
    partner = {i: j for j, i in owner.items()}
    j = free
    while True:
        i = owner[j] = reached_from[j]
        if i == start:
            return
        j = partner[i]


def _rows(left: int, right: int, match: Match) -> list[int]:
    rows = []
    for i in range(left):
        row = 0
        for j in range(right):
            if match(i, j):
                row |= 1 << j
        rows.append(row)
    return rows
