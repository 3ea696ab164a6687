"""Ended jobs leave the hot table; lanes are pruned and weighted by their users."""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
