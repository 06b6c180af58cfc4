"""Agreement of a scorer with people: kappa, correlation, confusion matrix, with intervals. Standard library only."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.scores import TOLERANCE
from referee.statistics import Interval, normal_quantile

#: How a disagreement counts: every one the same, by the distance of the categories, or by its square.
Weights: TypeAlias = Literal["none", "linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = ("none", "linear", "quadratic")

CONFIDENCE = 0.95
#: Up to so many different values are categories as they are; more need cuts.
MOST_CATEGORIES = 10


class Kappa(msgspec.Struct, frozen=True):
    """Cohen's kappa: 1 for perfect agreement, 0 for that of chance, and its interval.

    Both are `None` when it is undefined: no pairs, or chance alone would agree always.
    """

    value: float | None
    interval: Interval | None


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far a scorer's scores agree with people's labels of the same runs.

    Attributes:
        pairs: How many scores have a label.
        disputed: How many were left out because people disagreed with each other and no label had the most votes.
        categories: The names of the categories, lowest first.
        matrix: How often the scorer gave the category of the row where people gave that of the column.
        observed: The share of pairs with the same category.
        kappa, linear_kappa, quadratic_kappa: Cohen's kappa, and those that weigh near misses less than far ones.
        pearson, spearman: Correlation of the values, and of their ranks; `None` when one side does not vary.
        pearson_interval: Of the correlation, 95 %, by Fisher's transformation; `None` below four pairs.
    """

    pairs: int
    disputed: int
    categories: list[str]
    matrix: list[list[int]]
    observed: float | None
    kappa: Kappa
    linear_kappa: Kappa
    quadratic_kappa: Kappa
    pearson: float | None
    pearson_interval: Interval | None
    spearman: float | None

    def by_weights(self, weights: Weights) -> Kappa:
        """The kappa with these weights."""
        return {"none": self.kappa, "linear": self.linear_kappa, "quadratic": self.quadratic_kappa}[weights]


def agreement(
    pairs: Sequence[tuple[float, float]], *, cuts: Sequence[float] | None = None, disputed: int = 0
) -> Agreement:
    """The agreement of scores with labels.

    Args:
        pairs: A score and a label each.
        cuts: Where one category ends and the next begins: a value at a cut belongs to the upper one. `[0.5]` makes
            two categories. `None` takes the values themselves as categories, up to ten different ones.
        disputed: How many more pairs were left out because people disagreed; it is only reported.

    Raises:
        OptionError: There are more than ten different values and no cuts, or the cuts do not rise.

    Example:
        >>> found = agreement([(1, 1), (1, 1), (0, 0), (0, 1)])
        >>> found.observed, found.kappa.value, found.matrix
        (0.75, 0.5, [[1, 1], [0, 2]])
    """
    categories, placed = _placed(pairs, cuts)
    matrix = confusion_matrix(placed, len(categories))
    scores, labels = [score for score, _ in pairs], [label for _, label in pairs]
    correlation = pearson(scores, labels)
    return Agreement(
        pairs=len(pairs),
        disputed=disputed,
        categories=categories,
        matrix=matrix,
        observed=sum(matrix[place][place] for place in range(len(categories))) / len(pairs) if pairs else None,
        kappa=kappa_of(matrix),
        linear_kappa=kappa_of(matrix, "linear"),
        quadratic_kappa=kappa_of(matrix, "quadratic"),
        pearson=correlation,
        pearson_interval=_fisher_interval(correlation, len(pairs)),
        spearman=pearson(ranks(scores), ranks(labels)),
    )


def _placed(
    pairs: Sequence[tuple[float, float]], cuts: Sequence[float] | None
) -> tuple[list[str], list[tuple[int, int]]]:
    """The names of the categories, and the places of both sides of each pair."""
    if cuts is None:
        values = sorted({value for pair in pairs for value in pair})
        if len(values) > MOST_CATEGORIES:
            raise OptionError(
                f"there are {len(values)} different values, too many to be categories: give cuts, like [0.5]"
            )
        places = {value: place for place, value in enumerate(values)}
        return [f"{value:g}" for value in values], [(places[score], places[label]) for score, label in pairs]
    if not cuts or sorted(set(cuts)) != list(cuts) or not all(math.isfinite(cut) for cut in cuts):
        raise OptionError(f"cuts are numbers that rise, at least one, not {list(cuts)}")
    names = [f"below {cuts[0]:g}", *(f"{low:g} to {high:g}" for low, high in pairwise(cuts)), f"from {cuts[-1]:g}"]

    def place(value: float) -> int:
        return bisect_right(cuts, value + TOLERANCE)

    return names, [(place(score), place(label)) for score, label in pairs]


def confusion_matrix(places: Iterable[tuple[int, int]], size: int) -> list[list[int]]:
    """How often each pair of places occurs: a row for each first one, a column for each second one.

    Example:
        >>> confusion_matrix([(0, 0), (0, 1), (1, 1)], 2)
        [[1, 1], [0, 1]]
    """
    matrix = [[0] * size for _ in range(size)]
    for first, second in places:
        matrix[first][second] += 1
    return matrix


