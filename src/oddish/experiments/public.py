"""Published experiments, as whoever has the link may read them."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import experiments
from oddish.errors import NotFound
from oddish.identity.principal import MEMBER, Principal, Scope


@dataclass(frozen=True)
class PublicExperiment:
    id: str
    org_id: str
    name: str
    public_token: str
    description: str | None
    created_at: datetime

    @property
    def reader(self) -> Principal:
        """Who reads it: nobody's user, with the sight of its organisation. Read no more with it than the experiment."""
        return Principal(
            key_id="", org_id=self.org_id, user_id="", user_name="", role=MEMBER, scope=Scope.READ, expires_at=None
        )


async def public_experiment(connection: AsyncConnection, token: str) -> PublicExperiment:
    """Raises ``NotFound``, which does not repeat the token."""
    columns = (experiments.c[name] for name in ("id", "org_id", "name", "public_token", "description", "created_at"))
    statement = select(*columns).where(experiments.c.public_token == token, experiments.c.deleted_at.is_(None))
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise NotFound("Nothing is published under this link.", fix="Ask whoever gave it to you for another.")
    return PublicExperiment(**row._mapping)
