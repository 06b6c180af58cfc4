"""Entries of a zip file, read into memory one at a time and never written to disk.

The file is untrusted. What an entry may unpack to is limited, whatever its header claims, and names are only compared.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import IO

from referee.errors import ReadError

#: Text packs to about a tenth, logs that repeat themselves to a fiftieth; more than this is no log.
MAX_RATIO = 200
#: So much may be unpacked of any entry and of any file, whatever the ratio.
FREE_BYTES = 16 * 1024 * 1024
MAX_ENTRY_BYTES = 1 << 30
MAX_ENTRIES = 200_000

_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_STORED, _DEFLATED, _ZSTD = 0, 8, 93


class Archive:
    """The entries of a zip file.

    Args:
        stream: The file; it must be seekable.

    Raises:
        ReadError: It is no zip file, or a damaged one.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        try:
            with zipfile.ZipFile(stream) as directory:
                infos = directory.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeError) as error:
            raise ReadError(f"is a damaged zip file: {error}") from None
        if len(infos) > MAX_ENTRIES:
            raise ReadError(f"is a zip file of more than {MAX_ENTRIES:,} entries")
        self._entries = {info.filename: info for info in infos}
        self._left = max(FREE_BYTES, MAX_RATIO * sum(info.compress_size for info in self._entries.values()))

    @property
    def names(self) -> list[str]:
        """The names of the entries, in the file's order."""
        return list(self._entries)

    def read(self, name: str) -> bytes:
        """The content of an entry.

        Raises:
            ReadError: It is damaged, packed in an unknown way, or unpacks to far more than it may.
        """
        info = self._entries[name]
        most = min(MAX_ENTRY_BYTES, max(FREE_BYTES, MAX_RATIO * info.compress_size), self._left)
        try:
            packed = self._packed(info)
            content = _unpacked(packed, info.compress_type, most + 1)
        except (OSError, EOFError, zlib.error, struct.error, ValueError) as error:
            if isinstance(error, ReadError):
                raise
            raise ReadError(f"the zip entry {name!r} is damaged: {error}") from None
        if len(content) > most:
            raise ReadError(
                f"the zip entry {name!r} unpacks to more than {most:,} bytes, far more than it is packed in"
            )
        self._left -= len(content)
        if zlib.crc32(content) != info.CRC:
            raise ReadError(f"the zip entry {name!r} is damaged: its checksum is wrong")
        return content

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        self._stream.seek(info.header_offset)
        header = self._stream.read(_LOCAL_HEADER.size)
        mark, *_, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        if mark != b"PK\x03\x04":
            raise ValueError("its header is missing")
        if info.flag_bits & 0x1:
            raise ValueError("it is encrypted")
        self._stream.seek(name_length + extra_length, 1)
        return self._stream.read(info.compress_size)


def _unpacked(packed: bytes, method: int, most: int) -> bytes:
    if method == _STORED:
        return packed[:most]
    if method == _DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
    if method == _ZSTD:
        import zstandard

        try:
            reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True)
            return bytes(reader.read(most))
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
    raise ValueError(f"it is packed by method {method}, which Referee does not read")
