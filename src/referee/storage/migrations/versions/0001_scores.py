"""Runs, scores, their details and rollups."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "experiments",
        sa.Column("id", Key, primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "scorers",
        sa.Column("id", Key, primary_key=True),
        sa.Column("scorer_id", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("kind", sa.Text),
        sa.Column("description", sa.Text),
        sa.Column("spec", sa.Text),
        sa.Column("low", sa.Float, nullable=False),
        sa.Column("high", sa.Float, nullable=False),
        sa.Column("lower_is_better", sa.SmallInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("scorer_id", "version"),
    )
    op.create_table(
        "runs",
        sa.Column("id", Key, primary_key=True),
        sa.Column("experiment", sa.BigInteger, nullable=False),
        sa.Column("item", sa.Text, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("thread_id", sa.Text),
        sa.Column("trace_id", sa.Text),
        sa.Column("span_id", sa.Text),
        sa.Column("model", sa.Text),
        sa.Column("duration_ms", sa.Float),
        sa.Column("tokens", sa.BigInteger),
        sa.Column("cost", sa.Float),
        sa.Column("error", sa.Text),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("answered", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("experiment", "item", "repeat"),
        sqlite_autoincrement=True,
    )
    op.create_index("runs_at", "runs", ["at", "id"])
    op.create_index("runs_item", "runs", ["item"])
    op.create_index("runs_run_id", "runs", ["run_id"])
    op.create_index("runs_thread", "runs", ["thread_id"])
    op.create_index("runs_trace", "runs", ["trace_id"])
    op.create_table(
        "run_contents",
        sa.Column("run", Key, primary_key=True, autoincrement=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "run_tags",
        sa.Column("tag", sa.Text, primary_key=True),
        sa.Column("run", sa.BigInteger, primary_key=True, autoincrement=False),
    )
    op.create_index("run_tags_run", "run_tags", ["run"])
    op.create_table(
        "scores",
        sa.Column("id", Key, primary_key=True),
        sa.Column("run", sa.BigInteger, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("scorer", sa.BigInteger, nullable=False),
        sa.Column("experiment", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.SmallInteger, nullable=False),
        sa.Column("value", sa.Float),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("run", "turn", "scorer"),
        sqlite_autoincrement=True,
    )
    op.create_index("scores_at", "scores", ["at", "id"])
    op.create_index(
        "scores_of_experiment", "scores", ["experiment", "scorer", "outcome", "at", "id", "value", "run", "turn"]
    )
    op.create_index("scores_of_scorer", "scores", ["scorer", "outcome", "at", "id"])
    op.create_index("scores_by_value", "scores", ["scorer", "value", "id", "outcome", "experiment"])
    op.create_table(
        "score_details",
        sa.Column("score", Key, primary_key=True, autoincrement=False),
        sa.Column("reason", sa.Text),
        sa.Column("body", sa.Text),
    )
    op.create_table(
        "rollups",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("scorer", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("experiment", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("turn", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("bin", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("scores", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("passed", sa.BigInteger, nullable=False),
        sa.Column("total", sa.Float, nullable=False),
        sa.Column("squares", sa.Float, nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Float, nullable=False),
    )
    op.create_index("rollups_of_scorer", "rollups", ["scorer", "day"])
    op.create_index("rollups_of_experiment", "rollups", ["experiment", "day"])
