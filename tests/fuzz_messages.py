"""Fuzzes the readers with bytes: `python tests/fuzz_messages.py -runs=100000 CORPUS_FOLDER`.

Anything but a `ReadError` ends it. The options are libFuzzer's. It needs `atheris`, of the dependency group `fuzz`.
"""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["referee"]):
        from referee import ReadError, read_runs, to_run
        from referee.formats import FORMATS, decode_record, get_format
        from referee.formats.sources import parse_json

        readers = [get_format(name) for name in FORMATS]
        fast = [reader for reader in readers if hasattr(reader, "decode_line")]

    def read_lines(data: bytes, record: Any) -> None:
        """The fast way of a line reads it as the full way does."""
        for reader in fast:
            decoded = reader.decode_line(data, "all")
            if decoded is not None and reader.detect(record):
                assert decoded == decode_record(reader, record), reader.NAME

    def read(data: bytes) -> None:
        """Read the bytes as a file and, where they are JSON, as a record of every format."""
        for _ in read_runs(io.BytesIO(data), on_error="collect"):
            pass
        try:
            record = parse_json(data)
        except ReadError:
            return
        with contextlib.suppress(ReadError):
            to_run(record)
        read_lines(data, record)
        for reader in readers:
            with contextlib.suppress(ReadError):
                decode_record(reader, record)

    atheris.Setup(sys.argv, read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
