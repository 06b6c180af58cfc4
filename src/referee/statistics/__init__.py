"""Statistics of evaluations: intervals, repeats, and whether a difference is noise. Standard library only.

Every function says its formula's source. NumPy (extra `fast`) makes large bootstraps quick and changes no number.
"""

from __future__ import annotations

from referee.statistics.intervals import (
    Interval,
    bootstrap_interval,
    mean_interval,
    rate_interval,
    t_interval,
    wilson_interval,
)
from referee.statistics.paired import (
    PairedTest,
    detectable_difference,
    difference_interval,
    mcnemar_exact,
    paired_columns_test,
    paired_permutation_test,
    paired_test,
)
from referee.statistics.repeats import flakiness, pass_at_k, pass_hat_k
from referee.statistics.student import normal_quantile, t_quantile

__all__ = [
    "Interval",
    "PairedTest",
    "bootstrap_interval",
    "detectable_difference",
    "difference_interval",
    "flakiness",
    "mcnemar_exact",
    "mean_interval",
    "normal_quantile",
    "paired_columns_test",
    "paired_permutation_test",
    "paired_test",
    "pass_at_k",
    "pass_hat_k",
    "rate_interval",
    "t_interval",
    "t_quantile",
    "wilson_interval",
]
