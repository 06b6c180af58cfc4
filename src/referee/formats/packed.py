"""Compressed streams, told by their first bytes and not by their names."""

from __future__ import annotations

import gzip
import io
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

#: Ends of names that say how a file is packed.
PACKED_SUFFIXES = (".gz", ".zst")
ZIP = (b"PK\x03\x04", b"PK\x05\x06")

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_BUFFER = 1 << 20
#: So little is unpacked at a time that even the most hostile data does not blow up: a byte may become 32 kilobytes.
_PIECE = 1024
#: A stream up to this size is kept in memory where a file is needed that can be read back and forth.
_IN_MEMORY = 16 * 1024 * 1024


class DamagedError(OSError):
    """Compressed data that can't be unpacked."""


def unpacked(raw: IO[bytes]) -> io.BufferedReader:
    """The stream itself, or what a gzip or Zstandard stream holds, also when it consists of several members.

    Reading raises `DamagedError` where the data is damaged or cut.
    """
    stream = raw if hasattr(raw, "peek") else io.BufferedReader(cast("io.RawIOBase", raw))
    head = stream.peek(4)[:4]
    if head.startswith(_GZIP):
        return io.BufferedReader(_Gzip(stream), _BUFFER)
    if head.startswith(_ZSTD):
        return io.BufferedReader(_Zstd(stream), _BUFFER)
    return cast("io.BufferedReader", stream)


@contextmanager
def seekable(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """The stream at its start, or a temporary copy of it where it can't be read back and forth."""
    if type(getattr(stream, "raw", None)) is io.FileIO and stream.seekable():
        stream.seek(0)
        yield stream
        return
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        shutil.copyfileobj(stream, copy, _BUFFER)
        copy.seek(0)
        yield cast("IO[bytes]", copy)


class _Gzip(io.RawIOBase):
    def __init__(self, stream: Any) -> None:
        self._file = gzip.GzipFile(fileobj=stream, mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return self._file.readinto(buffer)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DamagedError(str(error)) from None


class _Zstd(io.RawIOBase):
    """Unpacks frame after frame. The library's own stream reader takes a cut frame for the end."""

    def __init__(self, stream: Any) -> None:
        import zstandard

        self._stream = stream
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._problem = zstandard.ZstdError
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._packed:
                self._packed = self._stream.read(_PIECE)
            if not self._packed:
                if self._frame is not None:
                    raise DamagedError("it ends in the middle of a frame")
                return 0
            self._ready = memoryview(self._more())
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _more(self) -> bytes:
        try:
            if self._frame is None:
                self._frame = self._new()
            content = bytes(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed = self._frame.unused_data
                self._frame = None
        except self._problem as error:
            raise DamagedError(str(error)) from None
        return content
