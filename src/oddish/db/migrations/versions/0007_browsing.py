"""Finding tasks by what their trials did: counts of tools, and indexes to read many trials without their records."""

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = "0006"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
