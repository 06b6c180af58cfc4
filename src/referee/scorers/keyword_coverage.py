"""Keyword coverage: does the answer take up the input's keywords?"""

from __future__ import annotations

import msgspec

from referee.languages import AUTO, detect_language
from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.steps import NotScorable, Results, not_scorable
from referee.stopwords import stop_words
from referee.words import UNSPACED_LANGUAGES, base_forms, distinct, segments, spelled_words


class KeywordCoverage(msgspec.Struct, frozen=True):
    """The keywords of the two texts in order of first appearance, and those of the input that the output leaves out."""

    input_keywords: list[str]
    output_keywords: list[str]
    missing_keywords: list[str]


def create_keyword_coverage_scorer(
    language: str = "en", *, id: str = "keyword-coverage-scorer"
) -> Scorer[KeywordCoverage, None]:
    """The share of the input's keywords that the output uses too, 0 to 1.

    Keywords are the words that are neither stop words nor digits alone, in lower case, each once. In English their form
    counts (`weather` is not `weathers`), as in the reference, which knows English; in other languages their base form
    is compared. In a script without spaces a run between spaces or punctuation is one word, unless
    the language is one written so (`zh`, `ja`, `th`, `lo`, `km`, `my`): then the runs are taken apart at their
    function words, and the keywords are Katakana words and pairs of characters.

    The input is the text of this turn's user messages, the output that of all assistant messages. An input without
    keywords is not scorable.

    Args:
        language: The language of the stop words, such as `en`, `de` or `fr`. `auto` finds the language of each run
            (see `referee.languages`). `any` takes all words as keywords.
        id: Another id than the reference's.

    Raises:
        OptionError: The language is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> run = create_agent_test_run(input_messages="Where is the nearest museum?", output="The museum is closed.")
        >>> score = create_keyword_coverage_scorer().run_sync(run)
        >>> score.score, score.preprocess_step_result.missing_keywords
        (0.5, ['nearest'])
    """
    if language != AUTO:
        keywords("", language)  # an unknown language is told before anything runs

    def preprocess(run: Run) -> KeywordCoverage | NotScorable:
        spoken = detect_language(f"{run.input_text}\n{run.output_text}") if language == AUTO else language
        asked, given = keywords(run.input_text, spoken), keywords(run.output_text, spoken)
        if not asked:
            return not_scorable("the input has no keywords")
        known = set(given)
        return KeywordCoverage(asked, given, [word for word in asked if word not in known])

    def generate_score(run: Run, results: Results[KeywordCoverage, None]) -> float:
        found = results.preprocess_step_result
        return (len(found.input_keywords) - len(found.missing_keywords)) / len(found.input_keywords)

    def generate_reason(run: Run, results: Results[KeywordCoverage, None]) -> str:
        return _reason(results.preprocess_step_result)

    scorer: Scorer[None, None] = create_scorer(id=id, description="The answer takes up the keywords of the input.")
    built = scorer.preprocess(preprocess).generate_score(generate_score).generate_reason(generate_reason)
    return built.as_kind("keyword_coverage", {"language": language})


def keywords(text: str, language: str) -> list[str]:
    """The keywords of a text in a language, each once, in order of first appearance.

    Example:
        >>> keywords("Where is the nearest museum?", "en"), keywords("最近的博物馆在哪", "zh")
        (['nearest', 'museum'], ['近', '博物', '物馆'])
    """
    stop = stop_words(language)
    found = segments(text, stop) if language in UNSPACED_LANGUAGES else spelled_words(text)
    base_form = str if language == "en" else base_forms(language)
    return distinct(
        base_form(word).lower() for word in map(str.lower, found) if word not in stop and not word.isdigit()
    )


def _reason(found: KeywordCoverage, most: int = 12) -> str:
    asked, left_out = len(found.input_keywords), found.missing_keywords
    covered = f"{asked - len(left_out)} of {asked} keywords are taken up"
    if not left_out:
        return covered
    more = f" and {len(left_out) - most} more" if len(left_out) > most else ""
    return f"{covered}; missing: {', '.join(left_out[:most])}{more}"
