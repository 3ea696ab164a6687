"""A real worker takes archives in from where their callers host them, and runs what comes of them."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from oddish.db.tables import trials
from oddish.gateway.jobs import GatewayJob, Kind, Order, cancel, create, get, prepare
from oddish.identity.principal import Principal, Scope
from oddish.sandbox.support import support
from oddish.settings import Settings
from oddish.trials import deployment as deployed
from support.archive_host import ArchiveHost, archive_host, zipped
from support.deployments import ORG, USER, Deployment, RunningWorker
from support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not support().usable, reason=str(support().reason))]

CALLER = Principal("key", ORG, USER, USER, "admin", Scope.FULL)
JUDGE = 'test "$(cat /workspace/answer)" = 42; code=$?; echo $((1 - code)) > /logs/verifier/reward.txt; exit $code'


async def test_solving_and_verifying_begin_with_an_archive(
    deployment: Deployment, make_task: Callable[..., Path], tmp_path: Path
) -> None:
    settings = deployment.settings.model_copy(update={"gateway_allowed_hosts": ["127.0.0.1"]})
    task = make_task("solved", solve="mkdir -p /workspace; echo 42 > /workspace/answer", test=JUDGE)
    (task / "visible_seed").mkdir()
    (task / "visible_seed/answer").write_text("41\n")
    (fixture := tmp_path / "fixture").mkdir()
    (fixture / "answer").write_text("42\n")
    with archive_host() as host:
        metadata = {"task_archive_url": host.put("task.zip", zipped(task, wrapper="solved/"))}
        agents = [{"name": "a", "harbor_agent": "oracle"}]
        verification = {"metadata": metadata, "repeats": 1}
        over = {**verification, "workspace_fixture_url": host.put("fixture.zip", zipped(fixture))}
        jobs = [
            await ordered(deployment, settings, "execute", {"metadata": metadata, "agents": agents, "pass_at_k": 2}),
            await ordered(deployment, settings, "verify", verification),
            await ordered(deployment, settings, "verify", over),
        ]
        async with RunningWorker(settings):
            ended = [await finished(deployment, job) for job in jobs]
    assert [(job.status, job.error) for job in ended] == [("succeeded", None)] * 3
    assert [await came_to(deployment, job) for job in ended] == [
        [(1.0, None), (1.0, None)],
        [(0.0, 1)],
        [(1.0, 0)],
    ]
    assert len({job.task_version_id for job in ended}) == 1


async def test_a_job_is_cancelled_while_its_archive_is_fetched(deployment: Deployment) -> None:
    settings = deployment.settings.model_copy(update={"gateway_allowed_hosts": ["127.0.0.1"]})
    with archive_host() as host:
        host.answers.clear()
        request = {"metadata": {"task_archive_url": f"{host.url}/task.zip"}, "repeats": 1}
        async with RunningWorker(settings):
            job = await ordered(deployment, settings, "verify", request)
            assert await until(lambda: asked(host), 30)
            async with deployment.database.begin() as connection:
                cancelled = await cancel(connection, CALLER, job.id)
            assert cancelled.status == "queued"
            assert (await finished(deployment, job)).status == "cancelled"
    assert await came_to(deployment, job) == []


async def asked(host: ArchiveHost) -> bool:
    return bool(host.asked)


async def ordered(deployment: Deployment, settings: Settings, kind: Kind, request: Mapping[str, Any]) -> GatewayJob:
    order = Order(kind, "solved", request, request, [], 1, True)
    await prepare(deployment.database, CALLER, deployed.limits(settings), order.agents)
    async with deployment.database.begin() as connection:
        return await create(connection, deployment.keyring, CALLER, order, retention=timedelta(days=1))


async def finished(deployment: Deployment, job: GatewayJob) -> GatewayJob:
    async def ended() -> GatewayJob | None:
        async with deployment.database.connect() as connection:
            found = await get(connection, CALLER, job.id)
        return None if found.unfinished else found

    found = await until(ended, 60)
    assert found is not None
    return found


async def came_to(deployment: Deployment, job: GatewayJob) -> list[tuple[float | None, int | None]]:
    """Reward and observed exit code of each trial."""
    exit_code = trials.c.result["_verifier"]["exit_code"]
    statement = select(trials.c.reward, exit_code).where(trials.c.gateway_job_id == job.id)
    async with deployment.database.connect() as connection:
        return [tuple(row) for row in await connection.execute(statement)]
