"""Imports: trials that were run elsewhere, known by the id they had there."""

from pathlib import Path

from alembic import op

revision = "0009"
down_revision = "0008"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
