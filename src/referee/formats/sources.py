"""Where records come from: files, folders, globs, streams, compressed or not, JSON Lines or one JSON document."""

from __future__ import annotations

import io
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
from referee.formats.gathering import Gathering
from referee.formats.json_text import parse_json
from referee.formats.lines import Lines
from referee.formats.packed import PACKED_SUFFIXES, ZIP, DamagedError, seekable, unpacked
from referee.formats.unique_ids import UniqueIds
from referee.runs import Run

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
LINE_SUFFIXES = (".jsonl", ".ndjson", ".jsonlines")
TABLE_SUFFIXES = (".csv", ".tsv")
_SUFFIXES = (*LINE_SUFFIXES, ".json", ".sse", ".eval")
#: Where an object that is no record itself keeps a list of records.
_LIST_KEYS = ("runs", "records", "data", "items", "results", "traces", "examples", "conversations")
#: A document is decoded as a whole, so it must fit in memory.
MAX_DOCUMENT_BYTES = 1 << 30
#: A batch has so many runs, or those of so many bytes: little enough for the processor's cache and for any memory.
BATCH_RUNS, BATCH_BYTES = 16, 1 << 20
#: So many errors are kept with their text; all are counted.
MAX_ERRORS_KEPT = 1000
_ON_ERROR = ("warn", "raise", "collect")
#: Formats that see a file as a whole.
_ZIPPED = "inspect_log"
TABLE = "table"
#: Stands for a record that is not to be read now.
_TAKEN: Any = object()


