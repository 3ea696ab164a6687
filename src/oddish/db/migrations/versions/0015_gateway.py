"""Jobs of the gateway, and what those who follow one are told."""

from pathlib import Path

from alembic import op

revision = "0015"
down_revision = "0014"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
