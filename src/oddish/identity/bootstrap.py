"""The first key of a deployment, from its settings."""

from sqlalchemy import Table
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish import ids
from oddish.db.tables import api_keys, organisations, users
from oddish.errors import InvalidInput
from oddish.identity.keys import KEY, key_hash, key_prefix
from oddish.identity.principal import Scope

ORGANISATION = "default"
ADMIN = "admin"


async def ensure_bootstrap(engine: AsyncEngine, key: str) -> None:
    """Make the organisation ``default``, its admin and the full-scope ``key``, whatever of them is missing.

    A key that was revoked since stays revoked. Safe to call from several processes at once.
    """
    if not KEY.fullmatch(key):
        raise InvalidInput(
            "ODDISH_BOOTSTRAP_KEY is not an API key.", fix="A key is `ok_` followed by 32 lower-case hex digits."
        )
    rows: list[tuple[Table, dict[str, object]]] = [
        (organisations, {"id": ORGANISATION, "name": "Default"}),
        (users, {"id": ADMIN, "org_id": ORGANISATION, "name": ADMIN, "role": "admin"}),
        (
            api_keys,
            {
                "id": ids.row_id("key"),
                "org_id": ORGANISATION,
                "user_id": ADMIN,
                "name": "bootstrap",
                "key_hash": key_hash(key),
                "key_prefix": key_prefix(key),
                "scope": Scope.FULL,
            },
        ),
    ]
    async with engine.begin() as connection:
        for table, values in rows:
            await connection.execute(insert(table).values(values).on_conflict_do_nothing())
