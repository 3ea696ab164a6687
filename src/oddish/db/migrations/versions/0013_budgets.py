"""Budgets: what the trials of a run may cost together."""

from pathlib import Path

from alembic import op

revision = "0013"
down_revision = "0012"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
