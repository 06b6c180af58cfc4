"""Writes of runs: one row per (experiment, item, repeat), the content beside it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, select, update

from referee.runs import Run
from referee.storage import codec
from referee.storage.bulk import insert_for, insert_missing, insert_rows, take_numbers
from referee.storage.schema import experiments, run_contents, run_tags, runs
from referee.storage.scored_runs import Kind, ScoredRun

_EXPERIMENT_KIND = "experiment"
_DAY_MS = 86_400_000
_KEY = (runs.c.item, runs.c.repeat)
#: How many keys one query may name.
_CHUNK = 2000

#: Item and repeat.
_Place = tuple[str, int]


class RunKey(msgspec.Struct, frozen=True, gc=False):
    """Where a record's run lies, its time, and whether this write put it there."""

    number: int
    at: int
    is_new: bool


class _Stored(msgspec.Struct, frozen=True, gc=False):
    number: int
    item: str
    repeat: int
    digest: str
    error: str | None
    at: int


_STORED = (runs.c.id, *_KEY, runs.c.digest, runs.c.error, runs.c.at)
_NOTHING = Run()
_COLUMNS = tuple(runs.c.keys())
_values = itemgetter(*_COLUMNS[1:])  # the first is the number
_CONTENT_COLUMNS = ("run", "body", "extra")


def write_runs(
    connection: Connection, records: Sequence[ScoredRun], experiment: int, kind: Kind, *, replace: bool = False
) -> list[RunKey]:
    """Write the runs that are not there yet and say, record by record, where each lies.

    Unless it is to be replaced, a run that is stored stays as it is, with two exceptions: what was stored as a failure
    of the target, or without content, gives way to the run itself. Two recorded runs of one id and different content
    are two runs: the later one gets a piece of its digest as a suffix.
    """
    drafts = [_draft(record, experiment, kind) for record in records]
    places = [_place(row) for row, _ in drafts]
    stored, new = _insert_or_find(connection, drafts, experiment)
    if kind != _EXPERIMENT_KIND:
        renamed = []
        for number, (row, record) in enumerate(drafts):
            if _is_another(stored[places[number]], row):
                row["item"] = codec.name(f"{row['item']}#{row['digest'][:8]}")
                places[number] = _place(row)
                renamed.append((row, record))
        if renamed:
            more, more_new = _insert_or_find(connection, renamed, experiment)
            stored |= more
            new |= more_new
    updated = _update(connection, drafts, places, stored, new, everything=replace)
    failed = sum(stored[place].error is not None for place in new)
    _count_results(connection, experiment, len(new), failed + updated)
    return [RunKey(stored[place].number, stored[place].at, place in new) for place in places]


def _is_another(stored: _Stored, row: dict[str, Any]) -> bool:
    return bool(stored.digest and row["digest"]) and stored.digest != row["digest"]


def _place(row: dict[str, Any]) -> _Place:
    return row["item"], row["repeat"]


def _draft(record: ScoredRun, experiment: int, kind: str) -> tuple[dict[str, Any], ScoredRun]:
    run = record.run
    usage = run.usage.total if run.usage else None
    row = {
        "experiment": experiment,
        "item": codec.name(record.item or run.id),
        "repeat": record.repeat,
        "run_id": codec.name(run.id),
        "digest": _digest(run),
        "thread_id": _name(run.thread_id),
        "trace_id": _name(run.trace_id),
        "span_id": _name(run.span_id),
        "model": _name(run.model),
        "duration_ms": codec.measure(run.duration_ms),
        "tokens": codec.whole_number(usage),
        "cost": codec.measure(run.cost),
        "error": None if record.error is None else codec.clean(record.error),
        "asked": codec.preview(run.user_text),
        "answered": codec.preview(run.final_text),
        "at": _time(run, kind),
    }
    return row, record


def _name(text: str | None) -> str | None:
    return None if text is None else codec.name(text)


def _digest(run: Run) -> str:
    """The digest of the run's content, however it is called; empty for a run of which only the id is known."""
    content = msgspec.structs.replace(run, id="", warnings=[])
    return "" if content == _NOTHING else codec.digest(codec.encode(content))


def _time(run: Run, kind: str) -> int:
    """When it happened: for recorded and live runs their own time, where it is a sensible one."""
    now = codec.now_ms()
    started = None if kind == _EXPERIMENT_KIND else codec.to_ms(run.started_at)
    return started if started is not None and 0 < started < now + _DAY_MS else now


