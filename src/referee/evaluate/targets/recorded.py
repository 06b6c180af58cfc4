"""Recorded runs as a target: scoring again without running the agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from referee.errors import OptionError, RefereeError
from referee.evaluate.data import item_of_run
from referee.evaluate.targets.target import Call
from referee.items import Item
from referee.runs import Run, with_id


class NoRecordedRunError(RefereeError):
    """There is no recorded run of an item, or not so many."""


class RecordedRuns:
    """Recorded runs as a target. Several runs of one item are its repeats, in their order.

    Args:
        runs: Runs, as `referee.read_runs` gives them.
        item: The name of the metadata field that says which item a run belongs to; `None` takes the run's id.

    Raises:
        OptionError: There are no runs, or a run has no such field.

    Example:
        >>> recorded = RecordedRuns([Run(id="r1", metadata={"task": 7}), Run(id="r2", metadata={"task": 7})], item="task")
        >>> recorded.repeats
        {'7': 2}
    """

    mocks_tools = False
    converses = False

    def __init__(self, runs: Iterable[Run], *, item: str | None = None) -> None:
        self.runs: dict[str, list[Run]] = {}
        for run in runs:
            self.runs.setdefault(_item_id(run, item), []).append(run)
        if not self.runs:
            raise OptionError("there are no recorded runs")

    @property
    def repeats(self) -> dict[str, int]:
        """How many runs of each item there are."""
        return {item: len(runs) for item, runs in self.runs.items()}

    @property
    def items(self) -> list[Item]:
        """The items that the runs answer, each from its first run."""
        return [item_of_run(runs[0], item_id) for item_id, runs in self.runs.items()]

    def check(self, options: Mapping[str, Any]) -> None:
        """Recorded runs take no options.

        Raises:
            OptionError: There are some.
        """
        if options:
            raise OptionError("recorded runs take no target_options")

    async def answer(self, call: Call) -> Run:
        """The recorded run of this item and repeat."""
        runs = self.runs.get(call.item.id, [])
        if call.repeat >= len(runs):
            raise NoRecordedRunError(f"there are {len(runs)} recorded runs of the item {call.item.id}")
        return runs[call.repeat]


def _item_id(run: Run, field: str | None) -> str:
    if field is None:
        return with_id(run).id
    value = (run.metadata or {}).get(field)
    if not isinstance(value, (str, int)):
        raise OptionError(f"the run {run.id} has no metadata field {field!r} with the item's id")
    return str(value)
