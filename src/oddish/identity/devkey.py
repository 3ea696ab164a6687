"""A key of a developer's own choosing, which a stack of one machine accepts as long as it runs."""

import re

from sqlalchemy import func, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.tables import api_keys
from oddish.errors import InvalidInput
from oddish.identity.bootstrap import ADMIN, ORGANISATION
from oddish.identity.keys import KEY, key_hash, key_prefix
from oddish.identity.principal import Scope

ID = "key_dev"
_FORM = re.compile(r"[!-~]{8,200}")


async def set_dev_key(engine: AsyncEngine, key: str | None) -> None:
    """Accept ``key``, with scope ``tasks``, in place of the one of a former start; None accepts no such key.

    Without it a database that once was a developer's would go on accepting a key that everybody can guess.
    """
    if key is None:
        async with engine.begin() as connection:
            ended = update(api_keys).where(api_keys.c.id == ID, api_keys.c.revoked_at.is_(None))
            await connection.execute(ended.values(revoked_at=func.now()))
        return
    if not _FORM.fullmatch(key) or KEY.fullmatch(key):
        raise InvalidInput(
            "ODDISH_DEV_KEY is no key of one's own choosing.",
            fix="It has 8 to 200 letters, digits and signs, without spaces, and is none that oddish has made.",
        )
    row = {
        "org_id": ORGANISATION,
        "user_id": ADMIN,
        "name": "dev",
        "key_hash": key_hash(key),
        "key_prefix": key_prefix(key),
        "scope": Scope.TASKS,
        "revoked_at": None,
    }
    async with engine.begin() as connection:
        statement = insert(api_keys).values(id=ID, **row)
        await connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=row))
