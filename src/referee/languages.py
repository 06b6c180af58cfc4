"""Languages: which one a text is written in, by its script and its small words.

A script that one language uses decides at once. Where many languages share a script, the language whose stop words and
special letters occur most often is taken: an everyday sentence has several of them.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import regex

from referee.stopwords import stop_words
from referee.words import ANY_LANGUAGE, spelled_words

#: Stands for "look at the text".
AUTO = "auto"

#: The languages that share a script; English stands first, so that it wins where nothing decides.
_LATIN = (
    "en",
    "fr",
    "de",
    "es",
    "it",
    "pt",
    "nl",
    "sv",
    "da",
    "nb",
    "fi",
    "pl",
    "cs",
    "sk",
    "hu",
    "ro",
    "ca",
    "tr",
    "id",
)
_BY_SCRIPT: dict[str, tuple[str, ...]] = {
    "Latin": _LATIN,
    "Cyrillic": ("ru", "uk", "bg"),
    "Arabic": ("ar", "fa"),
    "Han": ("zh",),
    "Kana": ("ja",),
    "Hangul": ("ko",),
    "Thai": ("th",),
    "Lao": ("lo",),
    "Khmer": ("km",),
    "Myanmar": ("my",),
    "Devanagari": ("hi",),
    "Greek": ("el",),
    "Hebrew": ("he",),
}
_SCRIPT = {name: regex.compile(rf"\p{{{name}}}") for name in _BY_SCRIPT if name != "Kana"} | {
    "Kana": regex.compile(r"[\p{Hiragana}\p{Katakana}]")
}
#: Letters that few other languages of the script have. The Arabic list of stop words is short, so letters matter there.
_LETTERS = {
    "ar": "ةىيكأإ",
    "cs": "ěřů",
    "de": "ß",
    "es": "ñ¿¡",
    "fa": "پچژگکی",
    "fr": "œùê",
    "hu": "őű",
    "pl": "ąęłśźż",
    "pt": "ãõ",
    "ro": "ășț",
    "ru": "ыэё",
    "tr": "ğış",
    "uk": "іїєґ",
}
#: A text whose Han and Kana hold at least this share of Kana is Japanese; a Chinese text may quote a Japanese word.
_JAPANESE = 0.1
#: So much of a long text is looked at.
_SAMPLE = 4000


def detect_language(text: str) -> str:
    """The language of a text, as a code such as `en`, or `any` where nothing decides.

    Known are English, French, German, Spanish, Italian, Portuguese, Dutch, Swedish, Danish, Norwegian, Finnish, Polish,
    Czech, Slovak, Hungarian, Romanian, Catalan, Turkish, Indonesian, Russian, Ukrainian, Bulgarian, Arabic, Persian,
    Hindi, Greek, Hebrew, Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese. The first 4,000 characters are looked
    at. Languages that share a script are told apart by their stop words and letters, so a few names may be `any`.

    Example:
        >>> detect_language("Wie wird das Wetter in Gent?"), detect_language("今日の天気は"), detect_language("Ghent")
        ('de', 'ja', 'any')
    """
    sample = text[:_SAMPLE]
    letters = {name: len(script.findall(sample)) for name, script in _SCRIPT.items()}
    if letters["Kana"] >= _JAPANESE * (letters["Kana"] + letters["Han"]):
        letters["Kana"] += letters.pop("Han")
    script = max(letters, key=lambda name: letters[name])
    if not letters[script]:
        return ANY_LANGUAGE
    candidates = _BY_SCRIPT[script]
    return candidates[0] if len(candidates) == 1 else _by_words_and_letters(sample, candidates)


def _by_words_and_letters(text: str, candidates: tuple[str, ...]) -> str:
    hits: Counter[str] = Counter()
    languages = _languages_of(candidates)
    for word in spelled_words(text):
        hits.update(languages.get(word.lower(), ()))
    for language in candidates:
        hits[language] += sum(map(text.lower().count, _LETTERS.get(language, "")))
    best = max(candidates, key=lambda language: hits[language])
    return best if hits[best] else ANY_LANGUAGE


@lru_cache(maxsize=8)
def _languages_of(candidates: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Each stop word with the languages that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for language in candidates:
        for word in stop_words(language):
            found[word] = (*found.get(word, ()), language)
    return found
