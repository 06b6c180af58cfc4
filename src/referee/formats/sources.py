"""Where records come from: files, folders, globs, streams, compressed or not, JSON Lines or one JSON document."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from referee.errors import OptionError, ReadError
from referee.formats import FORMATS, Format, as_record, decode_record, detect_format, get_format
from referee.formats.decoded import Counts, Decoded, Turns
from referee.jsonvalue import decode as decode_json
from referee.runs import Run

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LINE_SUFFIXES = (".jsonl", ".ndjson", ".jsonlines")
_SUFFIXES = (*_LINE_SUFFIXES, ".json", ".sse")
_PACKED = (".gz", ".zst")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
#: Where an object that is no record itself keeps a list of records.
_LIST_KEYS = ("runs", "records", "data", "items", "results", "traces", "examples", "conversations")
#: A document is decoded as a whole, so it must fit in memory.
MAX_DOCUMENT_BYTES = 1 << 30
#: So many errors are kept with their text; all are counted.
MAX_ERRORS_KEPT = 1000
_ON_ERROR = ("warn", "raise", "collect")


class RunReader:
    """Iterates over the runs of a source, once.

    Attributes:
        counts: What was received and kept so far.
        errors: The lines and records that could not be read, the first thousand of them.
        error_count: How many there were.
        run_count: How many runs were given.
    """

    def __init__(
        self,
        source: str | Path | IO[bytes] | Iterable[Any],
        format: str | None = None,
        *,
        turns: Turns = "all",
        on_error: str = "warn",
        max_line_bytes: int = 32 * 1024 * 1024,
    ) -> None:
        if turns not in ("all", "last", "split"):
            raise OptionError(f"turns must be 'all', 'last' or 'split', not {turns!r}")
        if on_error not in _ON_ERROR:
            raise OptionError(f"on_error must be one of {', '.join(_ON_ERROR)}, not {on_error!r}")
        if max_line_bytes < 1:
            raise OptionError(f"max_line_bytes must be at least 1, not {max_line_bytes}")
        self._format = get_format(format) if format else None
        self._turns: Turns = turns
        self._on_error = on_error
        self._max_line_bytes = max_line_bytes
        self._source = source
        self._paths = _paths(source) if isinstance(source, (str, Path)) and source != "-" else None
        self.counts = Counts()
        self.errors: list[ReadError] = []
        self.error_count = 0
        self.run_count = 0
        self._seen: set[int] = set()
        self._repeats: dict[str, int] = {}

    def __iter__(self) -> Iterator[Run]:
        for decoded in self._decoded():
            self.counts.add(decoded.counts)
            for run in decoded.runs:
                self.run_count += 1
                yield self._with_unique_id(run)
        if self.error_count and self._on_error == "warn":
            more = f" (and {self.error_count - 1} more, see errors)" if self.error_count > 1 else ""
            warnings.warn(f"{self.errors[0]}{more}", stacklevel=2)

    def _with_unique_id(self, run: Run) -> Run:
        """The run with `#2`, `#3` at its id when the source repeats it."""
        key = hash(run.id)
        if key not in self._seen:
            self._seen.add(key)
            return run
        count = self._repeats.get(run.id, 1) + 1
        self._repeats[run.id] = count
        return self._with_unique_id(msgspec.structs.replace(run, id=f"{run.id}#{count}"))

    def _fail(self, error: ReadError) -> None:
        if self._on_error == "raise":
            raise error
        self.error_count += 1
        if len(self.errors) < MAX_ERRORS_KEPT:
            self.errors.append(error)

    def _decoded(self) -> Iterator[Decoded]:
        if self._paths is not None:
            for path in self._paths:
                try:
                    with path.open("rb") as stream:
                        yield from self._stream(stream, str(path))
                except OSError as error:
                    self._fail(ReadError(f"can't be read: {error.strerror or error}", source=str(path)))
        elif self._source == "-":
            yield from self._stream(sys.stdin.buffer, "<stdin>")
        elif hasattr(self._source, "read"):
            yield from self._stream(cast("IO[bytes]", self._source), str(getattr(self._source, "name", "<stream>")))
        else:
            yield from self._records(cast("Iterable[Any]", self._source), "<records>")

    def _records(self, records: Iterable[Any], source: str) -> Iterator[Decoded]:
        for number, record in enumerate(records, 1):
            decoded = self._decode(as_record(record), source, number)
            if decoded is not None:
                yield decoded

    def _stream(self, raw: IO[bytes], source: str) -> Iterator[Decoded]:
        try:
            yield from self._lines_or_document(_unpacked(raw), source)
        except (OSError, EOFError, ValueError) as error:
            if isinstance(error, ReadError):
                raise
            self._fail(ReadError(f"the compressed data is damaged: {error}", source=source))

    def _lines_or_document(self, stream: IO[bytes], source: str) -> Iterator[Decoded]:
        lines = _Lines(stream, self._max_line_bytes)
        first = lines.next_with_content()
        if first is None:
            self._fail(ReadError("holds nothing but white space" if lines.number else "is empty", source=source))
            return
        if first.startswith(_UTF16):
            self._fail(ReadError("is UTF-16; Referee reads UTF-8", source=source))
            return
        stem = Path(source).name
        for packed in _PACKED:
            stem = stem.removesuffix(packed)
        if stem.endswith(_LINE_SUFFIXES) or (lines.complete and _is_json_record(first)):
            yield from self._lines(lines, first, source)
        else:
            yield from self._document(lines, first, source)

    def _lines(self, lines: _Lines, first: bytes, source: str) -> Iterator[Decoded]:
        line: bytes | None = first
        decode_line: Any = None
        while line is not None:
            decoded = None
            if not lines.complete:
                self._fail(
                    ReadError(
                        f"the line is longer than {self._max_line_bytes:,} bytes (--max-line-bytes)",
                        source=source,
                        line=lines.number,
                    )
                )
            else:
                if decode_line is not None:
                    decoded = decode_line(line, self._turns)
                if decoded is None:
                    try:
                        record = parse_json(line)
                        chosen = self._format or detect_format(record)
                    except ReadError as error:
                        self._fail(error.at(source, lines.number))
                    else:
                        decode_line = getattr(chosen, "decode_line", None)
                        if chosen is None:  # a line may hold a list of records
                            yield from self._document_records(record, source, lines.number)
                        else:
                            decoded = self._decode(record, source, lines.number, chosen)
            if decoded is not None:
                yield decoded
            line = lines.next_with_content()

    def _document(self, lines: _Lines, first: bytes, source: str) -> Iterator[Decoded]:
        content = first + lines.rest(MAX_DOCUMENT_BYTES - len(first) + 1)
        if len(content) > MAX_DOCUMENT_BYTES:
            self._fail(
                ReadError(
                    f"is one JSON document of more than {MAX_DOCUMENT_BYTES:,} bytes; use JSON Lines", source=source
                )
            )
            return
        if content.lstrip()[:6].startswith((b"data:", b"event:")):
            yield from self._records([{"stream": content.decode("utf-8", "replace")}], source)
            return
        try:
            document = parse_json(content)
        except ReadError as error:
            # Not one document after all: perhaps lines of which the first is damaged.
            later = content.split(b"\n", 21)[1:21]
            if any(line.strip() and _is_json_record(line) for line in later):
                again = _Lines(io.BytesIO(content), self._max_line_bytes)
                start = again.next_with_content()
                assert start is not None
                yield from self._lines(again, start, source)
            else:
                self._fail(error.at(source, None))
            return
        yield from self._document_records(document, source, None)

    def _document_records(self, document: Any, source: str, line: int | None) -> Iterator[Decoded]:
        """A document is one record, or a list of records, or an object that keeps a list of records."""
        try:
            chosen = self._format if self._format and self._format.detect(document) else detect_format(document)
        except ReadError as error:
            self._fail(error.at(source, line))
            return
        if chosen is not None:
            decoded = self._decode(document, source, line, self._format or chosen)
            if decoded is not None:
                yield decoded
            return
        records = document if isinstance(document, list) else None
        if isinstance(document, dict):
            records = next((document[key] for key in _LIST_KEYS if isinstance(document.get(key), list)), None)
        if records is None or not records:
            self._fail(_unknown(document).at(source, line))
            return
        for index, record in enumerate(records):
            decoded = self._decode(record, source, line, field=f"[{index}]")
            if decoded is not None:
                yield decoded

    def _decode(
        self, record: Any, source: str, line: int | None, chosen: Format | None = None, field: str | None = None
    ) -> Decoded | None:
        try:
            chosen = chosen or self._format or detect_format(record)
            if chosen is None:
                raise _unknown(record)
            return decode_record(chosen, record, self._turns)
        except ReadError as error:
            problem = error.at(source, line)
        if field is not None:
            problem.field = f"{field}.{problem.field}" if problem.field else field
        self._fail(problem)
        return None


class _Lines:
    """The lines of a stream, none longer than a limit: of a longer one only the start is kept."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._readline = stream.readline
        self._stream = stream
        self._most = most
        self.number = 0
        #: Whether the last line was given whole.
        self.complete = True

    def next_with_content(self) -> bytes | None:
        """The next line that is not blank, or `None` at the end."""
        most = self._most + 1
        while True:
            line = self._readline(most)
            if not line:
                return None
            self.number += 1
            if self.number == 1 and line.startswith(_BOM):
                line = line[len(_BOM) :]
            self.complete = len(line) < most or line.endswith(b"\n")
            if not self.complete:
                self._skip_to_end_of_line()
                return line
            if not line.isspace():
                return line

    def _skip_to_end_of_line(self) -> None:
        while True:
            piece = self._readline(1 << 20)
            if not piece or piece.endswith(b"\n"):
                return

    def rest(self, most: int) -> bytes:
        """All that follows, at most so many bytes."""
        return self._stream.read(most)


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    """The stream itself, or what a gzip or Zstandard stream holds; told by the first bytes, not by the name."""
    stream = raw if hasattr(raw, "peek") else io.BufferedReader(cast("io.RawIOBase", raw))
    head = stream.peek(4)[:4]
    if head.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=stream, mode="rb"), 1 << 20)
    if head.startswith(_ZSTD):
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        return io.BufferedReader(_Guarded(reader), 1 << 20)
    return stream


