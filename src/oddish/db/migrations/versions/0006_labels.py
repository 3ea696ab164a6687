"""Tags that tasks are found by, and sharing that waits for no submission."""

from pathlib import Path

from alembic import op

revision = "0006"
down_revision = "0005"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
