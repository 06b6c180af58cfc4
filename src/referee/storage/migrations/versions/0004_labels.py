"""People's labels, and calibrations of scorers."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables of labels and calibrations."""
    op.create_table(
        "labels",
        sa.Column("id", Key, primary_key=True),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("run", sa.BigInteger, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("scorer", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("value", sa.Float, nullable=False),
        sa.Column("comment", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("subject", "turn", "scorer", "author"),
    )
    op.create_index("labels_of_scorer", "labels", ["scorer", "at", "id"])
    op.create_index("labels_of_run", "labels", ["run"])
    op.create_index("runs_digest", "runs", ["digest"])
    op.create_table(
        "calibrations",
        sa.Column("id", Key, primary_key=True),
        sa.Column("scorer", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("weights", sa.Text, nullable=False),
        sa.Column("kappa", sa.Float),
        sa.Column("pairs", sa.Integer, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
    )
    op.create_index("calibrations_of_scorer", "calibrations", ["scorer", "id"])
