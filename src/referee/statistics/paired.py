"""Two results on the same items: is the difference noise?"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from random import Random
from typing import Literal, NamedTuple

import msgspec

from referee.errors import OptionError
from referee.statistics.intervals import Interval, check_confidence, check_finite, grouped, sum_of_squares
from referee.statistics.student import normal_quantile, t_quantile

RESAMPLES = 9999
#: Up to so many differences that are not 0 every choice of signs is tried; above, signs are drawn.
_EXACT = 16
#: From so many of like size on, the normal limit is as close to the exact value as 9,999 draws, and 100 times as fast.
#: Differences of unlike size count as fewer: the square of the sum of their squares over the sum of their 4th powers.
_MANY = 200
#: From so many items on that only one of two passes, on either side, a binomial sum is not taken in whole numbers.
_MANY_DIFFER = 2000
#: A difference this small is the rounding of sums of decimal fractions.
_NONE = 1e-9


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The p-value of a difference between two rates on the same items.

    Under chance, an item that only one of two passes is as likely passed by the one as by the other: the two-sided
    binomial test on those items. Source: Q. McNemar, 1947, in the exact form.

    Args:
        only_first: Items that only the first passes.
        only_second: Items that only the second passes.

    Returns:
        The p-value, 0 to 1.

    Raises:
        OptionError: A count below 0.

    Example:
        >>> mcnemar_exact(1, 9)
        0.021484375
    """
    if only_first < 0 or only_second < 0:
        raise OptionError(f"counts must be 0 or more, not {only_first} and {only_second}")
    total, fewer = only_first + only_second, min(only_first, only_second)
    if fewer > _MANY_DIFFER:
        return min(1.0, _large_tail(fewer, total) * 2)
    tail = ways = 1
    for count in range(fewer):
        ways = ways * (total - count) // (count + 1)
        tail += ways
    return min(1.0, tail / (1 << total) * 2)


def _large_tail(most: int, total: int) -> float:
    """The chance of at most so many heads in `total` tosses, both large: the same sum, from its largest term down.

    The largest term is the binomial's by Stirling's series, in the form of C. Loader, "Fast and Accurate Computation
    of Binomial Probabilities", 2000, which does not lose digits in the difference of large logarithms.
    """
    lean = (total - 2 * most) / total
    divergence = ((1 + lean) * math.log1p(lean) + (1 - lean) * math.log1p(-lean)) / 2
    series = _stirling_rest(total) - _stirling_rest(most) - _stirling_rest(total - most)
    term = math.exp(series - total * divergence) / math.sqrt(2 * math.pi * most * (total - most) / total)
    first, terms = term, []
    while term > 1e-20 * first:
        terms.append(term)
        term *= most / (total - most + 1)
        most -= 1
    return math.fsum(terms)


def _stirling_rest(number: int) -> float:
    """What Stirling's formula lacks of the logarithm of a large number's factorial."""
    return (1 / 12 - 1 / (360 * number * number)) / number


def paired_permutation_test(differences: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0) -> float:
    """The p-value of a mean difference on the same items, by swapping the two results of an item at random.

    Two-sided. With at most 16 differences that are not 0, all ways of swapping are counted and the value is exact.
    With more, so many ways are drawn, and the value is (ways at least as extreme + 1) / (ways + 1): B. Phipson and
    G. K. Smyth, "Permutation P-values Should Never Be Zero", 2010. From 200 on, the sum of the differences under
    random signs is taken as normal, with the sum of their squares as variance; where few large differences make up
    most of that variance, only the smaller ones are taken so, and signs are drawn for the 199 largest.

    Args:
        differences: Second minus first, by item.
        resamples: How many ways are drawn.
        seed: The seed of the draws.

    Returns:
        The p-value, above 0, at most 1.

    Example:
        >>> paired_permutation_test([0.1, 0.2, 0.3, 0.4])
        0.125
    """
    check_finite(differences)
    sizes = [abs(value) for value in differences if value]
    observed = abs(math.fsum(differences)) * (1 - 1e-12)
    sizes.sort()  # the rounding of sums shall not depend on the order of the items
    squares = [size * size for size in sizes]
    if len(sizes) >= _MANY and math.fsum(squares) ** 2 >= _MANY * sum_of_squares(squares):
        return max(math.erfc(observed / math.sqrt(2 * math.fsum(squares))), sys.float_info.min)
    if len(sizes) <= _EXACT:
        sums = [0.0]
        for size in sizes:
            sums = [total + signed for total in sums for signed in (size, -size)]
        return sum(abs(total) >= observed for total in sums) / len(sums)
    drawn, rest = sizes[1 - _MANY :], math.fsum(squares[: 1 - _MANY])
    bits = Random(seed).getrandbits  # noqa: S311 - statistics, no secret
    whole = math.fsum(drawn)
    tables = [_sums_of_choices(drawn[place : place + 8]) for place in range(0, len(drawn), 8)]
    extreme = 0.0
    for _ in range(resamples):
        signs = bits(len(drawn)).to_bytes(len(tables), "little")
        kept = sum(table[byte] for table, byte in zip(tables, signs))
        extreme += _chance_beyond(observed, abs(2 * kept - whole), rest)
    return (extreme + 1) / (resamples + 1)


