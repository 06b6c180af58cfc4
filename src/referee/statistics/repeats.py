"""Items that are run several times: pass@k, pass^k and flakiness."""

from __future__ import annotations

from math import comb

from referee.errors import OptionError


def _check(trials: int, passed: int, k: int) -> None:
    if not 0 <= passed <= trials:
        raise OptionError(f"{passed} of {trials} trials cannot pass")
    if not 1 <= k <= trials:
        raise OptionError(f"k must be 1 to {trials}, the number of trials, not {k}")


def pass_at_k(trials: int, passed: int, k: int) -> float:
    """The chance that at least one of `k` trials passes, estimated without bias from `trials`.

    Formula: `1 - C(n - c, k) / C(n, k)`; M. Chen et al., "Evaluating Large Language Models Trained on Code", 2021,
    arXiv:2107.03374.

    Args:
        trials: How often the item was run (n).
        passed: How many of them passed (c).
        k: 1 to `trials`.

    Raises:
        OptionError: A number is outside its range.

    Example:
        >>> pass_at_k(4, 2, 2)
        0.8333333333333334
    """
    _check(trials, passed, k)
    return 1 - comb(trials - passed, k) / comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float:
    """The chance that all of `k` trials pass (pass^k), estimated without bias from `trials`.

    Formula: `C(c, k) / C(n, k)`; S. Yao et al., "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World
    Domains", 2024, arXiv:2406.12045.

    Args:
        trials: How often the item was run (n).
        passed: How many of them passed (c).
        k: 1 to `trials`.

    Raises:
        OptionError: A number is outside its range.

    Example:
        >>> pass_hat_k(4, 2, 2)
        0.16666666666666666
    """
    _check(trials, passed, k)
    return comb(passed, k) / comb(trials, k)


def flakiness(trials: int, passed: int) -> float | None:
    """The chance that two trials of the item, taken at random, disagree.

    Formula: `2 c (n - c) / (n (n - 1))`. 0: all passed or all failed. It is highest when half of them passed, and 1
    when one of two did.

    Args:
        trials: How often the item was run (n).
        passed: How many of them passed (c).

    Returns:
        0 to 1; `None` for fewer than two trials.

    Raises:
        OptionError: More passed than were run.

    Example:
        >>> flakiness(4, 4), flakiness(4, 1)
        (0.0, 0.5)
    """
    if not 0 <= passed <= trials:
        raise OptionError(f"{passed} of {trials} trials cannot pass")
    return None if trials < 2 else 2 * passed * (trials - passed) / (trials * (trials - 1))
