"""Two experiments side by side: better, worse, same, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from referee.storage.comparison import CHANGES, ItemChange, ScorerComparison, ScorerInBoth
from referee.storage.experiment_rows import ExperimentRow
from referee.storage.filters import ScoreFilter
from referee.storage.score_rows import ScoreRow, StoredScore
from referee.storage.store import Store
from referee.studio.baseline import Against, against_baseline
from referee.studio.conversation import Section, sections_of
from referee.studio.fields import Fields
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.screen import WHOLE, Parameter, Screen
from referee.studio.word_diff import Segment, word_diff

#: So many scores of one item are shown.
MOST_SCORES = 500
_ITEM_COLUMNS = ItemChange.__struct_fields__


@dataclass(frozen=True, slots=True)
class Side:
    """One item in one of the experiments."""

    stored: StoredScore
    sections: list[Section]


@dataclass(frozen=True, slots=True)
class Both:
    """One item in both experiments; a side is `None` where the item has no score."""

    item: str
    first: Side | None
    second: Side | None
    answers: list[Segment] | None


def compare_page(store: Store, query: Query) -> Page:
    """Two experiments, scorer by scorer; one scorer item by item; one item with both answers."""
    names = query.text("first"), query.text("second")
    choices = store.experiments.latest(limit=200)
    if names[0] is None or names[1] is None:
        return Page(
            "compare.html",
            "Compare",
            {"first": None, "second": None, "columns": [], "comparison": None},
            Rows(_ITEM_COLUMNS, []),
            {"choices": choices},
        )
    first, second = (store.experiments.get(name) for name in names if name)
    columns = store.experiments.columns_of_both(first.key, second.key)
    chosen = _chosen(query, columns)
    comparison = None
    if chosen is not None and chosen.first is not None and chosen.second is not None:
        comparison = store.experiments.compare(
            first.key,
            second.key,
            chosen.scorer,
            turn=chosen.turn,
            changes=query.texts("change"),  # type: ignore[arg-type]
            limit=query.limit,
            offset=query.whole("offset") or 0,
        )
    both = _both(store, query)
    return Page(
        "compare.html",
        f"{_name(first, second)} → {_name(second, first)}",
        {"first": first, "second": second, "columns": columns, "comparison": comparison},
        Rows(_ITEM_COLUMNS, _cells(comparison)),
        {
            "choices": choices,
            "chosen": chosen,
            "against": _against(columns),
            "both": both,
            "changes": CHANGES,
            "offset": query.whole("offset") or 0,
        },
        next=_next(query, comparison),
    )


def _name(experiment: ExperimentRow, other: ExperimentRow) -> str:
    """The experiment's name, or its key where the name would not tell the two apart."""
    return experiment.key if experiment.name in ("", other.name) else experiment.name


def _chosen(query: Query, columns: list[ScorerInBoth]) -> ScorerInBoth | None:
    """The scorer that is asked for, else the first that both have."""
    scorer, turn = query.text("scorer"), query.whole("turn")
    if scorer is None:
        return next((column for column in columns if column.first is not None and column.second is not None), None)
    return next((column for column in columns if (column.scorer, column.turn) == (scorer, turn)), None)


def _against(columns: list[ScorerInBoth]) -> dict[tuple[str, int | None], Against]:
    found = against_baseline(
        [column.second for column in columns if column.second is not None],
        [column.first for column in columns if column.first is not None],
    )
    return {tuple(key): value for key, value in found.items()}  # type: ignore[misc]


def _cells(comparison: ScorerComparison | None) -> list[list[Any]]:
    if comparison is None:
        return []
    return [[getattr(change, name) for name in _ITEM_COLUMNS] for change in comparison.changes]


def _next(query: Query, comparison: ScorerComparison | None) -> str | None:
    end = (query.whole("offset") or 0) + (len(comparison.changes) if comparison else 0)
    if comparison is None or end >= comparison.total:
        return None
    return query.set(offset=end, item=None, first_score=None, second_score=None)


