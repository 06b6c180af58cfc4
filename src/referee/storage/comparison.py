"""Two experiments compared, scorer by scorer and item by item.

Items are paired by their id; of a repeated item the mean counts, and one turn is compared with the same turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from sqlalchemy import Connection, Select, select, union_all

from referee.errors import OptionError
from referee.scores import TOLERANCE
from referee.statistics import Interval, paired_columns_test
from referee.storage.bulk import is_sqlite
from referee.storage.columns import (
    ColumnKey,
    GridColumn,
    has_repeats,
    in_column,
    read_columns,
    scorer_versions,
    stored_turn,
)
from referee.storage.experiment_rows import find
from referee.storage.figures import CONFIDENCE
from referee.storage.schema import runs, scorers, scores

#: What became of an item from the first experiment to the second. `no_score` where one of them has no number for it.
Change: TypeAlias = Literal["worse", "better", "same", "only_first", "only_second", "no_score"]
CHANGES: tuple[Change, ...] = ("worse", "better", "same", "only_first", "only_second", "no_score")
#: How many items one query may name.
_CHUNK = 2000
#: How many rows are in memory as such at a time.
_PART = 500


class ScorerInBoth(msgspec.Struct, frozen=True, kw_only=True):
    """A column that at least one of two experiments has, side by side, without looking at single items."""

    scorer: str
    turn: int | None
    first: GridColumn | None
    second: GridColumn | None

    @property
    def same_version(self) -> bool:
        """Whether both were scored by one and the same version of the scorer."""
        versions = [column.versions for column in (self.first, self.second) if column is not None]
        return len(versions) == 2 and versions[0] == versions[1]


class ItemChange(msgspec.Struct, frozen=True, kw_only=True):
    """One item in two experiments.

    Attributes:
        item: The item's id.
        change: `worse`, `better`, `same`, `only_first`, `only_second`, or `no_score`: it is in both, and one of them
            has no number for it.
        first, second: The values; of a repeated item the means. `None` where there is no number.
        first_score, second_score: The numbers of the scores in this store, of repeated items one of them.
    """

    item: str
    change: Change
    first: float | None
    second: float | None
    first_score: int | None
    second_score: int | None


class ScorerComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One scorer in two experiments.

    Attributes:
        scorer, turn: The column.
        lower_is_better: Whether a low score is the good one.
        first_versions, second_versions: The scorer's versions. When they differ, it may be the scorer that changed.
        counts: How many items came to each `Change`.
        pairs: How many items have a number in both.
        first, second: Their means.
        difference: Second minus first.
        interval: Of the difference, 95 %; `None` for fewer than two pairs.
        p_value: The chance of a difference this large if there were none; `None` without pairs.
        test: `mcnemar` (exact) for passes and failures, else `permutation`.
        detectable: The smallest difference that a sample like this one would find four times out of five.
        outcome: `better` or `worse` when the p-value is below 0.05.
        total: How many items there are with the change that was asked for.
        changes: The asked part of them, the worst first.
    """

    scorer: str
    turn: int | None
    lower_is_better: bool
    first_versions: list[str]
    second_versions: list[str]
    counts: dict[Change, int]
    pairs: int
    first: float | None
    second: float | None
    difference: float | None
    interval: Interval | None
    p_value: float | None
    test: Literal["mcnemar", "permutation"]
    detectable: float | None
    outcome: Literal["better", "worse", "no difference shown"]
    total: int
    changes: list[ItemChange]


class _Side(NamedTuple):
    """The scores of one column: by item the value, or `None`."""

    values: dict[str, float | None]
    versions: list[str]
    lower_is_better: bool
    width: float


