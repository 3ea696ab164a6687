"""Jobs of the gateway, before any trial comes of them."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.errors import InvalidInput, NotFound
from oddish.gateway.jobs import ANY_POOL, GatewayJob, Order, QuotaReached, admit, cancel, create, get, page, prepare
from oddish.identity.principal import Principal, Scope
from oddish.queue.claim import Claim, claim
from oddish.queue.finish import finish
from oddish.queue.keys import Limits
from support.claims import WORKER, deployment_with_a_worker
from support.deployments import ORG, USER, Deployment

pytestmark = pytest.mark.anyio

CALLER = Principal("key", ORG, USER, USER, "admin", Scope.FULL)
STRANGER = Principal("key", "elsewhere", "somebody", "somebody", "admin", Scope.FULL)
SIGNED = "https://storage.example/task.zip?signature=hush-hush"
LIMITS = Limits(8, 256, {}, gateway=2, archives=1)


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    return await deployment_with_a_worker(engine, oddish_home, database_url)


async def add_organisation(deployment: Deployment, caller: Principal) -> None:
    async with deployment.database.begin() as connection:
        for statement in (
            "INSERT INTO organisations (id, name) VALUES (:org, :org)",
            "INSERT INTO users (id, org_id, name, role) VALUES (:user, :org, :user, 'admin')",
        ):
            await connection.execute(text(statement), {"org": caller.org_id, "user": caller.user_id})


async def created(deployment: Deployment, task_slug: str = "t", caller: Principal = CALLER) -> GatewayJob:
    shown = {"task_slug": task_slug, "metadata": {"task_archive_url": SIGNED.partition("?")[0]}}
    order = Order(
        kind="execute",
        task_slug=task_slug,
        request={"metadata": {"task_archive_url": SIGNED}},
        shown=shown,
        agents=[{"name": "a", "harbor_agent": "oracle", "model": None}],
        pass_at_k=1,
        require_verifier_evidence=True,
    )
    await prepare(deployment.database, caller, LIMITS, order.agents)
    async with deployment.database.begin() as connection:
        return await create(connection, deployment.keyring, caller, order, retention=timedelta(days=1))


async def cancelled(deployment: Deployment, job: GatewayJob) -> GatewayJob:
    async with deployment.database.begin() as connection:
        return await cancel(connection, CALLER, job.id)


async def claimed(deployment: Deployment) -> list[Claim]:
    async with deployment.database.begin() as connection:
        return await claim(connection, worker_id=WORKER, pools=[ANY_POOL], slots=8, memory_mb=1)


async def found(deployment: Deployment, job: GatewayJob, caller: Principal = CALLER) -> GatewayJob:
    async with deployment.database.connect() as connection:
        return await get(connection, caller, job.id)


async def told(deployment: Deployment, job: GatewayJob) -> list[tuple[int, str, str]]:
    statement = "SELECT seq, event, data ->> 'status' FROM gateway_events WHERE job_id = :id ORDER BY seq"
    async with deployment.database.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(statement), {"id": job.id})]


async def test_a_job_queues_the_fetching_of_its_archive(deployment: Deployment) -> None:
    job = await created(deployment)
    assert (job.status, job.finished_at) == ("queued", None)
    assert [held.subject_id for held in await claimed(deployment)] == [job.id]
    assert await told(deployment, job) == [(1, "job.queued", "queued")]


async def test_what_no_task_can_be_called_is_refused_at_once(deployment: Deployment) -> None:
    with pytest.raises(InvalidInput, match="task name"):
        await created(deployment, task_slug="...")
    assert await claimed(deployment) == []


async def test_what_is_secret_in_a_request_is_kept_encrypted_only(deployment: Deployment) -> None:
    await created(deployment)
    async with deployment.database.connect() as connection:
        [row] = (await connection.execute(text("SELECT to_jsonb(g)::text FROM gateway_jobs g"))).scalars()
        [ciphertext] = (await connection.execute(text("SELECT ciphertext FROM secrets"))).scalars()
    assert "hush-hush" not in row
    assert b"hush-hush" in deployment.keyring.decrypt(ciphertext)


async def test_jobs_are_listed_newest_first_and_to_their_organisation_only(deployment: Deployment) -> None:
    made = [await created(deployment) for _ in range(3)]
    async with deployment.database.connect() as connection:
        first = await page(connection, CALLER, limit=2)
        second = await page(connection, CALLER, limit=2, after=first[-1].id)
        assert first + second == made[::-1]
        assert await page(connection, STRANGER, limit=2) == []
    with pytest.raises(NotFound, match=made[0].id):
        await found(deployment, made[0], STRANGER)


async def test_a_job_that_is_cancelled_in_time_takes_nothing_in(deployment: Deployment) -> None:
    job = await created(deployment)
    for _ in range(2):
        assert (await cancelled(deployment, job)).status == "cancelled"
    assert await claimed(deployment) == []
    assert await told(deployment, job) == [(1, "job.queued", "queued"), (2, "job.finished", "cancelled")]


async def test_archives_that_come_slowly_leave_room_for_those_of_others(deployment: Deployment) -> None:
    slow, next_one = await created(deployment), await created(deployment)
    [held] = await claimed(deployment)
    assert held.subject_id == slow.id
    await add_organisation(deployment, STRANGER)
    foreign = await created(deployment, caller=STRANGER)
    assert [held.subject_id for held in await claimed(deployment)] == [foreign.id]
    assert await claimed(deployment) == []
    async with deployment.database.begin() as connection:
        await finish(connection, held, "done")
    assert [held.subject_id for held in await claimed(deployment)] == [next_one.id]


async def test_an_archive_that_is_lost_with_its_workers_ends_the_job(deployment: Deployment) -> None:
    job = await created(deployment)
    [held] = await claimed(deployment)
    async with deployment.database.begin() as connection:
        await finish(connection, held, "failed", error="5 of its executions were lost with their workers")
    ended = await found(deployment, job)
    assert ended.status == "failed"
    assert ended.error == {"code": "archive_lost", "message": "5 of its executions were lost with their workers"}


async def test_nobody_is_admitted_beyond_the_quota(deployment: Deployment) -> None:
    for _ in range(2):
        async with deployment.database.begin() as connection:
            await admit(connection, CALLER, LIMITS)
        last = await created(deployment)
    async with deployment.database.begin() as connection:
        with pytest.raises(QuotaReached, match="2 runs of this organisation are under way") as refused:
            await admit(connection, CALLER, LIMITS)
    assert refused.value.retry_after == 5
    await cancelled(deployment, last)
    async with deployment.database.begin() as connection:
        await admit(connection, CALLER, LIMITS)
