"""Content similarity, textual difference, keyword coverage and tone: conformance vectors and behaviour."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from referee import Score, Scorer, scorers, valence
from referee.errors import MissingExtraError, OptionError
from referee.subsequence import common_subsequence_length
from referee.testing import create_agent_test_run
from support import assert_as_expected, build, cases, run_of

FACTORIES = (
    "create_content_similarity_scorer",
    "create_textual_difference_scorer",
    "create_keyword_coverage_scorer",
    "create_tone_scorer",
)
SIMILARITY = scorers.create_content_similarity_scorer()
DIFFERENCE = scorers.create_textual_difference_scorer()
KEYWORDS = scorers.create_keyword_coverage_scorer()
TONE = scorers.create_tone_scorer()
ALL = pytest.mark.parametrize("scorer", [SIMILARITY, DIFFERENCE, KEYWORDS, TONE], ids=lambda scorer: scorer.id)

#: Two texts that have nothing to do with each other, in each script.
TEXTS = {
    "Latin": ("The ferry leaves the harbour at dawn.", "Quick jumps vex bold wizards"),
    "Cyrillic": ("Сегодня идёт снег в горах.", "База ушла, жду чуть-чуть"),
    "Greek": ("Ο καιρός είναι καλός σήμερα", "Βάση δεδομένων δεν βρέθηκε"),
    "Arabic": ("مرحبا كيف حال الطقس", "فشل الاتصال بقاعدة البيانات"),
    "Hebrew": ("שלום עולם", "מסד נתונים קרס"),
    "Devanagari": ("हिन्दी में मौसम कैसा है", "डेटाबेस से संपर्क टूट गया"),
    "Hangul": ("오늘은 날씨가 맑습니다.", "데이터베이스 연결 실패"),
    "Han": ("今天天气怎么样,适合去公园散步吗?", "数据库连接失败请重试。"),
    "Kana": ("ネコが窓辺で寝ています。", "会議は来週の火曜日に延期された"),
    "Thai": ("สวัสดีครับ วันนี้อากาศดีมาก", "ฐานข้อมูลล้มเหลว โปรดลองใหม่"),
    "Lao": ("ສະບາຍດີ ມື້ນີ້ອາກາດດີ", "ຖານຂໍ້ມູນລົ້ມເຫຼວ"),
    "Khmer": ("សួស្តីអ្នកទាំងអស់គ្នា", "មូលដ្ឋានទិន្នន័យបរាជ័យ"),
    "Myanmar": ("မင်္ဂလာပါခင်ဗျာ", "ဒေတာဘေ့စ်ပျက်ကွက်"),
    "emoji": ("👍🏽🎉🙂", "☔🚀🐈"),
}
SCRIPTS = pytest.mark.parametrize(("text", "unrelated"), TEXTS.values(), ids=TEXTS.keys())


def score_of(scorer: Scorer[Any, Any], asked: str, answer: str) -> Score:
    return scorer.run_sync(create_agent_test_run(input_messages=asked, output=answer))


def value(scorer: Scorer[Any, Any], asked: str, answer: str) -> float:
    score = score_of(scorer, asked, answer)
    assert score.score is not None, score
    return score.score


@pytest.mark.parametrize("case", cases("text_scorers", "field_cases", factory=FACTORIES))
def test_vector(case: dict[str, Any]) -> None:
    scorer = build(scorers, case["call"])
    run = run_of(case)
    for _ in range(2):
        assert_as_expected(scorer.run_sync(run), case)


@SCRIPTS
def test_identical_text_is_the_same_in_every_script(text: str, unrelated: str) -> None:
    for left in (text, unrelated):
        assert value(SIMILARITY, left, left) == 1
        assert value(DIFFERENCE, left, left) == 1
        if any(letter.isalpha() for letter in left):
            assert value(KEYWORDS, left, left) == 1


@SCRIPTS
def test_unrelated_text_is_not_similar_in_any_script(text: str, unrelated: str) -> None:
    assert value(SIMILARITY, text, unrelated) < 0.3


@ALL
@given(st.text(), st.text())
def test_in_range(scorer: Scorer[Any, Any], asked: str, answer: str) -> None:
    score = score_of(scorer, asked, answer)
    assert score.status in ("scored", "not_scorable"), score
    assert score.score is None or 0 <= score.score <= 1


@given(st.text(), st.text())
def test_similarity_and_difference_are_symmetric(left: str, right: str) -> None:
    assert value(SIMILARITY, left, right) == value(SIMILARITY, right, left)
    assert value(DIFFERENCE, left, right) == value(DIFFERENCE, right, left)


def test_each_option_of_content_similarity_stands_alone() -> None:
    def create(**options: bool) -> Scorer[Any, Any]:
        return scorers.create_content_similarity_scorer(**options)

    assert value(create(), "Deep Water", "deepwater") == 1
    assert value(create(ignore_case=False), "Deep Water", "DeepWater") == 1
    assert value(create(ignore_case=False), "Deep Water", "deepwater") < 1
    assert value(create(ignore_whitespace=False), "Deep Water", "deep water") == 1
    assert value(create(ignore_whitespace=False), "Deep Water", "deepwater") < 1


def changed(text: str, every: int) -> str:
    return "".join("#" if place % every == 0 else letter for place, letter in enumerate(text))


LONG = "".join(chr(ord("a") + number * number % 7 * 3 % 26) + " " * (number % 5 == 0) for number in range(9000))
CHINESE = "".join(chr(0x4E00 + number * number % 701) for number in range(6000))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (LONG, changed(LONG, 400)),
        (LONG, changed(LONG, 40)),
        (LONG, changed(LONG, 4)),
        (LONG, LONG[:2000] + LONG[3000:] + LONG[2000:3000]),
        (LONG, LONG[::-1]),
        (LONG, CHINESE),
        (CHINESE, changed(CHINESE, 50)),
        (CHINESE, CHINESE[::-1]),
        (LONG, LONG[:5000]),
        (LONG, "x"),
    ],
    ids=["0.25 %", "2.5 %", "25 %", "moved", "reversed", "other script", "Han", "Han reversed", "half", "short"],
)
def test_the_short_cuts_for_long_texts_change_no_result(left: str, right: str) -> None:
    assert common_subsequence_length(left, right) == LCSseq.similarity(left, right)
    assert common_subsequence_length(right, left) == LCSseq.similarity(left, right)


@given(st.text(), st.text())
def test_renumbering_changes_no_result(left: str, right: str) -> None:
    assert common_subsequence_length(left, right) == LCSseq.similarity(left, right)


def test_texts_that_would_take_minutes_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("referee.subsequence._MOST_CELLS", 10_000**2 // 2)
    long, other = "ab" * 5000, "b ac" * 2500
    error = score_of(DIFFERENCE, long, other).error
    assert error is not None
    assert error.message == "texts of 10,000 and 10,000 characters are too long to compare character by character"
    assert value(DIFFERENCE, long, long + "c") > 0.99  # nearly the same is no work


def test_textual_difference_shows_its_figures() -> None:
    score = score_of(DIFFERENCE, "kitten", "sitting")
    assert score.to_mastra()["preprocessStepResult"] == {"common": 4, "inputLength": 6, "outputLength": 7}
    assert score.reason == "4 characters in common, in order, of 6 in the input and 7 in the output"


def test_keywords() -> None:
    score = score_of(KEYWORDS, "Don't cancel order 4711, it\u2019s the well-known one!", "I did cancel it.")
    found = score.preprocess_step_result
    assert found.input_keywords == ["cancel", "order", "well-known", "one"]
    assert found.missing_keywords == ["order", "well-known", "one"]
    assert score.reason == "1 of 4 keywords are taken up; missing: order, well-known, one"
    assert score_of(KEYWORDS, "What is it?", "Yes").not_scorable is not None


def test_keywords_of_other_languages() -> None:
    german = scorers.create_keyword_coverage_scorer("de")
    assert score_of(german, "Wo ist das Museum?", "").preprocess_step_result.input_keywords == ["museum"]
    every = scorers.create_keyword_coverage_scorer("any")
    assert score_of(every, "What is it?", "").preprocess_step_result.input_keywords == ["what", "is", "it"]
    with pytest.raises(OptionError, match=r"language must be one of .*de.* not 'xx'"):
        scorers.create_keyword_coverage_scorer("xx")


def test_tone_counts_every_sentence() -> None:
    found = score_of(TONE, "", "Superb! It is a table. awful").preprocess_step_result
    assert found.sentence_valences == [5, 0, -3]
    assert value(TONE, "", "Superb。Awful。") == 0


def test_tone_without_text_is_not_scorable() -> None:
    assert score_of(TONE, "Hello", "").not_scorable is not None
    assert score_of(scorers.create_tone_scorer(" "), "Hello", "Superb!").not_scorable is not None
    assert score_of(scorers.create_tone_scorer("Superb!"), "Hello", "").not_scorable is not None
    assert value(scorers.create_tone_scorer("..."), "Hello", "a table") == 1
    assert value(TONE, "Hello", "!!!") == 1


def test_tone_names_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    valence.ratings.cache_clear()
    monkeypatch.setattr(valence, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"afinn: pip install 'referee\[tone\]'"):
        scorers.create_tone_scorer()


def test_tone_needs_a_text() -> None:
    with pytest.raises(OptionError, match="reference_tone must be a text, not int"):
        scorers.create_tone_scorer(3)  # type: ignore[arg-type]
