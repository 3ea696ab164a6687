"""Retrying: new trials in the place of ones that have ended, of the same unit and made like them.

One transaction creates everything or nothing. Locks, in this order: the experiments (shared, by id), the tasks (by id),
the trials that are replaced, the jobs of trials that gates wait for, then what ``enqueue`` takes. Submissions to these
tasks take turns with it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import bindparam, func, insert, text, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish import correlation, ids
from oddish.db.tables import secrets, tasks
from oddish.errors import OddishError
from oddish.identity.principal import Principal
from oddish.keyring import Keyring
from oddish.queue.enqueue import Lane, NewJob, enqueue
from oddish.registries import refuse_twice
from oddish.trials.endings import find_ended
from oddish.trials.gate import add_gate
from oddish.trials.ground import Ground
from oddish.trials.policy import Policy
from oddish.trials.remaking import Judge, Kind
from oddish.trials.retryable import Ended, Refused, RetryRequest, overtaken
from oddish.trials.submission import TOUCH_EXPERIMENT

# Keeps the experiments from being deleted. Locks: experiments (shared, by id).
HOLD_EXPERIMENTS = text("""
SELECT id FROM experiments WHERE id = ANY (CAST(:ids AS text[])) AND deleted_at IS NULL ORDER BY id FOR KEY SHARE
""")

# Takes the turn of the tasks. Locks: tasks (by id).
HOLD_TASKS = text("""
SELECT id, next_trial_index FROM tasks WHERE id = ANY (CAST(:ids AS text[])) ORDER BY id FOR NO KEY UPDATE
""")

# Those of some trials that are still to be replaced. Locks: none.
LIVE = text("""
SELECT id FROM trials WHERE id = ANY (CAST(:ids AS text[])) AND experiment_id = ANY (CAST(:experiment_ids AS text[]))
  AND deleted_at IS NULL AND superseded_by_trial_id IS NULL
""")

# Locks: none.
STATUSES = text("SELECT id, status FROM trials WHERE id = ANY (CAST(:ids AS text[]))")

# What of a trial is the same in the one that replaces it. Locks: none held by others.
COPY = text("""
INSERT INTO trials (id, org_id, task_id, task_version_id, task_version, experiment_id, trial_index, name, agent, model,
  provider, queue_key, environment, agent_config, harbor_config, unit_hash, secret_id, is_probe, gated, created_by,
  max_attempts, correlation_id)
SELECT new.id, t.org_id, t.task_id, t.task_version_id, t.task_version, t.experiment_id, new.trial_index,
  tasks.name || '-' || new.trial_index, t.agent, t.model, new.provider, new.queue_key, t.environment, t.agent_config,
  t.harbor_config, t.unit_hash, new.secret_id, t.is_probe, t.gated, :user_id, t.max_attempts,
  :correlation_id
FROM unnest(CAST(:old_ids AS text[]), CAST(:ids AS text[]), CAST(:indexes AS int[]), CAST(:providers AS text[]),
  CAST(:keys AS text[]), CAST(:secret_ids AS text[])) AS new (old_id, id, trial_index, provider, queue_key, secret_id)
JOIN trials t ON t.id = new.old_id JOIN tasks ON tasks.id = t.task_id
""")

# Locks: trials.
SUPERSEDE = text("""
UPDATE trials SET superseded_by_trial_id = new.id
FROM unnest(CAST(:old_ids AS text[]), CAST(:ids AS text[])) AS new (old_id, id) WHERE trials.id = new.old_id
""")


@dataclass(frozen=True)
class Retried:
    """A trial and the one that has taken its place."""

    trial_id: str
    new_trial_id: str
    task_id: str
    experiment_id: str
    status: str
    """``queued``, or ``skipped`` where the baseline gate is closed."""


@dataclass(frozen=True)
class Prepared:
    """Trials that can run again, and whose lanes exist."""

    principal: Principal
    policy: Policy
    gate: bool
    trials: Sequence[tuple[Ended, Kind]]
    """By task and number."""
    refused: Sequence[Refused]


async def prepare(
    engine: AsyncEngine, keyring: Keyring, policy: Policy, principal: Principal, wanted: RetryRequest, ground: Ground
) -> Prepared:
    """Find the trials and check them by what the deployment allows and offers today. May be repeated.

    Raises ``NotFound`` for a task or an experiment that is not there, and ``NoWorkerYet``.
    """
    refuse_twice(wanted.logins)
    catalogue = await ground.catalogue()
    async with engine.connect() as connection:
        found, absent = await find_ended(connection, principal, wanted)
        judge = await Judge.of(connection, keyring, policy, principal, catalogue, wanted, found)
        able: list[tuple[Ended, Kind]] = []
        refused = list(absent)
        for trial in found:
            verdict = trial.obstacle() or await judge.verdict(connection, trial)
            if isinstance(verdict, OddishError):
                refused.append(Refused(trial.id, verdict))
            else:
                able.append((trial, verdict))
    keys = {kind.unit.key for _, kind in able}
    lanes = [Lane(key.key, principal.user_id, key.provider, principal.org_id) for key in keys]
    await ground.prepare(lanes)
    return Prepared(principal, policy, wanted.gate, able, refused)


async def retry(
    connection: AsyncConnection, keyring: Keyring, prepared: Prepared
) -> tuple[Sequence[Retried], Sequence[Refused]]:
    """Make the new trials in the caller's transaction; those that were overtaken are refused with the others."""
    if not prepared.trials:
        return [], prepared.refused
    able, following = await _held(connection, prepared)
    chosen = {trial.id for trial, _ in able}
    refused = [*prepared.refused, *(overtaken(trial) for trial, _ in prepared.trials if trial.id not in chosen)]
    if not able:
        return [], refused
    new_ids = await _number(connection, [trial for trial, _ in able], following)
    await _copy(connection, keyring, prepared, able, new_ids)
    await _enqueue(connection, prepared, able, new_ids)
    for experiment_id in sorted({trial.experiment_id for trial, _ in able}):
        await connection.execute(TOUCH_EXPERIMENT, {"id": experiment_id})
    statuses = {row.id: row.status for row in await connection.execute(STATUSES, {"ids": new_ids})}
    retried = [
        Retried(trial.id, new_id, trial.task_id, trial.experiment_id, statuses[new_id])
        for (trial, _), new_id in zip(able, new_ids, strict=True)
    ]
    return retried, refused


