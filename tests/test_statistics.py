"""Statistics: closed forms against SciPy and statsmodels, and the coverage of the intervals in simulations."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import OptionError
from referee.statistics import (
    Interval,
    bootstrap_interval,
    detectable_difference,
    difference_interval,
    flakiness,
    mcnemar_exact,
    mean_interval,
    normal_quantile,
    paired_permutation_test,
    paired_test,
    pass_at_k,
    pass_hat_k,
    rate_interval,
    t_interval,
    t_quantile,
    wilson_interval,
)

EXACT = 1e-9
DEGREES = (1, 2, 3, 4, 5, 7, 10, 29, 30, 100, 199, 500, 1999, 2000, 2001, 10_000, 1_000_000)


def close(value: float) -> Any:
    return pytest.approx(value, rel=EXACT, abs=EXACT)


@pytest.mark.parametrize(
    ("p", "df", "expected"),
    [  # scipy.stats.t.ppf
        (0.975, 1, 12.706204736174694),
        (0.975, 2, 4.302652729749462),
        (0.9995, 3, 12.923978636687961),
        (0.975, 10, 2.2281388519862742),
        (0.995, 29, 2.756385903670605),
        (0.95, 1000, 1.6463788172854643),
        (0.975, 5000, 1.960438551706508),
        (0.1, 7, -1.4149239276505083),
    ],
)
def test_t_quantile(p: float, df: int, expected: float) -> None:
    assert t_quantile(p, df) == close(expected)


@given(st.integers(1, 3000), st.floats(0.5001, 0.9999))
def test_t_quantile_lies_above_the_normal_and_is_odd(df: int, p: float) -> None:
    assert t_quantile(p, df) > normal_quantile(p) > 0
    assert t_quantile(1 - p, df) == pytest.approx(-t_quantile(p, df), rel=1e-6)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [  # statsmodels proportion_confint(method="wilson")
        (8, 10, 0.49016247153664183, 0.9433178485456247),
        (0, 5, 0.0, 0.43448246478317487),
        (5, 5, 0.5655175352168252, 1.0),
        (50, 100, 0.4038315303659956, 0.5961684696340044),
    ],
)
def test_wilson_interval(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson_interval(successes, trials)
    assert (interval.low, interval.high) == (close(low), close(high))


def test_t_interval_of_repeated_items() -> None:
    """Statsmodels' OLS on a constant with cluster-robust covariance gives the same ends."""
    values = [0.2, 0.4, 0.3, 0.9, 0.8, 0.1, 0.7]
    interval = t_interval(values, groups=["a", "a", "a", "b", "b", "c", "c"])
    assert interval is not None
    assert (interval.low, interval.high) == (close(-0.21670474642828907), close(1.1881333178568605))


@pytest.mark.parametrize(("first", "second", "p"), [(0, 0, 1.0), (3, 3, 1.0), (1, 9, 0.021484375), (0, 6, 0.03125)])
def test_mcnemar(first: int, second: int, p: float) -> None:
    assert mcnemar_exact(first, second) == close(p) == mcnemar_exact(second, first)


def test_permutation_test_is_exact_for_few_and_close_for_many() -> None:
    assert paired_permutation_test([]) == 1.0
    assert paired_permutation_test([0.0, 0.0]) == 1.0
    assert paired_permutation_test([0.1] * 6 + [0.0] * 50) == 2 / 64
    # With passes and failures the test is McNemar's, here too large to count every way.
    differences = [1.0] * 16 + [-1.0] * 6
    assert paired_permutation_test(differences) == pytest.approx(mcnemar_exact(16, 6), abs=0.01)
    assert paired_permutation_test(differences) == paired_permutation_test(differences)
    assert 0 < paired_permutation_test([1.0] * 60) <= 2e-4


@given(st.lists(st.floats(-1, 1).map(lambda value: round(value, 2)), max_size=8))
def test_permutation_test_has_no_direction(differences: list[float]) -> None:
    p = paired_permutation_test(differences)
    assert 0 < p <= 1
    assert paired_permutation_test([-value for value in differences]) == close(p)
    assert paired_permutation_test(differences[::-1]) == close(p)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(0, 5))
