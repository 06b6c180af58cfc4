"""The store: saves runs and scores, and answers questions about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from referee.results import Evaluation, ItemResult
from referee.storage.database import Database
from referee.storage.datasets import Datasets
from referee.storage.erasure import erase_item, remember_journal
from referee.storage.erasure_files import erase_from_cache, erase_from_journal
from referee.storage.experiment_results import to_scored_run
from referee.storage.experiment_rows import ensure_experiment, key_of, note
from referee.storage.experiments import Experiments
from referee.storage.jobs import Jobs
from referee.storage.label_rows import Label
from referee.storage.labels import Labels
from referee.storage.live_days import LiveTraffic
from referee.storage.recorded_runs import RecordedRuns
from referee.storage.registry import Registry
from referee.storage.removal import Removed, remove_before, remove_experiment
from referee.storage.scored_runs import RECORDED, Kind, ScoredRun
from referee.storage.scorer_versions import ScorerVersions
from referee.storage.scores import Scores
from referee.storage.upkeep import StoreInfo, find_problems, read_info, vacuum
from referee.storage.writing import Writing, Written

if TYPE_CHECKING:
    from referee.pipeline import Scorer

#: How many records go into one transaction. Each transaction writes every page of an index that it touches, and in a
#: large store that is nearly all pages of an index over values, so that few large transactions are quicker.
BATCH = 2000


class Purged(msgspec.Struct, frozen=True, kw_only=True):
    """How many contents of the data set, runs, scores, results in journals and replies in caches were erased."""

    contents: int
    runs: int
    scores: int
    journal_results: int
    judge_replies: int


class Store:
    """A store of runs and scores: a SQLite file, or a PostgreSQL database for teams.

    It is created when it is missing, and migrated when an earlier release wrote it. Several threads and processes may
    use one store at once.

    Args:
        url: A file's path, `sqlite:///path`, or `postgresql://user:password@host/name`.

    Attributes:
        datasets: Data sets and their versions.
        experiments: Experiments, their figures, grids and comparisons.
        jobs: Scorings of stored runs that a person asked for.
        labels: What people think, and how far scorers agree with them.
        live: Live traffic from day to day.
        runs: Questions about runs.
        scorers: Scorers and their versions.
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
        self.jobs = Jobs(self.database)
        self.labels = Labels(self.database)
        self.live = LiveTraffic(self.database)
        self.runs = RecordedRuns(self.database)
        self.scorers = ScorerVersions(self.database)
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

    def record(self, result: ItemResult, evaluation: Evaluation) -> Written:
        """Save one result of an evaluation in the place of an earlier one, and note it among the experiment's events.

        Args:
            result: The result.
            evaluation: The plan that it belongs to; `experiments.begin` has seen it.

        Raises:
            StoreError: The store can't be written.
        """
        scored = to_scored_run(result, evaluation)
        belongs_to = ensure_experiment(self.database, key_of(evaluation, result.target), "experiment")
        self._registry.register_scores(scored.all_scores)
        about = {"item": result.item_id, "repeat": result.repeat, "failed": result.has_errors}
        with self.database.write() as connection:
            writing = Writing(connection, belongs_to.number, belongs_to.kind, self._registry, replace=True)
            written = writing.write([scored])
            note(connection, belongs_to.number, "item", about)
        return written

    def remember_journal(self, path: Path) -> None:
        """Keep in mind that a journal was read into this store, so that a purge empties it too."""
        with self.database.write() as connection:
            remember_journal(connection, str(path.resolve()))

    def label(self, value: float, *, author: str, **about: Any) -> Label:
        """Label a score or a run: `store.label(1, author="ann", score=17)`. Takes and gives what `labels.add` does."""
        return self.labels.add(value, author=author, **about)

    def add_drops(self, drops: Mapping[tuple[str, str], int]) -> None:
        """Count runs that live scoring dropped today, by scorer and reason."""
        self.live.add_drops(drops)

    def purge(
        self,
        dataset: str,
        item: str,
        *,
        journals: Iterable[str | Path] = (),
        judge_caches: Iterable[str | Path] = (),
    ) -> Purged:
        """Erase an item's content everywhere: in every version of its data set, in the runs of it, their scores and labels.

        Versions, numbers and dates stay. What lies in the database's files is gone after `vacuum`.

        Args:
            dataset: The data set.
            item: The item's id.
            journals: Journals of evaluations, beside those that were imported. None of them may be in use.
            judge_caches: Caches of judges; a reply goes when it shares 20 characters in a row with the content.

        Raises:
            StoreError: There is no such data set, or it never had this item.
            OptionError: A file can't be read or written; what is in the database is erased all the same.
        """
        with self.database.write() as connection:
            erased = erase_item(connection, dataset, item)
        known = [Path(path) for path in erased.journals if Path(path).is_file()]
        files = dict.fromkeys(path.resolve() for path in (*map(Path, journals), *known))
        in_journals = sum(erase_from_journal(path, item) for path in files)
        in_caches = sum(erase_from_cache(Path(path), erased.texts) for path in judge_caches)
        return Purged(
            contents=erased.contents,
            runs=erased.runs,
            scores=erased.scores,
            journal_results=in_journals,
            judge_replies=in_caches,
        )

    def remove_experiment(self, name: str) -> Removed:
        """Remove an experiment with all its runs and scores, and the labels of what is nowhere else.

        Raises:
            StoreError: There is no such experiment.
        """
        return remove_experiment(self.database, name)

    def remove_before(self, day: date) -> Removed:
        """Remove what is older than a day, UTC: recorded and live runs by their time, experiments as a whole.

        An experiment that is its data set's baseline is kept.

        Args:
            day: The first day that is kept.

        Raises:
            OptionError: The day has not come yet.
        """
        return remove_before(self.database, day)

    def vacuum(self) -> list[str]:
        """Give the room of what was removed back, so that it is in no file of the database any more.

        Returns:
            What could not be done, one sentence each; empty when all is done.
        """
        return vacuum(self.database)

    def info(self) -> StoreInfo:
        """Address, version, size and rows of this store."""
        return read_info(self.database)

    def check(self) -> list[str]:
        """Whether everything in the store fits together: what does not, one sentence each."""
        return find_problems(self.database)


def _batches(records: Iterable[ScoredRun]) -> Iterator[list[ScoredRun]]:
    rest = iter(records)
    while batch := list(islice(rest, BATCH)):
        yield batch
