"""Reports out of a store, and journals into it."""

from __future__ import annotations

from pathlib import Path

from referee.errors import ReadError
from referee.evaluate import Report
from referee.experiments.ledger import StoreLike, opened
from referee.journal import read_records
from referee.results import ItemResult
from referee.storage.experiment_results import to_scored_run


def report_of(store: StoreLike, name: str) -> Report:
    """The report of an experiment, made of what the store holds of it.

    Args:
        store: The store, or its address.
        name: The experiment's key, its beginning, or its name.

    Raises:
        StoreError: There is no such experiment, or its scores were saved without a plan.
    """
    with opened(store) as kept:
        row = kept.experiments.get(name)
        with kept.experiments.results(row.key) as results:
            return Report(kept.experiments.plan(row.key), list(results), target=row.target)


def import_journal(store: StoreLike, path: str | Path) -> list[str]:
    """Read a journal of `run_evals` or `referee run` into a store. Importing it again leaves the same results.

    The journal is remembered, so that a purge empties it too.

    Args:
        store: The store, or its address.
        path: The journal, or a JSON Lines report.

    Returns:
        The keys of the experiments, one for each target.

    Raises:
        ReadError: The file can't be read, or is no journal.
        StoreError: The store can't be written.
    """
    evaluation, found = read_records(path)
    if evaluation is None:
        raise ReadError("no plan of an evaluation in it", source=str(path))
    keys = []
    with opened(store) as kept:
        kept.remember_journal(Path(path))
        for target in evaluation.targets:
            results: list[ItemResult] = [result for result in found.values() if result.target == target]
            report = Report(evaluation, results, target=target)
            key = kept.experiments.begin(evaluation, target=target, event="imported")
            kept.save((to_scored_run(result, evaluation) for result in results), experiment=key, replace=True)
            if not report.missing:
                kept.experiments.end(key, status="finished", verdict=report.verdict)
            keys.append(key)
    return keys