class _Guarded(io.RawIOBase):
    """A decompressing reader whose own errors become `OSError`."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        import zstandard

        try:
            return int(self._reader.readinto(buffer))
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from None


def _paths(source: str | Path) -> list[Path]:
    """The files that a path stands for.

    Raises:
        ReadError: There are none.
    """
    path = Path(source)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file() and _readable_name(file.name))
        if not found:
            raise ReadError(
                f"the folder holds no runs (files named *{', *'.join(_SUFFIXES)}, also with .gz or .zst)",
                source=str(source),
            )
        return found
    if path.exists():
        return [path]
    if has_magic(str(source)):
        found = sorted(Path(name) for name in glob(str(source), recursive=True) if Path(name).is_file())  # noqa: PTH207 - an absolute pattern
        if found:
            return found
        raise ReadError("no file matches", source=str(source))
    raise ReadError("there is no such file or folder", source=str(source))


def _readable_name(name: str) -> bool:
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name.endswith(_SUFFIXES)


def _is_json_record(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), (dict, list))
    except ReadError:
        return False


def parse_json(content: bytes) -> Any:
    """Decode JSON bytes.

    A lone surrogate escape, which a cut emoji leaves behind, becomes U+FFFD; everything else that is no JSON is
    an error that says what is wrong.

    Raises:
        ReadError: It is no JSON.
    """
    try:
        return decode_json(content)
    except RecursionError:
        raise ReadError("is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        problem = str(error)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReadError(f"is not UTF-8 (byte {error.start + 1} is 0x{content[error.start]:02x})") from None
    try:
        value = json.loads(text, parse_constant=_no_constant)
        return decode_json(_LONE_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)).encode())
    except RecursionError:
        raise ReadError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ReadError(_explained(error, text)) from None
    except (msgspec.MsgspecError, UnicodeError, ValueError) as error:
        raise ReadError(f"is no JSON: {error if isinstance(error, _Constant) else problem}") from None


class _Constant(ValueError):  # noqa: N818 - tells itself apart
    """JSON has no NaN and no Infinity."""


def _no_constant(name: str) -> Any:
    raise _Constant(f"{name} is no JSON value; write null")


def _explained(error: json.JSONDecodeError, text: str) -> str:
    rest = text[error.pos :].strip()
    if not rest or error.msg.startswith(("Unterminated string",)):
        return f"is cut: the JSON ends in the middle of a value (line {error.lineno}, column {error.colno})"
    return f"is no JSON: {error.msg[0].lower()}{error.msg[1:]} (line {error.lineno}, column {error.colno})"


def _unknown(record: Any) -> ReadError:
    kind = {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(
        type(record), f"a {type(record).__name__}"
    )
    if isinstance(record, dict):
        keys = [str(key) for key in list(record)[:8]]
        kind += f" with {', '.join(keys)}" + (" ..." if len(record) > 8 else "") if keys else " without fields"
    return ReadError(f"is in no known format: {kind}; the formats are {', '.join(FORMATS)} (--format names one)")
