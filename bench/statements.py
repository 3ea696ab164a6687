"""Statements that PostgreSQL executed, counted in its own log."""

import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

RECORD = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[(\d+)\] (.*?)(?=^\d{4}-\d\d-\d\d |\Z)", re.DOTALL | re.MULTILINE)
STATEMENT = re.compile(r"LOG:  duration: [\d.]+ ms  (?:statement|execute [^:]*): (.*)", re.DOTALL)
FRAME = ("BEGIN", "COMMIT", "ROLLBACK")
SETTLE_SECONDS = 0.3
"""Until the log has what was executed last."""


def executed(text: str, processes: Collection[int]) -> list[str]:
    """The statements of these server processes in a log, each on one line, transaction control left out."""
    records = (STATEMENT.match(record[2]) for record in RECORD.finditer(text) if int(record[1]) in processes)
    statements = [" ".join(record[1].split()) for record in records if record]
    return [statement for statement in statements if not statement.startswith(FRAME)]


class StatementLog:
    def __init__(self, log: Path, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._log = log
        self._connection = connection
        self._position = 0

    def processes(self, *names: str) -> set[int]:
        """Server processes of connections that call themselves so, or are to a database of that name."""
        statement = "SELECT pid FROM pg_stat_activity WHERE application_name = ANY (%s) OR datname = ANY (%s)"
        return {int(str(pid)) for (pid,) in self._connection.execute(statement, [list(names), list(names)])}

    def new_database(self, name: str) -> None:
        self._connection.execute(f'CREATE DATABASE "{name}"'.encode())

    def mark(self) -> None:
        """Count from here on."""
        time.sleep(SETTLE_SECONDS)
        self._position = self._log.stat().st_size

    def since(self, processes: Collection[int]) -> list[str]:
        """What these processes executed since the mark, as ``executed`` gives it."""
        time.sleep(SETTLE_SECONDS)
        with self._log.open("rb") as log:
            log.seek(self._position)
            return executed(log.read().decode(errors="replace"), processes)


@contextmanager
def logged(log: Path, url: str) -> Iterator[StatementLog]:
    """Everything is logged until the end of the block. ``url`` is one of the owner of the cluster, without driver."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET log_min_duration_statement = 0")
        connection.execute("SELECT pg_reload_conf()")
        try:
            time.sleep(SETTLE_SECONDS)
            yield StatementLog(log, connection)
        finally:
            connection.execute("ALTER SYSTEM RESET log_min_duration_statement")
            connection.execute("SELECT pg_reload_conf()")