def test_bootstrap_draws_the_same_with_and_without_numpy(values: list[float], seed: int) -> None:
    with_numpy = bootstrap_interval(values, resamples=50, seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "referee.statistics.bootstrap_numpy", None)
        without = bootstrap_interval(values, resamples=50, seed=seed)
    assert with_numpy is not None
    assert without is not None
    assert (with_numpy.low, with_numpy.high) == (close(without.low), close(without.high))
    assert min(values) - EXACT <= without.low <= without.high <= max(values) + EXACT


def test_bootstrap_draws_whole_groups() -> None:
    interval = bootstrap_interval([0.0] * 10 + [1.0] * 10, groups=["a"] * 10 + ["b"] * 10)
    assert interval is not None
    assert (interval.low, interval.high) == (0.0, 1.0)


@given(st.integers(1, 40), st.integers(1, 5), st.randoms(use_true_random=False))
def test_alike_repeats_are_counted_as_one(items: int, repeats: int, random: Random) -> None:
    passed = [float(random.random() < 0.7) for _ in range(items)]
    alone = rate_interval(passed)
    repeated = rate_interval(
        [value for value in passed for _ in range(repeats)],
        groups=[item for item in range(items) for _ in range(repeats)],
    )
    assert repeated.low <= alone.low + 0.02
    assert repeated.high >= alone.high - 0.02


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_are_the_shares_of_all_subsets(case: tuple[int, int, int]) -> None:
    from itertools import combinations

    trials, passed, k = case
    subsets = list(combinations([True] * passed + [False] * (trials - passed), k))
    assert pass_at_k(trials, passed, k) == close(sum(map(any, subsets)) / len(subsets))
    assert pass_hat_k(trials, passed, k) == close(sum(map(all, subsets)) / len(subsets))


def test_flakiness_is_the_share_of_pairs_that_disagree() -> None:
    assert [flakiness(n, c) for n, c in [(1, 1), (2, 1), (4, 2), (5, 0)]] == [None, 1.0, close(2 / 3), 0.0]


def test_intervals_that_do_not_exist() -> None:
    assert mean_interval([]) is None
    assert t_interval([0.5]) is None
    assert t_interval([0.5, 0.7], groups=["a", "a"]) is None
    assert bootstrap_interval([0.5]) is None
    assert difference_interval([0.5]) is None
    assert detectable_difference([0.5]) is None
    assert detectable_difference([0.25, 0.25, 0.25]) is None
    assert detectable_difference([0.0, 0.0, 0.0]) is not None


@pytest.mark.parametrize(
    "call",
    [
        lambda: wilson_interval(3, 2),
        lambda: wilson_interval(0, 0),
        lambda: wilson_interval(1, 2, 1.0),
        lambda: t_interval([0.1, 0.2], 95),
        lambda: t_interval([0.1, 0.2], groups=["a"]),
        lambda: rate_interval([]),
        lambda: bootstrap_interval([0.1, 0.2], resamples=0),
        lambda: t_quantile(1.0, 3),
        lambda: t_quantile(0.9, 0),
        lambda: mcnemar_exact(-1, 0),
        lambda: difference_interval([0, 1], 0),
        lambda: pass_at_k(3, 4, 1),
        lambda: pass_hat_k(3, 1, 4),
        lambda: flakiness(1, 2),
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], Any]) -> None:
    with pytest.raises(OptionError):
        call()


def coverage(rounds: int, truth: float, sample: Callable[[Random], Interval | None]) -> float:
    random = Random(20)
    intervals = [interval for _ in range(rounds) if (interval := sample(random)) is not None]
    return sum(interval.low <= truth <= interval.high for interval in intervals) / len(intervals)


def repeated(random: Random, items: int, repeats: int, a: float, b: float) -> tuple[list[float], list[int]]:
    """Passes and failures of items that are not equally hard."""
    chances = [random.betavariate(a, b) for _ in range(items)]
    values = [float(random.random() < chance) for chance in chances for _ in range(repeats)]
    return values, [item for item in range(items) for _ in range(repeats)]


