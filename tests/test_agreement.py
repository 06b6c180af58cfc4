"""Kappa, correlation and intervals equal those of scikit-learn, SciPy and statsmodels."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import OptionError
from referee.agreement import Agreement, agreement, confusion_matrix, kappa_of, most_voted, pearson, ranks

Pairs = list[tuple[float, float]]


def samples() -> list[Pairs]:
    """Pairs of two to five categories, from perfect agreement to none, skewed and small ones too."""
    found: list[Pairs] = []
    for seed in range(40):
        chance = random.Random(seed)
        categories = chance.randint(2, 5)
        agrees = chance.random()
        size = chance.choice([4, 9, 30, 200])
        first = [chance.choices(range(categories), [1 + seed % 7, *[1] * (categories - 1)])[0] for _ in range(size)]
        pairs: Pairs = [
            (float(value), float(value if chance.random() < agrees else chance.randrange(categories)))
            for value in first
        ]
        found.append(pairs)
    return found


@pytest.mark.system
@pytest.mark.parametrize("pairs", samples())
def test_kappa_is_that_of_scikit_learn(pairs: Pairs) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    found = agreement(pairs)
    scores, labels = zip(*pairs)
    for weights, kappa in ((None, found.kappa), ("linear", found.linear_kappa), ("quadratic", found.quadratic_kappa)):
        if kappa.value is not None:  # where chance agrees always, theirs warns and gives no number
            assert kappa.value == pytest.approx(metrics.cohen_kappa_score(scores, labels, weights=weights), abs=1e-9)
    named = sorted({*scores, *labels})
    if len(named) > 1:
        assert found.matrix == metrics.confusion_matrix(scores, labels, labels=named).tolist()
    assert found.observed == pytest.approx(metrics.accuracy_score(scores, labels), abs=1e-9)


@pytest.mark.system
@pytest.mark.parametrize("pairs", samples())
def test_the_interval_of_kappa_is_that_of_statsmodels(pairs: Pairs) -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    found = agreement(pairs)
    size = len(found.categories)
    if size < 2:
        return
    kinds: dict[Any, Any] = {"none": None, "linear": "linear", "quadratic": "quadratic"}
    for weights, theirs in kinds.items():
        kappa = kappa_of(found.matrix, weights)
        if kappa.value is None or kappa.interval is None:
            continue
        expected = rater.cohens_kappa(found.matrix, wt=theirs, return_results=True)
        assert kappa.value == pytest.approx(expected.kappa, abs=1e-9)
        assert kappa.interval.low == pytest.approx(max(-1.0, expected.kappa_low), abs=1e-9)
        assert kappa.interval.high == pytest.approx(min(1.0, expected.kappa_upp), abs=1e-9)


@pytest.mark.system
@pytest.mark.parametrize("pairs", samples())
def test_correlations_are_those_of_scipy(pairs: Pairs) -> None:
    stats = pytest.importorskip("scipy.stats")
    noise = random.Random(len(pairs))
    varied = [(score + noise.random(), label) for score, label in pairs]
    found = agreement(varied, cuts=[1.0])
    scores, labels = zip(*varied)
    if found.pearson is None:
        return
    expected = stats.pearsonr(scores, labels)
    assert found.pearson == pytest.approx(expected.statistic, abs=1e-9)
    assert found.spearman == pytest.approx(stats.spearmanr(scores, labels).statistic, abs=1e-9)
    assert ranks(labels) == list(stats.rankdata(labels))
    if found.pearson_interval is not None:
        interval = expected.confidence_interval()
        assert found.pearson_interval.low == pytest.approx(interval.low, abs=1e-9)
        assert found.pearson_interval.high == pytest.approx(interval.high, abs=1e-9)


def test_cuts_make_categories_and_a_value_at_a_cut_belongs_above() -> None:
    found = agreement([(0.49, 0), (0.5, 1), (0.1 + 0.2 + 0.2, 1), (0.9, 0)], cuts=[0.5])
    assert found.categories == ["below 0.5", "from 0.5"]
    assert found.matrix == [[1, 0], [1, 2]]
    three = agreement([(0.1, 0.2), (0.4, 0.9), (0.8, 0.8)], cuts=[0.3, 0.7])
    assert three.categories == ["below 0.3", "0.3 to 0.7", "from 0.7"]
    assert three.matrix == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]


def test_what_is_undefined_is_none_and_no_number() -> None:
    nothing = agreement([])
    assert (nothing.kappa.value, nothing.observed, nothing.pearson, nothing.spearman) == (None, None, None, None)
    same = agreement([(1, 1), (1, 1)])
    assert (same.kappa.value, same.kappa.interval, same.observed) == (None, None, 1.0)
    one_sided = agreement([(1, 0), (1, 1), (1, 0)])
    assert one_sided.kappa.value == 0
    assert one_sided.pearson is None


def test_perfect_correlation_has_an_interval_of_no_width() -> None:
    found = agreement([(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (0.0, 0.0)])
    assert found.pearson == 1
    assert found.pearson_interval is not None
    assert (found.pearson_interval.low, found.pearson_interval.high) == (1, 1)


def test_wrong_options() -> None:
    with pytest.raises(OptionError, match="11 different values"):
        agreement([(value / 10, 0) for value in range(11)])
    for cuts in ([], [0.5, 0.5], [0.7, 0.3], [float("nan")]):
        with pytest.raises(OptionError, match="cuts are numbers that rise"):
            agreement([(0, 1)], cuts=cuts)
    with pytest.raises(OptionError, match="weights are none, linear, quadratic"):
        kappa_of([[1]], "cubic")  # type: ignore[arg-type]


def test_votes() -> None:
    assert most_voted([]) is None
    assert most_voted([0.5]) == 0.5
    assert most_voted([1, 1, 0, 0, 1]) == 1
    assert most_voted([1, 0, 0.5]) is None


_PAIRS = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), max_size=30)


def _kappas(found: Agreement) -> list[float]:
    kappas = (found.kappa, found.linear_kappa, found.quadratic_kappa)
    return [kappa.value for kappa in kappas if kappa.value is not None]


@given(_PAIRS)
def test_agreement_is_symmetric_and_bounded(pairs: Pairs) -> None:
    found, turned = agreement(pairs), agreement([(label, score) for score, label in pairs])
    assert _kappas(found) == pytest.approx(_kappas(turned))
    assert all(-1 - 1e-9 <= value <= 1 + 1e-9 for value in _kappas(found))
    assert found.matrix == [list(row) for row in zip(*turned.matrix)]
    assert sum(map(sum, found.matrix)) == len(pairs)


@given(_PAIRS)
def test_perfect_agreement_is_one(pairs: Pairs) -> None:
    found = agreement([(score, score) for score, _ in pairs])
    assert _kappas(found) == pytest.approx([1.0] * len(_kappas(found)))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20), st.floats(0.1, 10), st.floats(-10, 10))
def test_a_correlation_does_not_mind_the_scale(values: list[float], factor: float, shift: float) -> None:
    found = pearson(values, [value * factor + shift for value in values])
    assert found is None or found == pytest.approx(1, abs=1e-3)


def test_a_matrix_counts_pairs() -> None:
    assert confusion_matrix([], 2) == [[0, 0], [0, 0]]


@pytest.mark.parametrize("factor", [1.0, 1e200, 1e-200, 1e308])
def test_a_correlation_does_not_depend_on_the_unit(factor: float) -> None:
    assert pearson([0.1 * factor, 0.2 * factor, 0.3 * factor], [1, 2, 4]) == pytest.approx(0.981981, abs=1e-6)


def test_a_constant_side_has_no_correlation_whatever_its_mean_rounds_to() -> None:
    assert pearson([0.1, 0.1, 0.1], [0, 1, 0]) is None
    assert pearson([0, 1, 0], [0.1, 0.1, 0.1]) is None
