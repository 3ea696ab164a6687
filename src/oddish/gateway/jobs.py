"""Jobs of the gateway: what one POST asked for, and what became of it.

A job begins with one of the queue that fetches its archive (kind ``archive``, the same id); the trials that come of it
are ordinary ones. Its status follows them by itself (see the migration).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Row, func, insert, select, text, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish import correlation, ids
from oddish.db.tables import gateway_jobs as table
from oddish.db.tables import queue_caps, secrets, trials
from oddish.errors import Conflict, InvalidInput, NotFound
from oddish.identity.principal import Principal
from oddish.keyring import Keyring
from oddish.queue.cancel import cancel as cancel_jobs
from oddish.queue.cancel import hold as hold_jobs
from oddish.queue.enqueue import Lane, NewJob, enqueue, prepare_lanes
from oddish.queue.keys import Limits, archive_quota, gateway_quota, queue_key
from oddish.tasks.uploads import usable_name

type Kind = Literal["execute", "verify"]

ARCHIVE = "archive"
"""Kind and key of the queue's jobs that fetch archives."""
ANY_POOL = "any"
"""The pool of jobs that every worker can run."""
ARCHIVE_ATTEMPTS = 3
NO_AGENT = "nop"
"""Of the trials of a verification."""
UNFINISHED = ("queued", "running")
ADMISSION_LOCK = 0x0DD15D


SHORTEST_WAIT = 5
LONGEST_WAIT = 300
"""Seconds that a caller is asked to wait for the quota."""

# How long the latest jobs of an organisation took, on average. Locks: none.
USUAL_SECONDS = text("""
SELECT avg(extract(epoch FROM finished_at - started_at)) FROM (
  SELECT started_at, finished_at FROM gateway_jobs
  WHERE org_id = :org_id AND started_at IS NOT NULL AND finished_at IS NOT NULL
  ORDER BY created_at DESC, id DESC LIMIT 20
) latest
""")


class QuotaReached(Conflict):
    """As many trials of the gateway run or wait in the organisation as may run at once."""

    code = "quota_reached"
    status = 429


class RequestGone(InvalidInput):
    """A job whose request is not kept any more: what is secret in it was deleted after its time."""

    code = "request_gone"


@dataclass(frozen=True)
class GatewayJob:
    """A row, as far as it is read."""

    id: str
    org_id: str
    created_by: str
    kind: Kind
    status: str
    """queued, running, succeeded, failed or cancelled"""
    task_slug: str
    request: Mapping[str, Any] | None
    """As it was asked for, without what is secret in it; None of jobs that kept none."""
    secret_id: str | None
    """Of the whole request, for as long as it is kept."""
    metadata: Mapping[str, Any]
    agents: Sequence[Mapping[str, Any]]
    pass_at_k: int
    require_verifier_evidence: bool
    error: Mapping[str, Any] | None
    """``code`` and ``message``: why no trials came of it."""
    correlation_id: str | None
    experiment_id: str | None
    task_version_id: str | None
    retry_of: str | None
    retried_exceptions: Sequence[str]
    workspace_key: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def unfinished(self) -> bool:
        return self.status in UNFINISHED


@dataclass(frozen=True)
class Order:
    """What a job is made of."""

    kind: Kind
    task_slug: str
    request: Mapping[str, Any] = field(repr=False)
    """All of it, as JSON; kept encrypted."""
    shown: Mapping[str, Any]
    """It without what is secret, ``metadata`` among it."""
    agents: Sequence[Mapping[str, Any]]
    """As they are shown."""
    pass_at_k: int
    require_verifier_evidence: bool
    retry_of: str | None = None
    retried_exceptions: Sequence[str] = ()
    task_version_id: str | None = None
    """Runs that version; no archive is fetched."""


_COLUMNS = [table.c[entry.name] for entry in fields(GatewayJob)]


async def prepare(
    engine: AsyncEngine, principal: Principal, limits: Limits, agents: Sequence[Mapping[str, Any]]
) -> None:
    """Make the lanes of a coming job of these ``agents``, of a verification without, in a transaction of its own."""
    keys = [queue_key(agent["harbor_agent"], agent.get("model")) for agent in agents] or [queue_key(NO_AGENT, None)]
    quota, archives = gateway_quota(principal.org_id), archive_quota(principal.org_id)
    lanes = [Lane(key.key, quota, key.provider, principal.org_id, quota) for key in keys]
    await prepare_lanes(engine, [Lane(ARCHIVE, archives, ARCHIVE, principal.org_id, archives), *lanes], limits)


async def create(
    connection: AsyncConnection, keyring: Keyring, principal: Principal, order: Order, *, retention: timedelta
) -> GatewayJob:
    """Keep the job and queue the fetching of its archive, in the caller's transaction, after ``prepare``.

    Raises ``InvalidInput`` for what no task can be called.
    """
    usable_name(order.task_slug)
    job_id, secret_id = ids.row_id("gw"), ids.row_id("sec")
    await connection.execute(
        insert(secrets).values(
            id=secret_id,
            org_id=principal.org_id,
            ciphertext=keyring.encrypt(json.dumps(order.request).encode()),
            expires_at=datetime.now(UTC) + retention,
        )
    )
    row = (
        await connection.execute(
            insert(table)
            .values(
                id=job_id,
                org_id=principal.org_id,
                created_by=principal.user_id,
                kind=order.kind,
                task_slug=order.task_slug,
                request=order.shown,
                secret_id=secret_id,
                metadata=order.shown["metadata"],
                agents=order.agents,
                pass_at_k=order.pass_at_k,
                require_verifier_evidence=order.require_verifier_evidence,
                correlation_id=correlation.CURRENT.get(),
                task_version_id=order.task_version_id,
                retry_of=order.retry_of,
                retried_exceptions=list(order.retried_exceptions),
            )
            .returning(*_COLUMNS)
        )
    ).one()
    lane = archive_quota(principal.org_id)
    await enqueue(connection, [NewJob(principal.org_id, ARCHIVE, job_id, ANY_POOL, ARCHIVE, lane, 0, ARCHIVE_ATTEMPTS)])
    return _job(row)


