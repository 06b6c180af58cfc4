"""The longest common subsequence of the characters of two texts: exact, and quick where the texts allow it.

The work is done by RapidFuzz, 64 cells of the table at once. Two things make it quicker without changing the result:
characters of other scripts get numbers below 256 (by far the quickest to look up), and texts that are nearly the same
are compared near the table's diagonal only.
"""

from __future__ import annotations

from collections import Counter

from rapidfuzz.distance import LCSseq

from referee.errors import RefereeError

#: Shorter texts take well under a millisecond as they are.
_LONG = 4096
#: Samples of the first text that are looked for in the second, and their length, to guess how much was changed.
_SAMPLES = 64
_SAMPLE_LENGTH = 12
#: Two unrelated texts of half a million characters: some seconds, in which nothing else of the process runs.
_MOST_CELLS = 500_000**2
#: With a greater share of missing characters the diagonal band is no narrower than the whole table.
_WORTHWHILE = 0.3


def common_subsequence_length(left: str, right: str) -> int:
    """How many characters (code points) the two texts have in common in the same order.

    Raises:
        RefereeError: The texts are too long and too different: they would take many seconds.

    Example:
        >>> common_subsequence_length("kitten", "sitting")
        4
    """
    if left == right:
        return len(left)
    if not (left.isascii() and right.isascii()):
        left, right = _renumbered(left, right)
    if min(len(left), len(right)) <= _LONG:
        return LCSseq.similarity(left, right)
    start = _common_start(left, right)
    left, right = left[start:][::-1], right[start:][::-1]
    end = _common_start(left, right)
    return start + end + _long_length(left[end:], right[end:])


def _long_length(left: str, right: str) -> int:
    """The length for texts that share neither start nor end: in a band that holds it, else in the whole table."""
    shorter = min(len(left), len(right))
    missing = _guessed_change(left, right) if shorter > _LONG else 1.0
    while missing < _WORTHWHILE:
        found = LCSseq.similarity(left, right, score_cutoff=int(shorter * (1 - missing)))
        if found:  # it is 0 below the cutoff
            return found
        missing *= 4
    if len(left) * len(right) > _MOST_CELLS:
        raise RefereeError(
            f"texts of {len(left):,} and {len(right):,} characters are too long to compare character by character"
        )
    return LCSseq.similarity(left, right)


def _common_start(left: str, right: str) -> int:
    """How many characters the two texts share at their start; the halves are compared as wholes."""
    same, limit = 0, min(len(left), len(right))
    while same < limit:
        middle = (same + limit + 1) // 2
        if left[same:middle] == right[same:middle]:
            same = middle
        else:
            limit = middle - 1
    return same


def _renumbered(left: str, right: str) -> tuple[str, str]:
    """The two texts without the characters that only one has, the frequent ones renumbered from 0."""
    counts, others = Counter(left), Counter(right)
    shared = counts.keys() & others.keys()
    by_frequency = sorted(shared, key=lambda character: (-counts[character] * others[character], character))
    numbers = dict.fromkeys(map(ord, counts.keys() ^ others.keys()))
    numbers |= {ord(character): number for number, character in enumerate(by_frequency)}
    return left.translate(numbers), right.translate(numbers)


def _guessed_change(left: str, right: str) -> float:
    """About the share of characters that were changed, with some room. A wrong guess costs time, nothing else."""
    places = range(0, len(left) - _SAMPLE_LENGTH, max(1, len(left) // _SAMPLES))
    kept = sum(left[place : place + _SAMPLE_LENGTH] in right for place in places) / len(places)
    survival: float = kept ** (1 / _SAMPLE_LENGTH)
    return 1.5 * (1 - survival) + 1 / 64
