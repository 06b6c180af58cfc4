"""What passes between this process and the one that scores for it: plain data in frames, never code."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from referee.display import told

T = TypeVar("T")

#: The content of a frame.
Frame: TypeAlias = bytes | bytearray

#: In place of an experiment: the runs that were dropped follow.
DROPS = ""

_LENGTH = 4
#: First byte of a frame's content: MessagePack, or JSON for what that can't hold (numbers beyond 64 bits, lone surrogates).
_PACKED, _JSON = b"p", b"j"
#: What MessagePack writes before the length of a long list.
_LIST = b"\xdd"


_pack = msgspec.msgpack.Encoder(enc_hook=told).encode


def encode(value: Any) -> bytes:
    """A value as bytes. An object that is no plain data stands as its `repr`.

    Example:
        >>> decode(encode({"n": 2**70, "text": "\\ud800"}), dict)
        {'n': 1180591620717411303424, 'text': '\\ud800'}
    """
    try:
        return _PACKED + _pack(value)
    except (OverflowError, UnicodeEncodeError):
        plain = msgspec.to_builtins(value, enc_hook=told)
        return _JSON + json.dumps(plain).encode()


def encode_list(values: Sequence[Any]) -> bytes:
    """A list as `encode` writes it, one value at a time: between them other threads have their turn.

    Example:
        >>> decode(encode_list(["a", {"b": 1}]), list)
        ['a', {'b': 1}]
    """
    try:
        packed = [_pack(value) for value in values]
    except (OverflowError, UnicodeEncodeError):
        return encode(values)
    return b"".join((_PACKED, _LIST, len(packed).to_bytes(4, "big"), *packed))


def decode(content: Frame, type: type[T]) -> T:
    """The value that `encode` wrote.

    Raises:
        msgspec.ValidationError: It is of another type.
    """
    if content.startswith(_PACKED):
        return msgspec.msgpack.decode(memoryview(content)[1:], type=type)
    return msgspec.convert(json.loads(content[1:]), type)


def send(descriptor: int, content: bytes) -> None:
    """Write one frame, with its length before it.

    Raises:
        OSError: Nobody reads any more.
    """
    for part in (len(content).to_bytes(_LENGTH, "big"), content):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int) -> bytearray | None:
    """Read one frame; `None` at the end of the stream, also in the middle of a frame."""
    head = _read(descriptor, _LENGTH)
    return None if head is None else _read(descriptor, int.from_bytes(head, "big"))


def _read(descriptor: int, count: int) -> bytearray | None:
    """So many bytes, read to where they stay: pieces of a megabyte, cut to what came, would leave holes in the memory."""
    content = bytearray(count)
    rest = memoryview(content)
    with io.FileIO(descriptor, closefd=False) as stream:
        while rest:
            done = stream.readinto(rest)
            if not done:
                return None
            rest = rest[done:]
    return content


def take_pipes() -> tuple[int, int]:
    """The pipes to the parent, out of reach of scorers that print or read: those get standard error and nothing."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return requests, replies
