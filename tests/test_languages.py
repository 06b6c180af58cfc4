"""Languages: detection, and the order of answers that cover, half cover and miss a question in each of ten languages."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import Scorer, checks
from referee.errors import OptionError
from referee.languages import detect_language
from referee.scorers import (
    create_completeness_scorer,
    create_content_similarity_scorer,
    create_keyword_coverage_scorer,
    create_textual_difference_scorer,
)
from referee.stopwords import stop_words
from referee.testing import create_agent_test_run
from referee.words import ANY_LANGUAGE, UNSPACED_LANGUAGES, base_forms

ANSWERS: dict[str, list[dict[str, str]]] = json.loads(
    (Path(__file__).parent / "languages" / "answers.json").read_text(encoding="utf-8")
)
#: Scorers that compare the question with the answer, by whether they know of languages.
FACTORIES = {
    "completeness": (create_completeness_scorer, True),
    "keyword coverage": (create_keyword_coverage_scorer, True),
    "content similarity": (create_content_similarity_scorer, False),
    "textual difference": (create_textual_difference_scorer, False),
}
#: All texts of a language, by topic.
TOPICS = {language: [list(case.values()) for case in cases] for language, cases in ANSWERS.items()}
UNSPACED = sorted(UNSPACED_LANGUAGES & set(ANSWERS))

#: A word and another form of it, where a dictionary has them.
FORMS = {
    "ar": ("النباتات", "نبات"),
    "de": ("ging", "gehen"),
    "en": ("went", "go"),
    "es": ("plantas", "planta"),
    "fr": ("billets", "billet"),
    "hi": ("पौधों", "पौधा"),
    "ru": ("воды", "вода"),
}

#: One test for a language: its dictionary is large and loaded once.
each_language = pytest.mark.parametrize("language", sorted(ANSWERS))


def value(scorer: Scorer[Any, Any], asked: str, answer: str) -> float:
    score = scorer.run_sync(create_agent_test_run(input_messages=asked, output=answer))
    assert score.score is not None, score
    return score.score


def made(name: str, language: str) -> Scorer[Any, Any]:
    factory, knows_languages = FACTORIES[name]
    return factory(language=language) if knows_languages else factory()  # type: ignore[operator,no-any-return]


def test_ten_languages_are_covered() -> None:
    assert set(ANSWERS) == {"ar", "de", "en", "es", "fr", "hi", "ja", "ru", "th", "zh"}


@each_language
def test_covering_answers_stand_above_half_and_missing_ones(language: str) -> None:
    for case in ANSWERS[language]:
        for name in FACTORIES:
            for how in (language, "auto"):
                scorer = made(name, how)
                full, half, miss = (value(scorer, case["question"], case[kind]) for kind in ("full", "half", "miss"))
                assert full > half > miss, (name, how, case["question"], full, half, miss)
                for text in case.values():
                    assert value(scorer, text, text) == 1
    if language in FORMS:
        assert value(made("completeness", language), *FORMS[language]) == 1


@each_language
def test_a_right_answer_is_most_similar_to_the_expected_one(language: str) -> None:
    for case in ANSWERS[language]:
        similarity = checks.similarity(case["full"])
        same, half, miss = (value(similarity, "?", case[kind]) for kind in ("full", "half", "miss"))
        assert same == 1 > half > miss, case


@pytest.mark.parametrize("language", UNSPACED)
def test_unrelated_text_without_spaces_is_neither_similar_nor_complete(language: str) -> None:
    scorers = [
        create_content_similarity_scorer(),
        *(create_completeness_scorer(language=each) for each in (language, "en", "auto")),
    ]
    pairs = [(left, right) for first, second in permutations(TOPICS[language], 2) for left in first for right in second]
    pairs += [(case["question"], case["miss"]) for case in ANSWERS[language]]
    for left, right in pairs:
        for scorer in scorers:
            assert value(scorer, left, right) < 0.3, (scorer.id, left, right)


@each_language
def test_detection(language: str) -> None:
    for case in ANSWERS[language]:
        for text in case.values():
            assert detect_language(text) == language, text


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", ANY_LANGUAGE),
        ("12:30 → 14:00", ANY_LANGUAGE),
        ("Berlin Hamburg", ANY_LANGUAGE),
        ("Il treno per Roma parte alle otto e non costa molto.", "it"),
        ("O comboio para Lisboa parte às oito e não é caro.", "pt"),
        ("De trein naar Gent vertrekt om acht uur en is niet duur.", "nl"),
        ("Pociąg do Krakowa odjeżdża o ósmej i nie jest drogi.", "pl"),
        ("Поїзд до Києва відправляється о восьмій, і він не дорогий.", "uk"),
        ("قطار تهران ساعت هشت حرکت می‌کند و گران نیست.", "fa"),
        ("기차는 여덟 시에 출발합니다.", "ko"),
        ("ລົດໄຟອອກແປດໂມງ", "lo"),
        ("Το τρένο φεύγει στις οκτώ.", "el"),
        ("הרכבת יוצאת בשמונה", "he"),
        ("Das Wort 天気 ist japanisch.", "de"),
        ("他说了「こ」这个字,然后我们就一起去吃了晚饭。", "zh"),
    ],
)
def test_detection_of_more(text: str, language: str) -> None:
    assert detect_language(text) == language


@given(st.text())
def test_every_text_has_a_language_that_the_scorers_know(text: str) -> None:
    language = detect_language(text)
    assert callable(base_forms(language))
    assert isinstance(stop_words(language), frozenset)


@pytest.mark.parametrize("factory", [create_completeness_scorer, create_keyword_coverage_scorer])
@pytest.mark.parametrize("language", ["xx", "EN", "", None, 3, ["en"]])
def test_an_unknown_language_is_told_before_anything_runs(factory: Any, language: Any) -> None:
    with pytest.raises(OptionError, match="language must be one of"):
        factory(language=language)
