"""Submitting: from a list of configurations to exactly the trials that are missing, and their jobs.

One transaction creates everything or nothing. Locks, in this order: the experiment's name, or its row (shared), the
task row, the budget (shared), the trials that are replaced, the jobs of trials that a gate waits for, then what
``enqueue`` takes. Two submissions to one task take turns at the task row.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import bindparam, func, insert, select, text, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish import correlation, ids
from oddish.db.tables import secrets, task_experiments, tasks, trials, users
from oddish.experiments.registry import Experiment, get_or_create
from oddish.experiments.sharing import publish, require_publishing
from oddish.identity.principal import Principal
from oddish.keyring import Keyring
from oddish.queue.enqueue import Group, Lane, NewJob, add_group, enqueue
from oddish.queue.keys import gateway_quota
from oddish.registries import RegistryLogin, refuse_twice
from oddish.tasks.tags import merged
from oddish.trials.budgets import Budget, check_priced, take_budget
from oddish.trials.checking import CredentialsCheck, checked_units
from oddish.trials.commission import Commission
from oddish.trials.confidential import Confidential
from oddish.trials.credentials import refuse_unusable
from oddish.trials.gate import add_gate, check_gate, is_baseline
from oddish.trials.ground import Ground
from oddish.trials.passthrough import check_worker_files
from oddish.trials.planning import Addition, Live, Wanted, all_anew, plan
from oddish.trials.policy import Policy
from oddish.trials.registry_logins import logins_for
from oddish.trials.subject import chosen_version, live_trials, locked_task, oldest_environment
from oddish.trials.units import TrialConfig, Unit

PRIORITIES = {"low": 0, "high": 1}

# Shows an experiment as active, without waiting for another submission that does the same.
TOUCH_EXPERIMENT = text("""
UPDATE experiments SET last_activity_at = now() WHERE id IN (
  SELECT id FROM experiments WHERE id = :id AND last_activity_at < now() - interval '1 second'
  FOR NO KEY UPDATE SKIP LOCKED
)
""")


@dataclass(frozen=True)
class Submission:
    task_id: str
    configs: Sequence[TrialConfig]
    experiment: str | None = None
    """Id or name; a new name makes a new experiment."""
    append: bool = False
    priority: str = "low"
    max_attempts: int | None = None
    content_hash: str | None = None
    """Chooses the version with that content; the current one otherwise."""
    harbor: Mapping[str, object] = field(default_factory=dict)
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for the trials whose agent or task names them."""
    logins: Sequence[RegistryLogin] = field(default=(), repr=False)
    """At the registries that the images of the trials come from."""
    user_name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    link: str | None = None
    github_username: str | None = None
    github_meta: Mapping[str, object] | None = None
    gate_baselines: bool = False
    """New trials of other agents wait for those of oracle and nop, and are skipped when the task proves faulty."""
    publish: bool = False
    """Whoever has its link may read the experiment from then on."""
    budget: Budget | None = None
    """Of the trials that it creates."""
    commission: Commission | None = None
    """What it is for, when it is for a job of the gateway."""
    run_analysis: bool = False
    run_probe: bool = False
    """Wishes that are kept with the task; nothing takes them back."""


@dataclass(frozen=True)
class Submitted:
    task_id: str
    name: str
    created_at: datetime
    tags: Mapping[str, str]
    experiment: Experiment
    new_trial_ids: Sequence[str]
    trials_count: int
    """Trials of this version in the experiment that nothing has replaced; when appending, the new ones."""
    providers: Mapping[str, int]
    gated_trials: int
    """New ones that the baseline gate decides about."""


@dataclass(frozen=True)
class Prepared:
    """A submission that names what there is, and whose lanes exist."""

    principal: Principal
    policy: Policy
    submission: Submission
    units: Sequence[Unit]
    ground: Ground

    def into(self, experiment_id: str) -> "Prepared":
        """The same, for an experiment that was made meanwhile."""
        return replace(self, submission=replace(self.submission, experiment=experiment_id))


