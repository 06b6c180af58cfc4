"""Words: what a text is made of, in every script.

A word is a run of letters, digits and the marks that belong to them (`\\w` of Python's `re` splits Hindi and Thai).
Scripts that are written without spaces have no visible words; their runs become overlapping pairs of characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise

import regex

from referee.errors import OptionError
from referee.text import fold

#: Letters, digits and combining marks of the scripts without spaces; Han and Kana are written together. The two
#: lengthening marks of Kana belong to no script.
_UNSPACED = "|".join(
    rf"[{script}&&[\p{{L}}\p{{N}}\p{{M}}]]+"
    for script in (
        r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70]",
        r"\p{Thai}",
        r"\p{Lao}",
        r"\p{Khmer}",
        r"\p{Myanmar}",
    )
)
_UNINFLECTED = regex.compile(f"(?V1){_UNSPACED}")
_SPACED = r"[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
_RUN = regex.compile(rf"(?V1)(?P<unspaced>{_UNSPACED})|{_SPACED}(?:{_SPACED}|[\p{{Mn}}\p{{Mc}}])*")
_LETTERS = r"[\p{L}\p{N}][\p{L}\p{N}\p{Mn}\p{Mc}]*"
_SPELLED = regex.compile(rf"{_LETTERS}(?:['-]{_LETTERS})*")
#: They choose the look of the character before them (an emoji, a Han variant) and belong to no word.
_VARIATION_SELECTORS = regex.compile(r"[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
#: What carries meaning in Japanese: Hiragana between it are mostly particles and endings.
_JAPANESE_CONTENT = regex.compile(r"(?P<han>\p{Han}+)|[\p{Katakana}\u30fc\uff70]+")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
#: A character as a reader sees it, with the vowel and tone marks that belong to it.
_GRAPHEME = regex.compile(r"\X")
_CAMEL_HUMP = regex.compile(r"(?<=\p{Ll}\p{Mn}*)(?=\p{Lu})|(?<=\p{Lu}\p{Mn}*)(?=\p{Lu}\p{Mn}*\p{Ll})")
_DIACRITIC = regex.compile(r"[\u0300-\u036f]+")

#: Stands for a language without a dictionary.
ANY_LANGUAGE = "any"
#: Languages that are written without spaces between words.
UNSPACED_LANGUAGES = frozenset({"ja", "km", "lo", "my", "th", "zh"})
#: Languages whose words are taken as they stand: there is no dictionary of their forms.
_UNLISTED = UNSPACED_LANGUAGES | {"ko"}

#: No dictionary has longer words; looking one up takes time that grows with its square.
_LONGEST_INFLECTED = 64


def words(text: str) -> list[str]:
    """The words of a text as they are written, in order; of scripts without spaces the pairs of characters.

    Typography is folded (`referee.text.fold`) and the text is in NFC. A single character of a script without spaces
    stands alone.

    Example:
        >>> words("L\u2019été, snake_case: 3.14"), words("今天天气 は")
        (['L', 'été', 'snake', 'case', '3', '14'], ['今天', '天天', '天气', 'は'])
    """
    found: list[str] = []
    for match in _RUN.finditer(_VARIATION_SELECTORS.sub("", fold(text))):
        run = match.group()
        if match.lastgroup and len(run) > 2:
            found += map("".join, pairwise(run))
        else:
            found.append(run)
    return found


def spelled_words(text: str) -> list[str]:
    """The words of a text with their inner apostrophes and hyphens; a run of any script is one word.

    Example:
        >>> spelled_words("Don\u2019t forget: ice-cold JavaScript,TypeScript 天气")
        ["Don't", 'forget', 'ice-cold', 'JavaScript', 'TypeScript', '天气']
    """
    return _SPELLED.findall(_VARIATION_SELECTORS.sub("", fold(text)))


def segments(text: str, stop: frozenset[str]) -> list[str]:
    """Pieces of a text in a script without spaces that stand for its content words, in order.

    Function words end a piece: in Japanese everything in Hiragana beside other scripts, elsewhere the stop words. A
    Katakana word is one piece; of all others the overlapping pairs of characters are given, with their vowel and tone
    marks. Words in other scripts stay whole.

    Args:
        text: The text.
        stop: The language's stop words.

    Example:
        >>> segments("天气的预报", frozenset("的")), segments("ホテルの予約をする Wi-Fi", frozenset())
        (['天气', '预报'], ['ホテル', '予約', 'Wi', 'Fi'])
    """
    stops = _alternatives(stop)
    found: list[str] = []
    for match in _RUN.finditer(_VARIATION_SELECTORS.sub("", fold(text))):
        run = match.group()
        if not match.lastgroup:
            found.append(run)
        elif _KANA.search(run):
            found += _japanese_segments(run)
        else:
            for piece in stops.split(run) if stops else [run]:
                found += _pairs(piece)
    return found


def _japanese_segments(run: str) -> list[str]:
    found: list[str] = []
    for match in _JAPANESE_CONTENT.finditer(run):
        found += _pairs(match.group()) if match.lastgroup else [match.group()]
    return found or _pairs(run)


def _pairs(run: str) -> list[str]:
    """The overlapping pairs of a run's characters; a single character alone."""
    characters = _GRAPHEME.findall(run)
    return characters if len(characters) < 2 else list(map("".join, pairwise(characters)))


