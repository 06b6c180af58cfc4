"""Parts of a JSON Lines file, each read on its own."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, Any

from referee.errors import ReadError
from referee.formats import Format, detect_format
from referee.formats.decoded import Decoded, Turns
from referee.formats.gathering import Gathering
from referee.formats.json_text import parse_json
from referee.formats.lines import Lines
from referee.formats.packed import ZIP
from referee.formats.sources import LINE_SUFFIXES, TABLE, TABLE_SUFFIXES, RunReader, is_utf16, json_record, plain_name

#: So much of a file is looked at to learn what its lines are.
HEAD_BYTES = 1 << 20


class SpreadRunError(ReadError):
    """A record that needs other lines, perhaps those of another part, to be a run."""


class PartReader(RunReader):
    """Reads a part of a JSON Lines file that starts and ends with whole lines. Ids stay as they are.

    Args:
        stream: The part.
        source: The file's name.
        is_start: Whether the part is the start of the file.
        format: The format that was asked for; detected when `None`.
        likely: The format of the file's first record: of the formats that recognise a record it is asked first.
        turns, max_line_bytes: As for `referee.read_runs`.
    """

    def __init__(
        self,
        stream: IO[bytes],
        source: str,
        *,
        is_start: bool,
        format: Format | None,
        likely: Format | None,
        turns: Turns,
        max_line_bytes: int,
    ) -> None:
        super().__init__(
            stream, format, turns=turns, on_error="collect", max_line_bytes=max_line_bytes, unique_ids=False
        )
        self._likely = likely
        self._lines_of_part = Lines(stream, max_line_bytes, is_start=is_start)
        self._name = source

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return self._lines_of_part.number

    def _decoded(self) -> Iterator[Decoded]:
        first = self._lines_of_part.next_with_content()
        if first is not None:
            yield from self._lines(self._lines_of_part, first, self._name)

    def _recognised(
        self, line: bytes, source: str, number: int, gathering: Gathering, parsed: Any
    ) -> tuple[Any, Format | None]:
        found = super()._recognised(line, source, number, gathering, parsed)
        if self._likely is not None and hasattr(self._likely, "pieces"):
            raise SpreadRunError(f"holds records of the format {self._likely.NAME}", source=source, line=number)
        return found


class LineFile:
    """What the head of a file says about how it may be read.

    Args:
        head: The start of the (unpacked) content.
        source: The file's name.
        format: The format that was asked for.
        is_whole: Whether the head is all there is.
        max_line_bytes: As for `referee.read_runs`.

    Attributes:
        is_parted: Whether it is JSON Lines whose lines stand alone, so that parts of it may be read by `PartReader`.
        likely: The format of its first record.
    """

    def __init__(self, head: bytes, source: str, format: Format | None, *, is_whole: bool, max_line_bytes: int) -> None:
        self.is_parted = False
        self.likely: Format | None = None
        name = plain_name(source)
        if name.endswith(TABLE_SUFFIXES) or is_utf16(head[:2]) or head.startswith(ZIP):
            return
        lines = Lines(io.BytesIO(head), max_line_bytes)
        first = lines.next_with_content()
        if first is None or (not name.endswith(LINE_SUFFIXES) and json_record(first) is None):
            return
        if format is not None and format.NAME == TABLE and first.lstrip()[:1] not in (b"{", b"["):
            return
        line: bytes | None = first
        while line is not None and (is_whole or line.endswith(b"\n")):
            try:
                self.likely = format or detect_format(parse_json(line))
            except ReadError:
                self.likely = None
            if self.likely is not None:
                self.is_parted = not hasattr(self.likely, "pieces")
                return
            line = lines.next_with_content()
