"""Completeness: how much of what the user names does the answer name too?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from referee.languages import AUTO, detect_language
from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.steps import Results
from referee.words import base_forms, distinct, plain, split_camel_case, words

#: An element of at most this many characters is covered only by its equal.
_SHORT = 3
#: One element covers another that contains it when the shorter has more than this share of the longer's length.
_OVERLAP = 0.6
#: Words up to this length are taken apart; the number of parts grows with the square of the length.
_DIVISIBLE = 64


class ElementCounts(msgspec.Struct, frozen=True, gc=False):
    """How many elements the two texts have."""

    input: int
    output: int


class Completeness(msgspec.Struct, frozen=True):
    """The elements of the two texts in order of first appearance, and those of the input that the output leaves out."""

    input_elements: list[str]
    output_elements: list[str]
    missing_elements: list[str]
    element_counts: ElementCounts


def create_completeness_scorer(language: str = "en", *, id: str = "completeness-scorer") -> Scorer[Completeness, None]:
    """The share of the input's elements that the output covers, 0 to 1.

    Elements are the words of a text in their base form (was -> be, studies -> study), split at camelCase, without
    diacritics, in lower case, each once. Scripts written without spaces (Han and Kana, Thai, Lao, Khmer, Myanmar)
    give overlapping pairs of characters. An element of at most 3 characters must occur in the output as it is; a
    longer one is also covered when one of the two contains the other and the shorter has more than 60 % of the
    longer's length.

    The input is the text of this turn's user messages, the output that of all assistant messages. An input without
    elements scores 1 when the output has none either, else 0.

    Args:
        language: The language of the base forms, such as `en`, `de` or `fr`. `auto` finds the language of each run
            (see `referee.languages`). `any` takes words as they stand, for a language without a dictionary.
        id: Another id than the reference's.

    Raises:
        OptionError: The language is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> run = create_agent_test_run(input_messages="List apples and prices", output="An apple costs 1 euro.")
        >>> score = create_completeness_scorer().run_sync(run)
        >>> score.score, score.preprocess_step_result.missing_elements
        (0.25, ['list', 'and', 'price'])
    """
    always = None if language == AUTO else base_forms(language)

    def preprocess(run: Run) -> Completeness:
        base_form = always or base_forms(detect_language(f"{run.input_text}\n{run.output_text}"))
        asked, given = elements(run.input_text, base_form), elements(run.output_text, base_form)
        return Completeness(asked, given, missing(asked, given), ElementCounts(len(asked), len(given)))

    def generate_score(run: Run, results: Results[Completeness, None]) -> float:
        return coverage(results.preprocess_step_result)

    def generate_reason(run: Run, results: Results[Completeness, None]) -> str:
        return _reason(results.preprocess_step_result)

    scorer: Scorer[None, None] = create_scorer(id=id, description="The answer covers what the user's text names.")
    built = scorer.preprocess(preprocess).generate_score(generate_score).generate_reason(generate_reason)
    return built.as_kind("completeness", {"language": language})


def elements(text: str, base_form: Callable[[str], str]) -> list[str]:
    """The elements of a text, each once, in order of first appearance.

    Example:
        >>> elements("The readers wrote userNames", base_forms("en"))
        ['the', 'reader', 'write', 'user', 'name']
    """
    return distinct(plain(base_form(word.lower())) for word in words(split_camel_case(text)))


def missing(asked: Sequence[str], given: Iterable[str]) -> list[str]:
    """The elements of `asked` that no element of `given` covers.

    Example:
        >>> missing(["cat", "weather", "photosynthesis"], ["cats", "weathers", "photosynthetic"])
        ['cat', 'photosynthesis']
    """
    known = set(given)
    left_out = {element for element in asked if element not in known}
    left_out -= _overlapping({element for element in left_out if len(element) > _SHORT}, known)
    return [element for element in asked if element in left_out]


def _overlapping(asked: set[str], known: set[str]) -> set[str]:
    """The elements of `asked` that contain a known one, or lie inside one, by more than the least overlap.

    The large parts of each word are looked up in the other set, so that thousands of words that are much alike (such as
    order numbers) are not compared each with each. Words too long for that are few.
    """
    found: set[str] = set()
    for word in known:
        if len(word) <= _DIVISIBLE:
            found.update(asked.intersection(_large_parts(word)))
        else:
            found.update(element for element in asked if element in word and _close(element, word))
    for element in asked - found:
        if len(element) <= _DIVISIBLE:
            inside = not known.isdisjoint(_large_parts(element))
        else:
            inside = any(word in element and _close(word, element) for word in known)
        if inside:
            found.add(element)
    return found


def _large_parts(word: str) -> Iterator[str]:
    """The parts of a word that have more than the least share of its length."""
    for size in range(int(len(word) * _OVERLAP), len(word)):
        if size / len(word) > _OVERLAP:
            for start in range(len(word) - size + 1):
                yield word[start : start + size]


def _close(shorter: str, longer: str) -> bool:
    return len(shorter) / len(longer) > _OVERLAP


def coverage(found: Completeness) -> float:
    """Covered elements by input elements; without input elements 1 if the output has none, else 0."""
    if not found.input_elements:
        return 0.0 if found.output_elements else 1.0
    asked = len(found.input_elements)
    return (asked - len(found.missing_elements)) / asked


def _reason(found: Completeness, most: int = 12) -> str:
    asked = len(found.input_elements)
    if not asked:
        return "the input has no words, the output has some" if found.output_elements else "neither text has words"
    left_out = found.missing_elements
    covered = f"{asked - len(left_out)} of {asked} input elements are covered"
    if not left_out:
        return covered
    more = f" and {len(left_out) - most} more" if len(left_out) > most else ""
    return f"{covered}; missing: {', '.join(left_out[:most])}{more}"
