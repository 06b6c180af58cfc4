"""The tables, as the newest migration leaves them.

`scores` is narrow, so that scans and indexes stay small; what a person reads of a score lies in `score_details`, and a
run's messages in `run_contents`. `rollups` are kept at write: counts and sums per experiment, scorer version, turn, day
and bin, from which every histogram, trend and count is answered. The hot tables have no foreign keys: PostgreSQL would
check each with a query per row. `referee db check` looks for what they would have caught.

Times are milliseconds since 1970, UTC.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

#: The newest migration.
HEAD = "0006"

#: The turn of a score of the whole run.
WHOLE_RUN = -1
#: The day of a rollup of all days.
ALL_DAYS = -1

metadata = MetaData()

#: A row's number: 64 bits everywhere (SQLite counts up only a column of type INTEGER).
Key = BigInteger().with_variant(Integer(), "sqlite")

#: What scores belong to: an experiment, the scores of recorded runs, or those of live traffic.
experiments = Table(
    "experiments",
    metadata,
    Column("id", Key, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("name", Text, nullable=False, server_default=""),
    Column("target", Text),
    Column("status", Text),
    Column("verdict", Text),
    Column("plan", Text),
    Column("planned", Integer),
    Column("results", BigInteger, nullable=False, server_default="0"),
    Column("failed_results", BigInteger, nullable=False, server_default="0"),
    Column("dataset", BigInteger),
    Column("dataset_version", Integer),
    Column("finished_at", BigInteger),
    Index("experiments_of_dataset", "dataset", "created_at"),
    Index("experiments_at", "created_at", "id"),
)

#: What happened to an experiment, in order.
experiment_events = Table(
    "experiment_events",
    metadata,
    Column("id", Key, primary_key=True),
    Column("experiment", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("event", Text, nullable=False),
    Column("details", Text),
    Index("experiment_events_of", "experiment", "id"),
)

#: A scorer's id in one version.
scorers = Table(
    "scorers",
    metadata,
    Column("id", Key, primary_key=True),
    Column("scorer_id", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("kind", Text),
    Column("description", Text),
    Column("spec", Text),
    Column("low", Float, nullable=False),
    Column("high", Float, nullable=False),
    Column("lower_is_better", SmallInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("scorer_id", "version"),
)

#: One run of one item in one experiment.
runs = Table(
    "runs",
    metadata,
    Column("id", Key, primary_key=True),
    Column("experiment", BigInteger, nullable=False),
    Column("item", Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("thread_id", Text),
    Column("trace_id", Text),
    Column("span_id", Text),
    Column("model", Text),
    Column("duration_ms", Float),
    Column("tokens", BigInteger),
    Column("cost", Float),
    Column("error", Text),
    Column("asked", Text, nullable=False),
    Column("answered", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("experiment", "item", "repeat"),
    Index("runs_at", "at", "id"),
    Index("runs_of_experiment", "experiment", "at", "id"),
    Index("runs_item", "item"),
    Index("runs_run_id", "run_id"),
    Index("runs_digest", "digest"),
    Index("runs_thread", "thread_id"),
    Index("runs_trace", "trace_id"),
    sqlite_autoincrement=True,
)

#: A run's messages and everything else of it, as JSON.
run_contents = Table(
    "run_contents",
    metadata,
    Column("run", Key, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("extra", Text),
)

run_tags = Table(
    "run_tags",
    metadata,
    Column("tag", Text, primary_key=True),
    Column("run", BigInteger, primary_key=True, autoincrement=False),
    Index("run_tags_run", "run"),
)

#: `turn` is `WHOLE_RUN` or the turn's index; `at` is the run's.
scores = Table(
    "scores",
    metadata,
    Column("id", Key, primary_key=True),
    Column("run", BigInteger, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("scorer", BigInteger, nullable=False),
    Column("experiment", BigInteger, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("value", Float),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("run", "turn", "scorer"),
    Index("scores_at", "at", "id"),
    Index("scores_of_experiment", "experiment", "scorer", "outcome", "at", "id", "value", "run", "turn"),
    Index("scores_of_scorer", "scorer", "outcome", "at", "id"),
    Index("scores_by_value", "scorer", "value", "id", "outcome", "experiment"),
    sqlite_autoincrement=True,
)

score_details = Table(
    "score_details",
    metadata,
    Column("score", Key, primary_key=True, autoincrement=False),
    Column("reason", Text),
    Column("body", Text),
)

#: Counts and sums of scores by day, and once more for all days together (`ALL_DAYS`); `bin` is a histogram's bin or an
#: outcome without a number (see `outcomes.bin_of`).
rollups = Table(
    "rollups",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("scorer", BigInteger, primary_key=True, autoincrement=False),
    Column("experiment", BigInteger, primary_key=True, autoincrement=False),
    Column("turn", Integer, primary_key=True, autoincrement=False),
    Column("bin", SmallInteger, primary_key=True, autoincrement=False),
    Column("scores", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("passed", BigInteger, nullable=False),
    Column("total", Float, nullable=False),
    Column("squares", Float, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Float, nullable=False),
    Index("rollups_of_scorer", "scorer", "day"),
    Index("rollups_of_experiment", "experiment", "day"),
)

#: `baseline` is the experiment that others of this data set are measured against.
datasets = Table(
    "datasets",
    metadata,
    Column("id", Key, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("description", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("baseline", BigInteger),
    Column("created_at", BigInteger, nullable=False),
)

dataset_versions = Table(
    "dataset_versions",
    metadata,
    Column("dataset", BigInteger, primary_key=True, autoincrement=False),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("note", Text, nullable=False),
    Column("added", Integer, nullable=False),
    Column("changed", Integer, nullable=False),
    Column("removed", Integer, nullable=False),
    Column("items", Integer, nullable=False),
    Column("digest", Text, nullable=False),
)

#: One content of one item, from version `since` until before version `until`. A purge empties `digest` and `body`.
dataset_items = Table(
    "dataset_items",
    metadata,
    Column("id", Key, primary_key=True),
    Column("dataset", BigInteger, nullable=False),
    Column("item", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("since", Integer, nullable=False),
    Column("until", Integer),
    Column("digest", Text),
    Column("body", Text),
    UniqueConstraint("dataset", "item", "since"),
    Index("dataset_items_position", "dataset", "position"),
    sqlite_autoincrement=True,
)

#: Names for versions.
dataset_pins = Table(
    "dataset_pins",
    metadata,
    Column("dataset", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("version", Integer, nullable=False),
)

#: What a person thinks of a run, or of what a scorer judged in it. `subject` is the run's content: a label holds for the
#: same content wherever it was scored, and for every version of the scorer.
labels = Table(
    "labels",
    metadata,
    Column("id", Key, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("run", BigInteger, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("scorer", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("value", Float, nullable=False),
    Column("comment", Text),
    Column("at", BigInteger, nullable=False),
    UniqueConstraint("subject", "turn", "scorer", "author"),
    Index("labels_of_scorer", "scorer", "at", "id"),
    Index("labels_of_run", "run"),
)

#: What was found of a scorer's agreement with people, for one version of it.
calibrations = Table(
    "calibrations",
    metadata,
    Column("id", Key, primary_key=True),
    Column("scorer", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("weights", Text, nullable=False),
    Column("kappa", Float),
    Column("pairs", Integer, nullable=False),
    Column("report", Text, nullable=False),
    Index("calibrations_of_scorer", "scorer", "id"),
)

#: The journals that were read into the store.
journals = Table("journals", metadata, Column("path", Text, primary_key=True))

#: Scorings of stored runs that a person asked for. `last_run` is the number of the last run that is done; `beat` is when
#: the worker last said that it is alive.
jobs = Table(
    "jobs",
    metadata,
    Column("id", Key, primary_key=True),
    Column("status", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("worker", Text),
    Column("beat", BigInteger, nullable=False),
    Column("last_run", BigInteger, nullable=False),
    Column("total", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("scored", Integer, nullable=False),
    Column("not_scorable", Integer, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("problem", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
)

#: Runs that live scoring had no room or time for, by day.
live_drops = Table(
    "live_drops",
    metadata,
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("scorer", Text, primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("runs", BigInteger, nullable=False),
)
