"""The plan of an evaluation: everything is read and checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import NoneType
from typing import Any, get_args
from uuid import uuid4

from referee.errors import OptionError
from referee.evaluate.data import listed_data, read_data
from referee.evaluate.measures import Applied, Reader, share
from referee.evaluate.mocks import Unmocked
from referee.evaluate.targets import RecordedRuns, Target, as_target
from referee.items import Item, item_version
from referee.results import Evaluation
from referee.runs import Run
from referee.steps import Asker


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """An item, how often it is run, and its own measures."""

    item: Item
    version: str
    repeats: int
    own: list[Applied]
    turns: list[list[Applied]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run on what, and what is asked of it."""

    evaluation: Evaluation
    targets: dict[str, Target]
    measures: list[Applied]
    items: list[PlannedItem]
    options: Mapping[str, Any]
    unmocked_tools: Unmocked

    @property
    def objects(self) -> list[tuple[Any, str]]:
        """The scorer objects that the user gave, with the ids they are reported under."""
        return [(given, applied.measure.id) for applied in self.measures for given in (applied.given, applied.scorer)]


def make_plan(
    *,
    target: Any,
    targets: Mapping[str, Any] | None,
    data: Iterable[Any] | None,
    scorers: Any,
    gates: Any,
    repeats: int | None,
    target_options: Mapping[str, Any] | None,
    unmocked_tools: Unmocked,
    model: Asker | str | None,
    name: str,
    confidence: float,
) -> Plan:
    """Read and check everything.

    Raises:
        OptionError: Something is wrong; tells what and where.
    """
    if not isinstance(model, (str, NoneType)) and not callable(getattr(model, "ask", None)):
        raise OptionError(f"model is a Judge or a model's name, not {type(model).__name__}")
    listed = None if data is None else listed_data(data)
    if target is None and targets is None:
        target, listed = _recorded(listed), None
    named = _targets(target, targets)
    items, counts = _items(named, listed, repeats)
    reader = Reader(model, repeats=max(counts))
    measures = reader.read(gates, scorers)
    ids = [applied.measure.id for applied in measures]
    planned = [_planned(item, count, reader, ids) for item, count in zip(items, counts)]
    if not measures and not any(entry.own or any(entry.turns) for entry in planned):
        raise OptionError("give at least one scorer or gate")
    if not isinstance(target_options, (Mapping, NoneType)):
        raise OptionError(f"target_options is a mapping from names to values, not {type(target_options).__name__}")
    options = dict(target_options or {})
    if unmocked_tools not in get_args(Unmocked):
        raise OptionError(f"unmocked_tools is 'allow' or 'deny', not {unmocked_tools!r}")
    for label, checked in named.items():
        _check_target(checked, label, items, options, unmocked_tools)
    evaluation = Evaluation(
        id=uuid4().hex,
        name=name,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        targets=list(named),
        items={item.id: count for item, count in zip(items, counts)},
        measures=[applied.measure for applied in measures],
        confidence=share(confidence, "confidence", least_open=True),
    )
    return Plan(evaluation, named, measures, planned, options, unmocked_tools)


def _targets(target: Any, targets: Mapping[str, Any] | None) -> dict[str, Target]:
    if target is not None and targets is not None:
        raise OptionError("give target or targets, not both")
    if targets is None:
        return {"": as_target(target)}
    if not isinstance(targets, Mapping) or not targets or not all(isinstance(name, str) and name for name in targets):
        raise OptionError("targets is a mapping from names to targets, with at least one")
    return {name: as_target(obj) for name, obj in targets.items()}


def _recorded(data: list[Any] | None) -> RecordedRuns:
    """The data itself as the target, when it is runs."""
    if not data or not all(isinstance(entry, Run) for entry in data):
        raise OptionError("give a target; without one, data must be a list of recorded runs")
    return RecordedRuns(data)


def _items(targets: Mapping[str, Target], data: list[Any] | None, repeats: int | None) -> tuple[list[Item], list[int]]:
    """The items and how often each is run: as asked, or as often as it was recorded."""
    recorded = [target for target in targets.values() if isinstance(target, RecordedRuns)]
    if data is None:
        if not recorded:
            raise OptionError("give data: a list of items")
        data = list(recorded[0].items)
    items = read_data(data)
    if repeats is None:
        counts = [target.repeats for target in recorded]
        return items, [max([1, *(count.get(item.id, 0) for count in counts)]) for item in items]
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise OptionError(f"repeats must be a whole number of at least 1, not {repeats!r}")
    return items, [repeats] * len(items)


def _planned(item: Item, repeats: int, reader: Reader, taken: Sequence[str]) -> PlannedItem:
    try:
        own = reader.read(item.gates, item.scorers, taken)
        turns = [reader.read(turn.gates, turn.scorers) for turn in item.turns or ()]
    except OptionError as error:
        raise OptionError(f"item {item.id}: {error}") from None
    return PlannedItem(item, item_version(item), repeats, own, turns)


def _check_target(
    target: Target, label: str, items: Iterable[Item], options: Mapping[str, Any], unmocked: Unmocked
) -> None:
    where = f"target {label}: " if label else ""
    target.check(options)
    for item in items:
        if (item.tool_mocks is not None or unmocked == "deny") and not target.mocks_tools:
            raise OptionError(f"{where}item {item.id} has tool mocks, and this kind of target can't run with them")
        if item.input is None and not target.converses:
            raise OptionError(f"{where}item {item.id} has several turns, and this kind of target answers only one")
