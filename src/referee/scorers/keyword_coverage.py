"""Keyword coverage: does the answer take up the input's keywords?"""

from __future__ import annotations

import msgspec

from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.steps import NotScorable, Results, not_scorable
from referee.stopwords import stop_words
from referee.words import distinct, spelled_words


class KeywordCoverage(msgspec.Struct, frozen=True):
    """The keywords of the two texts in order of first appearance, and those of the input that the output leaves out."""

    input_keywords: list[str]
    output_keywords: list[str]
    missing_keywords: list[str]


def create_keyword_coverage_scorer(
    language: str = "en", *, id: str = "keyword-coverage-scorer"
) -> Scorer[KeywordCoverage, None]:
    """The share of the input's keywords that the output uses too, 0 to 1.

    Keywords are the words that are neither stop words nor digits alone, in lower case, each once; their form counts
    (`weather` is not `weathers`). In a script without spaces a run between spaces or punctuation is one word.

    The input is the text of this turn's user messages, the output that of all assistant messages. An input without
    keywords is not scorable.

    Args:
        language: The language of the stop words, such as `en`, `de` or `fr`. `any` takes all words as keywords.
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
    stop = stop_words(language)

    def keywords(text: str) -> list[str]:
        return distinct(word for word in map(str.lower, spelled_words(text)) if word not in stop and not word.isdigit())

    def preprocess(run: Run) -> KeywordCoverage | NotScorable:
        asked, given = keywords(run.input_text), keywords(run.output_text)
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


def _reason(found: KeywordCoverage, most: int = 12) -> str:
    asked, left_out = len(found.input_keywords), found.missing_keywords
    covered = f"{asked - len(left_out)} of {asked} keywords are taken up"
    if not left_out:
        return covered
    more = f" and {len(left_out) - most} more" if len(left_out) > most else ""
    return f"{covered}; missing: {', '.join(left_out[:most])}{more}"
