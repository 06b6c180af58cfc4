"""Questions about scores: pages, single scores, counts, histograms, facets, trends."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, select

from referee.errors import OptionError, StoreError
from referee.storage.counts import Counts, Total
from referee.storage.database import Database
from referee.storage.figures import Histogram, histogram_of
from referee.storage.filters import ScoreFilter, Selection
from referee.storage.outcomes import OUTCOMES
from referee.storage.pages import BY_TIME, BY_VALUE, ORDERS, THE_REST, Order, Position, read_head, read_position
from referee.storage.schema import experiments, scorers, scores
from referee.storage.score_rows import ScoreRow, StoredScore, read_rows, read_score
from referee.storage.trends import Series, read_trend

NO_FILTER = ScoreFilter()
#: A page has at most so many rows.
LONGEST_PAGE = 1000


class ScorePage(msgspec.Struct, frozen=True, kw_only=True):
    """Some scores of many.

    Attributes:
        rows: The scores.
        total: How many there are.
        is_exact: Whether there are not more than `total`.
        next, previous: Positions for `after` and `before`, or `None` at the end and at the beginning.
    """

    rows: list[ScoreRow]
    total: int
    is_exact: bool
    next: str | None
    previous: str | None


class Facet(msgspec.Struct, frozen=True):
    """A value that a filter could have, and how many scores it would leave."""

    value: str
    count: int


class Facets(msgspec.Struct, frozen=True, kw_only=True):
    """What the scores that fit are made of; each list leaves out the filter's own condition on it.

    Attributes:
        experiments: The latest experiments that have scores which fit.
        scorers: The scorers' ids.
        versions: The versions of the scorer that is asked for; empty when none is.
        outcomes: The outcomes.
        is_exact: Whether every score that fits was counted.
    """

    experiments: list[Facet]
    scorers: list[Facet]
    versions: list[Facet]
    outcomes: list[Facet]
    is_exact: bool


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """A page of scores, and what all the scores that fit are made of.

    `histogram` is `None` when no score fits, or when their scorers have different ranges.
    """

    page: ScorePage
    facets: Facets
    histogram: Histogram | None


class Scores:
    """The scores of a store. Made by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(
        self,
        where: ScoreFilter = NO_FILTER,
        *,
        order: Order = "newest",
        limit: int = 50,
        after: str | None = None,
        before: str | None = None,
        from_score: int | None = None,
    ) -> ScorePage:
        """A page of scores.

        Args:
            where: Which scores.
            order: `newest`, `oldest`, `lowest` or `highest` first. By value, scores without one come last.
            limit: How many, at most 1,000.
            after: The `next` of a page.
            before: The `previous` of a page.
            from_score: Begin at the score of this number, to link to it.

        Raises:
            OptionError: An unknown order, a limit or position that is none, or more than one beginning.
            StoreError: There is no such experiment or score.
        """
        with self._database.read() as connection:
            return _page(_Counting(connection), where, order, limit, after, before, from_score)

    def survey(
        self,
        where: ScoreFilter = NO_FILTER,
        *,
        order: Order = "newest",
        limit: int = 50,
        after: str | None = None,
        before: str | None = None,
        from_score: int | None = None,
    ) -> Survey:
        """A page of scores with the facets and the histogram of all that fit, read from one state of the store.

        It takes and raises what `page` does.
        """
        with self._database.read() as connection:
            counting = _Counting(connection)
            page = _page(counting, where, order, limit, after, before, from_score)
            facets = _facets(counting, where)
            histogram = _histogram(counting, where) if page.total else None
        return Survey(page=page, facets=facets, histogram=histogram)

    def get(self, number: int) -> StoredScore:
        """One score with all its details and its run.

        Raises:
            StoreError: There is none of this number.
        """
        with self._database.read() as connection:
            return read_score(connection, number)

    def count(self, where: ScoreFilter = NO_FILTER) -> Total:
        """How many scores fit.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            return Counts(connection, Selection(connection, where)).total

    def histogram(self, where: ScoreFilter = NO_FILTER) -> Histogram:
        """How the values of the scores that fit lie in their range.

        Raises:
            OptionError: The scores have different ranges: ask for one scorer.
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            found = _histogram(_Counting(connection), where)
        if found is None:
            raise OptionError("these scores have different ranges: ask for one scorer")
        return found

    def facets(self, where: ScoreFilter = NO_FILTER) -> Facets:
        """What the scores that fit are made of, with counts.

        Raises:
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            return _facets(_Counting(connection), where)

    def trend(self, scorer: str, where: ScoreFilter = NO_FILTER) -> list[Series]:
        """How a scorer's scores went from day to day: one series for each of its versions, never one for several.

        Args:
            scorer: The scorer's id.
            where: Of the filter, `experiment`, `kind`, `version`, `since` and `until` are looked at.

        Raises:
            OptionError: The filter asks for something else.
            StoreError: There is no such experiment.
        """
        with self._database.read() as connection:
            return read_trend(connection, scorer, where)


class _Counting:
    """Counts of several filters over one state of the store, each worked out once."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._selections: dict[ScoreFilter, Selection] = {}
        self._counts: dict[tuple[ScoreFilter, bool], Counts] = {}

    def selection(self, where: ScoreFilter) -> Selection:
        """The filter with its names looked up."""
        if where not in self._selections:
            self._selections[where] = Selection(self.connection, where)
        return self._selections[where]

    def counts(self, where: ScoreFilter, *without: str, by_experiment: bool = False) -> Counts:
        """The counts of a filter, without some of its conditions, by bin.

        Scores of runs are counted row by row, so there one reading tells experiments apart, too.
        """
        free = msgspec.structs.replace(where, **{name: () if name == "outcomes" else None for name in without})
        key = (free, by_experiment or free.asks_run)
        if key not in self._counts:
            selection = self.selection(free)
            self._counts[key] = Counts(self.connection, selection, by_experiment=key[1], with_bins=True)
        return self._counts[key]


