"""What an experiment is measured against: the figures of an earlier one, scorer by scorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from referee.scores import TOLERANCE
from referee.storage.columns import ColumnKey, GridColumn


class Against(NamedTuple):
    """A scorer's mean against the baseline's.

    Attributes:
        difference: This mean minus the baseline's.
        is_worse, is_better: Which way it went, whichever direction is the good one.
        is_clear: The two intervals do not overlap. The paired test of a comparison sees finer.
        same_version: Whether both were scored by the same version.
    """

    difference: float
    is_worse: bool
    is_better: bool
    is_clear: bool
    same_version: bool


def against_baseline(columns: Sequence[GridColumn], baseline: Sequence[GridColumn]) -> dict[ColumnKey, Against]:
    """The columns that both have, with their difference."""
    before = {column.key: column for column in baseline}
    return {
        column.key: found
        for column in columns
        if column.key in before and (found := _against(column, before[column.key])) is not None
    }


def _against(column: GridColumn, before: GridColumn) -> Against | None:
    if column.figures.mean is None or before.figures.mean is None:
        return None
    difference = column.figures.mean - before.figures.mean
    changed = abs(difference) > TOLERANCE
    is_gain = (difference > 0) != column.lower_is_better
    left, right = column.figures.interval, before.figures.interval
    is_clear = left is not None and right is not None and (left.low > right.high or right.low > left.high)
    return Against(
        difference,
        is_worse=changed and not is_gain,
        is_better=changed and is_gain,
        is_clear=is_clear,
        same_version=column.versions == before.versions,
    )
