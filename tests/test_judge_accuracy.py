"""A small real model as the judge: how often it is right on obvious pairs, and how often it agrees with people."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from judge_accuracy import HEADER, compare, load_comparisons, load_pairs, measure, subset
from real_model import served_model
from referee.judge import Judge
from support import need_traces

#: Scorers that must be better than guessing with this model; `benchmarks/judge_accuracy.py` measures the others too.
MUST_BE_RIGHT = ("answer_relevancy", "faithfulness", "hallucination", "toxicity")
COMPARISONS = 3


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with served_model() as address:
        yield Judge("test-model", base_url=address, timeout=600, item_timeout=None)


def test_the_pairs_are_twenty_for_each_scorer_and_half_of_them_are_yes() -> None:
    for scorer, pairs in load_pairs().items():
        assert [pair.label for pair in pairs].count(1) == 10, scorer
        assert len({(pair.question, pair.answer, *pair.answers, *(pair.context or [])) for pair in pairs}) == 20, scorer


@pytest.mark.system
@pytest.mark.parametrize("scorer", MUST_BE_RIGHT)
def test_verdicts_are_better_than_guessing(scorer: str, judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    found = asyncio.run(measure(load_pairs()[scorer], judge, verdicts="logprobs", whole=False))
    with capsys.disabled():
        print(f"\n{HEADER}\n{found.line}")
    assert found.above_chance, found


@pytest.mark.system
def test_agreement_with_people_is_printed(judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    comparisons = subset(load_comparisons(need_traces() / "llmbar_natural_100.json"), COMPARISONS)
    found = asyncio.run(compare(comparisons, judge, verdicts="logprobs"))
    with capsys.disabled():
        print(f"\n{found.lines}")
    assert found.compared == COMPARISONS
