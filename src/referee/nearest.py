"""The name that somebody meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error about a name that there is not: the nearest one, or nothing.

    Example:
        >>> did_you_mean("wether", ["weather", "ferries"])
        "; did you mean 'weather'?"
    """
    from difflib import get_close_matches  # only a mistake needs it

    found = get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""