async def _held(
    connection: AsyncConnection, prepared: Prepared
) -> tuple[Sequence[tuple[Ended, Kind]], Mapping[str, int]]:
    """Those that are still to be replaced, now that nobody else can, and the number of each task's next trial."""
    found = [trial for trial, _ in prepared.trials]
    experiment_ids = {"ids": sorted({trial.experiment_id for trial in found})}
    held = (await connection.execute(HOLD_EXPERIMENTS, experiment_ids)).scalars().all()
    rows = await connection.execute(HOLD_TASKS, {"ids": sorted({trial.task_id for trial in found})})
    following = {row.id: row.next_trial_index for row in rows}
    places = {"ids": [trial.id for trial in found], "experiment_ids": held}
    live = set((await connection.execute(LIVE, places)).scalars())
    return [(trial, kind) for trial, kind in prepared.trials if trial.id in live], following


async def _number(connection: AsyncConnection, found: Sequence[Ended], following: Mapping[str, int]) -> list[str]:
    """The ids of the new trials."""
    added = Counter[str]()
    new_ids = []
    for trial in found:
        new_ids.append(ids.trial_id(trial.task_id, following[trial.task_id] + added[trial.task_id]))
        added[trial.task_id] += 1
    statement = update(tasks).where(tasks.c.id == bindparam("task"))
    await connection.execute(
        statement.values(next_trial_index=tasks.c.next_trial_index + bindparam("added"), updated_at=func.now()),
        [{"task": task_id, "added": count} for task_id, count in added.items()],
    )
    return new_ids


async def _copy(
    connection: AsyncConnection,
    keyring: Keyring,
    prepared: Prepared,
    able: Sequence[tuple[Ended, Kind]],
    new_ids: Sequence[str],
) -> None:
    kinds = {id(kind): kind for _, kind in able if kind.kept}
    secret_ids = {identity: ids.row_id("sec") for identity in kinds}
    if kinds:
        expires_at = datetime.now(UTC) + prepared.policy.secret_retention
        rows = [
            {
                "id": secret_ids[identity],
                "org_id": prepared.principal.org_id,
                "ciphertext": keyring.encrypt(kind.kept.plaintext()),
                "expires_at": expires_at,
            }
            for identity, kind in kinds.items()
        ]
        await connection.execute(insert(secrets), rows)
    replaced = {"old_ids": [trial.id for trial, _ in able], "ids": list(new_ids)}
    made = {
        "indexes": [int(new_id.rpartition("-")[2]) for new_id in new_ids],
        "providers": [kind.unit.key.provider for _, kind in able],
        "keys": [kind.unit.key.key for _, kind in able],
        "secret_ids": [secret_ids.get(id(kind)) for _, kind in able],
        "user_id": prepared.principal.user_id,
        "correlation_id": correlation.CURRENT.get(),
    }
    await connection.execute(COPY, replaced | made)
    await connection.execute(SUPERSEDE, replaced)


async def _enqueue(
    connection: AsyncConnection, prepared: Prepared, able: Sequence[tuple[Ended, Kind]], new_ids: Sequence[str]
) -> None:
    org_id = prepared.principal.org_id
    places = {(trial.task_version_id, trial.experiment_id) for trial, _ in able if prepared.gate and trial.gated}
    gates = {place: await add_gate(connection, org_id, *place) for place in sorted(places)}
    jobs = [
        NewJob(
            org_id=org_id,
            kind="trial",
            subject_id=new_id,
            pool=kind.unit.offer.pool,
            key=kind.unit.key.key,
            lane=prepared.principal.user_id,
            priority=trial.priority,
            max_attempts=trial.max_attempts,
            memory_mb=kind.memory_mb,
            group_id=gates.get((trial.task_version_id, trial.experiment_id)) if trial.gated else None,
        )
        for (trial, kind), new_id in zip(able, new_ids, strict=True)
    ]
    await enqueue(connection, jobs)