def _sums_of_choices(sizes: Sequence[float]) -> list[float]:
    """The sum of every choice among the sizes, at the place whose bits say which are chosen."""
    sums = [0.0]
    for size in sizes:
        sums += [total + size for total in sums]
    return sums


def _chance_beyond(limit: float, centre: float, variance: float) -> float:
    """The chance that a normal variable is at least so far from 0; without a variance it is its centre."""
    if not variance:
        return float(centre >= limit)
    width = math.sqrt(2 * variance)
    return (math.erfc((limit - centre) / width) + math.erfc((limit + centre) / width)) / 2


def are_rates(differences: Sequence[float]) -> bool:
    """Whether the differences are those of passes and failures: each is -1, 0 or 1."""
    return all(value in (-1, 0, 1) for value in differences)


class _Spread(NamedTuple):
    """Of differences the centre and its standard error; `freedom` is `None` for passes and failures."""

    centre: float
    error: float
    freedom: int | None = None


def _spread(differences: Sequence[float], rates: bool | None) -> _Spread | None:
    """The spread of differences; `None` for a single one, which has none."""
    if len(differences) > 1 and (are_rates(differences) if rates is None else rates):
        return _rate_spread(differences)
    sample = grouped(differences, None)
    return None if len(differences) < 2 else _Spread(sample.mean, sample.standard_error, len(differences) - 1)


def _interval(spread: _Spread | None, confidence: float) -> Interval | None:
    if spread is None:
        return None
    centre, error, freedom = spread
    if freedom is None:
        half = normal_quantile((1 + confidence) / 2) * error
        return Interval(max(-1.0, centre - half), min(1.0, centre + half), confidence, "bonett-price")
    half = t_quantile((1 + confidence) / 2, freedom) * error
    return Interval(centre - half, centre + half, confidence, "t")


def _detectable(spread: _Spread | None, confidence: float, power: float = 0.8) -> float | None:
    if spread is None:
        return None
    return (normal_quantile((1 + confidence) / 2) + normal_quantile(power)) * spread.error or None


def _rate_spread(differences: Sequence[float]) -> _Spread:
    """The spread of the difference of two rates, with one item added to each side that differs.

    D. G. Bonett and R. M. Price, "Adjusted Wald Confidence Interval for a Difference of Binomial Proportions Based on
    Paired Data", 2012.
    """
    size = len(differences) + 2
    gained = (sum(value > 0 for value in differences) + 1) / size
    lost = (sum(value < 0 for value in differences) + 1) / size
    return _Spread(gained - lost, math.sqrt((gained + lost - (gained - lost) ** 2) / size))


def difference_interval(
    differences: Sequence[float], confidence: float = 0.95, *, rates: bool | None = None
) -> Interval | None:
    """The interval of a mean difference on the same items.

    Args:
        differences: Second minus first, by item; for repeated items the difference of the item's means.
        confidence: 0.95 for 95 %.
        rates: Whether they are differences of passes and failures; `None`: when each of them is -1, 0 or 1.

    Returns:
        For passes and failures the interval of Bonett and Price, else Student's; `None` for fewer than two items.

    Raises:
        OptionError: No difference, or the confidence is outside 0 to 1.

    Example:
        >>> interval = difference_interval([0, 0, 1, 1, 1, 1, 0, 1])
        >>> interval.method, interval.low > 0
        ('bonett-price', True)
    """
    check_confidence(confidence)
    return _interval(_spread(differences, rates), confidence)


