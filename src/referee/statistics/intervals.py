"""Confidence intervals of a rate and of a mean, for single and for repeated items."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Sequence
from random import Random
from typing import Literal, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.jsonvalue import is_finite_number
from referee.statistics.student import normal_quantile, t_quantile

Method: TypeAlias = Literal["auto", "wilson", "t", "bootstrap"]

RESAMPLES = 2000


class Interval(msgspec.Struct, frozen=True, gc=False):
    """A confidence interval.

    Attributes:
        low, high: Its ends.
        confidence: How often, in the long run, such an interval holds the true value; 0.95 for 95 %.
        method: `wilson`, `t`, `bootstrap` or `bonett-price`.
    """

    low: float
    high: float
    confidence: float
    method: str


class Groups(msgspec.Struct, frozen=True, gc=False):
    """The values of a sample summed by group: repeats of one item are one group.

    Attributes:
        sums, counts: By group.
        total: How many values there are.
        mean: The mean of all values.
    """

    sums: list[float]
    counts: list[int]
    total: int
    mean: float

    @property
    def standard_error(self) -> float:
        """The standard error of the mean that allows for likeness within groups (needs two groups or more).

        Formula: `sqrt(G / (G - 1) * sum over groups of (sum of deviations)^2) / n`, the cluster-robust variance of
        K.-Y. Liang and S. L. Zeger, 1986, with the usual small-sample factor; with groups of one value it is the
        ordinary standard error.
        """
        mean, groups = self.mean, len(self.sums)
        squares = sum_of_squares([of_group - count * mean for of_group, count in zip(self.sums, self.counts)])
        return math.sqrt(groups / (groups - 1) * squares) / self.total


def sum_of_squares(values: Sequence[float]) -> float:
    """The sum of the squares, rounded once.

    Example:
        >>> sum_of_squares([3.0, 4.0])
        25.0
    """
    return math.fsum(map(operator.mul, values, values))


def grouped(values: Sequence[float], groups: Sequence[Hashable] | None) -> Groups:
    """Sum the values by their group; without groups each value stands alone."""
    if not values:
        raise OptionError("an interval needs at least one value")
    if groups is not None and len(groups) != len(values):
        raise OptionError(f"there are {len(values)} values and {len(groups)} groups")
    check_finite(values)
    if groups is None:
        sums, counts = list(values), [1] * len(values)
    else:
        members: dict[Hashable, list[float]] = {}
        for group, value in zip(groups, values):
            members.setdefault(group, []).append(value)
        sums, counts = [math.fsum(group) for group in members.values()], [len(group) for group in members.values()]
    return Groups(sums, counts, len(values), math.fsum(sums) / len(values))


def check_finite(values: Sequence[float]) -> None:
    """Refuse scores that are no numbers: a mean of them would be none either, or worse, look like one."""
    if not all(map(math.isfinite, values)):
        wrong = next(value for value in values if not math.isfinite(value))
        raise OptionError(f"scores are finite numbers, and one is {wrong}")


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside 0 to 1, or so near to 1 that no interval could tell."""
    if not is_finite_number(confidence) or not 0 < confidence < (1 + confidence) / 2 < 1:
        raise OptionError(f"confidence must be between 0 and 1, like 0.95, not {confidence!r}")


def wilson_interval(successes: float, trials: float, confidence: float = 0.95) -> Interval:
    """The interval of a rate.

    Source: E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.

    Args:
        successes: How many succeeded.
        trials: How many were tried, more than 0. It need not be whole: see `rate_interval`.
        confidence: 0.95 for 95 %.

    Raises:
        OptionError: An argument is outside its range.

    Example:
        >>> interval = wilson_interval(8, 10)
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.49, 0.943)
    """
    check_confidence(confidence)
    if trials <= 0 or not 0 <= successes <= trials:
        raise OptionError(f"{successes!r} successes of {trials!r} trials are no rate")
    z2 = normal_quantile((1 + confidence) / 2) ** 2
    rate = successes / trials
    centre = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = math.sqrt(z2 * (rate * (1 - rate) / trials + z2 / (4 * trials * trials))) / (1 + z2 / trials)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(low, high, confidence, "wilson")


def rate_interval(
    values: Sequence[float], confidence: float = 0.95, *, groups: Sequence[Hashable] | None = None
) -> Interval:
    """The Wilson interval of a rate from values of 0 and 1, wider when repeats of one item are alike.

    Repeats of an item are no independent trials. The number of trials is therefore divided by the design effect (the
    cluster-robust variance over the variance of as many independent trials) and never counted lower than the number of
    items; the few items are allowed for as in E. L. Korn and B. I. Graubard, "Confidence Intervals for Proportions
    with Small Expected Number of Positive Counts", 1998.

    Args:
        values: 0 or 1 each.
        confidence: 0.95 for 95 %.
        groups: The item of each value.

    Raises:
        OptionError: No value, or an argument is outside its range.

    Example:
        >>> plain = rate_interval([1, 1, 1, 0, 0, 0])
        >>> alike = rate_interval([1, 1, 1, 0, 0, 0], groups=["a", "a", "a", "b", "b", "b"])
        >>> alike.high - alike.low > plain.high - plain.low
        True
    """
    sample = grouped(values, groups)
    items, total, rate = len(sample.sums), sample.total, sample.mean
    if items == total:
        return wilson_interval(sum(sample.sums), total, confidence)
    trials = float(items)
    if items > 1 and 0 < rate < 1:
        spread = sample.standard_error**2
        independent = rate * (1 - rate)
        trials = total if spread * total <= independent else max(independent / spread, items)
        check_confidence(confidence)
        p = (1 + confidence) / 2
        trials *= (t_quantile(p, total - 1) / t_quantile(p, items - 1)) ** 2
    return wilson_interval(rate * trials, trials, confidence)