def kappa_of(matrix: Sequence[Sequence[int]], weights: Weights = "none") -> Kappa:
    """Cohen's kappa of a confusion matrix, and its large-sample interval.

    Sources: J. Cohen, "A Coefficient of Agreement for Nominal Scales", 1960, and "Weighted Kappa", 1968; the variance
    of J. L. Fleiss, J. Cohen and B. S. Everitt, "Large Sample Standard Errors of Kappa and Weighted Kappa", 1969.

    Args:
        matrix: Counts, a row and a column per category, in the order of the categories.
        weights: `none`, `linear` or `quadratic`.

    Raises:
        OptionError: There are no such weights.

    Example:
        >>> round(kappa_of([[20, 5], [10, 15]]).value, 6)
        0.4
    """
    if weights not in WEIGHTS:
        raise OptionError(f"weights are {', '.join(WEIGHTS)}; not {weights!r}")
    size, total = len(matrix), sum(map(sum, matrix))
    if not total:
        return Kappa(None, None)
    cells = range(size)
    weight = [[_weight(row, column, size, weights) for column in cells] for row in cells]
    shares = [[matrix[row][column] / total for column in cells] for row in cells]
    of_rows = [math.fsum(row) for row in shares]
    of_columns = [math.fsum(row[column] for row in shares) for column in cells]
    observed = math.fsum(weight[i][j] * shares[i][j] for i in cells for j in cells)
    expected = math.fsum(weight[i][j] * of_rows[i] * of_columns[j] for i in cells for j in cells)
    if 1 - expected < TOLERANCE:
        return Kappa(None, None)
    value = (observed - expected) / (1 - expected)
    row_means = [math.fsum(weight[i][j] * of_columns[j] for j in cells) for i in cells]
    column_means = [math.fsum(weight[i][j] * of_rows[i] for i in cells) for j in cells]
    spread = math.fsum(
        shares[i][j] * (weight[i][j] * (1 - expected) - (row_means[i] + column_means[j]) * (1 - observed)) ** 2
        for i in cells
        for j in cells
    )
    variance = (spread - (observed * expected - 2 * expected + observed) ** 2) / (total * (1 - expected) ** 4)
    half = normal_quantile((1 + CONFIDENCE) / 2) * math.sqrt(max(0.0, variance))
    return Kappa(value, Interval(max(-1.0, value - half), min(1.0, value + half), CONFIDENCE, "fleiss-cohen-everitt"))


def _weight(row: int, column: int, size: int, weights: Weights) -> float:
    """How far two categories agree: 1 for the same one."""
    if weights == "none":
        return float(row == column)
    distance = abs(row - column) / (size - 1) if size > 1 else 0.0
    return 1 - (distance if weights == "linear" else distance * distance)


def pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's correlation; `None` below two pairs, or when one side does not vary.

    Example:
        >>> round(pearson([0.1, 0.2, 0.3], [1, 2, 4]), 6)
        0.981981
    """
    if len(first) < 2 or min(first) == max(first) or min(second) == max(second):
        return None
    left, right = _deviations(first), _deviations(second)
    scale = math.sqrt(math.fsum(value * value for value in left)) * math.sqrt(
        math.fsum(value * value for value in right)
    )
    if not scale:
        return None
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(left, right)) / scale))


def _deviations(values: Sequence[float]) -> list[float]:
    """How far each value lies from their mean, in units of the largest, so that no square is too large or too small."""
    unit = max(map(abs, values))
    shares = [value / unit for value in values]
    mean = math.fsum(shares) / len(shares)
    return [share - mean for share in shares]


def ranks(values: Sequence[float]) -> list[float]:
    """The ranks of values from 1; equal values share the mean of their ranks. Their correlation is Spearman's.

    Example:
        >>> ranks([0.5, 0.1, 0.5])
        [2.5, 1.0, 2.5]
    """
    counts = Counter(values)
    rank: dict[float, float] = {}
    below = 0
    for value in sorted(counts):
        rank[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return [rank[value] for value in values]


def _fisher_interval(correlation: float | None, pairs: int) -> Interval | None:
    """R. A. Fisher's interval of a correlation, 1921."""
    if correlation is None or pairs < 4:
        return None
    if abs(correlation) == 1:
        return Interval(correlation, correlation, CONFIDENCE, "fisher")
    centre, half = math.atanh(correlation), normal_quantile((1 + CONFIDENCE) / 2) / math.sqrt(pairs - 3)
    return Interval(math.tanh(centre - half), math.tanh(centre + half), CONFIDENCE, "fisher")


def most_voted(votes: Sequence[float]) -> float | None:
    """The label that most people gave; `None` when two labels share the most votes.

    Example:
        >>> most_voted([1, 0, 1]), most_voted([1, 0])
        (1, None)
    """
    ranked = Counter(votes).most_common(2)
    if len(ranked) == 2 and ranked[0][1] == ranked[1][1]:
        return None
    return ranked[0][0] if ranked else None
