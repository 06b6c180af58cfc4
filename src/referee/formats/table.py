"""Plain tables: CSV files, and JSON objects whose fields are columns. One row is one run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from referee.errors import OptionError, ReadError
from referee.formats.conversation import Conversation
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import objects
from referee.formats.record import run_fields
from referee.formats.span_messages import feed, messages_of, structured
from referee.messages import Role

NAME = "table"
TITLE = "Tables with named columns (CSV, JSON)"

#: The columns that are looked for when none are named.
INPUT_COLUMN = "input"
OUTPUT_COLUMN = "output"
ID_COLUMN = "id"
_DELIMITERS = (",", ";", "\t")
#: Columns that `run_fields` reads as fields of the run; all others become metadata.
_RUN_COLUMNS = frozenset(
    {"ground_truth", "expected_tool_calls", "expected_trajectory", "context", "thread_id", "trace_id"}
)
_STRUCTURED = frozenset({"expected_tool_calls", "expected_trajectory", "context"})


class Table:
    """Reads rows by the names of their columns. It is a format like the others, with columns chosen by the user.

    Args:
        input_column: What the agent was asked. A row without it has no input, unless the column is named here.
        output_column: What it answered: text, or a list of messages.
        id_column: The run's id; without it the id is made of the row's content.

    Raises:
        OptionError: Two of them are one column.

    Example:
        >>> table = Table(input_column="question", output_column="answer")
        >>> table.decode({"question": "2 + 2?", "answer": "4"}).runs[0].output_text
        '4'
    """

    NAME = NAME
    TITLE = TITLE

    def __init__(
        self, input_column: str | None = None, output_column: str | None = None, id_column: str | None = None
    ) -> None:
        self.input = INPUT_COLUMN if input_column is None else input_column
        self.output = OUTPUT_COLUMN if output_column is None else output_column
        self.id = ID_COLUMN if id_column is None else id_column
        if len({self.input, self.output, self.id}) < 3:
            raise OptionError("the columns of input, output and id must be three different ones")
        named = {"input": input_column, "id": id_column}
        self._required = [self.output, *(column for column in named.values() if column is not None)]

    def detect(self, record: Any) -> bool:
        """Whether a record is a row with all the columns that are needed."""
        return isinstance(record, dict) and all(column in record for column in self._required)

    def decode(self, record: Any, turns: Turns = "all") -> Decoded:
        """Read one row.

        Raises:
            ReadError: It is no row, or a column is missing.
        """
        if not isinstance(record, dict):
            raise ReadError("a row of a table must be an object with named columns")
        self._check(record)
        talk = Conversation()
        _add(talk, record.get(self.input), "user")
        asked = len(talk.messages)
        _add(talk, record[self.output], "assistant")
        fields = self._fields(record)
        if turns != "all":
            return talk.decoded(turns, **fields)
        given = talk.messages[:asked]
        start = max((index + 1 for index, message in enumerate(given) if message.role == "assistant"), default=0)
        sections = {
            "system": [message for message in given if message.role == "system"],
            "history": [message for message in given[:start] if message.role != "system"],
            "input": [message for message in given[start:] if message.role != "system"],
            "output": talk.messages[asked:],
        }
        return talk.assembled(**fields, **sections)

    def _check(self, columns: Any) -> None:
        for column in self._required:
            if column not in columns:
                shown = ", ".join(map(str, list(columns)[:20]))
                raise ReadError(f"there is no column {column!r}; the columns are: {shown}")

    def _fields(self, row: dict[str, Any]) -> dict[str, Any]:
        others = {name: value for name, value in row.items() if name not in (self.input, self.output, self.id)}
        known = {
            name: structured(value) if name in _STRUCTURED else value
            for name, value in others.items()
            if name in _RUN_COLUMNS and value not in (None, "")
        }
        fields = run_fields(known)
        metadata = {name: value for name, value in others.items() if name not in _RUN_COLUMNS and value is not None}
        if metadata:
            fields["metadata"] = metadata
        identity = row.get(self.id)
        if identity not in (None, ""):
            fields["id"] = str(identity)
        return fields

    def records(self, stream: IO[bytes]) -> Iterator[tuple[int, Any]]:
        """The rows of a CSV file, each with the number of its line. A row that does not fit is given as an error.

        Args:
            stream: The file, in UTF-8. Cells are parted by the comma, semicolon or tab that the header has most of.

        Raises:
            ReadError: There is no header, a column is missing, or the file is no CSV.
        """
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            yield from self._rows(text)
        except csv.Error as error:
            raise ReadError(f"is no CSV: {error}") from None
        except UnicodeDecodeError as error:
            raise ReadError(f"is not UTF-8 (0x{error.object[error.start]:02x})") from None
        finally:
            text.detach()

    def _rows(self, text: io.TextIOWrapper) -> Iterator[tuple[int, Any]]:
        head = text.readline(_LONGEST_HEADER)
        if not head.strip():
            raise ReadError("is empty" if not head else "has an empty first line where the names of the columns belong")
        delimiter = max(_DELIMITERS, key=head.count)
        header = next(csv.reader([head], delimiter=delimiter, strict=True))
        if len(set(header)) < len(header):
            raise ReadError("has two columns of the same name")
        self._check(header)
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        rows = csv.reader(text, delimiter=delimiter, strict=True)
        for cells in rows:
            number = rows.line_num + 1
            if len(cells) == len(header):
                yield number, dict(zip(header, cells, strict=True))
            elif cells:
                yield number, ReadError(f"the row has {len(cells)} cells and the header {len(header)}")


_LONGEST_HEADER = 1 << 20
_LONGEST_CELL = 32 * 1024 * 1024
_default = Table()
decode = _default.decode
records = _default.records


def detect(record: Any) -> bool:
    """Never: which columns are input and output is for the user to say. A CSV file is known by its name."""
    return False


def _add(talk: Conversation, value: Any, role: Role) -> None:
    """Add what a cell holds: a list of messages, also as JSON text, or text."""
    if isinstance(value, str):
        read = structured(value)
        value = read if _are_messages(read) else value
    if not _are_messages(value):
        value = (
            []
            if value in (None, "")
            else [{"role": role, "content": value if isinstance(value, str) else _text(value)}]
        )
    for message in messages_of(value, role):
        feed(talk, message)


def _are_messages(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and len(objects(value)) == len(value)
        and all("role" in item for item in value)
    )


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