def _of_repeats(random: Random) -> Interval:
    values, groups = repeated(random, 20, 5, 0.5, 0.5)
    return rate_interval(values, groups=groups)


@pytest.mark.parametrize(
    ("truth", "sample"),
    [
        pytest.param(0.8, lambda r: rate_interval([float(r.random() < 0.8) for _ in range(50)]), id="rate"),
        pytest.param(0.5, lambda r: t_interval([r.random() for _ in range(30)]), id="mean"),
        pytest.param(0.5, _of_repeats, id="rate of repeats"),
        pytest.param(
            0.1,
            lambda r: difference_interval([r.choice((-1, 0, 0, 0, 0, 0, 0, 0, 1, 1)) for _ in range(60)]),
            id="gain",
        ),
    ],
)
def test_an_interval_holds_the_truth_as_often_as_it_says(truth: float, sample: Callable[[Random], Any]) -> None:
    assert 0.925 <= coverage(800, truth, sample) <= 0.99


def test_repeats_taken_for_independent_trials_would_claim_too_much() -> None:
    def ignoring(random: Random) -> Interval:
        return rate_interval(repeated(random, 20, 5, 0.5, 0.5)[0])

    assert coverage(800, 0.5, ignoring) < 0.8


@pytest.mark.system
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_coverage_in_a_long_simulation(confidence: float) -> None:
    found = {}
    for items, repeats, a, b in [(10, 5, 2, 1), (20, 4, 0.2, 0.1), (50, 3, 4, 1), (100, 4, 8, 1)]:

        def rate(random: Random, shape: Any = (items, repeats, a, b)) -> Interval:
            values, groups = repeated(random, *shape)
            return rate_interval(values, confidence, groups=groups)

        def mean(random: Random, shape: Any = (items, repeats, a, b)) -> Interval | None:
            values, groups = repeated(random, *shape)
            return t_interval([value + random.gauss(0, 0.3) for value in values], confidence, groups=groups)

        found[f"rate {items}x{repeats}"] = coverage(3000, a / (a + b), rate)
        found[f"mean {items}x{repeats}"] = coverage(3000, a / (a + b), mean)
    for n in (20, 50, 200):
        found[f"rate {n}"] = coverage(
            3000, 0.8, lambda r, n=n: rate_interval([float(r.random() < 0.8) for _ in range(n)], confidence)
        )
        found[f"mean {n}"] = coverage(3000, 0.5, lambda r, n=n: t_interval([r.random() for _ in range(n)], confidence))
    below = {name: share for name, share in found.items() if share < confidence - 0.04}
    assert not below, below


