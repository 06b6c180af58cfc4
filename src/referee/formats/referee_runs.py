"""Our own form of runs: JSON Lines, one run a line, with a schema version. `schema()` gives its JSON Schema.

A line may be written by hand: `input` and `output` may be plain text, and camelCase names are accepted.
"""

from __future__ import annotations

from typing import Any

import msgspec

from referee.errors import ReadError
from referee.formats.decoded import Counts, Decoded, Turns, increase
from referee.messages import Opaque, ToolCall, ToolResult
from referee.runs import Run, with_id

NAME = "referee"
TITLE = "Referee's own JSON Lines"

#: Raised when a reader of an earlier version could misread a line.
SCHEMA_VERSION = 1

_FIELDS = frozenset(Run.__struct_fields__)
_SECTIONS = ("input", "history", "system", "output")
_ROLE_OF = {"input": "user", "history": "user", "system": "system", "output": "assistant"}


class _Line(Run, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    schema_version: int = SCHEMA_VERSION


_decode_line = msgspec.json.Decoder(_Line).decode
_encode = msgspec.json.Encoder().encode


def detect(record: Any) -> bool:
    """Whether a record is one of our own: it has a schema version, or nothing but a run's fields with an output."""
    if not isinstance(record, dict):
        return False
    if "schema_version" in record:
        return True
    return (
        ("output" in record or "trajectory" in record)
        and all(_snake(key) in _FIELDS for key in record)
        and all(
            isinstance(record.get(section), (str, type(None))) or _are_messages(record[section])
            for section in _SECTIONS
            if section in record
        )
    )


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(message, dict) and "parts" in message for message in value)


def _snake(name: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record.

    Raises:
        ReadError: A field is unknown or of the wrong type; names its path.
    """
    plain = {_snake(key): value for key, value in record.items()} if isinstance(record, dict) else record
    if isinstance(plain, dict):
        version = plain.pop("schema_version", SCHEMA_VERSION)
        if version != SCHEMA_VERSION:
            raise ReadError(
                f"this line has schema version {version!r}; this release reads version {SCHEMA_VERSION}",
                field="schema_version",
            )
        for section in _SECTIONS:
            if isinstance(plain.get(section), str):
                plain[section] = [{"role": _ROLE_OF[section], "parts": [{"type": "text", "text": plain[section]}]}]
            elif section in plain and plain[section] is None:
                del plain[section]
        unknown = [key for key in plain if key not in _FIELDS]
        if unknown:
            raise ReadError(f"a run has no such field; its fields are {', '.join(sorted(_FIELDS))}", field=unknown[0])
    try:
        run = msgspec.convert(plain, Run)
    except msgspec.ValidationError as error:
        raise _located(error) from None
    return _decoded(run)


def _located(error: msgspec.ValidationError) -> ReadError:
    problem, _, path = str(error).partition(" - at `$")
    return ReadError(problem, field=path.rstrip("`").lstrip(".") or None)


def decode_line(line: bytes, turns: Turns = "all") -> Decoded | None:
    """Read a line that is exactly in our form; `None` when it is not, for `decode` to look at."""
    try:
        read = _decode_line(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    if read.schema_version != SCHEMA_VERSION:
        return None
    return _decoded(Run(**{field: getattr(read, field) for field in Run.__struct_fields__}))


def _decoded(run: Run) -> Decoded:
    counts = Counts()
    for section in _SECTIONS:
        for message in getattr(run, section):
            counts.messages_received += 1
            for part in message.parts:
                if isinstance(part, ToolCall):
                    counts.tool_calls_received += 1
                elif isinstance(part, ToolResult):
                    counts.results_received += 1
                elif isinstance(part, Opaque):
                    increase(counts.opaque, part.kind)
    counts.messages_kept, counts.tool_calls_kept = counts.messages_received, counts.tool_calls_received
    counts.results_kept = counts.results_received
    return Decoded([with_id(run)], counts)


def encode(run: Run) -> bytes:
    """One run as a line of our form, without the line's end.

    Example:
        >>> from referee.messages import Message, Text
        >>> encode(Run(id="r1", output=[Message("assistant", [Text("Hi.")])]))
        b'{"schema_version":1,"id":"r1","output":[{"role":"assistant","parts":[{"type":"text","text":"Hi."}]}]}'
    """
    return (
        b'{"schema_version":%d,' % SCHEMA_VERSION + _encode(run)[1:]
        if run.id
        else _encode({"schema_version": SCHEMA_VERSION, **msgspec.to_builtins(run)})
    )


def schema() -> dict[str, Any]:
    """The JSON Schema of one line."""
    described = msgspec.json.schema(_Line)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A run", **described}
