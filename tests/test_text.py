"""Folding and similarity: what must hold for every text."""

from __future__ import annotations

import sys
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import Message, Run, Text, checks
from referee.text import _SPACES, _shared_pairs_counter, dice, dice_with, fold, without_spaces

WRITING = st.text(
    st.sampled_from("ab é\u0301e-–—\u2212'’\"“”… \u00a0\u2003\t\n\u200b\u00ad\ufeffＡＢ１ﬁ½²東京𝒜ÅÅ"), max_size=30
)


def answer(text: str) -> Run:
    return Run(id="r", output=[Message("assistant", [Text(text)])])


def test_the_table_of_spaces_is_complete() -> None:
    every = {chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    assert set(_SPACES) | {" "} == every


@given(st.text(max_size=40) | WRITING)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=40) | WRITING)
def test_the_unicode_form_does_not_matter(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)) == fold(text) == fold(unicodedata.normalize("NFC", text))


@given(WRITING, st.sampled_from(sorted(_SPACES)))
def test_white_space_and_unicode_form_never_change_a_folded_check(text: str, space: str) -> None:
    changed = unicodedata.normalize("NFD", text.replace(" ", f" {space}"))
    for make in (checks.includes, checks.equals, checks.excludes, checks.similarity):
        for needle in ("a b", "é", "“a”", text):
            assert make(needle).run_sync(answer(text)).score == make(needle).run_sync(answer(changed)).score


@pytest.mark.parametrize("kept", ["x²", "½", "µ", "Ⅷ", "①", "ª", "ß", "İ", "東", "🙂"])
def test_what_carries_meaning_is_kept(kept: str) -> None:
    assert fold(kept) == unicodedata.normalize("NFC", kept)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("“Hello”", '"Hello"'),
        ("«Bonjour»", '"Bonjour"'),
        ("‹x› ‚y‛", "'x' 'y'"),
        ("5′ 6″", "5' 6\""),
        ("a‐b‑c‒d–e—f―g−h", "a-b-c-d-e-f-g-h"),
        ("wait…", "wait..."),
        ("ｆｕｌｌ１２３！", "full123!"),
        ("ﬁne ﬂow oﬃce", "fine flow office"),
        ("soft\u00adhyphen zero\u200bwidth \ufeffmark", "softhyphen zerowidth mark"),
        ("no\u00a0break\u202fthin\u3000wide", "no break thin wide"),
        ("a \t\r\n b", "a b"),
        ("e\u0301", "é"),
        ("ａ\u0301", "á"),
    ],
)
def test_typography_is_folded(written: str, plain: str) -> None:
    assert fold(written) == plain


def naive_dice(left: str, right: str) -> float:
    if left == right:
        return 1.0
    if len(left) < 2 or len(right) < 2:
        return 0.0
    ours, theirs = Counter(pairwise(left)), Counter(pairwise(right))
    return 2 * (ours & theirs).total() / (len(left) + len(right) - 2)


SHORT = st.text(st.sampled_from("abcé東𝒜Ā"), max_size=12) | st.text(max_size=8)


@given(SHORT, SHORT)
def test_dice_is_its_definition_with_and_without_numpy(left: str, right: str) -> None:
    expected = naive_dice(left, right)
    assert dice(left, right) == pytest.approx(expected, abs=1e-12)
    assert dice_with(right)(left) == dice_with(left)(right)
    if min(len(left), len(right)) >= 2:
        shared = _shared_pairs_counter(right)(left)
        assert 2 * shared / (len(left) + len(right) - 2) == pytest.approx(expected, abs=1e-12)


@given(st.text(max_size=20))
def test_a_text_is_wholly_similar_to_itself(text: str) -> None:
    assert checks.similarity(text).run_sync(answer(text)).score == (
        1.0 if text.strip() or not without_spaces(fold(text)) else 0.0
    )


def test_a_pattern_that_backtracks_is_an_error_and_no_hang() -> None:
    score = checks.matches(r"^(a|a)*$").run_sync(answer("a" * 60 + "!"))
    assert score.status == "error"
    assert score.error is not None
    assert "backtracks" in score.error.message


@pytest.mark.parametrize("pattern", ["[ab]{99}" * 6 + "[cd]", "|".join(["[ab]{99}[c]"] * 5)])
def test_a_pattern_that_cannot_backtrack_is_watched_on_a_long_text(pattern: str) -> None:
    """It takes hundreds of steps at each place of the text: half a minute for a megabyte."""
    score = checks.matches(pattern).run_sync(answer("ab" * 500_000))
    assert score.error is not None
    assert score.error.error_class == "TimeoutError"
    assert checks.matches(pattern).run_sync(answer("ab" * 60)).score == 0.0
