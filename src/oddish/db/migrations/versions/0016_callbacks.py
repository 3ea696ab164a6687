"""Callbacks of gateway jobs: what is owed to whom, and what came of each attempt to tell them."""

from pathlib import Path

from alembic import op

revision = "0016"
down_revision = "0015"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
