"""Releases to come: this one's migrations and one more."""

import shutil
from pathlib import Path

from oddish.db import migration
from oddish.db.revision import HEAD

NEXT = "9001"

_MIGRATION = '''"""Of a release to come."""

from alembic import op

revision = "{revision}"
down_revision = "{former}"
contracts = {contracts}


def upgrade() -> None:
    op.execute("""{statements}""")
'''


def release(directory: Path, statements: str, *, contracts: bool) -> Path:
    """A copy of the migrations in ``directory`` with one more, ``NEXT``."""
    copy = directory / "migrations"
    shutil.copytree(migration.MIGRATIONS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    text = _MIGRATION.format(revision=NEXT, former=HEAD, contracts=contracts, statements=statements)
    (copy / "versions" / f"{NEXT}_next.py").write_text(text)
    return copy
