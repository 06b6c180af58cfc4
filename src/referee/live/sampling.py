"""Sampling: which runs a scorer looks at. Decided by a hash of the trace's id, so that everybody decides alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from referee.errors import OptionError

#: Whether the run of this key (the trace's id, or the run's where there is no trace) is looked at.
Sample: TypeAlias = Callable[[str], bool]


def unit_interval(key: str) -> float:
    """A number in [0, 1) that stands for a key: the first 48 bits of its SHA-256. The same in every process.

    It is the number of the reference, so both choose the same traces.

    Example:
        >>> unit_interval("4bf92f3577b34da6a3ce929d0e0e4736")
        0.22477405853511812
    """
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def sampler(sampling: Any, where: str) -> Sample | None:
    """The decision that plain data describes; `None` when every run is looked at.

    Args:
        sampling: `None` or `{"type": "none"}` for every run, or `{"type": "ratio", "rate": 0.1}` for a tenth of them.
        where: Where the data stands, for the error.

    Raises:
        OptionError: The data describes no sampling.

    Example:
        >>> sample = sampler({"type": "ratio", "rate": 0.5}, "scorers.tone.sampling")
        >>> [sample(trace) for trace in ("a", "b", "c", "d")]
        [False, True, True, True]
    """
    if sampling is None:
        return None
    if not isinstance(sampling, Mapping) or sampling.get("type") not in ("ratio", "none"):
        raise OptionError(
            f'{where}: expected {{"type": "ratio", "rate": 0 to 1}} or {{"type": "none"}}, not {sampling!r}'
        )
    known = {"type", "rate"} if sampling["type"] == "ratio" else {"type"}
    for name in sampling:
        if name not in known:
            raise OptionError(f"{where}: there is no option {name!r}; there are: {', '.join(sorted(known))}")
    if sampling["type"] == "none":
        return None
    rate = sampling.get("rate")
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= 1:
        raise OptionError(f"{where}.rate: must be a number from 0 to 1, not {rate!r}")
    return lambda key: unit_interval(key) < rate
