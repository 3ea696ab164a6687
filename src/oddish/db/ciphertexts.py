"""Whether a process has the secret key that the secrets in a database were encrypted with.

The secret stored last decides: secrets from before a lost key may stay unreadable while new ones are stored and read.
"""

from dataclasses import dataclass
from pathlib import Path

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.keyring import Keyring, KeyringError

log = structlog.get_logger()

LATEST = """
SELECT ciphertext, (SELECT setting FROM pg_settings WHERE name = 'data_directory')
FROM (
  (SELECT ciphertext, created_at AS stored_at FROM secrets ORDER BY created_at DESC LIMIT 1)
  UNION ALL
  (SELECT ciphertext, updated_at FROM org_secrets ORDER BY updated_at DESC LIMIT 1)
) AS stored
ORDER BY stored_at DESC LIMIT 1
"""
FIX = (
    "Set ODDISH_SECRET_KEY to the servers' value. If that key is lost, delete the rows of the tables secrets and "
    "org_secrets, and store the secrets again."
)


class AnotherSecretKey(KeyringError):
    """A process of a deployment that could not read what the others have stored; it must not start."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The secret stored last, and where the server keeps the database, as far as it may be known."""

    ciphertext: bytes
    data_directory: str | None

    def is_readable(self, keyring: Keyring) -> bool:
        try:
            keyring.decrypt(self.ciphertext)
        except KeyringError:
            return False
        return True

    def is_of(self, home: Path) -> bool:
        """Whether the database is that of the local stack of ``home``: no other process can have its key."""
        return self.data_directory is not None and Path(self.data_directory).resolve().is_relative_to(home.resolve())


async def latest(connection: AsyncConnection) -> Latest | None:
    row = (await connection.execute(text(LATEST))).one_or_none()
    return None if row is None else Latest(*row)


async def check_secret_key(connection: AsyncConnection, keyring: Keyring, home: Path, *, who: str) -> None:
    """Raises ``AnotherSecretKey`` when what was stored last cannot be read; ``who`` is a server or a worker.

    A local stack that has lost its key goes on without: the secrets can be stored again through its server.
    """
    stored = await latest(connection)
    if stored is None or stored.is_readable(keyring):
        return
    if stored.is_of(home):
        log.error("stored secrets cannot be read: the key they were encrypted with is gone")
        return
    unset = "" if keyring.configured else " ODDISH_SECRET_KEY is not set here."
    raise AnotherSecretKey(
        f"The secret key of this {who} is not that of the deployment: it cannot read the secret stored last.{unset}",
        fix=FIX,
    )