@lru_cache(maxsize=16)
def _alternatives(stop: frozenset[str]) -> regex.Pattern[str] | None:
    """Finds stop words inside a run, the longest first; `None` when there are none."""
    found = sorted(filter(_UNINFLECTED.fullmatch, stop), key=lambda word: (-len(word), word))
    return regex.compile("|".join(map(regex.escape, found))) if found else None


def split_camel_case(text: str) -> str:
    """The text with a space at each hump of a word.

    Example:
        >>> split_camel_case("getUserName of JSONFile")
        'get User Name of JSON File'
    """
    return _CAMEL_HUMP.sub(" ", text)


def plain(word: str) -> str:
    """The word in lower case without diacritics (U+0300 to U+036F), in NFC.

    Example:
        >>> plain("Crème"), plain("Łódź"), plain("हिन्दी")
        ('creme', 'łodz', 'हिन्दी')
    """
    if word.isascii():
        return word.lower()
    bare = _DIACRITIC.sub("", unicodedata.normalize("NFD", word.lower()))
    return unicodedata.normalize("NFC", bare)


def distinct(words: Iterable[str]) -> list[str]:
    """The words without repetition, in the order of their first appearance."""
    return list(dict.fromkeys(words))


def base_forms(language: str) -> Callable[[str], str]:
    """A function that gives the base form of a word of the language: was -> be, studies -> study.

    A word that the language's dictionary does not know stays as it is. The dictionary is loaded at the first word.

    Args:
        language: A code such as `en`; `any` leaves all words as they are, and so do languages without a dictionary
            (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese).

    Raises:
        OptionError: There is no dictionary of that language.

    Example:
        >>> list(map(base_forms("en"), ["went", "written", "Ghent"])), base_forms(ANY_LANGUAGE)("went")
        (['go', 'write', 'Ghent'], 'went')
    """
    from simplemma import lemmatize
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    if not isinstance(language, str) or language not in {ANY_LANGUAGE, *_UNLISTED, *SUPPORTED_LANGUAGES}:
        known = ", ".join(sorted(SUPPORTED_LANGUAGES | _UNLISTED))
        raise OptionError(
            f"language must be one of {known}; 'auto' to find it; or {ANY_LANGUAGE!r} for words as they stand; not {language!r}"
        )
    if language not in SUPPORTED_LANGUAGES:
        return str

    def base_form(word: str) -> str:
        if len(word) > _LONGEST_INFLECTED or _UNINFLECTED.match(word):
            return word
        return lemmatize(word, language)

    return base_form
