"""Rollups: counts and sums of scores, kept with every write, so that histograms and trends read few rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, func

from referee.storage.bulk import insert_for
from referee.storage.days import DAY_MS
from referee.storage.outcomes import ERROR_BIN, NOT_SCORABLE_BIN, OUTCOMES, bin_of, edges
from referee.storage.schema import ALL_DAYS, rollups

_FAILED = OUTCOMES.index("failed")
_PASSED = OUTCOMES.index("passed")
_ERROR = OUTCOMES.index("error")
_KEY = ("day", "scorer", "experiment", "turn", "bin")
#: The values of `_KEY`.
_Key = tuple[int, int, int, int, int]
#: The columns that are added up.
SUMMED = ("scores", "failed", "passed", "total", "squares", "tokens", "cost")


def column_sums(names: Sequence[str] = SUMMED) -> list[ColumnElement[Any]]:
    """The sums of columns, each of its column's type: PostgreSQL's sum of whole numbers is a decimal."""
    return [func.sum(rollups.c[name]).cast(rollups.c[name].type) for name in names]


class _Cell(msgspec.Struct, gc=False):
    """The scores of one experiment, scorer, day and bin; `tokens` and `cost` are what their judges took."""

    scores: int = 0
    failed: int = 0
    passed: int = 0
    total: float = 0.0
    squares: float = 0.0
    tokens: int = 0
    cost: float = 0.0


class Changes:
    """How a transaction changes the rollups; applied once, at its end."""

    def __init__(self) -> None:
        self._cells: dict[_Key, _Cell] = {}
        self._edges: dict[tuple[float, float], list[float]] = {}

    def add(
        self,
        experiment: int,
        scorer: int,
        turn: int,
        at: int,
        outcome: int,
        value: float | None,
        range: tuple[float, float],
        *,
        sign: int = 1,
    ) -> _Cell:
        """Count one score, or with `sign=-1` take one away; gives its cell."""
        if value is None:
            place = ERROR_BIN if outcome == _ERROR else NOT_SCORABLE_BIN
        else:
            found = self._edges.get(range)
            if found is None:
                found = self._edges[range] = edges(*range)
            place = bin_of(value, found)
        key = (at // DAY_MS, scorer, experiment, turn, place)
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = _Cell()
        cell.scores += sign
        if outcome == _FAILED:
            cell.failed += sign
        elif outcome == _PASSED:
            cell.passed += sign
        if value is not None:
            cell.total += sign * value
            cell.squares += sign * value * value
        return cell

    def apply(self, connection: Connection) -> None:
        """Write the changes. In the order of the key, so that two writers never wait for each other in a circle."""
        if not self._cells:
            return
        insert = insert_for(connection, rollups)
        connection.execute(
            insert.on_conflict_do_update(
                index_elements=_KEY, set_={name: rollups.c[name] + insert.excluded[name] for name in SUMMED}
            ),
            [
                {**dict(zip(_KEY, key)), **msgspec.structs.asdict(cell)}
                for key, cell in [*sorted(self._of_all_days().items()), *sorted(self._cells.items())]
            ],
        )
        if any(cell.scores < 0 for cell in self._cells.values()):
            connection.execute(delete(rollups).where(rollups.c.scores <= 0, rollups.c.tokens == 0, rollups.c.cost == 0))

    def _of_all_days(self) -> dict[_Key, _Cell]:
        found: dict[_Key, _Cell] = {}
        for (_, *rest), cell in self._cells.items():
            whole = found.setdefault((ALL_DAYS, *rest), _Cell())  # type: ignore[arg-type]
            for name in SUMMED:
                setattr(whole, name, getattr(whole, name) + getattr(cell, name))
        return found
