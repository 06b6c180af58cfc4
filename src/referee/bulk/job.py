"""A job: everything that those who score need to know beside the shards, as plain data."""

from __future__ import annotations

from typing import Any

import msgspec

from referee.batch import numbered
from referee.errors import OptionError
from referee.formats import Format, read_runs
from referee.loading import load_scorer
from referee.pipeline import Scorer


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How runs are read: options of `referee.read_runs`."""

    format: str | None = None
    turns: Any = "all"
    max_line_bytes: int = 32 * 1024 * 1024
    input_column: str | None = None
    output_column: str | None = None
    id_column: str | None = None

    @property
    def chosen(self) -> Format | None:
        """The format that was asked for.

        Raises:
            OptionError: The options contradict each other.
        """
        chosen: Format | None = read_runs([], on_error="collect", **msgspec.structs.asdict(self)).format
        return chosen


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with every shard.

    Attributes:
        scorers: The scorers' specifications (`referee.load_scorer`).
        versions: Their versions; a process that finds others in its code must not score.
        reading: How runs are read.
        kinds: The kinds of outputs, in their order.
        lowest: How many of the lowest runs are kept.
        concurrency: How many runs are judged at once by each process.
    """

    scorers: list[Any]
    versions: list[str]
    reading: Reading
    kinds: list[str]
    lowest: int = 5
    concurrency: int = 8

    def load(self) -> list[Scorer[Any, Any]]:
        """The scorers.

        Raises:
            OptionError: One can't be loaded, or is another one here than where the job was made.
        """
        scorers = numbered([load_scorer(spec) for spec in self.scorers])
        for scorer, version in zip(scorers, self.versions, strict=True):
            if scorer.version != version:
                raise OptionError(
                    f"{scorer.id} is version {scorer.version} in the process that should score, and {version} in the "
                    "one that asked for it: both need the same code and options that are plain data"
                )
        return scorers
