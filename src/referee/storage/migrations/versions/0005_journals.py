"""The journals that were read into the store."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the table of journals."""
    op.create_table("journals", sa.Column("path", sa.Text, primary_key=True))
