"""Experiments that whoever has their link may read: the link carries a token, which is all it takes."""

import secrets
from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import experiments
from oddish.errors import Forbidden
from oddish.experiments.lookup import experiment_id, no_experiment
from oddish.identity.principal import Principal, Scope

TOKEN_BYTES = 32
"""Nobody guesses 256 bits."""


@dataclass(frozen=True)
class Share:
    id: str
    name: str
    public_token: str | None
    description: str | None

    @property
    def is_public(self) -> bool:
        return self.public_token is not None


def require_publishing(principal: Principal) -> None:
    """Raises ``Forbidden`` for a key that may not show anything to everybody."""
    if not principal.scope.includes(Scope.FULL):
        raise Forbidden(
            f"Publishing an experiment needs a key of scope {Scope.FULL.value!r}; this one has "
            f"{principal.scope.value!r}.",
            fix="Leave out publishing, or use such a key.",
        )


async def get_share(connection: AsyncConnection, principal: Principal, reference: str) -> Share:
    """Of the experiment with that id, else with that name. Raises ``NotFound``."""
    statement = select(
        experiments.c.id, experiments.c.name, experiments.c.public_token, experiments.c.description
    ).where(experiments.c.id == experiment_id(principal, reference))
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise no_experiment(reference)
    return Share(**row._mapping)


async def publish(connection: AsyncConnection, principal: Principal, reference: str) -> Share:
    """Give the experiment a link unless it has one, in the caller's transaction. Raises ``NotFound``."""
    await _set_token(connection, principal, reference, secrets.token_urlsafe(TOKEN_BYTES))
    return await get_share(connection, principal, reference)


async def unpublish(connection: AsyncConnection, principal: Principal, reference: str) -> Share:
    """Let the link lead nowhere, for ever: publishing again makes another. Raises ``NotFound``."""
    await _set_token(connection, principal, reference, None)
    return await get_share(connection, principal, reference)


async def _set_token(connection: AsyncConnection, principal: Principal, reference: str, token: str | None) -> None:
    """One that is published already keeps its token, and its row is not waited for."""
    has_one = experiments.c.public_token.is_not(None)
    await connection.execute(
        update(experiments)
        .where(experiments.c.id == experiment_id(principal, reference), has_one if token is None else ~has_one)
        .values(public_token=token)
    )
