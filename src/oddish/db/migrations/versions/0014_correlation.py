"""The id of the request that made a trial."""

from pathlib import Path

from alembic import op

revision = "0014"
down_revision = "0013"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
