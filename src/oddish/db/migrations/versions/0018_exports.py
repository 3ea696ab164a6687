"""Exports: datasets that organisations have the server show."""

from pathlib import Path

from alembic import op

revision = "0018"
down_revision = "0017"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