class RunReader:
    """Iterates over the runs of a source, once.

    Attributes:
        counts: What was received and kept so far.
        errors: The lines and records that could not be read, the first thousand of them.
        error_count: How many there were.
        run_count: How many runs were given.

    `unique_ids` says whether ids that the source repeats get `#2`, `#3`; the other arguments are those of `read_runs`.
    """

    def __init__(
        self,
        source: str | Path | IO[bytes] | Iterable[Any],
        format: str | Format | None = None,
        *,
        turns: Turns = "all",
        on_error: str = "warn",
        max_line_bytes: int = 32 * 1024 * 1024,
        unique_ids: bool = True,
    ) -> None:
        if turns not in ("all", "last", "split"):
            raise OptionError(f"turns must be 'all', 'last' or 'split', not {turns!r}")
        if on_error not in _ON_ERROR:
            raise OptionError(f"on_error must be one of {', '.join(_ON_ERROR)}, not {on_error!r}")
        if max_line_bytes < 1:
            raise OptionError(f"max_line_bytes must be at least 1, not {max_line_bytes}")
        self._format = get_format(format) if isinstance(format, str) else format
        # Asked for by its name or by its columns; then a file without the usual end of its name may be a table too.
        self._reads_tables = self._format is not None and self._format.NAME == TABLE
        self._turns: Turns = turns
        self._on_error = on_error
        self._max_line_bytes = max_line_bytes
        self._source = source
        suffixes = _SUFFIXES + TABLE_SUFFIXES if self._reads_tables else _SUFFIXES
        self._paths = _paths(source, suffixes) if isinstance(source, (str, Path)) and source != "-" else None
        self._likely: Format | None = None
        self._bytes = 0
        self.counts = Counts()
        self.errors: list[ReadError] = []
        self.error_count = 0
        self.run_count = 0
        self._ids = UniqueIds() if unique_ids else None

    def __iter__(self) -> Iterator[Run]:
        for decoded in self._decoded():
            self.counts.add(decoded.counts)
            for run in decoded.runs:
                self.run_count += 1
                yield self._named(run)
        if self._ids is not None:
            self._ids = UniqueIds()  # a reader may be kept for its counts, and be one of thousands
        if self.error_count and self._on_error == "warn":
            more = f" (and {self.error_count - 1} more, see errors)" if self.error_count > 1 else ""
            warnings.warn(f"{self.errors[0]}{more}", stacklevel=2)

    def batches(self) -> Iterator[list[Run]]:
        """The runs in small batches, for work that is done faster on several at once.

        A stream may wait for its next run, so that each of its runs is a batch of its own.
        """
        most = BATCH_RUNS if self._paths is not None and all(path.is_file() for path in self._paths) else 1
        batch: list[Run] = []
        start = self._bytes
        try:
            for run in self:
                batch.append(run)
                if len(batch) == most or self._bytes - start >= BATCH_BYTES:
                    yield batch
                    batch = []
                    start = self._bytes
        except Exception:  # a bad line, or a warning that shall be an error: what was read before it is given first
            if batch:
                yield batch
            raise
        if batch:
            yield batch

    @property
    def format(self) -> Format | None:
        """The format that was asked for; `None` when it is detected."""
        return self._format

    @property
    def paths(self) -> list[Path] | None:
        """The files that are read; `None` when the source is none."""
        return self._paths

    def _named(self, run: Run) -> Run:
        """The run with `#2`, `#3` at its id when the source repeats it."""
        if self._ids is None or (name := self._ids.of(run.id)) == run.id:
            return run
        return msgspec.structs.replace(run, id=name)

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
                    with path.open("rb", buffering=1 << 20) as stream:
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
            stream = unpacked(raw)
            container = self._container(stream, source)
            if container is None:
                yield from self._lines_or_document(stream, source)
            else:
                yield from self._contained(container, stream, source)
        except DamagedError as error:
            self._fail(ReadError(f"the compressed data is damaged: {error}", source=source))

    def _container(self, stream: io.BufferedReader, source: str) -> Any:
        """The format that must see the file as a whole, told by its first bytes or its name; `None` for JSON."""
        head = stream.peek(4)
        if head.startswith(ZIP):
            return get_format(_ZIPPED)
        if plain_name(source).endswith(TABLE_SUFFIXES):
            return self._format if self._reads_tables else get_format(TABLE)
        return self._format if self._reads_tables and head.lstrip()[:1] not in (b"{", b"[", b"") else None

    def _contained(self, container: Any, stream: io.BufferedReader, source: str) -> Iterator[Decoded]:
        """The records that a format finds in a whole file, each with its line or the name of its entry."""
        if is_utf16(stream.peek(2)):
            self._fail(ReadError("is UTF-16; Referee reads UTF-8", source=source))
            return
        if container.NAME != _ZIPPED:
            yield from self._found(container, stream, source)
            return
        with seekable(stream) as whole:
            yield from self._found(container, whole, source)

    def _found(self, container: Any, whole: IO[bytes], source: str) -> Iterator[Decoded]:
        records = container.records(whole)
        while True:
            try:
                place, record = next(records)
            except StopIteration:
                return
            except ReadError as error:
                self._fail(error.at(source, None))
                return
            line, field = (place, None) if isinstance(place, int) else (None, place)
            self._bytes += BATCH_BYTES  # its size is not known
            if isinstance(record, ReadError):
                self._fail(ReadError(record.problem, source=source, line=line, field=field))
                continue
            decoded = self._decode(record, source, line, container, field)
            if decoded is not None:
                yield decoded

    def _lines_or_document(self, stream: IO[bytes], source: str) -> Iterator[Decoded]:
        lines = Lines(stream, self._max_line_bytes)
        first = lines.next_with_content()
        if first is None:
            self._fail(ReadError("holds nothing but white space" if lines.number else "is empty", source=source))
            return
        if is_utf16(first):
            self._fail(ReadError("is UTF-16; Referee reads UTF-8", source=source))
            return
        by_name = plain_name(source).endswith(LINE_SUFFIXES)
        record = None if by_name or not lines.complete else json_record(first)
        if by_name or record is not None:
            yield from self._lines(lines, first, source, record)
        else:
            yield from self._document(lines, first, source)

    def _lines(self, lines: Lines, first: bytes, source: str, parsed: Any = None) -> Iterator[Decoded]:
        line: bytes | None = first
        decode_line: Any = None
        gathering = Gathering(MAX_DOCUMENT_BYTES)
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
                self._bytes += len(line)
                if decode_line is not None:
                    decoded = decode_line(line, self._turns)
                if decoded is None:
                    record, chosen = self._recognised(line, source, lines.number, gathering, parsed)
                    parsed = None
                    decode_line = getattr(chosen, "decode_line", None)
                    if chosen is not None:
                        decoded = self._decode(record, source, lines.number, chosen)
                    elif record is not _TAKEN:  # a line may hold a list of records
                        yield from self._document_records(record, source, lines.number)
            if decoded is not None:
                yield decoded
            line = lines.next_with_content()
        for chosen, trace_id, pieces in gathering.whole():
            self._bytes += BATCH_BYTES  # its size is not known
            decoded = self._decode(pieces, source, None, chosen, f"trace {trace_id}" if trace_id else None)
            if decoded is not None:
                yield decoded

    def _recognised(
        self, line: bytes, source: str, number: int, gathering: Gathering, parsed: Any
    ) -> tuple[Any, Format | None]:
        """A line's record and its format; `_TAKEN` when it can't be read, or waits for the rest of its trace."""
        try:
            record = parse_json(line) if parsed is None else parsed
            chosen = self._format or gathering.reader_of(record) or detect_format(record, self._likely)
            self._likely = chosen
            pieces = getattr(chosen, "pieces", None)
            if chosen is None or pieces is None:
                return record, chosen
            gathering.add(chosen, pieces, record, line)
        except ReadError as error:
            self._fail(error.at(source, number))
        return _TAKEN, None

    def _document(self, lines: Lines, first: bytes, source: str) -> Iterator[Decoded]:
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
            document = self._parsed(content)
        except ReadError as error:
            # Not one document after all: perhaps lines of which the first is damaged.
            later = content.split(b"\n", 21)[1:21]
            if any(line.strip() and json_record(line) is not None for line in later):
                again = Lines(io.BytesIO(content), self._max_line_bytes)
                start = again.next_with_content()
                assert start is not None
                yield from self._lines(again, start, source)
            else:
                self._fail(error.at(source, None))
            return
        yield from self._document_records(document, source, None)

    def _parsed(self, content: bytes) -> Any:
        """A document; NaN in it is no error where its format is one whose writers use it."""
        try:
            return parse_json(content)
        except ReadError:
            if b"NaN" in content or b"Infinity" in content:
                document = parse_json(content, nan_is_null=True)
                if getattr(self._format or detect_format(document), "NAN_IS_NULL", False):
                    return document
            raise

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


