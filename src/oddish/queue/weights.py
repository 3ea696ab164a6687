"""Weights: how much of a key a user's lanes get beside those of others."""

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# Sets a user's weight for lanes to come. Locks: users (that row), so that no new lane gets the former one.
SET = "UPDATE users SET weight = :weight WHERE org_id = :org_id AND name = :user RETURNING id"

# Sets the weight of the user's lanes. Locks: queue_lanes (by key, lane).
APPLY = """
WITH own AS MATERIALIZED (
  SELECT key, lane FROM queue_lanes WHERE lane = :user_id ORDER BY key, lane FOR NO KEY UPDATE
)
UPDATE queue_lanes l SET weight = :weight FROM own WHERE (l.key, l.lane) = (own.key, own.lane)
"""

# The users of an organisation whose weight is another than 1. Locks: none.
LIST = 'SELECT name AS "user", weight FROM users WHERE org_id = :org_id AND weight <> 1 ORDER BY name'


@dataclass(frozen=True)
class Weight:
    user: str
    weight: float
    """1 by default; of two users with enough to run, one of weight 2 gets twice the slots."""


async def set_weight(connection: AsyncConnection, wanted: Weight, *, org_id: str) -> bool:
    """Change a user's weight in the caller's transaction, from the next claim on; False when there is no such user."""
    parameters = {"user": wanted.user, "weight": wanted.weight, "org_id": org_id}
    user_id = await connection.scalar(text(SET), parameters)
    if user_id is None:
        return False
    await connection.execute(text(APPLY), {"user_id": user_id, "weight": wanted.weight})
    return True


async def list_weights(connection: AsyncConnection, *, org_id: str) -> list[Weight]:
    """Those that are not 1, by name."""
    return [Weight(**row) for row in (await connection.execute(text(LIST), {"org_id": org_id})).mappings()]
