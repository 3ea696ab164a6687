"""Which agents workers know, and what is known of their credentials."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import any_, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.credentials import Needs, Table, needs_of
from oddish.db.tables import org_secrets, publications, workers
from oddish.identity.principal import Principal
from oddish.trials.catalogue import load_catalogue


@dataclass(frozen=True)
class Agent:
    name: str
    needs_model: bool
    credentials: Needs
    """For the model asked about."""


@dataclass(frozen=True)
class Agents:
    agents: Sequence[Agent]
    offered: Sequence[str]
    """Variables that the organisation keeps or a live worker hands on, of all there are."""


async def list_agents(
    engine: AsyncEngine, principal: Principal, *, name: str | None, model: str | None, patience_seconds: float
) -> Agents:
    """The agents, or the one called ``name``; an unknown one is an empty list. Raises ``NoWorkerYet``."""
    catalogue = await load_catalogue(engine, patience_seconds=patience_seconds)
    known = {agent: needs for offer in catalogue.offers for agent, needs in offer.agents.items()}
    async with engine.connect() as connection:
        table = await credentials_table(connection, pool=catalogue.offers[0].pool)
        offered = await offered_names(connection, principal.org_id)
    agents = [
        Agent(agent, needs_model, needs_of(table, agent, model))
        for agent, needs_model in sorted(known.items())
        if name in (None, agent)
    ]
    return Agents(agents, sorted(offered))


async def credentials_table(connection: AsyncConnection, *, pool: str) -> Table | None:
    """What the pool's engine says of the credentials of all its agents."""
    of_pool = select(publications.c.credentials).where(publications.c.pool == pool)
    table: Table | None = await connection.scalar(of_pool)
    return table


async def credentials_of_agent(connection: AsyncConnection, agent: str, *, pool: str) -> Table | None:
    """The part of the table that concerns ``agent``."""
    said = publications.c.credentials
    of_pool = select(said["providers"], said["agents"][agent]).where(publications.c.pool == pool)
    row = (await connection.execute(of_pool)).one_or_none()
    return None if row is None or row[1] is None else Table(providers=row[0], agents={agent: row[1]})


async def offered_names(connection: AsyncConnection, org_id: str, *, pool: str | None = None) -> frozenset[str]:
    """Variables that the organisation keeps, or that a live worker of the pool, of any by default, hands on."""
    kept = select(org_secrets.c.name).where(org_secrets.c.org_id == org_id)
    alive = [workers.c.lease_until >= func.now(), workers.c.stopped_at.is_(None)]
    if pool is not None:
        alive.append(literal(pool) == any_(workers.c.pools))
    handed_on = select(func.unnest(workers.c.credentials)).where(*alive)
    return frozenset((await connection.execute(kept.union(handed_on))).scalars())
