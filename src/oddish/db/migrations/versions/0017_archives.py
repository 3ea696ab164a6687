"""Jobs of the gateway: archives have lanes of their own, callbacks hide their paths, verifications are probes."""

from pathlib import Path

from alembic import op

revision = "0017"
down_revision = "0016"
contracts = False


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
