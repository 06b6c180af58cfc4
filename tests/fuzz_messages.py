"""Fuzzes the readers with bytes: `python tests/fuzz_messages.py -runs=100000 CORPUS_FOLDER`.

Anything but a `ReadError` ends it. The options are libFuzzer's. It needs `atheris`, of the dependency group `fuzz`.
"""

from __future__ import annotations

import contextlib
import io
import sys


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["referee"]):
        from referee import ReadError, read_runs, to_run
        from referee.formats import FORMATS, decode_record, get_format
        from referee.formats.sources import parse_json

        readers = [get_format(name) for name in FORMATS]

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
        for reader in readers:
            with contextlib.suppress(ReadError):
                decode_record(reader, record)

    atheris.Setup(sys.argv, read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
