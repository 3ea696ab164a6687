"""Spend: what attempts cost, by the hour."""

from pathlib import Path

from alembic import op

revision = "0012"
down_revision = "0011"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
