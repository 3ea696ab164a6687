"""Limits that change while the queue runs. A lower one takes effect with the next claim; what runs is left to end."""

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.queue.enqueue import JOBS_CHANNEL, NOTIFY
from oddish.queue.keys import Limits

# Sets the override of a key; makes the key if jobs of it have yet to come. Locks: queue_keys.
OVERRIDE_KEY = """
INSERT INTO queue_keys (key, deploy_limit, override_limit) VALUES (:name, :deploy_limit, :limit)
ON CONFLICT (key) DO UPDATE SET override_limit = excluded.override_limit
RETURNING key AS name, deploy_limit, override_limit, running, paused
"""

# Removes the override of a key that is there. Locks: queue_keys.
RESET_KEY = """
UPDATE queue_keys SET override_limit = NULL WHERE key = :name
RETURNING key AS name, deploy_limit, override_limit, running, paused
"""

# Sets the override of a cap, or removes that of one that is there. Locks: queue_caps.
OVERRIDE_CAP = """
INSERT INTO queue_caps (name, override_limit) VALUES (:name, :limit)
ON CONFLICT (name) DO UPDATE SET override_limit = excluded.override_limit
RETURNING name, deploy_limit, override_limit, running, false AS paused
"""
RESET_CAP = """
UPDATE queue_caps SET override_limit = NULL WHERE name = :name
RETURNING name, deploy_limit, override_limit, running, false AS paused
"""

# Stops claims of a key, or lets them go on. Locks: queue_keys.
PAUSE = """
UPDATE queue_keys SET paused = :paused WHERE key = :name
RETURNING key AS name, deploy_limit, override_limit, running, paused
"""

# Gives keys and caps that exist the deployment's limits of today; says how many changed.
# Locks: queue_keys (by key), queue_caps (by name).
DEPLOY_KEYS = """
WITH wanted AS MATERIALIZED (
  SELECT k.key, new.deploy_limit
  FROM queue_keys k JOIN unnest(CAST(:names AS text[]), CAST(:limits AS int[])) AS new (key, deploy_limit) USING (key)
  WHERE k.deploy_limit <> new.deploy_limit ORDER BY k.key FOR NO KEY UPDATE OF k
)
UPDATE queue_keys k SET deploy_limit = wanted.deploy_limit FROM wanted WHERE k.key = wanted.key
"""
DEPLOY_CAPS = """
WITH wanted AS MATERIALIZED (
  SELECT c.name, new.deploy_limit
  FROM queue_caps c JOIN unnest(CAST(:names AS text[]), CAST(:limits AS int[])) AS new (name, deploy_limit) USING (name)
  WHERE c.deploy_limit IS DISTINCT FROM new.deploy_limit ORDER BY c.name FOR NO KEY UPDATE OF c
)
UPDATE queue_caps c SET deploy_limit = wanted.deploy_limit FROM wanted WHERE c.name = wanted.name
"""

# All keys, or all caps. Locks: none.
LIST_KEYS = "SELECT key AS name, deploy_limit, override_limit, running, paused FROM queue_keys ORDER BY key"
LIST_CAPS = "SELECT name, deploy_limit, override_limit, running, false AS paused FROM queue_caps ORDER BY name"


@dataclass(frozen=True)
class Limit:
    """A key or a cap and how much of it is in use. Without any limit a cap only counts."""

    name: str
    deploy_limit: int | None
    override_limit: int | None
    running: int
    paused: bool

    @property
    def limit(self) -> int | None:
        return self.deploy_limit if self.override_limit is None else self.override_limit


async def override_key(connection: AsyncConnection, key: str, limit: int, *, deploy_limit: int) -> Limit:
    """Run at most ``limit`` jobs of ``key`` at once, also of those that have yet to come. Wakes the workers."""
    changed = await _changed(connection, OVERRIDE_KEY, name=key, limit=limit, deploy_limit=deploy_limit)
    assert changed is not None  # noqa: S101
    return changed


async def override_cap(connection: AsyncConnection, name: str, limit: int) -> Limit:
    """Run at most ``limit`` jobs of the lanes that count against cap ``name``. Wakes the workers."""
    changed = await _changed(connection, OVERRIDE_CAP, name=name, limit=limit)
    assert changed is not None  # noqa: S101
    return changed


async def reset_key(connection: AsyncConnection, key: str) -> Limit | None:
    """Return ``key`` to the deployment's limit; None when there is no such key. Wakes the workers."""
    return await _changed(connection, RESET_KEY, name=key)


async def reset_cap(connection: AsyncConnection, name: str) -> Limit | None:
    """As ``reset_key``, for a cap."""
    return await _changed(connection, RESET_CAP, name=name)


async def pause_key(connection: AsyncConnection, key: str, *, paused: bool) -> Limit | None:
    """Stop or resume claims of ``key``; None when there is no such key. Wakes the workers."""
    return await _changed(connection, PAUSE, name=key, paused=paused)


async def deploy(connection: AsyncConnection, limits: Limits) -> int:
    """Let what is queued already count against the deployment's limits of today, in the caller's transaction.

    How many keys and caps had others. Overrides stay before them. Wakes the workers when there is a change.
    """
    keys = [entry.name for entry in await list_keys(connection)]
    caps = [entry.name for entry in await list_caps(connection)]
    of_keys = {"names": keys, "limits": [limits.of(key) for key in keys]}
    of_caps = {"names": caps, "limits": [limits.of_cap(cap) for cap in caps]}
    changed = (await connection.execute(text(DEPLOY_KEYS), of_keys)).rowcount
    changed += (await connection.execute(text(DEPLOY_CAPS), of_caps)).rowcount
    if changed:
        await connection.execute(text(NOTIFY), {"channel": JOBS_CHANNEL})
    return changed


async def list_keys(connection: AsyncConnection) -> list[Limit]:
    return [Limit(**row) for row in (await connection.execute(text(LIST_KEYS))).mappings()]


async def list_caps(connection: AsyncConnection) -> list[Limit]:
    return [Limit(**row) for row in (await connection.execute(text(LIST_CAPS))).mappings()]


async def _changed(connection: AsyncConnection, statement: str, **parameters: object) -> Limit | None:
    row = (await connection.execute(text(statement), parameters)).mappings().one_or_none()
    await connection.execute(text(NOTIFY), {"channel": JOBS_CHANNEL})
    return Limit(**row) if row else None
