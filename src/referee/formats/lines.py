"""The lines of a stream."""

from __future__ import annotations

from typing import IO

_PIECE = 1 << 20
_BOM = b"\xef\xbb\xbf"


class Lines:
    """The lines of a stream, none longer than a limit: of a longer one only the start is kept.

    A byte order mark is passed over where the stream is the start of a file.
    """

    def __init__(self, stream: IO[bytes], most: int, *, is_start: bool = True) -> None:
        self._readline = stream.readline
        self._stream = stream
        self._most = most
        self._may_have_mark = is_start
        self.number = 0
        #: Whether the last line was given whole.
        self.complete = True

    def next_with_content(self) -> bytes | None:
        """The next line that is not blank, or `None` at the end."""
        most = self._most + 1
        if not self.complete:
            self._skip_to_end_of_line()
        while True:
            line = self._readline(most)
            if not line:
                return None
            self.number += 1
            if self.number == 1 and self._may_have_mark and line.startswith(_BOM):
                line = line[len(_BOM) :]
            self.complete = len(line) < most or line.endswith(b"\n")
            if not self.complete or (line and not line.isspace()):
                return line

    def _skip_to_end_of_line(self) -> None:
        while True:
            piece = self._readline(1 << 20)
            if not piece or piece.endswith(b"\n"):
                return

    def rest(self, most: int) -> bytes:
        """All that follows the last line, or what was given of it; at most so many bytes."""
        pieces = []
        # A stream sets aside as much memory as it is asked to read at once, however little there is.
        while most > 0 and (piece := self._stream.read(min(most, _PIECE))):
            pieces.append(piece)
            most -= len(piece)
        return b"".join(pieces)
