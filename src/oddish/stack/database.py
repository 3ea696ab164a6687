"""What this process itself asks the database."""

import contextlib
from collections.abc import Iterator

import psycopg
from psycopg import sql

from oddish.db.compatibility import EXISTS, REVISION, Schema
from oddish.db.url import plain
from oddish.errors import Unavailable

_BUSY = """
SELECT EXISTS (SELECT FROM jobs WHERE state IN ('held', 'ready', 'scheduled', 'running'))
  OR EXISTS (SELECT FROM gateway_callbacks WHERE due_at IS NOT NULL)
"""

# Of tables that are known to have rows, when they were looked at is remembered over every stop but a crash.
_FORGOTTEN = """
SELECT EXISTS (
  SELECT FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
  WHERE c.reltuples > 0 AND coalesce(s.last_analyze, s.last_autoanalyze, s.last_vacuum, s.last_autovacuum) IS NULL
)
"""


def create_missing(maintenance_url: str, name: str) -> None:
    """Make the database ``name`` if the server, reached through another one, has none. Raises ``Unavailable``."""
    with _reported(), _connect(maintenance_url) as connection:
        if connection.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def schema(url: str) -> Schema:
    """Raises ``Unavailable``."""
    with _reported(), _connect(url) as connection:
        return schema_of(connection)


def schema_of(connection: psycopg.Connection) -> Schema:
    """Raises ``psycopg.Error``."""
    exists = connection.execute(EXISTS).fetchone() == (True,)
    row = connection.execute(REVISION).fetchone() if exists else None
    return Schema(None) if row is None else Schema(*row)


def analyze(url: str) -> None:
    """Count what is in the tables, for plans and for the cleaning up of dead rows. Raises ``Unavailable``."""
    with _reported(), _connect(url) as connection:
        connection.execute("ANALYZE")


def recount(url: str) -> bool:
    """Count again when PostgreSQL has forgotten its counts in a crash: dead rows from before would stay for ever.

    False when it has not, or does not answer now.
    """
    try:
        with _connect(url) as connection:
            if connection.execute(_FORGOTTEN).fetchone() != (True,):
                return False
            connection.execute("SET statement_timeout = '20s'")
            connection.execute("ANALYZE")
    except psycopg.Error:
        return False
    return True


def has_unfinished_jobs(url: str) -> bool:
    """So are messages that callbacks are owed. An unanswered question counts as yes."""
    try:
        with _connect(url) as connection:
            row = connection.execute(_BUSY).fetchone()
    except psycopg.Error:
        return True
    return row is None or bool(row[0])


def _connect(url: str) -> psycopg.Connection:
    return psycopg.connect(plain(url), autocommit=True, connect_timeout=5)


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise Unavailable(
            f"The database cannot be used: {str(error).strip()}",
            fix="Check that its disk has free space, and that ODDISH_DATABASE_URL, if it is set, is right.",
        ) from error