def _page(
    counting: _Counting,
    where: ScoreFilter,
    order: Order,
    limit: int,
    after: str | None,
    before: str | None,
    from_score: int | None,
) -> ScorePage:
    if order not in ORDERS:
        raise OptionError(f"there is no order {order!r}; there are: {', '.join(ORDERS)}")
    if not 0 < limit <= LONGEST_PAGE:
        raise OptionError(f"a page has 1 to {LONGEST_PAGE} rows, not {limit}")
    if sum(start is not None for start in (after, before, from_score)) > 1:
        raise OptionError("give one of after, before and from_score")
    connection, counts = counting.connection, counting.counts(where)
    position = _start(connection, after or before, from_score, order)
    backward = before is not None
    head = read_head(connection, counting.selection(where), counts, order, limit, position, backward=backward)
    has_next = head.has_more or backward
    has_previous = head.has_more if backward else position is not None
    return ScorePage(
        rows=read_rows(connection, [row.number for row in head.rows]),
        total=counts.total.count,
        is_exact=counts.total.is_exact,
        next=str(head.rows[-1]) if head.rows and has_next else None,
        previous=str(head.rows[0]) if head.rows and has_previous else None,
    )


def _histogram(counting: _Counting, where: ScoreFilter) -> Histogram | None:
    """The histogram of the scores that fit; `None` when their ranges differ."""
    counts = counting.counts(where)
    ranges = {counts.ranges[scorer] for scorer in counts.by("scorer")}
    if len(ranges) > 1:
        return None
    return histogram_of(next(iter(ranges), (0.0, 1.0)), counts.by("bin"), is_exact=counts.is_exact)


def _facets(counting: _Counting, where: ScoreFilter) -> Facets:
    named = _Names(counting.connection)
    of_experiments = counting.counts(where, "experiment", by_experiment=True)
    of_scorers = counting.counts(where, "scorer", "version")
    of_versions = counting.counts(where, "version") if where.scorer else None
    of_outcomes = counting.counts(where, "outcomes")
    return Facets(
        experiments=named.facets(experiments.c.key, of_experiments.by("experiment")),
        scorers=named.facets(scorers.c.scorer_id, of_scorers.by("scorer")),
        versions=named.facets(scorers.c.version, of_versions.by("scorer")) if of_versions else [],
        outcomes=[Facet(OUTCOMES[number], count) for number, count in sorted(of_outcomes.by("outcome").items())],
        is_exact=all(counts.is_exact for counts in (of_experiments, of_scorers, of_outcomes)),
    )


class _Names:
    """Looks up what numbers stand for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def facets(self, column: Any, counts: Any) -> list[Facet]:
        """The counts by name, the largest first."""
        query = select(column.table.c.id, column).where(column.table.c.id.in_(list(counts)))
        totals: dict[str, int] = {}
        for number, name in self._connection.execute(query):
            totals[name] = totals.get(name, 0) + counts[number]
        return [Facet(name, count) for name, count in sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))]


def _start(connection: Connection, given: str | None, from_score: int | None, order: Order) -> Position | None:
    if from_score is None:
        return None if given is None else read_position(given)
    row = connection.execute(select(scores.c.at, scores.c.value).where(scores.c.id == from_score)).one_or_none()
    if row is None:
        raise StoreError(f"there is no score {from_score}")
    just_before = from_score + (1 if order in ("newest", "highest") else -1)
    if order in ("newest", "oldest"):
        return Position(BY_TIME, row.at, just_before)
    return Position(THE_REST, row.at, just_before) if row.value is None else Position(BY_VALUE, row.value, just_before)
