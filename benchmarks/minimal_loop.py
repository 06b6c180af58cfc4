"""The limit for the quick checks: a hand-written loop that decodes each run and does the eleven checks, and nothing else.

It knows this one format, keeps no reason, no outcome but a number, no identity, and folds no text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import workload as wanted


class Function(msgspec.Struct, gc=False):
    name: str
    arguments: str


class Call(msgspec.Struct, gc=False):
    function: Function


class Message(msgspec.Struct, gc=False):
    role: str
    content: str | None = None
    tool_calls: list[Call] | None = None


class ExpectedCall(msgspec.Struct, gc=False):
    name: str
    arguments: dict[str, Any]


class Expected(msgspec.Struct, gc=False):
    tool_calls: list[ExpectedCall] = []


class Record(msgspec.Struct, gc=False):
    id: str
    messages: list[Message]
    expected: Expected


class MaybeError(msgspec.Struct, gc=False):
    error: msgspec.UnsetType | object = msgspec.UNSET


_decode = msgspec.json.Decoder(Record).decode
_decode_any = msgspec.json.decode
_decode_error = msgspec.json.Decoder(MaybeError).decode
_search = re.compile(wanted.PATTERN).search
_REFERENCE = "".join(wanted.REFERENCE.lower().split())

Dice = Callable[[str], float]


def counter_dice() -> Dice:
    """Dice with `collections.Counter`, the reference's pairs counted once."""
    own, size = Counter(map(str.__add__, _REFERENCE, _REFERENCE[1:])), len(_REFERENCE) - 1

    def dice(text: str) -> float:
        pairs = len(text) - 1
        if pairs < 1:
            return 0.0
        count = Counter(map(str.__add__, text, text[1:]))
        shared = 0
        for pair, most in own.items():
            found = count.get(pair)
            if found:
                shared += most if most < found else found
        return 2.0 * shared / (pairs + size)

    return dice


def numpy_dice() -> Dice:
    """Dice with NumPy's `bincount` over pairs of Latin-1 codes."""
    import numpy as np

    codes = np.frombuffer(_REFERENCE.encode("latin-1"), np.uint8).astype(np.uint16)
    counts = np.bincount((codes[:-1] << 8) | codes[1:], minlength=65536)
    keys = np.flatnonzero(counts)
    most, size, other = counts[keys], len(_REFERENCE) - 1, counter_dice()

    def dice(text: str) -> float:
        pairs = len(text) - 1
        if pairs < 1:
            return 0.0
        try:
            coded = np.frombuffer(text.encode("latin-1"), np.uint8).astype(np.uint16)
        except UnicodeEncodeError:
            return other(text)
        found = np.bincount((coded[:-1] << 8) | coded[1:], minlength=65536)[keys]
        return 2.0 * int(np.minimum(found, most).sum()) / (pairs + size)

    return dice


def score(record: Record, dice: Dice) -> tuple[float, ...]:
    """The eleven checks on one record."""
    texts, names, calls, bad = [], [], [], False
    for message in record.messages:
        if message.role == "assistant":
            if message.content:
                texts.append(message.content)
            for call in message.tool_calls or ():
                names.append(call.function.name)
                calls.append(call.function)
        elif message.role == "tool" and not bad:
            content = message.content
            if content and content[0] == "{" and '"error"' in content:
                with suppress(msgspec.DecodeError):
                    bad = bool(_decode_error(content).error)
    text = " ".join(texts)
    lower = text.lower()
    step = 0
    for name in names:
        if name == wanted.ORDER[step]:
            step += 1
            if step == len(wanted.ORDER):
                break
    expected = record.expected.tool_calls
    same = len(expected) == len(calls) and all(
        made.name == wish.name and _decode_any(made.arguments) == wish.arguments for made, wish in zip(calls, expected)
    )
    return (
        1.0 if wanted.INCLUDES in lower else 0.0,
        0.0 if wanted.EXCLUDES in lower else 1.0,
        1.0 if _search(text) else 0.0,
        dice("".join(lower.split())),
        1.0 if wanted.CALLED in names else 0.0,
        0.0 if wanted.FORBIDDEN in names else 1.0,
        1.0 if step == len(wanted.ORDER) else 0.0,
        1.0 if len(names) <= wanted.MAX_CALLS else 0.0,
        0.0 if bad else 1.0,
        1.0 if names == wanted.STRICT_ORDER else 0.0,
        1.0 if same else 0.0,
    )


def sums(path: Path, dice: Dice) -> list[float]:
    """The sum of each check over a file."""
    total = [0.0] * 11
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            for place, value in enumerate(score(_decode(line), dice)):
                total[place] += value
    return total