def _insert_or_find(
    connection: Connection, drafts: Sequence[tuple[dict[str, Any], ScoredRun]], experiment: int
) -> tuple[dict[_Place, _Stored], set[_Place]]:
    """Insert the runs that are new, with content and tags. Gives the rows of all, locked, and the places of the new."""
    by_place: dict[_Place, tuple[dict[str, Any], ScoredRun]] = {}
    for row, record in drafts:
        by_place.setdefault(_place(row), (row, record))
    ordered = dict(sorted(by_place.items()))
    numbers = dict(zip(ordered, take_numbers(connection, runs, len(ordered))))
    insert_missing(
        connection,
        runs,
        _COLUMNS,
        ((numbers[place], *_values(row)) for place, (row, _) in ordered.items()),
    )
    inserted = _inserted(connection, numbers)
    stored = {
        place: _Stored(numbers[place], *place, row["digest"], row["error"], row["at"])
        for place, (row, _) in ordered.items()
        if numbers[place] in inserted
    }
    new = set(stored)
    stored |= _find(connection, [place for place in ordered if place not in new], experiment)
    _insert_contents(connection, [(stored[place].number, ordered[place][1]) for place in ordered if place in new])
    return stored, new


def _inserted(connection: Connection, numbers: dict[_Place, int]) -> set[int]:
    """Which of these numbers, just taken, found their place free."""
    if not numbers:
        return set()
    query = select(runs.c.id).where(runs.c.id.between(min(numbers.values()), max(numbers.values())))
    return set(connection.execute(query).scalars())


def _find(connection: Connection, places: Sequence[_Place], experiment: int) -> dict[_Place, _Stored]:
    """The rows of runs that were there before, locked against other writers."""
    wanted = set(places)
    items = sorted({place[0] for place in places})
    stored = {}
    for start in range(0, len(items), _CHUNK):
        named = runs.c.item.in_(items[start : start + _CHUNK])
        query = select(*_STORED).where(runs.c.experiment == experiment, named).order_by(*_KEY).with_for_update()
        for row in connection.execute(query):
            found = _Stored(*row)
            place = (found.item, found.repeat)
            if place in wanted:
                stored[place] = found
    return stored


def _insert_contents(connection: Connection, new: Sequence[tuple[int, ScoredRun]]) -> None:
    insert_rows(connection, run_contents, _CONTENT_COLUMNS, (_content(number, record) for number, record in new))
    tags = ((codec.name(tag), number) for number, record in new for tag in sorted(set(record.tags)))
    insert_rows(connection, run_tags, ("tag", "run"), tags)


def _content(number: int, record: ScoredRun) -> tuple[int, str, str | None]:
    return number, codec.encode(record.run), None if record.extra is None else codec.encode(record.extra)


def _update(
    connection: Connection,
    drafts: Sequence[tuple[dict[str, Any], ScoredRun]],
    places: Sequence[_Place],
    stored: dict[_Place, _Stored],
    new: set[_Place],
    *,
    everything: bool,
) -> int:
    """Put runs in the place of stored failures and of stored runs without content; or of all that were stored.

    Gives by how many there are more failures than before.
    """
    better, failed = {}, {}
    for (row, record), place in zip(drafts, places):
        old = stored[place]
        is_filling = row["error"] is None and row["digest"] and (old.error is not None or not old.digest)
        if place not in new and (everything or is_filling):
            better[old.number] = (row, record)
            failed[old.number] = (row["error"] is not None) - (old.error is not None)
    if not better:
        return 0
    changed = [name for name in _COLUMNS if name not in ("id", "experiment", "item", "repeat", "at")]
    connection.execute(
        update(runs)
        .where(runs.c.id == bindparam("number"))
        .values({name: bindparam(f"new_{name}") for name in changed}),
        [
            {"number": number, **{f"new_{name}": row[name] for name in changed}}
            for number, (row, _) in sorted(better.items())
        ],
    )
    written = insert_for(connection, run_contents)
    connection.execute(
        written.on_conflict_do_update(
            index_elements=["run"], set_={"body": written.excluded.body, "extra": written.excluded.extra}
        ),
        [dict(zip(_CONTENT_COLUMNS, _content(number, record))) for number, (_, record) in sorted(better.items())],
    )
    return sum(failed.values())


def _count_results(connection: Connection, experiment: int, new: int, failed: int) -> None:
    if new or failed:
        more = {"results": experiments.c.results + new, "failed_results": experiments.c.failed_results + failed}
        connection.execute(update(experiments).where(experiments.c.id == experiment).values(more))