def compared_item_page(store: Store, query: Query) -> Page:
    """One item in two experiments: every scorer's value, both answers, both conversations."""
    first, second = (store.experiments.get(query.needed(name)) for name in ("first", "second"))
    item = query.needed("item")
    sides = [_scores_of(store, experiment, item) for experiment in (first, second)]
    numbers = [next((row.number for row in side.values()), None) for side in sides]
    both = _read_both(store, item, numbers)
    keys = dict.fromkeys([*sides[0], *sides[1]])
    values = [(scorer, turn, *(side.get((scorer, turn)) for side in sides)) for scorer, turn in keys]
    return Page(
        "compared_item.html",
        item,
        {"first": first, "second": second, "scores": [list(side.values()) for side in sides]},
        Rows(
            ("scorer", "turn", "before", "after"),
            [[*key, *((row := side.get(key)) and row.value for side in sides)] for key in keys],
        ),
        {"both": both, "values": values},
    )


def _scores_of(store: Store, experiment: ExperimentRow, item: str) -> dict[tuple[str, int | None], ScoreRow]:
    """The scores of an item by scorer and turn; of a repeated item those of the first repeat."""
    where = ScoreFilter(experiment=experiment.key, item=item)
    rows = store.scores.page(where, order="oldest", limit=MOST_SCORES).rows
    found: dict[tuple[str, int | None], ScoreRow] = {}
    for row in sorted(rows, key=lambda row: (row.repeat, row.number)):
        found.setdefault((row.scorer, row.turn), row)
    return found


def _both(store: Store, query: Query) -> Both | None:
    """The item that is opened."""
    item = query.text("item")
    if item is None:
        return None
    return _read_both(store, item, [query.whole(name) for name in ("first_score", "second_score")])


def _read_both(store: Store, item: str, numbers: list[int | None]) -> Both:
    sides = []
    for number in numbers:
        stored = None if number is None else store.scores.get(number)
        sides.append(None if stored is None else Side(stored, sections_of(stored.run, Fields(score=stored.row.number))))
    first, second = sides
    answers = None
    if first is not None and second is not None:
        answers = word_diff(first.stored.run.output_text, second.stored.run.output_text)
    return Both(item, first, second, answers)


_PAIR = (
    Parameter("first", "The experiment before the change, by key or name."),
    Parameter("second", "The experiment after it."),
)
SCREEN = Screen(
    "/compare",
    "Two experiments: what got better, what got worse, and whether it is more than noise.",
    compare_page,
    (
        *_PAIR,
        Parameter("scorer", "The scorer that is compared item by item; the first that both have when it is not given."),
        Parameter(
            "turn", "The turn that is compared; whole runs when it is not given.", {**WHOLE, "maximum": 2**31 - 1}
        ),
        Parameter("change", "Only items with this change.", {"type": "string", "enum": list(CHANGES)}, is_list=True),
        Parameter("offset", "How many items are passed over.", {**WHOLE, "maximum": 10**9}),
        Parameter("item", "The item that is opened."),
        Parameter("first_score", "Its score in the first experiment.", WHOLE),
        Parameter("second_score", "Its score in the second experiment.", WHOLE),
    ),
    {
        "first": ExperimentRow | None,
        "second": ExperimentRow | None,
        "columns": list[ScorerInBoth],
        "comparison": ScorerComparison | None,
    },
)
ITEM_SCREEN = Screen(
    "/compared-item",
    "One item in two experiments: every scorer's value, and both answers word by word.",
    compared_item_page,
    (
        *(Parameter(each.name, each.words, is_needed=True) for each in _PAIR),
        Parameter("item", "The item's id.", is_needed=True),
    ),
    {"first": ExperimentRow, "second": ExperimentRow, "scores": list[list[ScoreRow]]},
)
