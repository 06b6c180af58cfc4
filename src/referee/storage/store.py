"""The store: saves runs and scores, and answers questions about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from referee.pipeline import Scorer
from referee.storage.database import Database
from referee.storage.datasets import Datasets
from referee.storage.experiment_rows import ensure_experiment
from referee.storage.experiments import Experiments
from referee.storage.label_rows import Label
from referee.storage.labels import Labels
from referee.storage.registry import Registry
from referee.storage.scored_runs import RECORDED, Kind, ScoredRun
from referee.storage.scores import Scores
from referee.storage.writing import Writing, Written

#: How many records go into one transaction.
BATCH = 500


class Store:
    """A store of runs and scores: a SQLite file, or a PostgreSQL database for teams.

    It is created when it is missing, and migrated when an earlier release wrote it. Several threads and processes may
    use one store at once.

    Args:
        url: A file's path, `sqlite:///path`, or `postgresql://user:password@host/name`.

    Attributes:
        datasets: Data sets and their versions.
        experiments: Experiments, their figures, grids and comparisons.
        labels: What people think, and how far scorers agree with them.
        scores: Questions about scores.

    Raises:
        OptionError: The address is none.
        StoreError: The store can't be opened.
        MissingExtraError: SQLAlchemy, or the driver of PostgreSQL, is not installed.

    Example:
        >>> import tempfile
        >>> from referee import Run, checks, to_run
        >>> run = to_run([{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Sunny."}])
        >>> check = checks.includes("sunny")
        >>> folder = tempfile.TemporaryDirectory()
        >>> with Store(f"{folder.name}/scores.db") as store:
        ...     store.save([ScoredRun(run=run, scores=[check.run_sync(run)])], scorers=[check])
        Written(added=1, replaced=0, kept=0)
        >>> folder.cleanup()
    """

    def __init__(self, url: str | Path) -> None:
        self.database = Database(url)
        self._registry = Registry(self.database)
        self.datasets = Datasets(self.database)
        self.experiments = Experiments(self.database)
        self.labels = Labels(self.database)
        self.scores = Scores(self.database)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self.database.shown}>"

    def close(self) -> None:
        """Give the connections back. The store may be used again."""
        self.database.close()

    def save(
        self,
        records: Iterable[ScoredRun],
        *,
        experiment: str = RECORDED,
        kind: Kind | None = None,
        scorers: Sequence[Scorer[Any, Any]] = (),
        replace: bool = False,
    ) -> Written:
        """Save runs with their scores. Saving the same again changes nothing.

        Args:
            records: The runs with their scores. They are read and written in batches, each in one transaction.
            experiment: What the scores belong to: an experiment's key, `recorded` for scores of recorded runs, or `live`.
            kind: `experiment`, `recorded` or `live`; needed only for a key of your own that is new and no experiment.
            scorers: The scorers, where they are at hand: their descriptions and specifications are kept, and a check
                without bounds passes at 1.
            replace: Put each run and its scores in the place of what is stored of it. Otherwise what is stored stays,
                and only errors give way.

        Returns:
            How many scores were added, how many took the place of an error, and how many were there already.

        Raises:
            StoreError: The store can't be written.
        """
        self._registry.register(scorers)
        belongs_to = ensure_experiment(self.database, experiment, kind)
        written = Written()
        for batch in _batches(records):
            self._registry.register_scores(score for record in batch for score in record.all_scores)
            with self.database.write() as connection:
                writing = Writing(connection, belongs_to.number, belongs_to.kind, self._registry, replace=replace)
                written += writing.write(batch)
        return written

    def label(self, value: float, *, author: str, **about: Any) -> Label:
        """Label a score or a run: `store.label(1, author="ann", score=17)`. Takes and gives what `labels.add` does."""
        return self.labels.add(value, author=author, **about)


def _batches(records: Iterable[ScoredRun]) -> Iterator[list[ScoredRun]]:
    rest = iter(records)
    while batch := list(islice(rest, BATCH)):
        yield batch