def detectable_difference(
    differences: Sequence[float], confidence: float = 0.95, power: float = 0.8, *, rates: bool | None = None
) -> float | None:
    """The smallest true difference that a sample like this one would find.

    Formula: `(z(1 - (1 - confidence) / 2) + z(power)) * standard error of the mean difference`; E. Miller, "Adding
    Error Bars to Evals", 2024, arXiv:2411.00640, section 5.

    Args:
        differences: Second minus first, by item.
        confidence: 1 minus the accepted chance to see a difference where there is none.
        power: The chance to find a difference of this size.
        rates: Whether they are differences of passes and failures; `None`: when each of them is -1, 0 or 1.

    Returns:
        The difference; `None` for fewer than two items, or when every difference is the same and the sample says
        nothing about the spread.

    Example:
        >>> round(detectable_difference([0.1, -0.1, 0.2, -0.2, 0.0, 0.1, -0.1, 0.0]), 3)
        0.13
    """
    check_confidence(confidence)
    if not 0 < power < 1:
        raise OptionError(f"power must be between 0 and 1, like 0.8, not {power!r}")
    return _detectable(_spread(differences, rates), confidence, power) if differences else None


class PairedTest(msgspec.Struct, frozen=True, kw_only=True):
    """Two results on the same items, compared.

    Attributes:
        first, second: Their means.
        difference: Second minus first.
        interval: Of the difference; `None` for fewer than two items.
        p_value: The chance of a difference this large if there were none.
        test: `mcnemar` for passes and failures, else `permutation`.
        detectable: The smallest true difference that such a sample would find four times out of five.
    """

    first: float
    second: float
    difference: float
    interval: Interval | None
    p_value: float
    test: Literal["mcnemar", "permutation"]
    detectable: float | None


def paired_test(
    pairs: Sequence[tuple[float, float]], confidence: float = 0.95, *, widest: float = math.inf
) -> PairedTest:
    """Compare two results on the same items by the tests that suit the values.

    Scores that are all 0 or 1 are passes and failures. Differences below 1e-9 are none: sums of decimal fractions are
    not exact.

    Args:
        pairs: The first and the second score of each item.
        confidence: Of the interval.
        widest: The largest difference that there can be, the width of the scores' range. The interval ends there.

    Raises:
        OptionError: There is no pair, or the confidence is outside 0 to 1.

    Example:
        >>> found = paired_test([(0, 1), (0, 1), (1, 1), (0, 1), (0, 1), (0, 1), (0, 1)])
        >>> found.test, found.p_value
        ('mcnemar', 0.03125)
        >>> paired_test([(0.3, 0.1 + 0.2)] * 20).p_value
        1.0
    """
    return paired_columns_test(
        [first for first, _ in pairs], [second for _, second in pairs], confidence, widest=widest
    )


def paired_columns_test(
    firsts: Sequence[float], seconds: Sequence[float], confidence: float = 0.95, *, widest: float = math.inf
) -> PairedTest:
    """`paired_test` of two lists in the same order of the items: thousands of pairs need no tuple each.

    Raises:
        OptionError: The lists are empty or not of one length, or the confidence is outside 0 to 1.

    Example:
        >>> paired_columns_test([0, 0, 1], [1, 1, 1]).difference
        0.6666666666666666
    """
    if not firsts or len(firsts) != len(seconds):
        raise OptionError(f"a comparison needs at least one pair, not {len(firsts)} and {len(seconds)} scores")
    check_finite(firsts)
    check_finite(seconds)
    differences = [value if abs(value) > _NONE else 0.0 for value in map(operator.sub, seconds, firsts)]
    rates = all(map((0, 1).__contains__, (*firsts, *seconds)))
    p_value = (
        mcnemar_exact(sum(value < 0 for value in differences), sum(value > 0 for value in differences))
        if rates
        else paired_permutation_test(differences)
    )
    check_confidence(confidence)
    spread = _spread(differences, rates)
    interval = _interval(spread, confidence)
    if interval is not None:
        ends = max(-widest, interval.low), min(widest, interval.high)
        interval = Interval(*ends, interval.confidence, interval.method)
    return PairedTest(
        first=math.fsum(firsts) / len(firsts),
        second=math.fsum(seconds) / len(firsts),
        difference=math.fsum(differences) / len(firsts),
        interval=interval,
        p_value=p_value,
        test="mcnemar" if rates else "permutation",
        detectable=_detectable(spread, confidence),
    )
