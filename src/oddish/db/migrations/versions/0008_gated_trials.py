"""A trial remembers whether its submission asked for the baseline gate, so that a retry of it is gated as well."""

from pathlib import Path

from alembic import op

revision = "0008"
down_revision = "0007"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