def read_columns_of_both(connection: Connection, first: str, second: str) -> list[ScorerInBoth]:
    """The columns of two experiments side by side."""
    sides: list[dict[ColumnKey, GridColumn]] = []
    for name in (first, second):
        number = find(connection, name).number
        columns = read_columns(connection, number, has_repeats=has_repeats(connection, number))
        sides.append({column.key: column for column in columns})
    keys = dict.fromkeys([*sides[0], *sides[1]])
    return [
        ScorerInBoth(scorer=key.scorer, turn=key.turn, first=sides[0].get(key), second=sides[1].get(key))
        for key in keys
    ]


def read_comparison(
    connection: Connection,
    first: str,
    second: str,
    column: ColumnKey,
    changes: Sequence[Change],
    *,
    limit: int,
    offset: int,
) -> ScorerComparison:
    """One scorer in two experiments. See `Experiments.compare`."""
    unknown = [change for change in changes if change not in CHANGES]
    if unknown:
        raise OptionError(f"there is no change {unknown[0]!r}; there are: {', '.join(CHANGES)}")
    if limit < 0 or offset < 0:
        raise OptionError(f"limit and offset must be 0 or more, not {limit} and {offset}")
    numbers = [find(connection, name).number for name in (first, second)]
    before, after = (_side(connection, number, column) for number in numbers)
    absent = (
        _absent(connection, numbers[0], after.values.keys() - before.values.keys()),
        _absent(connection, numbers[1], before.values.keys() - after.values.keys()),
    )
    found, gains, firsts, seconds = _changed(before, after, absent)
    wanted = [change for change in CHANGES if not changes or change in changes]
    listed = list(_listed(found, gains, wanted, offset, limit))
    first_numbers, second_numbers = _numbers(connection, numbers, column, [item for _, item in listed])
    return ScorerComparison(
        scorer=column.scorer,
        turn=column.turn,
        lower_is_better=before.lower_is_better,
        first_versions=before.versions,
        second_versions=after.versions,
        counts={change: len(found[change]) for change in CHANGES},
        total=sum(len(found[change]) for change in wanted),
        changes=[
            ItemChange(
                item=item,
                change=change,
                first=before.values.get(item),
                second=after.values.get(item),
                first_score=first_numbers.get(item),
                second_score=second_numbers.get(item),
            )
            for change, item in listed
        ],
        **_tested(firsts, seconds, before),
    )


def _side(connection: Connection, experiment: int, column: ColumnKey) -> _Side:
    versions = scorer_versions(connection, experiment, column)
    query = (
        select(runs.c.item, scores.c.value)
        .join_from(scores, runs, runs.c.id == scores.c.run)
        .where(*in_column(experiment, [version.number for version in versions], column.turn))
    )
    if not is_sqlite(connection):
        # PostgreSQL would read all runs of the store else; SQLite would begin at the runs and look up each score.
        query = query.where(runs.c.experiment == experiment)
    values: dict[str, float | None] = {}
    count = 0
    for rows in _plain_rows(connection, query):
        values.update(rows)
        count += len(rows)
    if len(values) < count:  # only repeated items are read twice: keeping all rows would cost every comparison more
        values = _means(chain.from_iterable(_plain_rows(connection, query)))
    return _Side(
        values,
        sorted(version.version for version in versions),
        versions[0].lower_is_better,
        versions[0].high - versions[0].low,
    )


def _plain_rows(connection: Connection, query: Select[Any]) -> Iterator[list[tuple[Any, Any]]]:
    """The rows as the driver gives them, in parts that are too small to wake the garbage collector."""
    with connection.execute(query) as result:
        cursor: Any = result.cursor
        while rows := cursor.fetchmany(_PART):
            yield rows


def _means(found: Iterable[tuple[str, float | None]]) -> dict[str, float | None]:
    """By item the mean of its repeats that have a number."""
    listed: dict[str, list[float]] = {}
    for item, value in found:
        of_item = listed.setdefault(item, [])
        if value is not None:
            of_item.append(value)
    return {item: sum(values) / len(values) if values else None for item, values in listed.items()}


