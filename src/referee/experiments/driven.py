"""Experiments that something else drives: it calls the agent, and hands over one answer at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from referee.errors import OptionError, RefereeError
from referee.evaluate import Report
from referee.evaluate.plan import Plan, PlannedItem, make_plan
from referee.evaluate.runner import Job, Runner, Settings
from referee.evaluate.targets.target import Call
from referee.experiments.ledger import StoreLedger, choose, find_experiment
from referee.experiments.reports import report_of
from referee.experiments.trust import weighed
from referee.items import Item
from referee.loops import run_coroutine
from referee.results import ItemResult
from referee.steps import Asker
from referee.storage import Store
from referee.storage.experiment_rows import ExperimentRow


class TargetError(RefereeError):
    """The agent failed, as whoever called it says."""


class _Submitted:
    """A target that answers with what was handed over, turn by turn."""

    mocks_tools = True
    converses = True

    def __init__(self, outputs: Sequence[Any] = (), error: str | None = None) -> None:
        self._outputs: Iterator[Any] = iter(outputs)
        self._error = error

    def check(self, options: Mapping[str, Any]) -> None:
        """Take any options: there are none."""

    async def answer(self, call: Call) -> Any:
        """The next output that was handed over."""
        if self._error is not None:
            raise TargetError(self._error)
        return next(self._outputs)


class Experiment:
    """An experiment that takes one answer at a time. Made by `create_experiment`.

    Attributes:
        key: Its key in the store.
    """

    def __init__(self, store: Store, plan: Plan, ledger: StoreLedger) -> None:
        self.key = plan.evaluation.id
        self._store = store
        self._plan = plan
        self._ledger = ledger

    def pending(self) -> list[tuple[Item, int]]:
        """The items that have no result yet, or one with an error, each with its repeat from 0."""
        return [
            (planned.item, repeat)
            for planned in self._plan.items
            for repeat in range(planned.repeats)
            if self._finished(planned.item.id, repeat) is None
        ]

    async def submit(
        self,
        item: str,
        output: Any = None,
        *,
        outputs: Sequence[Any] | None = None,
        error: str | None = None,
        repeat: int = 0,
    ) -> ItemResult:
        """Hand over what the agent did with an item. It is scored and saved before this returns.

        Handing over an item that has a result without errors gives that result and changes nothing.

        Args:
            item: The item's id.
            output: The answer: text, messages in a readable format, or a `Run`.
            outputs: For an item with several turns: the answer to each of them.
            error: Instead of an answer: why the agent failed.
            repeat: Which of the item's repeats, from 0.

        Raises:
            OptionError: There is no such item or repeat, or not exactly one of `output`, `outputs` and `error`.
        """
        planned = self._planned(item, repeat)
        known = self._finished(item, repeat)
        if known is not None:
            return known
        target = _Submitted(_outputs_of(planned.item, output, outputs, error), error)
        plan = dataclasses.replace(self._plan, targets={"": target})
        result = await Runner(plan, Settings(), None, {}).run_job(Job(planned, "", repeat))
        self._ledger.append(result)
        self._ledger.results[result.key] = result
        return result

    def submit_sync(self, item: str, output: Any = None, **options: Any) -> ItemResult:
        """`submit` for synchronous code. Takes and gives the same."""
        return run_coroutine(self.submit(item, output, **options))

    def status(self) -> ExperimentRow:
        """How far it is."""
        return self._store.experiments.get(self.key)

    def finalize(self, *, incomplete: bool = False) -> Report:
        """End the experiment and give its report. Doing it again gives the same.

        Args:
            incomplete: End it although results are missing; the report says so.

        Raises:
            OptionError: Results are missing.
        """
        report = report_of(self._store, self.key)
        if report.missing and not incomplete:
            raise OptionError(
                f"{self.key}: {report.missing} results are missing: submit them, or finalize it incomplete"
            )
        if self.status().status != "finished":
            self._store.experiments.end(self.key, status="finished", verdict=report.verdict)
        return report

    def cancel(self) -> None:
        """Give the experiment up. What was handed over stays."""
        self._ledger.cancel()

    def _planned(self, item: str, repeat: int) -> PlannedItem:
        for planned in self._plan.items:
            if planned.item.id == item:
                if not 0 <= repeat < planned.repeats:
                    raise OptionError(f"the item {item!r} has the repeats 0 to {planned.repeats - 1}, and no {repeat}")
                return planned
        raise OptionError(f"the experiment {self.key!r} has no item {item!r}")

    def _finished(self, item: str, repeat: int) -> ItemResult | None:
        """The result of an item, if it is there and has no error."""
        result = self._ledger.results.get(("", item, repeat))
        return None if result is None or result.has_errors else result


def create_experiment(
    store: Store,
    dataset: str,
    *,
    id: str,
    version: int | None = None,
    scorers: Any = (),
    gates: Any = (),
    repeats: int = 1,
    model: Asker | str | None = None,
    name: str = "",
) -> Experiment:
    """Begin an experiment whose answers are handed over one at a time, or go on with it: the id makes it one.

    Args:
        store: The store.
        dataset: The data set: `weather`, or in a version `weather@3` or `weather@release`.
        id: The experiment's key. Creating it again with the same arguments goes on with it, in this or another process.
        version: The version; the latest when `None`, or the one that it began with.
        scorers: As in `run_experiment`.
        gates: As in `run_experiment`.
        repeats: How often each item is to be answered.
        model: The judge, or its model's name, for scorers that have none.
        name: For people; the data set's name when empty.

    Raises:
        OptionError: Something is wrong with the arguments, or the experiment began with other scorers or items.
        StoreError: There is no such data set or version.

    Example:
        >>> import tempfile
        >>> from referee import checks
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = Store(f"{folder.name}/scores.db")
        >>> _ = store.datasets.create("weather")
        >>> _ = store.datasets.put("weather", [{"id": "ghent", "input": "Weather in Ghent?"}])
        >>> experiment = create_experiment(store, "weather", id="nightly", gates=[checks.includes("sunny")])
        >>> for item, repeat in experiment.pending():
        ...     _ = experiment.submit_sync(item.id, "It is sunny.", repeat=repeat)
        >>> experiment.finalize().verdict
        'passed'
        >>> store.close(), folder.cleanup()
        (None, None)
    """
    earlier = find_experiment(store, id)
    chosen = choose(store, dataset, version, earlier)
    trusted = weighed(store, gates, scorers, model)
    made = make_plan(
        target=_Submitted(),
        targets=None,
        data=chosen.dataset.items,
        scorers=trusted.scorers,
        gates=trusted.gates,
        repeats=repeats,
        target_options=None,
        unmocked_tools="allow",
        model=model,
        name=name or chosen.dataset.name,
        confidence=0.95,
    )
    ledger = StoreLedger(store, id, chosen, [""], resume=True)
    assert ledger.evaluation is not None
    evaluation = msgspec.structs.replace(made.evaluation, id=id, created_at=ledger.evaluation.created_at)
    if ledger.began is None:
        ledger.append(evaluation)
        ledger.note(trusted.notes)
    elif (ledger.began.measures, ledger.began.items) != (evaluation.measures, evaluation.items):
        raise OptionError(f"the experiment {id!r} began with other scorers, gates or repeats: take another id")
    ledger.evaluation = evaluation
    return Experiment(store, dataclasses.replace(made, evaluation=evaluation), ledger)


def _outputs_of(item: Item, output: Any, outputs: Sequence[Any] | None, error: str | None) -> Sequence[Any]:
    given = [value for value in (output, outputs, error) if value is not None]
    if len(given) != 1:
        raise OptionError(f"item {item.id}: give one of output, outputs and error")
    if error is not None:
        return []
    turns = len(item.user_turns)
    answers = [output] if outputs is None else list(outputs)
    if len(answers) != turns:
        raise OptionError(f"item {item.id}: it has {turns} turns, so give outputs with as many answers")
    return answers