@pytest.mark.system
def test_against_scipy_and_statsmodels() -> None:
    np, stats = pytest.importorskip("numpy"), pytest.importorskip("scipy.stats")
    api, proportion = pytest.importorskip("statsmodels.api"), pytest.importorskip("statsmodels.stats.proportion")
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    random = Random(3)
    for df in DEGREES:
        for p in (0.01, 0.5001, 0.6, 0.9, 0.95, 0.975, 0.995, 0.9995, 0.99995):
            assert t_quantile(p, df) == close(stats.t.ppf(p, df))
    for _ in range(200):
        trials = random.randint(1, 500)
        passed, confidence = random.randint(0, trials), random.choice((0.8, 0.9, 0.95, 0.99))
        interval = wilson_interval(passed, trials, confidence)
        expected = proportion.proportion_confint(passed, trials, alpha=1 - confidence, method="wilson")
        assert (interval.low, interval.high) == (close(expected[0]), close(expected[1]))
        first, second = random.randint(0, 30), random.randint(0, 30)
        assert mcnemar_exact(first, second) == close(tables.mcnemar([[1, first], [second, 1]], exact=True).pvalue)
    for _ in range(50):
        values = [random.random() for _ in range(random.randint(3, 60))]
        plain = t_interval(values)
        assert plain is not None
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert (plain.low, plain.high) == (close(low), close(high))
        groups = [0, 1, *(random.randint(0, len(values) // 2) for _ in values[2:])]
        clustered = t_interval(values, groups=groups)
        model = api.OLS(values, np.ones(len(values)))
        low, high = model.fit(cov_type="cluster", cov_kwds={"groups": np.array(groups)}, use_t=True).conf_int(0.05)[0]
        assert clustered is not None
        assert (clustered.low, clustered.high) == (close(low), close(high))
        differences = [round(random.uniform(-1, 1), 2) for _ in range(random.randint(2, 9))]
        test = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=math.inf, vectorized=False
        )
        assert paired_permutation_test(differences) == close(test.pvalue)
        error = np.std(differences, ddof=1) / math.sqrt(len(differences))
        expected = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * error
        assert detectable_difference(differences) == close(expected)


def test_noise_of_rounding_is_no_difference() -> None:
    """Twenty items that lie 6e-17 apart, all in one direction, are the same."""
    found = paired_test([(0.3, 0.1 + 0.2)] * 20)
    assert (found.difference, found.p_value) == (0.0, 1.0)


def test_whole_steps_on_another_scale_are_no_passes_and_failures() -> None:
    pairs = [(7.0, 8.0), (6.0, 6.0), (5.0, 6.0), (9.0, 8.0)]
    found = paired_test(pairs)
    assert found.test == "permutation"
    assert found.interval == t_interval([1.0, 0.0, 1.0, -1.0])
    assert found.interval is not None
    assert found.interval.high > 1


def test_an_interval_ends_at_the_largest_difference_that_there_can_be() -> None:
    pairs = [(0.9, 0.2), (0.5, 0.5)]
    free, bounded = (paired_test(pairs, **options).interval for options in ({}, {"widest": 1.0}))
    assert free is not None
    assert bounded is not None
    assert free.low < -1
    assert (bounded.low, bounded.high) == (-1.0, 1.0)


def test_a_paired_test_needs_a_pair() -> None:
    with pytest.raises(OptionError, match="at least one pair"):
        paired_test([])
    assert paired_test([(1, 0)]).interval is None
    assert paired_test([(1, 0), (0, 0)]).p_value == 1.0


@pytest.mark.parametrize(("large", "exact"), [(3, 0.25), (4, 0.125), (6, 0.03125)])
def test_few_large_differences_among_many_small_ones_are_no_normal_variable(large: int, exact: float) -> None:
    against = [1.0] * large + [-1e-6] * 300  # as extreme is whatever has all large ones on one side
    assert paired_permutation_test(against) == pytest.approx(exact, abs=0.015)
    along = [1.0] * large + [1e-6] * 300  # only what has nearly all small ones on that side too
    assert paired_permutation_test(along) < 1e-3


def test_mcnemar_of_many_items_is_the_same_sum() -> None:
    for first, second in ((2001, 2100), (2500, 2400), (2001, 2001), (3000, 3400)):
        total, fewer = first + second, min(first, second)
        ways = term = 1
        for count in range(fewer):
            term = term * (total - count) // (count + 1)
            ways += term
        exact = min(1.0, ways / (1 << total) * 2)
        assert mcnemar_exact(first, second) == pytest.approx(exact, rel=1e-12, abs=0)
    assert mcnemar_exact(10**9, 10**9 + 60_000) == pytest.approx(0.17972627704579552, rel=1e-9)
    assert mcnemar_exact(2001, 10**6) == 0.0


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_is_refused(wrong: float) -> None:
    for call in (
        mean_interval,
        bootstrap_interval,
        difference_interval,
        detectable_difference,
        paired_permutation_test,
        lambda values: paired_test([(value, 0.5) for value in values]),
    ):
        with pytest.raises(OptionError, match="scores are finite numbers"):
            call([0.5, wrong])


@pytest.mark.parametrize("confidence", ["0.9", None, True, math.nan, 0.9999999999999999])
def test_a_confidence_that_is_none_is_refused(confidence: Any) -> None:
    for call in (mean_interval, difference_interval, detectable_difference):
        with pytest.raises(OptionError, match="confidence must be between 0 and 1"):
            call([0.1, 0.2], confidence)
    with pytest.raises(OptionError, match="confidence must be between 0 and 1"):
        wilson_interval(1, 2, confidence)
