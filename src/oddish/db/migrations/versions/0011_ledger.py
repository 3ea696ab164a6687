"""The ledger: what each attempt has spent."""

from pathlib import Path

from alembic import op

revision = "0011"
down_revision = "0010"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
