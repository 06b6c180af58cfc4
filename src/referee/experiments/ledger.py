"""A store as the ledger of an evaluation: each finished result is saved at once, and known when it is resumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

from referee.datasets import Dataset
from referee.errors import OptionError, StoreError
from referee.evaluate import Report
from referee.results import Evaluation, ItemResult, Record, ResultKey
from referee.storage import Store
from referee.storage.experiment_rows import ExperimentRow, key_of

#: A store, or its address.
StoreLike: TypeAlias = Store | str | Path


@contextmanager
def opened(store: StoreLike) -> Iterator[Store]:
    """The store itself; one that is opened from an address is closed at the end."""
    if isinstance(store, Store):
        yield store
        return
    own = Store(store)
    try:
        yield own
    finally:
        own.close()


class Chosen(NamedTuple):
    """A data set in a version, and its number in the store."""

    number: int
    dataset: Dataset


def choose(store: Store, name: str, version: int | None, earlier: ExperimentRow | None) -> Chosen:
    """The version of a data set that an experiment uses: the asked one, the one it began with, or the latest.

    Raises:
        OptionError: The version is asked for twice, it has no items, or the experiment began with another one.
        StoreError: There is no such data set or version.
    """
    if version is not None and "@" in name:
        raise OptionError(f"the version is said twice: in {name!r}, and as version={version}")
    if version is None and "@" not in name and earlier is not None and earlier.dataset_version is not None:
        version = earlier.dataset_version
    number = store.datasets.get(name).number
    dataset = store.datasets.read(name if version is None else f"{name}@{version}")
    if not dataset.items:
        raise OptionError(f"the data set {name!r} has no items in version {dataset.version}")
    if earlier is not None and (earlier.dataset, earlier.dataset_version) != (number, dataset.version):
        raise OptionError(
            f"the experiment {earlier.key!r} began with another data set or version: go on with that, or take another id"
        )
    return Chosen(number, dataset)


def find_experiment(store: Store, key: str) -> ExperimentRow | None:
    """The experiment of exactly this key."""
    try:
        row = store.experiments.get(key)
    except StoreError:
        return None
    return row if row.key == key else None


class StoreLedger:
    """Keeps an evaluation in a store, an experiment for each target.

    Args:
        store: The store.
        key: The experiment's key; with several targets the beginning of their keys.
        chosen: The data set.
        targets: The names of the targets; one empty name when there is only one.
        resume: Go on with what is there. Otherwise nothing may be.

    Attributes:
        evaluation: The id and time to go on with; later the plan.
        began: The plan that is there; `None` for a new experiment.
        results: What is there.

    Raises:
        OptionError: The experiment holds results and is not to be resumed.
    """

    def __init__(self, store: Store, key: str, chosen: Chosen, targets: Sequence[str], *, resume: bool) -> None:
        self._store = store
        self._chosen = chosen
        self._targets = targets
        self.evaluation: Evaluation | None = Evaluation(
            id=key, created_at=datetime.now(UTC).isoformat(timespec="seconds")
        )
        self.began: Evaluation | None = None
        self.results: dict[ResultKey, ItemResult] = {}
        for target in targets:
            self._take_over(key_of(self.evaluation, target), resume=resume)
        self._event = "resumed" if self.results else "started"

    def _take_over(self, key: str, *, resume: bool) -> None:
        row = find_experiment(self._store, key)
        if row is None:
            return
        if row.status is None:
            raise OptionError(f"{key!r} holds scores that were saved without a plan: take another id")
        if row.results and not resume:
            raise OptionError(f"the experiment {key!r} holds {row.results} results: resume it, or take another id")
        self.began = self._store.experiments.plan(key)
        # Only id and time are taken over: a plan that differs from this is always written down, and so is the new start.
        self.evaluation = Evaluation(id=self.began.id, created_at=self.began.created_at)
        with self._store.experiments.results(key) as results:
            self.results.update({result.key: result for result in results})

    def append(self, record: Record) -> None:
        """Save a plan, or a result."""
        if isinstance(record, ItemResult):
            assert self.evaluation is not None
            self._store.record(record, self.evaluation)
            return
        self.evaluation = record
        for target in self._targets:
            self._store.experiments.begin(
                record,
                target=target,
                dataset=self._chosen.number,
                dataset_version=self._chosen.dataset.version,
                event=self._event,
            )

    def note(self, notes: Sequence[str]) -> None:
        """Write down what is to be known of the experiments."""
        for key in self._keys():
            for sentence in notes:
                self._store.experiments.note(key, "informs", {"why": sentence})

    def finish(self, reports: Mapping[str, Report]) -> None:
        """Write down the verdicts."""
        assert self.evaluation is not None
        for target, report in reports.items():
            self._store.experiments.end(key_of(self.evaluation, target), status="finished", verdict=report.verdict)

    def cancel(self) -> None:
        """Write down that the experiments were given up. What is finished stays."""
        for key in self._keys():
            if find_experiment(self._store, key) is not None:
                self._store.experiments.end(key, status="cancelled")

    def _keys(self) -> list[str]:
        assert self.evaluation is not None
        return [key_of(self.evaluation, target) for target in self._targets]
