"""Secrets that an organisation keeps for its trials, by the name of a variable."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import org_secrets, users
from oddish.errors import NotFound
from oddish.identity.principal import Principal
from oddish.keyring import Keyring
from oddish.trials.credentials import refuse_unusable


@dataclass(frozen=True)
class StoredSecret:
    """What may be seen of a secret."""

    name: str
    created_by: str
    """Name of the user who made it."""
    created_at: datetime
    updated_at: datetime


async def keep_secret(
    connection: AsyncConnection, keyring: Keyring, principal: Principal, name: str, value: str
) -> StoredSecret:
    """Store or replace a secret; attempts that start from now on get it. Raises ``InvalidInput`` for the name."""
    refuse_unusable([name])
    ciphertext = keyring.encrypt(value.encode())
    row = {"org_id": principal.org_id, "name": name, "ciphertext": ciphertext, "created_by": principal.user_id}
    statement = insert(org_secrets).values(row)
    replaced = {"ciphertext": statement.excluded.ciphertext, "updated_at": func.now()}
    await connection.execute(
        statement.on_conflict_do_update(index_elements=[org_secrets.c.org_id, org_secrets.c.name], set_=replaced)
    )
    (kept,) = await _secrets(connection, principal, org_secrets.c.name == name)
    return kept


async def list_secrets(connection: AsyncConnection, principal: Principal) -> Sequence[StoredSecret]:
    """All of the organisation's, by name."""
    return await _secrets(connection, principal)


async def delete_secret(connection: AsyncConnection, principal: Principal, name: str) -> None:
    """Raises ``NotFound``."""
    mine = org_secrets.c.org_id == principal.org_id
    result = await connection.execute(delete(org_secrets).where(mine, org_secrets.c.name == name))
    if result.rowcount == 0:
        raise NotFound(f"There is no secret {name!r} here.", fix="`oddish secrets ls` lists them.")


async def secret_values(
    connection: AsyncConnection, keyring: Keyring, org_id: str, names: Collection[str]
) -> dict[str, str]:
    """The values of those of ``names`` that there are, decrypted. Raises ``KeyringError``."""
    if not names:
        return {}
    statement = select(org_secrets.c.name, org_secrets.c.ciphertext).where(
        org_secrets.c.org_id == org_id, org_secrets.c.name.in_(sorted(names))
    )
    rows = (await connection.execute(statement)).all()
    return {row.name: keyring.decrypt(row.ciphertext).decode() for row in rows}


async def _secrets(
    connection: AsyncConnection, principal: Principal, *conditions: ColumnElement[bool]
) -> Sequence[StoredSecret]:
    statement = (
        select(org_secrets.c.name, users.c.name.label("created_by"), org_secrets.c.created_at, org_secrets.c.updated_at)
        .join(users, users.c.id == org_secrets.c.created_by)
        .where(org_secrets.c.org_id == principal.org_id, *conditions)
        .order_by(org_secrets.c.name)
    )
    return [StoredSecret(**row) for row in (await connection.execute(statement)).mappings()]
