"""Collects what belongs together and is spread over the lines of a file, like the spans of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from referee.errors import ReadError
from referee.formats import Format
from referee.formats.json_text import parse_json

#: The first so many bytes of a file are kept as what they were decoded to, the rest as bytes, which is less.
LOOSE_BYTES = 4 * 1024 * 1024
_encode = msgspec.json.Encoder().encode


#: Takes a record apart.
_Pieces: TypeAlias = Callable[[Any], Iterable[tuple[str, Any]]]


class Gathering:
    """Pieces of runs by what they belong to, kept until the file has been read.

    Args:
        most: So many bytes are kept; a file with more is refused.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._loose = LOOSE_BYTES
        self._last: Format | None = None
        # The first record, as long as it is the only one: a document on one line needs no packing.
        self._alone: tuple[Format, _Pieces, Any, bytes] | None = None
        # Formats that share their way to take records apart read each other's pieces.
        self._kept: dict[tuple[Any, str], tuple[Format, list[Any]]] = {}

    def reader_of(self, record: Any) -> Format | None:
        """The format of the record before, if it is this one's too."""
        return self._last if self._last is not None and self._last.detect(record) else None

    def add(self, chosen: Format, pieces: _Pieces, record: Any, line: bytes) -> None:
        """Keep the pieces of a record.

        Args:
            chosen: Their format.
            pieces: Takes a record apart: each piece with the id of what it belongs to.
            record: The record.
            line: The same as bytes.

        Raises:
            ReadError: There is more than may be kept. It is said once; then nothing is kept.
        """
        if self._last is None:
            self._alone = (chosen, pieces, record, line)
        elif self._left >= 0:
            if self._alone is not None:
                first, self._alone = self._alone, None
                self._keep(*first)
            self._keep(chosen, pieces, record, line)
        self._last = chosen

    def _keep(self, chosen: Format, pieces: _Pieces, record: Any, line: bytes) -> None:
        found = list(pieces(record))
        size = len(line)
        if self._loose > 0:
            self._loose -= size
        elif len({key for key, _ in found}) == 1:
            found = [(found[0][0], line)]
        else:
            found = [(key, _encode(piece)) for key, piece in found]
            size = sum(len(packed) for _, packed in found)
        self._left -= size
        if self._left < 0:
            self._kept.clear()
            raise ReadError(
                f"holds more than {self._most:,} bytes of spans; a trace may be anywhere in a file, so all its "
                "spans are read together: split the file by trace"
            )
        for key, piece in found:
            self._kept.setdefault((pieces, key), (chosen, []))[1].append(piece)

    def whole(self) -> Iterator[tuple[Format, str, Any]]:
        """What belongs together, in the order in which it first showed up; each is forgotten when it is given.

        Returns:
            The format, the id of what the pieces belong to, and the pieces; of a record that is alone the record.
        """
        if self._alone is not None:
            chosen, _, record, _ = self._alone
            self._alone = None
            yield chosen, "", record
        while self._kept:
            place = next(iter(self._kept))
            chosen, kept = self._kept.pop(place)
            parsed = (parse_json(piece) if type(piece) is bytes else piece for piece in kept)
            # A line may be a list of pieces.
            listed = (piece if isinstance(piece, list) else [piece] for piece in parsed)
            yield chosen, place[1], [piece for pieces in listed for piece in pieces]
