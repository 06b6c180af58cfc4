"""Quantiles of the normal distribution and of Student's t distribution, from the standard library alone."""

from __future__ import annotations

import math
from statistics import NormalDist

from referee.errors import OptionError

_NORMAL = NormalDist()
#: From so many degrees of freedom on, five terms of the expansion in 1/df are exact to 1e-11.
_LARGE = 500


def normal_quantile(p: float) -> float:
    """The value that a standard normal variable stays below with probability `p`.

    Example:
        >>> round(normal_quantile(0.975), 6)
        1.959964
    """
    return _NORMAL.inv_cdf(p)


def t_quantile(p: float, df: int) -> float:
    """The value that Student's t with `df` degrees of freedom stays below with probability `p`.

    Up to 500 degrees of freedom the distribution function is summed exactly (Abramowitz and Stegun, "Handbook of
    Mathematical Functions", 26.7.3 and 26.7.4) and inverted by Newton's method; above, the expansion of the quantile
    in powers of 1/df is used (26.7.5).

    Args:
        p: Above 0 and below 1.
        df: Degrees of freedom, 1 or more.

    Raises:
        OptionError: An argument is outside its range.

    Example:
        >>> round(t_quantile(0.975, 4), 6)
        2.776445
    """
    if not 0 < p < 1:
        raise OptionError(f"a quantile needs a probability between 0 and 1, not {p!r}")
    if df < 1:
        raise OptionError(f"Student's t needs at least 1 degree of freedom, not {df!r}")
    if p < 0.5:
        return -t_quantile(1 - p, df)
    return _expanded(normal_quantile(p), df) if df > _LARGE else _inverted(2 * p - 1, df)


def _central_probability(t: float, df: int) -> float:
    """The probability that Student's t lies between `-t` and `t`."""
    angle = math.atan(t / math.sqrt(df))
    cos2 = 1 / (1 + t * t / df)
    if df % 2:
        total, term = 0.0, math.cos(angle)
        for k in range(1, df - 1, 2):
            total += term
            term *= cos2 * (k + 1) / (k + 2)
        return 2 / math.pi * (angle + math.sin(angle) * total)
    total, term = 0.0, 1.0
    for k in range(0, df - 1, 2):
        total += term
        term *= cos2 * (k + 1) / (k + 2)
    return math.sin(angle) * total


def _density(t: float, df: int) -> float:
    scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    return math.exp(scale - (df + 1) / 2 * math.log1p(t * t / df))


def _inverted(central: float, df: int) -> float:
    """The `t` with this central probability. The function is concave, so Newton's steps from below never overshoot."""
    t = normal_quantile((1 + central) / 2)
    while True:
        step = (central - _central_probability(t, df)) / (2 * _density(t, df))
        t += step
        if step <= 1e-13 * t:
            return t


def _expanded(z: float, df: int) -> float:
    z2 = z * z
    terms = (
        (z2 + 1) / 4,
        ((5 * z2 + 16) * z2 + 3) / 96,
        (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384,
        ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160,
    )
    return z + math.fsum(z * term / float(df) ** (power + 1) for power, term in enumerate(terms))
