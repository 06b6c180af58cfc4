"""`run_experiment`: an evaluation of a data set, kept in a store."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from referee.errors import OptionError
from referee.evaluate import Report, SideBySide, run_evals
from referee.evaluate.options import Resume
from referee.experiments.ledger import StoreLedger, StoreLike, choose, find_experiment, opened
from referee.experiments.trust import weighed
from referee.loops import run_coroutine
from referee.results import Evaluation
from referee.storage.experiment_rows import key_of

#: Options of `run_evals` that an experiment gives itself.
_OWN = ("data", "journal")


async def run_experiment(
    store: StoreLike,
    dataset: str,
    *,
    version: int | None = None,
    target: Any = None,
    targets: Mapping[str, Any] | None = None,
    scorers: Any = (),
    gates: Any = (),
    id: str | None = None,
    name: str = "",
    resume: Resume = False,
    **options: Any,
) -> Report | SideBySide:
    """Run an evaluation on a data set of a store, and keep every result there as soon as it is finished.

    Args:
        store: The store, or its address.
        dataset: The data set: `weather`, or in a version `weather@3` or `weather@release`.
        version: The version; the latest when `None`, or the one that a resumed experiment began with.
        target: What is asked; see `run_evals`.
        targets: Several of them by name, an experiment each.
        scorers: As in `run_evals`.
        gates: As in `run_evals`. An entry may demand `min_agreement`: unless a calibration of the scorer's version has
            at least this kappa, the gate informs and does not gate, and an `AgreementWarning` is given.
        id: The experiment's key in the store; the data set's name and a few letters when `None`. With several targets
            each key is the id, a colon and the target's name.
        name: For people; the data set's name when empty.
        resume: `True` runs what is missing or has an error, `"failed"` also what did not pass; needs `id`.
        options: Further options of `run_evals`.

    Returns:
        The report; with `targets` one for each. Its `evaluation.id` is the experiment's key.

    Raises:
        OptionError: Something is wrong with the arguments, or the experiment holds results and is not to be resumed.
        StoreError: There is no such data set or version, or the store can't be opened.

    Example:
        >>> import asyncio, tempfile
        >>> from referee import checks
        >>> from referee.storage import Store
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Store(f"{folder.name}/scores.db") as store:
        ...     _ = store.datasets.create("weather")
        ...     _ = store.datasets.put("weather", ["Weather in Ghent?", "Weather in Bruges?"])
        ...     run = run_experiment(
        ...         store, "weather", target=lambda text: "It is sunny.", gates=[checks.includes("sunny")], id="first"
        ...     )
        ...     report = asyncio.run(run)
        ...     kept = store.experiments.get("first")
        >>> report.verdict, kept.verdict, kept.results
        ('passed', 'passed', 2)
        >>> folder.cleanup()
    """
    for option in _OWN:
        if option in options:
            raise OptionError(f"an experiment has no option {option!r}: its items and results are in the store")
    if resume and id is None:
        raise OptionError("resume needs the id of the experiment")
    names = list(targets) if targets is not None else [""]
    with opened(store) as kept:
        key = id or f"{dataset.partition('@')[0]}-{uuid4().hex[:8]}"
        earlier = find_experiment(kept, key_of(Evaluation(id=key), names[0] if names else "")) if resume else None
        chosen = choose(kept, dataset, version, earlier)
        trusted = weighed(kept, gates, scorers, options.get("model"))
        ledger = StoreLedger(kept, key, chosen, names, resume=bool(resume))
        try:
            report: Report | SideBySide = await run_evals(
                target=target,
                targets=targets,  # type: ignore[arg-type] # `run_evals` checks that one of the two is given
                data=chosen.dataset.items,
                scorers=trusted.scorers,
                gates=trusted.gates,
                journal=ledger,
                resume=resume,
                name=name or chosen.dataset.name,
                **options,
            )
        except (asyncio.CancelledError, KeyboardInterrupt):
            ledger.cancel()
            raise
        ledger.note(trusted.notes)
        ledger.finish(report if isinstance(report, SideBySide) else {"": report})
    return report


def run_experiment_sync(*arguments: Any, **options: Any) -> Report | SideBySide:
    """`run_experiment` for synchronous code; also inside a running event loop. Takes and gives the same."""
    return run_coroutine(run_experiment(*arguments, **options))


run_experiment_sync.__signature__ = inspect.signature(run_experiment)  # type: ignore[attr-defined]
