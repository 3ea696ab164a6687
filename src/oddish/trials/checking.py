"""What configurations are refused for: what workers offer, what the deployment passes on, and credentials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.queue.keys import BASELINE_AGENTS
from oddish.registries import RegistryLogin, refuse_twice
from oddish.trials.agents import offered_names
from oddish.trials.ground import Ground
from oddish.trials.passthrough import VARIANT
from oddish.trials.policy import Policy
from oddish.trials.registry_logins import logins_for
from oddish.trials.units import TrialConfig, Unit, unit
from oddish.variants.reference import Reference
from oddish.variants.resolution import resolve

ANY_TASK: Mapping[str, object] = {}
"""The definition of a task of which nothing is known yet."""


async def checked_units(
    policy: Policy,
    ground: Ground,
    configs: Sequence[TrialConfig],
    *,
    harbor: Mapping[str, object],
    inherited_environment: str | None = None,
) -> list[Unit]:
    """The configurations as their trials are stored. Raises what they are refused for, whatever the task."""
    catalogue = await ground.catalogue()
    fixed = await _fixed_harbor(policy, harbor)
    return [
        unit(
            config,
            catalogue,
            inherited_environment=inherited_environment,
            harbor=fixed,
            doors=policy.doors,
            environments=policy.environments,
        )
        for config in configs
    ]


@dataclass(frozen=True)
class CredentialsCheck:
    """Whether trials would have the variables that they need."""

    policy: Policy
    org_id: str
    ground: Ground
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What comes with the submission."""

    async def run(self, connection: AsyncConnection, entry: Unit, definition: Mapping[str, object]) -> None:
        """Raises ``MissingCredential`` for what the agent or the task names and nobody offers."""
        pool, agent = entry.offer.pool, entry.agent
        table = None if agent in BASELINE_AGENTS else await self.ground.credentials(connection, agent, pool=pool)
        named = entry.names(definition, table)
        self.policy.environments.check_names(entry.offer.environment, named, definition)
        if named.names:
            named.check({*await offered_names(connection, self.org_id, pool=pool), *self.given})


async def refuse_hopeless(
    reads: AsyncEngine,
    policy: Policy,
    org_id: str,
    ground: Ground,
    config: TrialConfig,
    *,
    harbor: Mapping[str, object],
    logins: Sequence[RegistryLogin] = (),
) -> None:
    """Raise what a submission of ``config`` would be refused for with any task."""
    refuse_twice(logins)
    [entry] = await checked_units(policy, ground, [config], harbor=harbor)
    entry.check_task(ANY_TASK)
    entry.memory_mb(ANY_TASK)
    logins_for(entry.offer.environment, logins)
    async with reads.connect() as connection:
        await CredentialsCheck(policy, org_id, ground).run(connection, entry, ANY_TASK)


async def _fixed_harbor(policy: Policy, block: Mapping[str, object]) -> Mapping[str, object]:
    """``block`` with the other Harbor that it may name fixed to a commit. Raises what that is refused for."""
    reference = Reference.asked_for(block, repository=policy.harbor_repository)
    if reference is None:
        return {name: value for name, value in block.items() if name not in VARIANT}
    reference.check(policy.harbor_sources, local=policy.local)
    return {**block, **(await resolve(reference)).record()}
