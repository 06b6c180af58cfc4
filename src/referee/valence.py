"""Valence: how positive or negative the words of an English text are, by the word list AFINN.

AFINN was made by Finn Årup Nielsen ("A new ANEW: Evaluation of a word list for sentiment analysis in microblogs",
2011) and rates some 3,400 English words from -5 to +5. The list is under the Open Database License; it is read from
the package `afinn`, of whose code nothing is run.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import regex

from referee.errors import MissingExtraError
from referee.text import fold
from referee.words import spelled_words

_LIST = Path("data") / "AFINN-en-165.txt"
#: The full stops, exclamation and question marks of all scripts that fold to none in ASCII.
_SENTENCE = regex.compile(r"[^.!?。।॥؟۔]+")


@cache
def ratings() -> dict[str, int]:
    """The word list.

    Raises:
        MissingExtraError: The package `afinn` is not installed.

    Example:
        >>> ratings()["superb"], ratings()["awful"]
        (5, -3)
    """
    package = find_spec("afinn")
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError("The tone scorer", package="afinn", extra="tone")
    text = (Path(package.submodule_search_locations[0]) / _LIST).read_text(encoding="utf-8")
    lines = (line.rpartition("\t") for line in text.splitlines())
    return {word: int(rating) for word, _, rating in lines if word}


def valence(text: str) -> float:
    """The mean rating of the text's words, -5 to +5. A word that the list lacks counts 0, a text without words too.

    Example:
        >>> valence("A superb meal."), valence("")
        (1.6666666666666667, 0.0)
    """
    words = spelled_words(text)
    known = ratings()
    return sum(known.get(word.lower(), 0) for word in words) / len(words) if words else 0.0


def sentences(text: str) -> list[str]:
    """The sentences of a text: what stands between full stops, exclamation and question marks.

    A full stop ends a sentence wherever it stands, in a number too; the last sentence needs none.

    Example:
        >>> sentences("Fine. Is it? 3.5 stars")
        ['Fine', ' Is it', ' 3', '5 stars']
    """
    return [sentence for sentence in _SENTENCE.findall(fold(text)) if not sentence.isspace()]
