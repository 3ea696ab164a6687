"""The baseline gate: trials of other agents wait for those of oracle and nop, and may be skipped."""

from pathlib import Path

from alembic import op

revision = "0005"
down_revision = "0004"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