async def prepare(
    reads: AsyncEngine, policy: Policy, principal: Principal, submission: Submission, ground: Ground
) -> Prepared:
    """Raises ``NotFound`` for an unknown task, and what the configurations are refused for. May be repeated."""
    if submission.publish:
        require_publishing(principal)
    refuse_unusable(submission.credentials)
    refuse_twice(submission.logins)
    check_worker_files("credentials", submission.credentials, policy.doors)
    async with reads.connect() as connection:
        oldest = await oldest_environment(connection, principal, submission.task_id)
    units = await checked_units(
        policy,
        ground,
        submission.configs,
        harbor=submission.harbor,
        inherited_environment=oldest if submission.append else None,
    )
    if submission.gate_baselines:
        check_gate(units)
    for entry in units:
        logins_for(entry.offer.environment, submission.logins)
    if submission.budget is not None:
        agents = [(entry.agent, entry.model) for entry in units if not is_baseline(entry)]
        await asyncio.to_thread(check_priced, agents, policy.prices)
    lane = _lane(principal, submission)
    quota = None if submission.commission is None else lane
    await ground.prepare(Lane(entry.key.key, lane, entry.key.provider, principal.org_id, quota) for entry in units)
    return Prepared(principal, policy, submission, units, ground)


async def submit(connection: AsyncConnection, keyring: Keyring, prepared: Prepared) -> Submitted:
    """Create the shortfall in the caller's transaction. Raises what the task's version refuses."""
    principal, submission, units = prepared.principal, prepared.submission, prepared.units
    experiment = await get_or_create(connection, principal, submission.experiment, user_name=submission.user_name)
    task = await locked_task(connection, principal, submission.task_id)
    version = await chosen_version(connection, task, submission.content_hash)
    live = await live_trials(connection, version.id, experiment.id)
    wanted = [Wanted(entry.hash, entry.explicit_environment, entry.count) for entry in units]
    if submission.commission is None:
        additions = plan(wanted, [Live(row.id, row.unit_hash, row.environment, row.status) for row in live])
    else:
        additions = all_anew(wanted)
    creation = _Creation(principal, prepared.policy, submission, experiment, task, version, units, prepared.ground)
    new_ids, gated_trials = await creation.run(connection, keyring, additions)
    await connection.execute(TOUCH_EXPERIMENT, {"id": experiment.id})
    if submission.publish:
        await publish(connection, principal, experiment.id)
    replaced = {addition.replaces for addition in additions}
    added = Counter(units[addition.wanted].key.provider for addition in additions)
    kept = Counter(row.provider for row in live if row.id not in replaced)
    providers = added if submission.append else added + kept
    return Submitted(
        task_id=task.id,
        name=task.name,
        created_at=task.created_at,
        tags=merged(task.tags, submission.tags),
        experiment=experiment,
        new_trial_ids=new_ids,
        trials_count=providers.total(),
        providers=dict(providers),
        gated_trials=gated_trials,
    )


