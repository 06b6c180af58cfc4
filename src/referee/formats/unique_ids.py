"""An id of its own for every run of a source, in little memory."""

from __future__ import annotations

from array import array

_BITS = 6  # of a hash, which choose its table
_TABLES, _MASK = 1 << _BITS, (1 << _BITS) - 1
_FIRST_SIZE = 16


class UniqueIds:
    """Gives ids that repeat `#2`, `#3` at their end.

    Only a 64-bit hash of each id is kept, in open hash tables of 12 to 18 bytes an id: a set of integers takes 70. They
    are many, so that what is copied while one grows is little. Two of a million different ids have the same hash in one
    of 30 million files.

    Example:
        >>> ids = UniqueIds()
        >>> ids.of("a"), ids.of("b"), ids.of("a"), ids.of("a")
        ('a', 'b', 'a#2', 'a#3')
    """

    def __init__(self) -> None:
        self._tables = [_Table() for _ in range(_TABLES)]
        self._repeats: dict[str, int] = {}

    def of(self, name: str) -> str:
        """The id, or the id with a number at its end when it was given before."""
        while True:
            key = hash(name) or 1
            if self._tables[key & _MASK].add(key):
                return name
            count = self._repeats.get(name, 1) + 1
            self._repeats[name] = count
            name = f"{name}#{count}"


class _Table:
    """An open hash table of numbers that are not 0, at most two thirds full."""

    __slots__ = ("_keys", "_room")

    def __init__(self) -> None:
        self._keys = _free(_FIRST_SIZE)
        self._room = _most(_FIRST_SIZE)

    def add(self, key: int) -> bool:
        """Keep a number; whether it is new."""
        keys = self._keys
        size = len(keys)
        place = (key >> _BITS) % size
        while found := keys[place]:
            if found == key:
                return False
            place = (place + 1) % size
        keys[place] = key
        self._room -= 1
        if not self._room:
            self._grow()
        return True

    def _grow(self) -> None:
        old = self._keys
        size = len(old) * 3 // 2
        keys = _free(size)
        for key in old:
            if key:
                place = (key >> _BITS) % size
                while keys[place]:
                    place = (place + 1) % size
                keys[place] = key
        self._room = _most(size) - _most(len(old))
        self._keys = keys


def _most(size: int) -> int:
    """How many numbers a table of this size may hold."""
    return size * 2 // 3


def _free(size: int) -> array[int]:
    """So many free places: zeros, made without a copy."""
    return array("q", [0]) * size
