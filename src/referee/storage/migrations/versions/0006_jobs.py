"""Jobs, the runs that live scoring dropped, and an index of an experiment's runs by time."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables of jobs and dropped runs."""
    op.create_table(
        "jobs",
        sa.Column("id", _key, primary_key=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("worker", sa.Text),
        sa.Column("beat", sa.BigInteger, nullable=False),
        sa.Column("last_run", sa.BigInteger, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("scored", sa.Integer, nullable=False),
        sa.Column("not_scorable", sa.Integer, nullable=False),
        sa.Column("errors", sa.Integer, nullable=False),
        sa.Column("problem", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger),
    )
    op.create_table(
        "live_drops",
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("scorer", sa.Text, primary_key=True),
        sa.Column("reason", sa.Text, primary_key=True),
        sa.Column("runs", sa.BigInteger, nullable=False),
    )
    op.create_index("runs_of_experiment", "runs", ["experiment", "at", "id"])
