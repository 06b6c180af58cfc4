"""Data sets, their versions, items and pins."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables of data sets."""
    op.create_table(
        "datasets",
        sa.Column("id", Key, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("baseline", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "dataset_versions",
        sa.Column("dataset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("added", sa.Integer, nullable=False),
        sa.Column("changed", sa.Integer, nullable=False),
        sa.Column("removed", sa.Integer, nullable=False),
        sa.Column("items", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
    )
    op.create_table(
        "dataset_items",
        sa.Column("id", Key, primary_key=True),
        sa.Column("dataset", sa.BigInteger, nullable=False),
        sa.Column("item", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("since", sa.Integer, nullable=False),
        sa.Column("until", sa.Integer),
        sa.Column("digest", sa.Text),
        sa.Column("body", sa.Text),
        sa.UniqueConstraint("dataset", "item", "since"),
        sqlite_autoincrement=True,
    )
    op.create_index("dataset_items_position", "dataset_items", ["dataset", "position"])
    op.create_table(
        "dataset_pins",
        sa.Column("dataset", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
    )
