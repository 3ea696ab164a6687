"""Live transcripts: events of running attempts, and a word to those who follow them."""

from pathlib import Path

from alembic import op

revision = "0010"
down_revision = "0009"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