def _numbers(
    connection: Connection, experiments: Sequence[int], column: ColumnKey, items: Sequence[str]
) -> list[dict[str, int]]:
    """For each experiment, by item the number of its score, of a repeated item that of the last one."""
    query = (
        select(runs.c.experiment, runs.c.item, scores.c.id.label("number"))
        .join(scores, scores.c.run == runs.c.id)
        .join(scorers, scorers.c.id == scores.c.scorer)
        .where(scores.c.turn == stored_turn(column.turn), scorers.c.scorer_id == column.scorer)
    )
    found: dict[int, dict[str, int]] = {experiment: {} for experiment in experiments}
    for start in range(0, len(items), _CHUNK):
        some = query.where(runs.c.item.in_(items[start : start + _CHUNK]))
        # One round trip, and yet each half begins at the runs of its one experiment, which both databases do quickly.
        both = union_all(*(some.where(runs.c.experiment == experiment) for experiment in found))
        for experiment, item, number in connection.execute(both.order_by("number")):
            found[experiment][item] = number
    return [found[experiment] for experiment in experiments]


def _absent(connection: Connection, experiment: int, items: Iterable[str]) -> set[str]:
    """Those of the items that an experiment does not have at all."""
    absent = set(items)
    listed = sorted(absent)
    for start in range(0, len(listed), _CHUNK):
        query = select(runs.c.item).where(runs.c.experiment == experiment)
        absent -= set(connection.scalars(query.where(runs.c.item.in_(listed[start : start + _CHUNK]))))
    return absent


class _Changed(NamedTuple):
    """What became of the items; of those with a number in both how much they gained, and the numbers in that order."""

    items: dict[Change, list[str]]
    gains: dict[str, float]
    firsts: list[float]
    seconds: list[float]


def _changed(before: _Side, after: _Side, absent: tuple[set[str], set[str]]) -> _Changed:
    changed = _Changed({change: [] for change in CHANGES}, {}, [], [])
    items, gains, firsts, seconds = changed
    worse, better, same = items["worse"], items["better"], items["same"]
    sign = -1 if before.lower_is_better else 1
    unpaired = list(after.values.keys() - before.values.keys())
    second_of = after.values.get
    for item, first in before.values.items():
        second = second_of(item)
        if first is None or second is None:
            unpaired.append(item)
            continue
        firsts.append(first)
        seconds.append(second)
        gains[item] = gain = (second - first) * sign
        (worse if gain < -TOLERANCE else better if gain > TOLERANCE else same).append(item)
    for item in unpaired:
        missing: Change = "only_first" if item in absent[1] else "only_second" if item in absent[0] else "no_score"
        items[missing].append(item)
    return changed


def _listed(
    found: Mapping[Change, list[str]], gains: Mapping[str, float], wanted: Iterable[Change], offset: int, limit: int
) -> Iterator[tuple[Change, str]]:
    """The asked part of the items, in the order of the changes, the largest loss first."""
    for change in wanted:
        for item in nsmallest(offset + limit, found[change], key=lambda item: (gains.get(item, 0.0), item))[offset:]:
            yield change, item
            limit -= 1
        offset = max(0, offset - len(found[change]))
        if not limit:
            return


def _tested(firsts: Sequence[float], seconds: Sequence[float], side: _Side) -> dict[str, Any]:
    """The figures of the paired values, and whether their difference is more than noise."""
    if not firsts:
        nothing = dict.fromkeys(("first", "second", "difference", "interval", "p_value", "detectable"))
        return {**nothing, "pairs": 0, "test": "permutation", "outcome": "no difference shown"}
    found = paired_columns_test(firsts, seconds, CONFIDENCE, widest=side.width)
    is_gain = (found.difference > 0) != side.lower_is_better
    is_shown = found.p_value < round(1 - CONFIDENCE, 12) and found.difference != 0
    return {
        "pairs": len(firsts),
        **msgspec.structs.asdict(found),
        "outcome": ("better" if is_gain else "worse") if is_shown else "no difference shown",
    }
