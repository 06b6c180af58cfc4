"""The Dice pair count with NumPy, three to four times as fast as the standard library alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt


def shared_pairs_counter(reference: str) -> Callable[[str], int]:
    """A function that counts the adjacent character pairs a text shares with the reference (as multisets)."""
    keys, wanted = np.unique(_wide_pairs(reference), return_counts=True)
    absent = len(keys)
    narrow = np.full(1 << 16, absent, dtype=np.int16 if absent < 1 << 15 else np.int64)
    in_latin = (keys >> np.uint64(32) < 256) & (keys & np.uint64(0xFFFFFFFF) < 256)
    narrow_keys = ((keys >> np.uint64(32)) << np.uint64(8) | (keys & np.uint64(0xFF))).astype(np.int64)
    narrow[narrow_keys[in_latin]] = np.flatnonzero(in_latin)
    buckets = absent + 1

    def shared(text: str) -> int:
        try:
            codes = np.frombuffer(text.encode("latin-1"), np.uint8).astype(np.uint16)
        except UnicodeEncodeError:
            pairs = _wide_pairs(text)
            places = np.searchsorted(keys, pairs).clip(max=absent - 1)
            places[keys[places] != pairs] = absent
        else:
            places = narrow[(codes[:-1] << 8) | codes[1:]]
        return int(np.minimum(np.bincount(places, minlength=buckets)[:absent], wanted).sum())

    return shared


def _wide_pairs(text: str) -> npt.NDArray[np.uint64]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    return (codes[:-1] << np.uint64(32)) | codes[1:]
