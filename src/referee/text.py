"""Text: folding of typography and Unicode forms, and the Dice similarity.

Folding makes two spellings of the same words equal: curly and straight quotes, long and short dashes, no-break and
plain spaces, composed and decomposed letters. It keeps what carries meaning: superscripts, fractions, letters, case.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable

_QUOTES = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u2035\u2039\u203a",
    '"': "\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u301d\u301e\u301f",
    "'''": "\u2034\u2037",
}
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"
#: Characters without width that change nothing a reader sees: soft hyphen, zero-width, direction and invisible marks.
_INVISIBLE = "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
#: Every character but the plain space for which `str.isspace` is true (a test compares them).
_SPACES = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def _fold_table() -> dict[str, str]:
    table = dict.fromkeys(_SPACES, " ")
    table |= {character: plain for plain, characters in _QUOTES.items() for character in characters}
    table |= dict.fromkeys(_DASHES, "-") | dict.fromkeys(_INVISIBLE, "") | {"\u2026": "..."}
    # Full-width ASCII and the Latin and Armenian ligatures, whose compatibility forms are plain letters.
    for code in (*range(0xFF01, 0xFF5F), *range(0xFB00, 0xFB07), *range(0xFB13, 0xFB18)):
        table[chr(code)] = unicodedata.normalize("NFKC", chr(code))
    return table


_FOLD = _fold_table()
_FOLDED_CHARACTERS = frozenset(_FOLD)
#: White space in ASCII other than the space itself; `in` on each is faster than one pass of a regular expression.
_ASCII_SPACES = tuple(character for character in _SPACES if character < "\x80")
_has_folded_character = re.compile(f"[{re.escape(''.join(_FOLDED_CHARACTERS.difference(_ASCII_SPACES)))}]").search


def fold(text: str) -> str:
    """The text in NFC with typography folded to ASCII and every run of white space as one space.

    Folded are: Unicode spaces, zero-width characters and soft hyphens (removed), quotation marks, primes and
    dashes, the ellipsis, full-width ASCII, and presentation ligatures.

    Example:
        >>> fold("It\u2019s\u00a0 \u201cfine\u201d \u2013 caf\u0065\u0301\u2026")
        'It\\'s "fine" - café...'
    """
    for space in _ASCII_SPACES:
        if space in text:
            text = text.replace(space, " ")
    if text.isascii():
        return _collapse_spaces(text)
    if _has_folded_character(text):
        for character in _FOLDED_CHARACTERS.intersection(text):
            text = text.replace(character, _FOLD[character])
    return _collapse_spaces(unicodedata.normalize("NFC", text))


def _collapse_spaces(text: str) -> str:
    while "  " in text:
        text = text.replace("    ", " ").replace("  ", " ")
    return text


def without_spaces(text: str) -> str:
    """The text with all white space removed.

    Example:
        >>> without_spaces(" a b\\n c")
        'abc'
    """
    return "".join(text.split())


def dice(left: str, right: str) -> float:
    """Dice coefficient of the multisets of adjacent character pairs, 0 to 1. White space is not removed here.

    Equal texts, two empty ones too, give 1; otherwise a side of fewer than 2 characters gives 0.
    Source: L. R. Dice, "Measures of the Amount of Ecologic Association Between Species", 1945, on character pairs.

    Example:
        >>> dice("night", "nacht")
        0.25
    """
    return dice_with(right)(left)


def dice_with(reference: str) -> Callable[[str], float]:
    """`dice` against one fixed reference, which is analysed once. Uses NumPy where it is installed.

    Both ways give the same numbers; the extra `fast` installs NumPy.
    """
    if len(reference) < 2:
        return lambda text: 1.0 if text == reference else 0.0
    try:
        from referee.dice_numpy import shared_pairs_counter
    except ImportError:
        shared_pairs = _shared_pairs_counter(reference)
    else:
        shared_pairs = shared_pairs_counter(reference)
    own = len(reference) - 1

    def similarity(text: str) -> float:
        pairs = len(text) - 1
        if pairs < 1:
            return 0.0
        return 2.0 * shared_pairs(text) / (pairs + own)

    return similarity


def _counted(codes: bytes, width: int) -> Counter[int]:
    """How often each pair of adjacent characters occurs; `width` is the bytes of a character, a pair is one integer."""
    pair, size = ("H", 2) if width == 1 else ("Q", 8)
    even = array(pair, codes[: len(codes) // size * size])
    odd = codes[width:]
    return Counter(even + array(pair, odd[: len(odd) // size * size]))


def _shared_pairs_counter(reference: str) -> Callable[[str], int]:
    wide = _counted(reference.encode("utf-32-le", "surrogatepass"), 4)
    narrow = _counted(reference.encode("latin-1", "replace"), 1)
    latin = reference.isascii() or max(reference) < "\u0100"

    def shared(text: str) -> int:
        if latin:
            try:
                return _overlap(narrow, _counted(text.encode("latin-1"), 1))
            except UnicodeEncodeError:
                pass
        return _overlap(wide, _counted(text.encode("utf-32-le", "surrogatepass"), 4))

    return shared


def _overlap(reference: Counter[int], other: Counter[int]) -> int:
    count = other.get
    shared = 0
    for pair, most in reference.items():
        found = count(pair)
        if found:
            shared += most if most < found else found
    return shared
