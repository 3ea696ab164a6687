"""Tables, migrations and connections. PostgreSQL >= 15 is the only database."""

from pathlib import Path

MIGRATIONS = Path(__file__).parent / "migrations"
ADVISORY_LOCK = 0x0DD15B
"""Serialises migrations of one database across processes."""


def upgrade(url: str) -> None:
    """Bring the database at ``url`` to the newest revision, in one transaction; concurrent calls take turns.

    ``url`` names the ``postgresql+psycopg`` driver. Raises ``sqlalchemy.exc.SQLAlchemyError`` when the
    server does not answer or a statement fails; the schema is then as it was.
    """
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import NullPool, create_engine, text

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL lock_timeout = '30s'"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    engine.dispose()