def _paths(source: str | Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files that a path stands for; of a folder those whose names end so.

    Raises:
        ReadError: There are none.
    """
    path = Path(source)
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.is_file() and plain_name(file.name).endswith(suffixes))
        if not found:
            raise ReadError(
                f"the folder holds no runs (files named *{', *'.join(suffixes)}, also with .gz or .zst)",
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


def plain_name(source: str) -> str:
    """A file's name without the end that says how it is packed."""
    name = Path(source).name
    for packed in PACKED_SUFFIXES:
        name = name.removesuffix(packed)
    return name


def is_utf16(start: bytes) -> bool:
    """Whether content that starts so is UTF-16."""
    return start.startswith(_UTF16) or b"\0" in start[:2]


def json_record(line: bytes) -> Any:
    """The object or list that a line is; `None` for any other line."""
    try:
        record = parse_json(line)
    except ReadError:
        return None
    return record if isinstance(record, (dict, list)) else None


def _unknown(record: Any) -> ReadError:
    kind = {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(
        type(record), f"a {type(record).__name__}"
    )
    if isinstance(record, dict):
        keys = [str(key) for key in list(record)[:8]]
        kind += f" with {', '.join(keys)}" + (" ..." if len(record) > 8 else "") if keys else " without fields"
    return ReadError(f"is in no known format: {kind}; the formats are {', '.join(FORMATS)} (--format names one)")
