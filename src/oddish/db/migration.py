"""Bringing a database to the schema of this release, beside those who use it."""

import time
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from oddish.db.compatibility import EXISTS, REVISION, Fit, Schema, remark

MIGRATIONS = Path(__file__).parent / "migrations"
ADVISORY_LOCK = 0x0DD15B
"""Serialises migrations of one database across processes."""
TURN_SECONDS = 300
"""How long to wait for another process that migrates."""
LOCK_SECONDS = 3
"""How long to wait for a lock of a table: whoever wants the table meanwhile waits behind us."""
PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 2.0
_LOCK_NOT_AVAILABLE = "55P03"


def upgrade(
    url: str,
    *,
    migrations: Path = MIGRATIONS,
    patience_seconds: float = PATIENCE_SECONDS,
    pause_seconds: float = PAUSE_SECONDS,
) -> Fit:
    """Bring the database at ``url`` to the newest revision, in one transaction; concurrent calls take turns.

    A table that is in use is waited for briefly, so as not to hold up those who use it, and tried again for
    ``patience_seconds``. A newer schema that this code works with is left as it is, and the answer is ``ahead``.
    ``url`` names the ``postgresql+psycopg`` driver. Raises ``UnknownSchema`` for a newer schema that this code does not
    work with, and ``sqlalchemy.exc.SQLAlchemyError`` when the server does not answer, a table stays locked or a
    statement fails; the schema is then as it was.
    """
    config = _configured(migrations)
    engine = create_engine(url, poolclass=NullPool)
    ends = time.monotonic() + patience_seconds
    while True:
        try:
            with engine.begin() as connection:
                return _upgrade(connection, config)
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE or time.monotonic() > ends:
                raise
        time.sleep(pause_seconds)


def shuts_out(url: str, *, migrations: Path = MIGRATIONS) -> bool:
    """Whether ``upgrade`` would end the work of code that goes with the database as it is now.

    Raises as ``upgrade`` does.
    """
    scripts = ScriptDirectory.from_config(_configured(migrations))
    found = schema_at(url)
    return found.revision is not None and found.revision < _oldest_code(scripts)


def schema_at(url: str) -> Schema:
    """The schema of the database at ``url``. Raises ``sqlalchemy.exc.SQLAlchemyError`` when it does not answer."""
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return _read(connection)


def _configured(migrations: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations))
    return config


def _upgrade(connection: Connection, config: Config) -> Fit:
    connection.execute(text(f"SET LOCAL lock_timeout = '{TURN_SECONDS}s'"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
    connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))
    scripts = ScriptDirectory.from_config(config)
    head = scripts.as_revision_number("head")
    assert isinstance(head, str)  # noqa: S101 - the chain has one end
    found = _read(connection)
    fit = found.fit(head)
    if fit in ("ahead", "beyond"):
        found.check(head)
        return fit
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    kept = remark(head, _oldest_code(scripts))
    if _read(connection).remark != kept:
        connection.exec_driver_sql(f"COMMENT ON TABLE alembic_version IS '{kept}'")
    return "same"


def _read(connection: Connection) -> Schema:
    if not connection.scalar(text(EXISTS)):
        return Schema(None)
    row = connection.execute(text(REVISION)).one_or_none()
    return Schema(None) if row is None else Schema(*row)


def _oldest_code(scripts: ScriptDirectory) -> str:
    """The newest revision that contracts: code from before it needs what it removed. One that does not say so, does."""
    oldest = ""
    for script in scripts.walk_revisions():
        oldest = script.revision
        if getattr(script.module, "contracts", True):
            break
    return oldest
