"""Erasure of an item's content: from its data set, from every run of it, their scores and labels.

Numbers and dates stay, and so do the versions of the data set; the words are gone. `erasure_files` does the same for
the files beside a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, bindparam, delete, or_, select, update

from referee.errors import StoreError
from referee.results import Measure
from referee.runs import Run
from referee.scores import StepError
from referee.storage import codec
from referee.storage.bulk import insert_for
from referee.storage.dataset_rows import resolve
from referee.storage.experiment_results import Extra, ExtraTurn
from referee.storage.schema import (
    dataset_items,
    experiments,
    journals,
    labels,
    run_contents,
    run_tags,
    runs,
    score_details,
    scores,
)

PURGED = "purged"
#: How many rows one query may name.
_CHUNK = 500


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """What was erased.

    Attributes:
        item: The item's id.
        contents: How many contents the data set held of it, in all versions.
        runs, scores: How many runs and scores lost their words.
        texts: The texts that are gone, to look for in files beside the store.
        journals: The journals that were read into the store.
    """

    item: str
    contents: int
    runs: int
    scores: int
    texts: frozenset[str]
    journals: tuple[str, ...]


def erase_item(connection: Connection, dataset: str, item: str) -> Erased:
    """Erase an item of a data set. See `Store.purge`.

    Raises:
        StoreError: There is no such data set, or it never had this item.
    """
    number, _ = resolve(connection, dataset)
    of_item = (dataset_items.c.dataset == number, dataset_items.c.item == item)
    found = connection.execute(select(dataset_items.c.body).where(*of_item)).all()
    if not found:
        raise StoreError(f"the data set {dataset!r} never had an item {item!r}")
    bodies = [codec.decode(row.body, dict[str, Any]) for row in found if row.body is not None]
    connection.execute(update(dataset_items).where(*of_item).values(body=None, digest=None))
    texts = set(_texts(bodies))
    numbers = _runs_of(connection, number, item, bodies)
    erased_scores = 0
    for start in range(0, len(numbers), _CHUNK):
        erased_scores += _erase_runs(connection, numbers[start : start + _CHUNK], texts)
    return Erased(
        item=item,
        contents=len(bodies),
        runs=len(numbers),
        scores=erased_scores,
        texts=frozenset(texts - {item}),
        journals=tuple(connection.scalars(select(journals.c.path).order_by(journals.c.path))),
    )


def _runs_of(connection: Connection, dataset: int, item: str, bodies: Sequence[dict[str, Any]]) -> list[int]:
    """The runs of an item: in experiments of its data set or of none, and the recorded run that it was made of."""
    alike = or_(experiments.c.dataset == dataset, experiments.c.dataset.is_(None))
    conditions: list[ColumnElement[bool]] = [(runs.c.item == item) & alike & (experiments.c.kind == "experiment")]
    sources = {(body.get("metadata") or {}).get("run_id") for body in bodies} - {None}
    if sources:
        conditions.append(runs.c.run_id.in_(sorted(map(str, sources))))
    query = select(runs.c.id).join(experiments, experiments.c.id == runs.c.experiment).where(or_(*conditions))
    return list(connection.scalars(query.order_by(runs.c.id)))


def _erase_runs(connection: Connection, numbers: Sequence[int], texts: set[str]) -> int:
    """Erase the words of runs and their scores; adds the texts that are gone."""
    query = select(runs.c.run_id, run_contents).join(runs, runs.c.id == run_contents.c.run)
    rows = connection.execute(query.where(run_contents.c.run.in_(numbers))).all()
    emptied = []
    for row in rows:
        texts.update(_texts(codec.decode(row.body, dict[str, Any])), _texts(codec.decode(row.extra or "null", Any)))
        extra = None if row.extra is None else codec.encode(_without_words(codec.decode(row.extra, Extra)))
        emptied.append({"number": row.run, "new_body": codec.encode(Run(id=row.run_id)), "new_extra": extra})
    if emptied:
        changes: dict[str, Any] = {"body": bindparam("new_body"), "extra": bindparam("new_extra")}
        connection.execute(
            update(run_contents).where(run_contents.c.run == bindparam("number")).values(changes), emptied
        )
    of_runs = runs.c.id.in_(numbers)
    connection.execute(update(runs).where(of_runs).values(asked="", answered="", digest=""))
    connection.execute(update(runs).where(of_runs, runs.c.error.isnot(None)).values(error=PURGED))
    connection.execute(delete(run_tags).where(run_tags.c.run.in_(numbers)))
    _erase_labels(connection, numbers, texts)
    return _erase_details(connection, numbers, texts)


def _erase_labels(connection: Connection, numbers: Sequence[int], texts: set[str]) -> None:
    """Labels keep their numbers, and hold for their run alone: nothing is left to know its content by."""
    query = select(labels.c.id, labels.c.run, labels.c.comment).where(labels.c.run.in_(numbers))
    for row in connection.execute(query).all():
        texts.update(_texts(row.comment))
        connection.execute(update(labels).where(labels.c.id == row.id).values(comment=None, subject=f"run {row.run}"))


def _erase_details(connection: Connection, numbers: Sequence[int], texts: set[str]) -> int:
    of_runs = select(scores.c.id).where(scores.c.run.in_(numbers))
    found = connection.execute(select(score_details).where(score_details.c.score.in_(of_runs))).all()
    for row in found:
        texts.update(_texts(row.reason), _texts(codec.decode(row.body or "null", Any)))
    connection.execute(delete(score_details).where(score_details.c.score.in_(of_runs)))
    return len(found)


def _without_words(extra: Extra) -> Extra:
    """What a result holds beside its run, without anything that could quote it."""
    return Extra(
        item_version="",
        error=None if extra.error is None else StepError(extra.error.step, extra.error.error_class, PURGED),
        own=[nameless(measure) for measure in extra.own],
        turns=[ExtraTurn(turn.turn, [nameless(measure) for measure in turn.measures]) for turn in extra.turns],
        started_at=extra.started_at,
        duration_ms=extra.duration_ms,
    )


def nameless(measure: Measure) -> Measure:
    """A measure without its description, which may quote the item it belongs to."""
    return msgspec.structs.replace(measure, description="")


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, keys of objects left out: they are names of fields and arguments."""
    if isinstance(value, str):
        if value.strip():
            yield value
    elif isinstance(value, dict):
        yield from _all_texts(value.values())
    elif isinstance(value, list):
        yield from _all_texts(value)


def _all_texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        yield from _texts(value)


def remember_journal(connection: Connection, path: str) -> None:
    """Keep in mind that a journal was read into the store, so that a purge can empty it too."""
    connection.execute(insert_for(connection, journals).on_conflict_do_nothing(), {"path": codec.clean(path)})
