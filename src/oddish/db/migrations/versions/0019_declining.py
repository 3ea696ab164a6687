"""Declining: workers that live and claim nothing say why."""

from pathlib import Path

from alembic import op

revision = "0019"
down_revision = "0018"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
