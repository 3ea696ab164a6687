"""Trials that run again are checked as if they were submitted today, and get what they were given then."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.credentials import Table
from oddish.errors import OddishError
from oddish.identity.principal import Principal
from oddish.keyring import Keyring
from oddish.queue.keys import BASELINE_AGENTS
from oddish.trials.agents import credentials_of_agent, offered_names
from oddish.trials.catalogue import Catalogue
from oddish.trials.confidential import Confidential
from oddish.trials.credentials import MissingCredential
from oddish.trials.policy import Policy
from oddish.trials.registry_logins import logins_for
from oddish.trials.retryable import Ended, RetryRequest, merged
from oddish.trials.units import TrialConfig, Unit, unit
from oddish.variants.reference import Reference

# Locks: none.
DEFINITIONS = text("SELECT id, definition FROM task_versions WHERE id = ANY (CAST(:ids AS text[]))")
SECRETS = text("SELECT id, ciphertext FROM secrets WHERE id = ANY (CAST(:ids AS text[]))")


@dataclass(frozen=True)
class Kind:
    """Trials that are made alike, checked as a submission would be."""

    unit: Unit
    memory_mb: int
    kept: Confidential = field(repr=False)


@dataclass(frozen=True)
class Judge:
    """Checks trials as a submission of the same would be, each kind once."""

    policy: Policy
    principal: Principal
    catalogue: Catalogue
    wanted: RetryRequest
    definitions: Mapping[str, Mapping[str, Any]]
    """By task version."""
    kept: Mapping[str, Confidential] = field(repr=False)
    """By secret."""
    known: dict[tuple[str, ...], Kind | OddishError] = field(default_factory=dict)
    tables: dict[tuple[str, str], Table | None] = field(default_factory=dict)
    """By agent and pool."""
    offered: dict[str, frozenset[str]] = field(default_factory=dict)
    """By pool."""

    @classmethod
    async def of(
        cls,
        connection: AsyncConnection,
        keyring: Keyring,
        policy: Policy,
        principal: Principal,
        catalogue: Catalogue,
        wanted: RetryRequest,
        found: Sequence[Ended],
    ) -> "Judge":
        versions = {"ids": list({trial.task_version_id for trial in found})}
        definitions = {row.id: row.definition for row in await connection.execute(DEFINITIONS, versions)}
        stored = {"ids": list({trial.secret_id for trial in found if trial.secret_id is not None})}
        kept = {
            row.id: Confidential.from_plaintext(keyring.decrypt(row.ciphertext))
            for row in await connection.execute(SECRETS, stored)
        }
        return cls(policy, principal, catalogue, wanted, definitions, kept)

    async def verdict(self, connection: AsyncConnection, trial: Ended) -> Kind | OddishError:
        """What it is made like, or what a submission of it would be refused for today."""
        configuration = json.dumps([trial.agent_config, trial.harbor_config, trial.model], sort_keys=True)
        identity = (trial.task_version_id, trial.agent, trial.environment, trial.secret_id or "", configuration)
        if identity not in self.known:
            try:
                self.known[identity] = await self._checked(connection, trial)
            except OddishError as error:
                self.known[identity] = error
        return self.known[identity]

    async def _checked(self, connection: AsyncConnection, trial: Ended) -> Kind:
        policy, definition = self.policy, self.definitions[trial.task_version_id]
        former = self.kept.get(trial.secret_id or "", Confidential())
        config = TrialConfig(
            agent=trial.agent,
            model=trial.model,
            n_trials=1,
            environment=trial.environment,
            env=trial.variables(former.env, kept_days=policy.secret_retention // timedelta(days=1)),
            kwargs=trial.agent_config.get("kwargs") or {},
        )
        reference = Reference.from_record(trial.harbor_config)
        if reference is not None:
            reference.check(policy.harbor_sources, local=policy.local)
        entry = unit(
            config,
            self.catalogue,
            inherited_environment=None,
            harbor=trial.harbor_config,
            doors=policy.doors,
            environments=policy.environments,
        )
        entry.check_task(definition)
        memory_mb = entry.memory_mb(definition)
        await self._check_credentials(connection, entry, definition, former)
        logins = logins_for(entry.offer.environment, merged(former.logins, self.wanted.logins))
        return Kind(entry, memory_mb, replace(former, logins=tuple(logins)))

    async def _check_credentials(
        self, connection: AsyncConnection, entry: Unit, definition: Mapping[str, Any], former: Confidential
    ) -> None:
        pool, agent = entry.offer.pool, entry.agent
        if agent not in BASELINE_AGENTS and (agent, pool) not in self.tables:
            self.tables[agent, pool] = await credentials_of_agent(connection, agent, pool=pool)
        named = entry.names(definition, self.tables.get((agent, pool)))
        self.policy.environments.check_names(entry.offer.environment, named, definition)
        if not named.names:
            return
        if pool not in self.offered:
            self.offered[pool] = await offered_names(connection, self.principal.org_id, pool=pool)
        try:
            named.check({*self.offered[pool], *former.credentials})
        except MissingCredential as error:
            days = self.policy.secret_retention // timedelta(days=1)
            raise MissingCredential(
                f"{error.message} What a submission brings along is deleted after {days} days.",
                names=error.names,
                fix=error.fix,
            ) from None
