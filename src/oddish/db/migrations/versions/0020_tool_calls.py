"""Tool calls: trials that called many tools are found without reading those that did not."""

from pathlib import Path

from alembic import op

revision = "0020"
down_revision = "0019"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
