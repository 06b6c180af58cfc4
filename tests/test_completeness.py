"""Completeness: the conformance vectors, the arithmetic of coverage, and its behaviour in every script."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import Score
from referee.errors import OptionError
from referee.scorers import create_completeness_scorer
from referee.scorers.completeness import Completeness, ElementCounts, coverage, missing
from referee.testing import create_agent_test_run
from support import assert_as_expected, build, cases, run_of

CASES = [
    parameter.values[0] for parameter in cases("completeness", "field_cases", factory="create_completeness_scorer")
]
#: The lines that another tagger scored agree with ours only on the whole.
TAGGED = [case for case in CASES if "tolerance" in case]
EXACT = [case for case in CASES if "tolerance" not in case]

SCORER = create_completeness_scorer()


def score_of(asked: str, given: str, **options: Any) -> Score:
    return create_completeness_scorer(**options).run_sync(create_agent_test_run(input_messages=asked, output=given))


def value(asked: str, given: str, **options: Any) -> float:
    score = score_of(asked, given, **options)
    assert score.score is not None, score
    return score.score


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in EXACT])
def test_exact_vector(case: dict[str, Any]) -> None:
    from referee import scorers

    score = build(scorers, case["call"]).run_sync(run_of(case))
    assert_as_expected(score, case)
    found = msgspec.to_builtins(score.preprocess_step_result)
    for key, wanted in case["expected"].get("preprocess_step_result", {}).items():
        assert found[key] == wanted, key


def test_tagged_vectors_agree_on_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    differences = []
    for case in TAGGED:
        score = SCORER.run_sync(run_of(case)).score
        assert score is not None
        differences.append(abs(score - case["expected"]["score"]))
    shares = {
        limit: sum(difference <= limit + 1e-9 for difference in differences) / len(differences)
        for limit in (0.0, 0.02, 0.05, 0.1)
    }
    with capsys.disabled():
        shown = ", ".join(f"{share:.1%} within {limit}" for limit, share in shares.items())
        print(f"\ncompleteness, {len(TAGGED)} lines that another tagger scored: {shown}")
    assert shares[0.02] >= 0.75
    assert shares[0.05] >= 0.88
    assert shares[0.1] >= 0.97


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case.get("arithmetic")])
def test_arithmetic(case: dict[str, Any]) -> None:
    lists = case["arithmetic"]
    asked, given = lists["input_elements"], lists["output_elements"]
    left_out = missing(asked, given)
    assert left_out == lists["missing_elements"]
    counts = ElementCounts(len(asked), len(given))
    assert coverage(Completeness(asked, given, left_out, counts)) == pytest.approx(lists["score"], abs=1e-9)


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("was went running written studies", ["be", "go", "run", "write", "study"]),
        ("getUserName JSONFile", ["get", "user", "name", "json", "file"]),
        ("Crème brûlée, crème", ["creme", "brulee"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ラーメンと水", ["ラー", "ーメ", "メン", "ンと", "と水"]),
        ("สวัสดี", ["สว", "วั", "ัส", "สด", "ดี"]),
        ("Python入門3月", ["python", "入門", "3", "月"]),
        ("a 1\ufe0f\u20e3 👍\ufe0f co\u00adoperate", ["a", "1", "cooperate"]),
        ("e\u0301te\u0301", ["ete"]),
        ("한국어", ["한국어"]),
    ],
)
def test_elements(text: str, elements: list[str]) -> None:
    found = score_of(text, "").preprocess_step_result
    assert found.input_elements == elements
    assert found.missing_elements == elements
    assert found.element_counts == ElementCounts(len(elements), 0)


def test_a_short_element_needs_its_equal() -> None:
    assert value("cat", "catnip") == 0
    assert value("the", "then") == 0


def test_a_long_element_overlaps_above_sixty_percent() -> None:
    assert missing(["abcdef"], ["abcdefghij"]) == ["abcdef"]  # 6 of 10 is not above
    assert missing(["abcdefg"], ["abcdefghij"]) == []
    assert missing(["abcdefghij"], ["bcdefgh"]) == []
    assert missing(["abcd"], ["bcd"]) == []  # the shorter one may be short, the asked one not
    assert missing(["bcd"], ["abcd"]) == ["bcd"]


def test_other_languages() -> None:
    assert value("ging", "gehen", language="de") == 1
    assert value("ging", "gehen") == value("went", "go", language="any") == 0
    with pytest.raises(OptionError, match=r"language must be one of .*en.* not 'xx'"):
        create_completeness_scorer(language="xx")


def test_reason_names_what_is_missing() -> None:
    assert score_of("red and blue", "blue").reason == "1 of 3 input elements are covered; missing: red, and"
    assert score_of("", "blue").reason == "the input has no words, the output has some"


def test_step_result_as_documented() -> None:
    assert score_of("redDoor", "red").to_mastra()["preprocessStepResult"] == {
        "inputElements": ["red", "door"],
        "outputElements": ["red"],
        "missingElements": ["door"],
        "elementCounts": {"input": 2, "output": 1},
    }


@pytest.mark.parametrize(
    ("text", "unrelated"),
    [
        ("今天天气怎么样,适合去公园散步吗?", "数据库连接失败请重试。"),
        ("ネコが窓辺で寝ています。", "会議は来週の火曜日に延期された"),
        ("สวัสดีครับ วันนี้อากาศดีมาก", "ฐานข้อมูลล้มเหลว โปรดลองใหม่"),
        ("ສະບາຍດີ ມື້ນີ້ອາກາດດີ", "ຖານຂໍ້ມູນລົ້ມເຫຼວ"),
        ("សួស្តីអ្នកទាំងអស់គ្នា", "មូលដ្ឋានទិន្នន័យបរាជ័យ"),
        ("မင်္ဂလာပါခင်ဗျာ", "ဒေတာဘေ့စ်ပျက်ကွက်"),
        ("हिन्दी में मौसम कैसा है", "डेटाबेस से संपर्क टूट गया"),
        ("مرحبا كيف حال الطقس", "فشل الاتصال بقاعدة البيانات"),
    ],
)
def test_every_script(text: str, unrelated: str) -> None:
    assert value(text, text) == 1
    assert value(text, unrelated) < 0.3


@given(st.text(), st.text())
def test_in_range_and_identical_texts_score_one(left: str, right: str) -> None:
    assert 0 <= value(left, right) <= 1
    assert value(left, left) == 1


words_of_few_letters = st.lists(
    st.text("abc", min_size=1, max_size=9) | st.text("ab", min_size=60, max_size=70), max_size=8
)


@given(words_of_few_letters, words_of_few_letters)
def test_looking_parts_up_finds_what_comparing_each_with_each_finds(asked: list[str], given: list[str]) -> None:
    def covers(word: str, element: str) -> bool:
        if word == element:
            return True
        shorter, longer = sorted((word, element), key=len)
        return len(element) > 3 and shorter in longer and len(shorter) / len(longer) > 0.6

    assert missing(asked, given) == [e for e in asked if not any(covers(word, e) for word in given)]


@given(st.text("ab", min_size=30, max_size=90), st.integers(0, 40), st.integers(30, 90))
def test_a_part_of_a_long_word(word: str, start: int, size: int) -> None:
    part = word[start : start + size]
    close = len(part) / len(word) > 0.6 and len(part) > 3
    assert missing([part], [word]) == missing([word], [part]) == [] or not close


def test_one_endless_word_ends() -> None:
    assert value("ab" * 100_000, "ba" * 100_000) == 0
