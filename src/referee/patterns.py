"""Regular expressions that can't hang: every one is compiled here, and every search is given a time limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import regex

from referee.display import quoted
from referee.errors import OptionError

#: A pattern that works longer than this on one text is an error of the check, not a hang.
REGEX_SECONDS = 1.0

FLAGS = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL}
#: Short patterns that can't backtrack: no repetition but `{n}`, no group, no reference. One takes at most some hundred
#: steps at each place of a text, so that a text of `_SHORT_TEXT` characters takes it a fraction of a second.
_is_bounded = re.compile(r"(?=.{,64}\Z)(?:\\[bBdDsSwW]|\\[^\w\s]|[^\\*+?{(]|\{\d{1,2}\})*").fullmatch
_SHORT_TEXT = 4000
_PORTABLE_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII


def compile_pattern(pattern: str | re.Pattern[str] | Mapping[str, str]) -> regex.Pattern[str]:
    """The pattern as one of the `regex` library, which can stop a search that takes too long.

    Args:
        pattern: A string with inline flags, a compiled pattern, or `{"pattern": ..., "flags": "ims"}`, where other
            JavaScript flags are ignored.

    Raises:
        OptionError: It does not compile.

    Example:
        >>> finder(compile_pattern(r"\\d+ €"))("It costs 12 €.")
        True
    """
    if isinstance(pattern, Mapping):
        source, flags, letters = pattern.get("pattern"), 0, pattern.get("flags", "")
        if not isinstance(letters, str):
            raise OptionError(f"the flags of a pattern are letters, like 'im', not {letters!r}")
        for letter in letters:
            flags |= FLAGS.get(letter, 0)
    elif isinstance(pattern, re.Pattern):
        source, flags = pattern.pattern, pattern.flags & _PORTABLE_FLAGS
    else:
        source, flags = pattern, 0
    if not isinstance(source, str):
        raise OptionError(f"a pattern is a string, not {type(source).__name__}")
    try:
        return regex.compile(source, flags | regex.VERSION0)
    except (regex.error, RecursionError) as error:
        raise OptionError(f"the pattern {quoted(source)} does not compile: {error}") from None


def finder(pattern: regex.Pattern[str], *, whole: bool = False) -> Callable[[str], bool]:
    """A function that says whether the pattern is found in a text, or matches the `whole` text.

    It raises `TimeoutError` when it works longer than `REGEX_SECONDS`.
    """
    find = pattern.fullmatch if whole else pattern.search
    unwatched = _SHORT_TEXT if _is_bounded(pattern.pattern) else -1

    def search(text: str) -> bool:
        if len(text) <= unwatched:  # watching the time costs more than such a search
            return find(text) is not None
        try:
            return find(text, timeout=REGEX_SECONDS) is not None
        except TimeoutError:
            raise TimeoutError(
                f"/{pattern.pattern}/ worked longer than {REGEX_SECONDS:g} s on {len(text):,} characters: it backtracks"
            ) from None

    return search
