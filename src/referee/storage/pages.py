"""Pages of scores: any filter, newest or oldest or lowest or highest first, by keyset and never by offset.

A filter splits into *branches* that an index serves from end to end, one per scorer and outcome that the rollups know
to hold scores; the page is the head of their merged order. Where that makes too many branches, one query does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Connection, Select, literal, select, tuple_, union_all

from referee.errors import OptionError
from referee.storage.counts import Counts
from referee.storage.filters import Selection
from referee.storage.outcomes import OUTCOMES
from referee.storage.schema import scores

#: The largest whole number that every database holds.
LARGEST = 2**63 - 1

Order: TypeAlias = Literal["newest", "oldest", "lowest", "highest"]
_BY_VALUE, _DESCENDING = ("lowest", "highest"), ("newest", "highest")
ORDERS: tuple[Order, ...] = ("newest", "oldest", "lowest", "highest")

#: One query per scorer and outcome, up to so many.
MOST_BRANCHES = 120
#: Up to so many scores are sorted rather than walked through in the order of time.
FEW_SCORES = 20_000
#: Above so many scores of one experiment, those of all experiments are walked through in the order of value.
MANY_SCORES = 100_000

_WITH_NUMBER = [OUTCOMES.index(name) for name in ("failed", "passed", "unbounded")]
_WITHOUT_NUMBER = [OUTCOMES.index(name) for name in ("error", "not_scorable")]

#: How rows are sorted: all by time; those with a number by value; after these the rest by time.
BY_TIME, BY_VALUE, THE_REST = "t", "v", "r"
_KEYS = {BY_TIME: scores.c.at, BY_VALUE: scores.c.value, THE_REST: scores.c.at}
_OUTCOMES = {BY_TIME: [*_WITHOUT_NUMBER, *_WITH_NUMBER], BY_VALUE: _WITH_NUMBER, THE_REST: _WITHOUT_NUMBER}


class Position(NamedTuple):
    """A place in an order: how it is sorted there (`_Phase`), the row's sort key and its number."""

    phase: str
    key: float
    number: int

    def __str__(self) -> str:
        return f"{self.phase}{self.key!r}~{self.number}"


def read_position(text: str) -> Position:
    """The position that a page named as its next or previous one.

    Raises:
        OptionError: It is none.

    Example:
        >>> read_position("v0.5~17")
        Position(phase='v', key=0.5, number=17)
    """
    key, _, number = text[1:].partition("~")
    try:
        if text[0] not in _KEYS:
            raise ValueError
        found = Position(text[0], float(key) if text[0] == BY_VALUE else int(key), int(number))
        if max(abs(found.number), 0 if text[0] == BY_VALUE else abs(found.key)) > LARGEST:
            raise ValueError
        return found
    except (ValueError, IndexError):
        raise OptionError(f"{text!r} is no position of a page: take it from a page's next or previous") from None


class Head(NamedTuple):
    """The rows of a page in their order, and whether there are more in the direction that was read."""

    rows: list[Position]
    has_more: bool


def read_head(
    connection: Connection,
    selection: Selection,
    counts: Counts,
    order: Order,
    limit: int,
    position: Position | None,
    *,
    backward: bool,
) -> Head:
    """The numbers of the scores on a page.

    Args:
        connection: A reading connection.
        selection: What is asked for.
        counts: Its counts.
        order: How the scores are sorted.
        limit: How many.
        position: Where to start, not including; the beginning when `None`.
        backward: Read towards the beginning. The rows are given in the order all the same.
    """
    if position is not None and (position.phase == BY_TIME) == (order in _BY_VALUE):
        raise OptionError(f"the position {str(position)!r} belongs to another order of the page")
    found: list[Position] = []
    for phase in _phases(order, position, backward=backward):
        start = position if position is not None and position.phase == phase else None
        reading = _Reading(connection, selection, counts, phase, (order in _DESCENDING) != backward, start)
        found += reading.rows(limit + 1 - len(found))
        if len(found) > limit:
            break
    head = found[:limit]
    return Head(head[::-1] if backward else head, len(found) > limit)


def _phases(order: Order, position: Position | None, *, backward: bool) -> list[str]:
    if order not in _BY_VALUE:
        return [BY_TIME]
    phases = [THE_REST, BY_VALUE] if backward else [BY_VALUE, THE_REST]
    return phases if position is None else phases[phases.index(position.phase) :]


class _Reading(NamedTuple):
    """One phase of reading a page."""

    connection: Connection
    selection: Selection
    counts: Counts
    phase: str
    descending: bool
    start: Position | None

    def rows(self, limit: int) -> list[Position]:
        """The first rows after the start."""
        pairs = [pair for pair in sorted(self.counts.by("scorer", "outcome")) if pair[1] in _OUTCOMES[self.phase]]
        if not pairs:
            return []
        branches = self._branches(pairs)
        if branches is None or len(branches) > MOST_BRANCHES:
            branches = [[*self.selection.of_scores(), scores.c.outcome.in_(_OUTCOMES[self.phase])]]
        query = self._merged([self._branch(conditions, limit) for conditions in branches], limit)
        return [Position(self.phase, key, number) for number, key in self.connection.execute(query)]

    def _branches(self, pairs: Sequence[tuple[int, int]]) -> list[list[ColumnElement[bool]]] | None:
        """The conditions of each branch; `None` where one query with all conditions serves better."""
        given = self.selection.filter
        if given.asks_run:
            return None
        rest = [*self.selection.of_experiment(), *self.selection.of_value(), *self.selection.of_time()]
        by_value = self.phase == BY_VALUE
        total = self.counts.total.count
        if by_value:
            use_values = self.selection.experiment is None or total > MANY_SCORES
        else:
            use_values = self.selection.experiment is None and given.asks_value and total <= FEW_SCORES
        if use_values:
            # `+ 0` keeps SQLite from taking the index of outcomes for this.
            outcomes = (scores.c.outcome + 0).in_(sorted({outcome for _, outcome in pairs}))
            return [[scores.c.scorer == scorer, outcomes, *rest] for scorer in sorted({scorer for scorer, _ in pairs})]
        if by_value or self.selection.is_narrow:
            return [[scores.c.scorer == scorer, scores.c.outcome == outcome, *rest] for scorer, outcome in pairs]
        return None

    def _branch(self, conditions: Sequence[ColumnElement[bool]], limit: int) -> Select[Any]:
        key = _KEYS[self.phase]
        query = select(scores.c.id.label("id"), key.label("key")).where(*conditions)
        if self.start is not None:
            place, start = tuple_(key, scores.c.id), tuple_(literal(self.start.key), literal(self.start.number))
            query = query.where(place < start if self.descending else place > start)
        return self._sorted(query, key, scores.c.id).limit(limit)

    def _merged(self, branches: Sequence[Select[Any]], limit: int) -> Select[Any]:
        if len(branches) == 1:
            return branches[0]
        merged = union_all(*(select(branch.subquery()) for branch in branches)).subquery()
        return self._sorted(select(merged.c.id, merged.c.key), merged.c.key, merged.c.id).limit(limit)

    def _sorted(self, query: Select[Any], key: ColumnElement[Any], number: ColumnElement[Any]) -> Select[Any]:
        if self.descending:
            return query.order_by(key.desc(), number.desc())
        return query.order_by(key, number)
