"""What an experiment is and what happened to it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Describe experiments and keep their events."""
    for column in (
        sa.Column("name", sa.Text, nullable=False, server_default=""),
        sa.Column("target", sa.Text),
        sa.Column("status", sa.Text),
        sa.Column("verdict", sa.Text),
        sa.Column("plan", sa.Text),
        sa.Column("planned", sa.Integer),
        sa.Column("results", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("failed_results", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("dataset", sa.BigInteger),
        sa.Column("dataset_version", sa.Integer),
        sa.Column("finished_at", sa.BigInteger),
    ):
        op.add_column("experiments", column)
    op.create_index("experiments_of_dataset", "experiments", ["dataset", "created_at"])
    op.create_index("experiments_at", "experiments", ["created_at", "id"])
    op.execute(
        "UPDATE experiments SET results = (SELECT count(*) FROM runs WHERE runs.experiment = experiments.id), "
        "failed_results = (SELECT count(error) FROM runs WHERE runs.experiment = experiments.id)"
    )
    op.add_column("run_contents", sa.Column("extra", sa.Text))
    op.create_table(
        "experiment_events",
        sa.Column("id", Key, primary_key=True),
        sa.Column("experiment", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("details", sa.Text),
    )
    op.create_index("experiment_events_of", "experiment_events", ["experiment", "id"])