def t_interval(
    values: Sequence[float], confidence: float = 0.95, *, groups: Sequence[Hashable] | None = None
) -> Interval | None:
    """Student's interval of a mean; with groups from the cluster-robust standard error and groups - 1 degrees of freedom.

    Source for evaluations: E. Miller, "Adding Error Bars to Evals", 2024, arXiv:2411.00640.

    Args:
        values: The scores.
        confidence: 0.95 for 95 %.
        groups: The item of each score, when items are repeated.

    Returns:
        The interval; `None` when there is only one item, which says nothing about the spread.

    Raises:
        OptionError: No value, or an argument is outside its range.

    Example:
        >>> interval = t_interval([0.2, 0.4, 0.6])
        >>> round(interval.low, 4), round(interval.high, 4)
        (-0.0968, 0.8968)
    """
    check_confidence(confidence)
    sample = grouped(values, groups)
    if len(sample.sums) < 2:
        return None
    half = t_quantile((1 + confidence) / 2, len(sample.sums) - 1) * sample.standard_error
    return Interval(sample.mean - half, sample.mean + half, confidence, "t")


def bootstrap_interval(
    values: Sequence[float],
    confidence: float = 0.95,
    *,
    groups: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """The percentile interval of a mean from seeded resamples; with groups whole groups are drawn.

    Uses NumPy where it is installed (extra `fast`); the draws are the same with and without it.
    Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13.

    Args:
        values: The scores.
        confidence: 0.95 for 95 %.
        groups: The item of each score, when items are repeated.
        resamples: How many samples are drawn.
        seed: The seed of the draws.

    Returns:
        The interval; `None` when there is only one item.

    Raises:
        OptionError: No value, or an argument is outside its range.

    Example:
        >>> bootstrap_interval([0.0, 0.5, 1.0], seed=7) == bootstrap_interval([0.0, 0.5, 1.0], seed=7)
        True
    """
    check_confidence(confidence)
    if resamples < 1:
        raise OptionError(f"resamples must be 1 or more, not {resamples!r}")
    sample = grouped(values, groups)
    if len(sample.sums) < 2:
        return None
    means = sorted(_resampled_means(sample, resamples, seed))
    tail = (1 - confidence) / 2
    return Interval(_percentile(means, tail), _percentile(means, 1 - tail), confidence, "bootstrap")


def _resampled_means(sample: Groups, resamples: int, seed: int) -> list[float]:
    try:
        from referee.statistics.bootstrap_numpy import resampled_means
    except ImportError:
        return _plain_resampled_means(sample, resamples, seed)
    return resampled_means(sample.sums, sample.counts, resamples, seed)


def _plain_resampled_means(sample: Groups, resamples: int, seed: int) -> list[float]:
    draw = Random(seed).choices  # noqa: S311 - statistics, no secret
    pairs = list(zip(sample.sums, sample.counts))
    means = []
    for _ in range(resamples):
        drawn = draw(pairs, k=len(pairs))
        means.append(math.fsum(total for total, _ in drawn) / sum(count for _, count in drawn))
    return means


def _percentile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def mean_interval(
    values: Sequence[float],
    confidence: float = 0.95,
    *,
    groups: Sequence[Hashable] | None = None,
    method: Method = "auto",
    seed: int = 0,
) -> Interval | None:
    """The interval of a mean score by the method that suits the values.

    Args:
        values: The scores.
        confidence: 0.95 for 95 %.
        groups: The item of each score, when items are repeated.
        method: `auto` takes `wilson` when every score is 0 or 1 and `t` otherwise.
        seed: The seed of `bootstrap`.

    Returns:
        The interval; `None` when there is none: no scores, or a single item with a score that is neither 0 nor 1.

    Example:
        >>> mean_interval([1.0, 0.0, 1.0]).method, mean_interval([0.5, 0.0, 1.0]).method
        ('wilson', 't')
    """
    if not values:
        return None
    if method == "auto":
        method = "wilson" if all(value in (0, 1) for value in values) else "t"
    if method == "wilson":
        return rate_interval(values, confidence, groups=groups)
    if method == "bootstrap":
        return bootstrap_interval(values, confidence, groups=groups, seed=seed)
    return t_interval(values, confidence, groups=groups)
