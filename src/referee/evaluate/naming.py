"""Names that must be unique."""

from __future__ import annotations


def unique_name(name: str, taken: set[str]) -> str:
    """The name, or the name with `#2`, `#3` when it is taken; it is taken from now on.

    Example:
        >>> taken: set[str] = set()
        >>> [unique_name("a", taken) for _ in range(3)]
        ['a', 'a#2', 'a#3']
    """
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}#{count}"
    taken.add(unique)
    return unique
