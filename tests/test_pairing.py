"""Pairing equals brute force on small relations, and never asks twice."""

from __future__ import annotations

import random
from itertools import combinations, pairwise, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from referee.pairing import common_subsequence, longest_common_subsequence, matching, maximum_matching

SIZES = st.integers(0, 5)
#: Two lengths, and the relation as the bits of one number.
relations = st.tuples(SIZES, SIZES, st.integers(0, 2**25 - 1)).map(
    lambda drawn: (drawn[0], drawn[1], [[bool(drawn[2] >> (5 * i + j) & 1) for j in range(5)] for i in range(5)])
)


def longest_by_force(left: int, right: int, rows: list[list[bool]]) -> int:
    for size in range(min(left, right), 0, -1):
        for mine in combinations(range(left), size):
            for theirs in combinations(range(right), size):
                if all(rows[i][j] for i, j in zip(mine, theirs, strict=True)):
                    return size
    return 0


def largest_by_force(left: int, right: int, rows: list[list[bool]]) -> int:
    small, large = sorted((left, right))
    found = 0
    for places in permutations(range(large), small):
        pairs = enumerate(places) if left <= right else ((i, j) for j, i in enumerate(places))
        found = max(found, sum(rows[i][j] for i, j in pairs))
    return found


@settings(max_examples=1000)
@given(relations)
def test_longest_common_subsequence_is_optimal(relation: tuple[int, int, list[list[bool]]]) -> None:
    left, right, rows = relation
    pairs = longest_common_subsequence(left, right, lambda i, j: rows[i][j])
    assert all(rows[i][j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))
    assert len(pairs) == longest_by_force(left, right, rows)


@settings(max_examples=1000)
@given(relations)
def test_maximum_matching_is_optimal(relation: tuple[int, int, list[list[bool]]]) -> None:
    left, right, rows = relation
    pairs = maximum_matching(left, right, lambda i, j: rows[i][j])
    assert all(rows[i][j] for i, j in pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert pairs == sorted(pairs)
    assert len(pairs) == largest_by_force(left, right, rows)


def test_a_chain_of_swaps_as_long_as_the_sequence() -> None:
    size = 1500  # each place first takes the partner that the next one needs; deeper than Python's recursion limit

    def match(i: int, j: int) -> bool:
        return j == 0 if i == size - 1 else j in (i, i + 1)

    assert len(maximum_matching(size, size, match)) == size


def test_the_relation_is_asked_once_a_pair() -> None:
    asked: list[tuple[int, int]] = []

    def match(i: int, j: int) -> bool:
        asked.append((i, j))
        return (i + j) % 3 == 0

    longest_common_subsequence(7, 5, match)
    assert sorted(asked) == [(i, j) for i in range(7) for j in range(5)]
    asked.clear()
    maximum_matching(7, 5, match)
    assert sorted(asked) == [(i, j) for i in range(7) for j in range(5)]


def test_ten_thousand_calls_take_no_minutes() -> None:
    """Rows that are known are paired without asking for each pair of places."""
    size = 10_000
    order = list(range(size))
    random.Random(1).shuffle(order)
    rows = [1 << place for place in order]
    assert matching(rows, size) == sorted(enumerate(order))
    assert len(matching([(1 << size // 7) - 1] * size, size)) == size // 7  # most of the first sequence finds nothing
    assert common_subsequence([1 << place for place in range(size)], size) == [(place, place) for place in range(size)]


@given(st.lists(st.integers(0, 255), max_size=7))
def test_rows_and_a_function_give_the_same_pairs(rows: list[int]) -> None:
    def match(left: int, right: int) -> bool:
        return bool(rows[left] >> right & 1)

    assert matching(rows, 8) == maximum_matching(len(rows), 8, match)
    assert common_subsequence(rows, 8) == longest_common_subsequence(len(rows), 8, match)
