"""An id of its own for every run of a source, in little memory."""

from __future__ import annotations

from array import array

_FIRST_SIZE = 1 << 10


class UniqueIds:
    """Gives ids that repeat `#2`, `#3` at their end.

    Only a 64-bit hash of each id is kept, in an open hash table of 12 to 24 bytes an id: a set of integers takes 70. Two
    of a million different ids have the same hash in one of 30 million files.

    Example:
        >>> ids = UniqueIds()
        >>> ids.of("a"), ids.of("b"), ids.of("a"), ids.of("a")
        ('a', 'b', 'a#2', 'a#3')
    """

    def __init__(self) -> None:
        self._table = _free(_FIRST_SIZE)
        self._mask = _FIRST_SIZE - 1
        self._room = _FIRST_SIZE * 2 // 3
        self._repeats: dict[str, int] = {}

    def of(self, name: str) -> str:
        """The id, or the id with a number at its end when it was given before."""
        while not self._add(hash(name) or 1):
            count = self._repeats.get(name, 1) + 1
            self._repeats[name] = count
            name = f"{name}#{count}"
        return name

    def _add(self, key: int) -> bool:
        """Keep a hash; whether it is new."""
        table, mask = self._table, self._mask
        place = key & mask
        while found := table[place]:
            if found == key:
                return False
            place = (place + 1) & mask
        table[place] = key
        self._room -= 1
        if not self._room:
            self._grow()
        return True

    def _grow(self) -> None:
        kept = self._table
        size = 2 * len(kept)
        mask = size - 1
        table = _free(size)
        for key in kept:
            if key:
                place = key & mask
                while table[place]:
                    place = (place + 1) & mask
                table[place] = key
        self._table, self._mask = table, mask
        self._room = size * 2 // 3 - len(kept) * 2 // 3  # so many are in it already


def _free(size: int) -> array[int]:
    """So many free places: zeros, made without a copy."""
    return array("q", [0]) * size
