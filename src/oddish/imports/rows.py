"""The rows of imported trials: one of the trial, one of its only attempt, none in the queue."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import insert, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish import ids
from oddish.db.tables import attempts, task_experiments, tasks, trials
from oddish.documents import moment
from oddish.errors import NotFound
from oddish.experiments.registry import Experiment
from oddish.identity.principal import Principal
from oddish.outcome import Outcome
from oddish.queue.cancel import CANCELLED_BY_USER
from oddish.queue.keys import BASELINE_AGENTS, queue_key
from oddish.tasks.missing import no_task
from oddish.trials.ledger import figures
from oddish.trials.recording import Report, ending, error_message, final_stage, projection
from oddish.trials.submission import TOUCH_EXPERIMENT

ORIGIN = "imported"
IMPORTER = "import"
"""In place of the worker of an attempt."""
NO_JOB = 0
EPOCH = 1
"""Of the only attempt."""


@dataclass(frozen=True)
class Place:
    """A trial id that nobody else gets, and the version of its task that it belongs to."""

    task_id: str
    task_name: str
    version: int
    index: int
    claim_id: UUID

    @property
    def trial_id(self) -> str:
        return ids.trial_id(self.task_id, self.index)

    @property
    def prefix(self) -> str:
        return artifact_prefix(self.trial_id, self.claim_id)


@dataclass(frozen=True)
class NewTrial:
    """All that is known of an imported trial."""

    place: Place
    external_id: str | None
    agent: str
    model: str | None
    environment: str
    agent_config: Mapping[str, Any]
    harbor_config: Mapping[str, Any]
    started_at: datetime | None
    finished_at: datetime | None
    outcome: Outcome
    report: Report


def artifact_prefix(trial_id: str, claim_id: UUID) -> str:
    """Below which the files of an imported trial are kept, as a worker would name it."""
    return f"trials/{trial_id}/{EPOCH}-{claim_id.hex[:8]}"


def time_of(written: str | None) -> datetime | None:
    """A time as a record has it, in UTC when it names no zone; None for none, and for one that no calendar has."""
    seconds = moment(written)
    if seconds is None:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return None


async def known_trials(
    connection: AsyncConnection, experiment_id: str, external_ids: Collection[str]
) -> Mapping[str, tuple[str, str]]:
    """By external id: trial and task of those that the experiment has already."""
    if not external_ids:
        return {}
    statement = select(trials.c.external_trial_id, trials.c.id, trials.c.task_id).where(
        trials.c.experiment_id == experiment_id,
        trials.c.external_trial_id.in_(external_ids),
        trials.c.deleted_at.is_(None),
    )
    return {row.external_trial_id: (row.id, row.task_id) for row in await connection.execute(statement)}


async def check_tasks(
    connection: AsyncConnection, principal: Principal, wanted: Mapping[str, Collection[int]], *, held: bool = False
) -> None:
    """Raises ``NotFound`` unless every task has a version, and those that are named beside it.

    ``held``: nobody deletes one before the caller's transaction ends.
    """
    statement = (
        select(tasks.c.id, tasks.c.last_version)
        .where(
            tasks.c.id.in_(list(wanted)),
            tasks.c.org_id == principal.org_id,
            tasks.c.deleted_at.is_(None),
            tasks.c.current_version.is_not(None),
        )
        .order_by(tasks.c.id)
    )
    statement = statement.with_for_update(read=True) if held else statement
    found = {row.id: row.last_version for row in await connection.execute(statement)}
    for task_id, versions in wanted.items():
        if task_id not in found:
            raise no_task(task_id)
        if missing := [version for version in versions if not 1 <= version <= found[task_id]]:
            raise NotFound(f"Task {task_id!r} has no version {missing[0]}.", fix="Leave it out for the current one.")


async def reserve(
    connection: AsyncConnection, principal: Principal, task_id: str, versions: Sequence[int | None]
) -> list[Place]:
    """A place for each of ``versions``, None being the current one. Raises ``NotFound``."""
    statement = (
        update(tasks)
        .where(
            tasks.c.id == task_id,
            tasks.c.org_id == principal.org_id,
            tasks.c.deleted_at.is_(None),
            tasks.c.current_version.is_not(None),
        )
        .values(next_trial_index=tasks.c.next_trial_index + len(versions))
        .returning(tasks.c.name, tasks.c.current_version, tasks.c.next_trial_index)
    )
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise no_task(task_id)
    first = row.next_trial_index - len(versions)
    return [
        Place(task_id, row.name, version or row.current_version, first + offset, uuid4())
        for offset, version in enumerate(versions)
    ]


async def add_trials(
    connection: AsyncConnection, principal: Principal, experiment: Experiment, new: Sequence[NewTrial]
) -> set[str]:
    """Insert them with their attempts; the ids of those that the experiment did not get from somebody else meanwhile.

    Locks: the places of external ids in the experiment, in their order.
    """
    ordered = sorted(new, key=lambda trial: trial.external_id or "")
    if not ordered:
        return set()
    of_trials = postgresql.insert(trials).on_conflict_do_nothing(
        index_elements=[trials.c.experiment_id, trials.c.external_trial_id],
        index_where=trials.c.external_trial_id.is_not(None) & trials.c.deleted_at.is_(None),
    )
    inserted = set(
        await connection.scalars(
            of_trials.returning(trials.c.id), [_trial(principal, experiment, trial) for trial in ordered]
        )
    )
    added = [trial for trial in ordered if trial.place.trial_id in inserted]
    if added:
        await connection.execute(insert(attempts), [_attempt(principal, trial) for trial in added])
        await connection.execute(
            postgresql.insert(task_experiments).on_conflict_do_nothing(),
            [
                {"task_id": task_id, "experiment_id": experiment.id, "org_id": principal.org_id}
                for task_id in sorted({trial.place.task_id for trial in added})
            ],
        )
    await connection.execute(TOUCH_EXPERIMENT, {"id": experiment.id})
    return inserted


def shown_of(outcome: Outcome, report: Report) -> dict[str, object]:
    """What the row of a trial shows of its outcome."""
    cancelled = outcome.status == "cancelled"
    return {
        **projection(EPOCH, outcome, report),
        **figures(report.spending),
        "status": "success" if outcome.usable else "failed",
        "harbor_stage": "cancelled" if cancelled else final_stage(outcome),
        "error_message": CANCELLED_BY_USER if cancelled else error_message(outcome, report),
    }


def attempted_of(outcome: Outcome, report: Report) -> dict[str, object]:
    """What the row of its attempt shows of it; the ledger is of what was run here."""
    return ending(outcome, report, cancelled=outcome.status == "cancelled")


def _trial(principal: Principal, experiment: Experiment, new: NewTrial) -> dict[str, object]:
    place = new.place
    model = None if new.agent in BASELINE_AGENTS else new.model
    key = queue_key(new.agent, model)
    return {
        "id": place.trial_id,
        "org_id": principal.org_id,
        "task_id": place.task_id,
        "task_version_id": ids.version_id(place.task_id, place.version),
        "task_version": place.version,
        "experiment_id": experiment.id,
        "trial_index": place.index,
        "name": f"{place.task_name}-{place.index}",
        "agent": new.agent,
        "model": model,
        "provider": key.provider,
        "queue_key": key.key,
        "environment": new.environment,
        "agent_config": dict(new.agent_config),
        "harbor_config": dict(new.harbor_config),
        "unit_hash": _unit_hash(place, new.external_id),
        "origin": ORIGIN,
        "created_by": principal.user_id,
        "attempts": 1,
        "max_attempts": 1,
        "started_at": new.started_at,
        "finished_at": new.finished_at,
        "external_trial_id": new.external_id,
        **shown_of(new.outcome, new.report),
    }


def _attempt(principal: Principal, new: NewTrial) -> dict[str, object]:
    times = {"started_at": new.started_at or new.finished_at or datetime.now(UTC), "finished_at": new.finished_at}
    return {
        "trial_id": new.place.trial_id,
        "epoch": EPOCH,
        "org_id": principal.org_id,
        "job_id": NO_JOB,
        "claim_id": new.place.claim_id,
        "worker_id": IMPORTER,
        **times,
        **attempted_of(new.outcome, new.report),
    }


def _unit_hash(place: Place, external_id: str | None) -> bytes:
    """Its own: nobody here measured it, so no submission counts it, and none replaces it."""
    return hashlib.sha256(f"imported {external_id or place.trial_id}".encode()).digest()
