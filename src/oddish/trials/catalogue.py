"""What workers have said they can run: the environments and agents a submission may name."""

import asyncio
import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import any_, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.tables import publications, workers
from oddish.environments import EC2
from oddish.errors import InvalidInput, Unavailable

POLL_SECONDS = 0.2
ANY_HARBOR = "harbor/any"
"""The engine of pools whose workers install the Harbor that a trial asks for."""
IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
"""``module:Class``."""
ACP = "acp"
ACP_AGENT = re.compile(r"acp:[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*(?:@[A-Za-z0-9][A-Za-z0-9.+_-]*)?")
"""An agent of the ACP registry, which the engine's agent ``acp`` fetches."""


def is_import_path(name: str) -> bool:
    """Whether the engine would import what is named, instead of looking for it among its own."""
    return IMPORT_PATH.fullmatch(name) is not None and not name.startswith(f"{ACP}:")


class UnknownEnvironment(InvalidInput):
    """An environment that nobody knows."""

    code = "unknown_environment"


class EnvironmentUnavailable(InvalidInput):
    """An environment that no worker can run trials in: a program, a package or credentials are missing there."""

    code = "environment_unavailable"


class UnknownAgent(InvalidInput):
    """An agent that the engine of the workers does not know."""

    code = "unknown_agent"


class ModelRequired(InvalidInput):
    """An agent that calls a model, and none is named."""

    code = "model_required"
    status = 422


class NoWorkerYet(Unavailable):
    """No worker has ever said what it can run."""

    code = "no_worker"


class TooLittleMemory(InvalidInput):
    """A trial that fits on no worker."""

    code = "too_little_memory"


@dataclass(frozen=True)
class Offer:
    """One environment, run by one version of the engine."""

    pool: str
    environment: str
    agents: Mapping[str, bool]
    """Name of an agent -> whether it needs a model."""
    memory_mb: int
    live: bool = True
    """The worker that says so is alive, or another one of the pool."""
    reason: str | None = None
    """Why its worker cannot run this environment; None when it can."""
    any_harbor: bool = False
    """Runs the Harbor that a trial asks for, whose agents nobody knows beforehand."""

    @property
    def is_default(self) -> bool:
        """A trial that names no environment may run there."""
        return self.environment != EC2

    def check_agent(self, agent: str, model: str | None) -> None:
        """Raises ``UnknownAgent``, and ``ModelRequired``. What an import path stands for nobody knows beforehand."""
        if agent not in self.agents and (self.any_harbor or is_import_path(agent)):
            return
        if ACP_AGENT.fullmatch(agent):
            agent = ACP
        if agent not in self.agents:
            close = difflib.get_close_matches(agent, self.agents, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise UnknownAgent(
                f"There is no agent {agent!r}.", fix=f"{hint}Known agents: {', '.join(sorted(self.agents))}."
            )
        if self.agents[agent] and not model:
            raise ModelRequired(
                f"The agent {agent!r} needs a model.", fix="Name one as provider/model, for example with -m."
            )

    def check_memory(self, memory_mb: int) -> None:
        if memory_mb > self.memory_mb:
            raise TooLittleMemory(
                f"The trial asks for {memory_mb} MB of memory; the largest worker offering environment "
                f"{self.environment!r} has {self.memory_mb} MB.",
                fix="Lower memory_mb in task.toml or override it, or start a worker on a larger machine.",
            )


@dataclass(frozen=True)
class Catalogue:
    offers: Sequence[Offer]
    """The preferred one first, those of live workers before the others."""

    def offer(self, environment: str | None, *, any_harbor: bool = False, only: Collection[str] | None = None) -> Offer:
        """The offer of ``environment``, or the preferred one, among the environments in ``only``.

        Raises ``EnvironmentUnavailable`` naming what there is. An environment whose workers are gone is still offered,
        unless a worker that is alive says why it is not. A machine of EC2 is for those who ask for one.
        """
        offers = [
            offer
            for offer in self.offers
            if offer.any_harbor == any_harbor and (only is None or offer.environment in only)
        ]
        if any_harbor and not offers:
            raise EnvironmentUnavailable(
                "No worker here installs another Harbor.", fix="Leave --harbor out, or install uv beside a worker."
            )
        named = [
            offer for offer in offers if offer.environment == environment or (environment is None and offer.is_default)
        ]
        usable = [offer for offer in named if offer.reason is None]
        refused = [offer for offer in named if offer.reason is not None]
        if usable and (usable[0].live or not any(offer.live for offer in refused)):
            return usable[0]
        known = self.environments(any_harbor=any_harbor, only=only)
        fix = f"Environments offered here: {', '.join(known)}." if known else None
        reasons = " ".join(dict.fromkeys(f"{offer.environment}: {offer.reason}" for offer in refused))
        if environment is None:
            raise EnvironmentUnavailable(f"No environment is available here. {reasons}", fix=fix)
        if refused:
            raise EnvironmentUnavailable(f"The environment {environment!r} is not available. {reasons}", fix=fix)
        raise EnvironmentUnavailable(f"No worker offers the environment {environment!r}.", fix=fix)

    def environments(self, *, any_harbor: bool, only: Collection[str] | None) -> list[str]:
        """The names of those in ``only`` that a worker can run."""
        return sorted(
            {
                offer.environment
                for offer in self.offers
                if offer.any_harbor == any_harbor
                and offer.reason is None
                and (only is None or offer.environment in only)
            }
        )


async def load_catalogue(engine: AsyncEngine, *, patience_seconds: float) -> Catalogue:
    """What is offered, waiting for the first worker of a fresh deployment. Raises ``NoWorkerYet`` after that."""
    deadline = asyncio.get_running_loop().time() + patience_seconds
    while not (offers := await _offers(engine)):
        if asyncio.get_running_loop().time() >= deadline:
            raise NoWorkerYet(
                f"No worker has said what it can run within {patience_seconds:g} seconds.",
                fix="Start one with `oddish worker`, or look into its log if one should be running.",
            )
        await asyncio.sleep(POLL_SECONDS)
    return Catalogue(offers)


async def _offers(engine: AsyncEngine) -> list[Offer]:
    """Those of workers that are alive first, then those of the latest worker there was, each by preference."""
    speaks = or_(publications.c.pool == any_(workers.c.pools), publications.c.worker_id == workers.c.id)
    alive = exists().where(speaks, workers.c.lease_until >= func.now(), workers.c.stopped_at.is_(None))
    all_of_them = publications.alias()
    latest = select(all_of_them.c.worker_id).order_by(all_of_them.c.published_at.desc()).limit(1).scalar_subquery()
    statement = select(publications, alive.label("live")).order_by(
        alive.desc(),
        (publications.c.worker_id == latest).desc(),
        publications.c.preference,
        publications.c.published_at.desc(),
    )
    async with engine.connect() as connection:
        rows = await connection.execute(statement)
        return [
            Offer(
                pool=row.pool,
                environment=row.environment,
                agents={agent["name"]: agent["needs_model"] for agent in row.agents},
                memory_mb=row.memory_mb,
                live=row.live,
                reason=row.reason,
                any_harbor=row.engine == ANY_HARBOR,
            )
            for row in rows
        ]