async def admit(connection: AsyncConnection, principal: Principal, limits: Limits) -> None:
    """Raise ``QuotaReached`` unless a job that is made next, in the same transaction, could run at once.

    Jobs that have yet to come to their trials count as one each. One of the organisation looks at a time.
    """
    quota = gateway_quota(principal.org_id)
    await connection.execute(
        text("SELECT pg_advisory_xact_lock(:lock, hashtext(:quota))"), {"lock": ADMISSION_LOCK, "quota": quota}
    )
    unfinished = select(func.count()).where(table.c.org_id == principal.org_id, table.c.status.in_(UNFINISHED))
    of_quota = queue_caps.c.name == quota
    overridden = select(queue_caps.c.override_limit).where(of_quota).scalar_subquery()
    running = select(queue_caps.c.running).where(of_quota).scalar_subquery()
    row = (await connection.execute(select(overridden, running, unfinished.scalar_subquery()))).one()
    limit, busy = limits.gateway if row[0] is None else row[0], max(row[1] or 0, row[2])
    if limit is not None and busy >= limit:
        refused = QuotaReached(
            f"{busy} runs of this organisation are under way, and {limit} may be at once.",
            fix="Wait as long as Retry-After says, or use jobs/execute-tasks, which queues.",
        )
        usual = await connection.scalar(USUAL_SECONDS, {"org_id": principal.org_id})
        refused.retry_after = wait_for_room(float(usual or 0), running=busy, limit=limit)
        raise refused


def wait_for_room(usual_seconds: float, *, running: int, limit: int) -> int:
    """Seconds until as many have probably ended that another one may begin. Pure."""
    ending = running - limit + 1
    expected = usual_seconds * ending / max(running, 1)
    return round(min(max(expected, SHORTEST_WAIT), LONGEST_WAIT))


async def get(connection: AsyncConnection, principal: Principal, job_id: str) -> GatewayJob:
    """Raises ``NotFound``."""
    statement = select(*_COLUMNS).where(table.c.id == job_id, table.c.org_id == principal.org_id)
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise NotFound(f"There is no job {job_id!r} here.", fix="GET /sandbox/harbor/v2/jobs lists those there are.")
    return _job(row)


async def read(connection: AsyncConnection, job_id: str) -> GatewayJob:
    """One that is there, of any organisation."""
    return _job((await connection.execute(select(*_COLUMNS).where(table.c.id == job_id))).one())


async def whole_request(connection: AsyncConnection, keyring: Keyring, job: GatewayJob) -> Mapping[str, Any]:
    """What was asked for, with its secrets, for as long as they are kept.

    Raises ``RequestGone``, and ``KeyringError`` for what another key has encrypted.
    """
    ciphertext = await connection.scalar(select(secrets.c.ciphertext).where(secrets.c.id == job.secret_id))
    if ciphertext is None:
        raise RequestGone(
            f"What was asked for with job {job.id!r} is not kept any more.",
            fix="Ask for a new job: POST /sandbox/harbor/v2/jobs/execute-tasks.",
        )
    request: Mapping[str, Any] = json.loads(keyring.decrypt(ciphertext))
    return request


async def page(
    connection: AsyncConnection,
    principal: Principal,
    *,
    limit: int,
    after: str | None = None,
    status: str | None = None,
) -> list[GatewayJob]:
    """At most ``limit`` of the ``status``, else of all, the newest first, after the one with the id ``after``."""
    statement = select(*_COLUMNS).where(table.c.org_id == principal.org_id)
    if status is not None:
        statement = statement.where(table.c.status == status)
    if after is not None:
        place = select(table.c.created_at, table.c.id).where(table.c.id == after, table.c.org_id == principal.org_id)
        statement = statement.where(tuple_(table.c.created_at, table.c.id) < place.scalar_subquery())
    statement = statement.order_by(table.c.created_at.desc(), table.c.id.desc()).limit(limit)
    return [_job(row) for row in await connection.execute(statement)]


async def cancel(connection: AsyncConnection, principal: Principal, job_id: str) -> GatewayJob:
    """Stop the job, in the caller's transaction; one that is over stays as it is. Raises ``NotFound``. May be repeated.

    Once the archive's job is held, no more trials come: it is kept from making any, or all of them are there. Whoever
    ends a trial locks its job of the queue before this one, so those are held before this one is changed.
    """
    await get(connection, principal, job_id)
    await cancel_jobs(connection, kind=ARCHIVE, subject_ids=[job_id])
    of_job = (await connection.scalars(select(trials.c.id).where(trials.c.gateway_job_id == job_id))).all()
    await hold_jobs(connection, kind="trial", subject_ids=of_job)
    await connection.execute(
        update(table)
        .where(table.c.id == job_id, table.c.status.in_(UNFINISHED), table.c.cancelled_at.is_(None))
        .values(cancelled_at=func.now())
    )
    await cancel_jobs(connection, kind="trial", subject_ids=of_job)
    return await get(connection, principal, job_id)


def _job(row: Row[Any]) -> GatewayJob:
    return GatewayJob(**row._mapping)