@dataclass(frozen=True)
class _Creation:
    """The rows of one submission."""

    principal: Principal
    policy: Policy
    submission: Submission
    experiment: Experiment
    task: Row[Any]
    version: Row[Any]
    units: Sequence[Unit]
    ground: Ground

    async def run(
        self, connection: AsyncConnection, keyring: Keyring, additions: Sequence[Addition]
    ) -> tuple[list[str], int]:
        """The ids of the new trials, and how many of them the baseline gate decides about."""
        for entry in self.units:
            entry.check_task(self.version.definition)
        memory = [entry.memory_mb(self.version.definition) for entry in self.units]
        used = sorted({addition.wanted for addition in additions})
        check = CredentialsCheck(self.policy, self.principal.org_id, self.ground, self.submission.credentials)
        for index in used:
            await check.run(connection, self.units[index], self.version.definition)
        secret_ids = {index: await self._keep_secrets(connection, keyring, self.units[index]) for index in used}
        first = self.task.next_trial_index
        new_ids = [ids.trial_id(self.task.id, first + offset) for offset in range(len(additions))]
        await self._update_task(connection, first + len(additions))
        await connection.execute(
            postgresql.insert(task_experiments)
            .values(task_id=self.task.id, experiment_id=self.experiment.id, org_id=self.principal.org_id)
            .on_conflict_do_nothing()
        )
        if not additions:
            return [], 0
        budget = self.submission.budget
        budget_id = await take_budget(connection, self.principal, budget) if budget else None
        await connection.execute(
            insert(trials),
            [
                self._trial(self.units[addition.wanted], first + offset, secret_ids[addition.wanted], budget_id)
                for offset, addition in enumerate(additions)
            ],
        )
        replaced = [
            {"old": addition.replaces, "new": new_id}
            for addition, new_id in zip(additions, new_ids, strict=True)
            if addition.replaces is not None
        ]
        if replaced:
            statement = update(trials).where(trials.c.id == bindparam("old"))
            await connection.execute(statement.values(superseded_by_trial_id=bindparam("new")), replaced)
        gated = [not is_baseline(self.units[addition.wanted]) for addition in additions]
        gate, group = None, None
        if self.submission.gate_baselines and any(gated):
            gate = await add_gate(connection, self.principal.org_id, self.version.id, self.experiment.id)
        if self.submission.commission is not None:
            group = ids.row_id("group")
            await add_group(connection, Group(group, self.principal.org_id, self.submission.commission.max_running))
        await enqueue(
            connection,
            [
                self._job(self.units[addition.wanted], new_id, memory[addition.wanted], gate if waits else group)
                for addition, new_id, waits in zip(additions, new_ids, gated, strict=True)
            ],
        )
        return new_ids, sum(gated) if gate else 0

    @property
    def _max_attempts(self) -> int:
        return self.submission.max_attempts or self.policy.max_attempts

    def _trial(self, entry: Unit, index: int, secret_id: str | None, budget_id: str | None) -> dict[str, object]:
        commission = self.submission.commission
        return {
            "id": ids.trial_id(self.task.id, index),
            "org_id": self.principal.org_id,
            "task_id": self.task.id,
            "task_version_id": self.version.id,
            "task_version": self.version.version,
            "experiment_id": self.experiment.id,
            "trial_index": index,
            "name": f"{self.task.name}-{index}",
            "agent": entry.agent,
            "model": entry.model,
            "provider": entry.key.provider,
            "queue_key": entry.key.key,
            "environment": entry.offer.environment,
            "agent_config": entry.agent_config_on(self.version.definition),
            "harbor_config": entry.harbor,
            "unit_hash": entry.hash,
            "secret_id": secret_id,
            "budget_id": budget_id,
            "gated": self.submission.gate_baselines and not is_baseline(entry),
            "created_by": self.principal.user_id,
            "max_attempts": self._max_attempts,
            "correlation_id": correlation.CURRENT.get(),
            "gateway_job_id": commission.job_id if commission else None,
            "gateway_agent": commission.agent if commission else None,
            "is_probe": commission is not None and commission.is_probe,
        }

    def _job(self, entry: Unit, trial_id: str, memory_mb: int, group_id: str | None) -> NewJob:
        return NewJob(
            org_id=self.principal.org_id,
            kind="trial",
            subject_id=trial_id,
            pool=entry.offer.pool,
            key=entry.key.key,
            lane=_lane(self.principal, self.submission),
            priority=PRIORITIES[self.submission.priority],
            max_attempts=self._max_attempts,
            memory_mb=memory_mb,
            group_id=group_id,
        )

    async def _keep_secrets(self, connection: AsyncConnection, keyring: Keyring, entry: Unit) -> str | None:
        logins = logins_for(entry.offer.environment, self.submission.logins)
        kept = Confidential(env=entry.hidden, credentials=self.submission.credentials, logins=logins)
        if not kept:
            return None
        secret_id = ids.row_id("sec")
        await connection.execute(
            insert(secrets).values(
                id=secret_id,
                org_id=self.principal.org_id,
                ciphertext=keyring.encrypt(kept.plaintext()),
                expires_at=datetime.now(UTC) + self.policy.secret_retention,
            )
        )
        return secret_id

    async def _update_task(self, connection: AsyncConnection, next_trial_index: int) -> None:
        submission = self.submission
        values: dict[str, object] = {
            "next_trial_index": next_trial_index,
            "updated_at": func.now(),
            "priority": submission.priority,
            "user_name": self.task.user_name or submission.user_name,
        }
        if submission.tags:
            values["tags"] = merged(self.task.tags, submission.tags)
        for name in ("link", "github_username", "github_meta"):
            if (value := getattr(submission, name)) is not None:
                values[name] = value
        if self.task.github_username is None:
            values.setdefault("github_username", _github_username(self.principal))
        for name in ("run_analysis", "run_probe"):
            if getattr(submission, name):
                values[name] = True
        await connection.execute(update(tasks).where(tasks.c.id == self.task.id).values(values))


def _lane(principal: Principal, submission: Submission) -> str:
    return principal.user_id if submission.commission is None else gateway_quota(principal.org_id)


def _github_username(principal: Principal) -> Any:
    """Of the caller, as part of a statement."""
    return select(users.c.github_username).where(users.c.id == principal.user_id).scalar_subquery()
