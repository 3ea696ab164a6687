"""The two questions that the supervisor asks the database itself."""

import psycopg

_BUSY = "SELECT EXISTS (SELECT FROM jobs WHERE state IN ('held', 'ready', 'scheduled', 'running'))"


def revision(url: str) -> str | None:
    """The schema revision; None when there is no schema yet."""
    with _connect(url) as connection:
        if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else str(row[0])


def has_unfinished_jobs(url: str) -> bool:
    """An unanswered question counts as yes."""
    try:
        with _connect(url) as connection:
            row = connection.execute(_BUSY).fetchone()
    except psycopg.Error:
        return True
    return row is None or bool(row[0])


def _connect(url: str) -> psycopg.Connection:
    address = url.replace("postgresql+psycopg://", "postgresql://", 1)
    return psycopg.connect(address, autocommit=True, connect_timeout=5)
