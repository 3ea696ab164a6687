"""The database: the configured one, or that of the running stack."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from oddish.db.ciphertexts import FIX, LATEST, Latest
from oddish.db.compatibility import Schema
from oddish.db.revision import HEAD
from oddish.db.url import DRIVER, plain
from oddish.doctor.clock import judge_skew
from oddish.doctor.finding import Finding, ok, problem, warning
from oddish.doctor.localstack import embedded_url
from oddish.doctor.state import SECRET
from oddish.home import home
from oddish.keyring import load_keyring
from oddish.stack.binaries import OLDEST_MAJOR
from oddish.stack.database import schema_of

DATABASE = "Database"
FEW_CONNECTIONS = 30
_SETTINGS = ("server_version_num", "server_encoding", "max_connections", "fsync", "full_page_writes")
_UPGRADE = "The local stack does it at its start; elsewhere run: python -m oddish.db upgrade"
_CONNECT_SECONDS = 2
"""The least that libpq waits."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a database server says about itself."""

    place: str
    version: int
    """As in 180001."""
    encoding: str
    connections: int
    durable: bool
    read_only: bool
    schema: Schema


def look() -> Iterator[Finding]:
    configured = os.environ.get("ODDISH_DATABASE_URL", "").strip()
    url = configured or embedded_url()
    if not url:
        yield ok(DATABASE, "the stack's own, which does not run now")
        return
    if not url.startswith(DRIVER):
        yield judge_scheme(url)
        return
    address = plain(url)
    try:
        place = place_of(address)
        with psycopg.connect(address, autocommit=True, connect_timeout=_CONNECT_SECONDS) as connection:
            before = time.time()
            theirs = _moment(connection)
            if configured:
                yield judge_skew("the database", theirs, before, time.time())
            described = _described(connection, place)
            yield judge(described)
            if described.schema.fit() in ("same", "ahead") and (stored := connection.execute(LATEST).fetchone()):
                yield from judge_key(Latest(*stored), home())
    except psycopg.Error as error:
        said = " ".join(without_password(str(error), address).split())
        yield problem(
            DATABASE,
            f"It cannot be used: {said}",
            "Check ODDISH_DATABASE_URL and that PostgreSQL runs."
            if configured
            else "Run 'oddish down', then try again.",
        )


def judge_scheme(url: str) -> Finding:
    scheme = url.partition("://")[0] if "://" in url else "something else"
    return problem(
        DATABASE,
        f"ODDISH_DATABASE_URL begins with {scheme}.",
        f"Write it as {DRIVER}user@host/name; no other driver is used.",
    )


def judge_key(stored: Latest, where: Path) -> Iterator[Finding]:
    """Nothing when the key of this machine reads what is stored. Raises ``KeyringError`` for one that is no key."""
    configured = os.environ.get("ODDISH_SECRET_KEY")
    has_key = bool(configured) or (where / "secret.key").exists()
    if has_key and stored.is_readable(load_keyring(configured, where)):
        return
    if stored.is_of(where):
        yield warning(SECRET, "It does not read the stored secrets.", "Restore it from a backup, or store them again.")
        return
    unset = "" if configured else " ODDISH_SECRET_KEY is not set here."
    yield problem(SECRET, f"It is not that of the deployment: it cannot read the secret stored last.{unset}", FIX)


def judge(found: Server) -> Finding:
    shown = f"PostgreSQL {found.version // 10_000}, {found.place}"
    if found.version // 10_000 < OLDEST_MAJOR:
        return problem(DATABASE, f"{shown} is too old.", f"Use PostgreSQL {OLDEST_MAJOR} or newer.")
    if found.read_only:
        return problem(DATABASE, f"{shown} is read-only.", "Name the primary server in ODDISH_DATABASE_URL.")
    if found.encoding != "UTF8":
        return problem(
            DATABASE, f"{shown} has the encoding {found.encoding}.", "Create the database with ENCODING 'UTF8'."
        )
    revision, fit = found.schema.revision, found.schema.fit()
    if fit == "absent":
        return warning(DATABASE, f"{shown} has no schema yet.", _UPGRADE)
    if fit == "behind":
        return warning(DATABASE, f"{shown} is at revision {revision}; this oddish needs {HEAD}.", _UPGRADE)
    if fit == "beyond":
        return problem(
            DATABASE,
            f"{shown} is at revision {revision}, which this oddish does not know (its own is {HEAD}).",
            "A newer oddish has written it: use that one.",
        )
    if found.connections < FEW_CONNECTIONS:
        return warning(
            DATABASE,
            f"{shown} allows {found.connections} connections.",
            f"Raise max_connections to {FEW_CONNECTIONS} or more: a server and a worker use up to 20 each.",
        )
    if not found.durable:
        return warning(
            DATABASE,
            f"{shown} may lose data in a power failure.",
            "Set fsync and full_page_writes to on, as they are by default.",
        )
    newer = f", newer than {HEAD}, with which it works" if fit == "ahead" else ""
    return ok(DATABASE, f"{shown}, revision {revision}{newer}")


def place_of(url: str) -> str:
    """Host and name of a database, without user and password. Raises ``psycopg.ProgrammingError``."""
    parts = conninfo_to_dict(url)
    host = parts.get("host") or parts.get("hostaddr") or "the default host"
    return f"{parts.get('dbname') or parts.get('user') or 'its default database'} at {host}"


def without_password(text: str, url: str) -> str:
    """``text`` without what could be the password in ``url``."""
    match = re.match(r"[^:]+://[^@/]*?:([^@]*)@", url)
    secrets = [match[1]] if match else []
    secrets += re.findall(r"[?&]password=([^&]*)", url)
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return text


def _moment(connection: psycopg.Connection) -> float:
    row = connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM has one row
    return float(row[0])


def _described(connection: psycopg.Connection, place: str) -> Server:
    rows = connection.execute(
        "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(_SETTINGS)]
    ).fetchall()
    settings: dict[str, str] = dict(rows)
    (read_only,) = connection.execute("SELECT pg_is_in_recovery()").fetchone() or (False,)
    return Server(
        place=place,
        version=int(settings["server_version_num"]),
        encoding=settings["server_encoding"],
        connections=int(settings["max_connections"]),
        durable=settings["fsync"] == settings["full_page_writes"] == "on",
        read_only=bool(read_only),
        schema=schema_of(connection),
    )
