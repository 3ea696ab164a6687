"""API keys: ``ok_`` and 32 hex digits, stored as SHA-256 only."""

import hashlib
import re
from typing import Any

from sqlalchemy import Row, exists, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import api_keys
from oddish.errors import Unauthenticated
from oddish.identity.principal import Principal, Scope

KEY = re.compile(r"ok_[0-9a-f]{32}")
PREFIX_LENGTH = 11

# Finds the key and marks it as used, at most once a minute and never waiting for another request that does the same.
_AUTHENTICATE = """
WITH used AS (
  UPDATE api_keys SET last_used_at = now() WHERE id IN (
    SELECT id FROM api_keys
    WHERE {which} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
    FOR NO KEY UPDATE SKIP LOCKED
  )
)
SELECT k.id, k.org_id, k.user_id, k.scope, u.name AS user_name, u.role, k.expires_at, k.key_prefix,
       k.revoked_at IS NOT NULL AS revoked, coalesce(k.expires_at <= now(), false) AS expired
FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.{which}
"""
AUTHENTICATE = text(_AUTHENTICATE.format(which="key_hash = :key_hash"))
AUTHENTICATE_BY_ID = text(_AUTHENTICATE.format(which="id = :key_id"))

FIX = "Send a valid key as `Authorization: Bearer ok_...` or `X-Api-Key: ok_...`."


def key_hash(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def key_prefix(key: str) -> str:
    """The part of a key that may be shown."""
    return key[:PREFIX_LENGTH]


async def authenticate(connection: AsyncConnection, key: str) -> Principal:
    """The principal of ``key``. Raises ``Unauthenticated`` when it is unknown, expired or revoked."""
    return _principal((await connection.execute(AUTHENTICATE, {"key_hash": key_hash(key)})).one_or_none())


async def authenticate_by_id(connection: AsyncConnection, key_id: str) -> Principal:
    """As ``authenticate``, for a key that was shown before. Never to be asked for what a caller names."""
    return _principal((await connection.execute(AUTHENTICATE_BY_ID, {"key_id": key_id})).one_or_none())


def _principal(row: Row[Any] | None) -> Principal:
    if row is None:
        raise Unauthenticated("The API key is not known here.", fix=FIX)
    if row.revoked:
        raise Unauthenticated(f"The API key {row.key_prefix}... is revoked.", fix=FIX)
    if row.expired:
        raise Unauthenticated(f"The API key {row.key_prefix}... is expired.", fix=FIX)
    return Principal(
        key_id=row.id,
        org_id=row.org_id,
        user_id=row.user_id,
        user_name=row.user_name,
        role=row.role,
        scope=Scope(row.scope),
        expires_at=row.expires_at,
    )


async def any_key_exists(connection: AsyncConnection) -> bool:
    return bool(await connection.scalar(select(exists(select(api_keys.c.id)))))
