"""A verifier that cannot make up its mind is found out by repeating it: a real worker, the local sandbox."""

from datetime import timedelta
from pathlib import Path

import pytest

from oddish.gateway import jobs
from oddish.gateway.document import job_document
from oddish.gateway.jobs import GatewayJob
from oddish.gateway.orders import verification
from oddish.gateway.trials import find_trials, with_records
from oddish.identity.principal import Principal, Scope
from oddish.sandbox.support import support
from oddish.schemas.gateway import VerifyTask
from oddish.trials import deployment as deployed
from support.archive_host import archive_host, zipped
from support.deployments import ORG, USER, Deployment, RunningWorker
from support.engine_kit import write_task
from support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not support().usable, reason=str(support().reason))]

CALLER = Principal("key", ORG, USER, USER, "admin", Scope.FULL)
TEST = """\
exec 3<>/dev/tcp/127.0.0.1/{port}
printf 'GET /answer HTTP/1.0\\r\\n\\r\\n' >&3
read -r _ status _ <&3
echo 1 > /logs/verifier/reward.txt
exit $((status / 100 - 2))
"""
"""Succeeds or not as a server says."""


async def test_runs_that_differ_on_one_workspace_are_the_verifiers_fault(
    deployment: Deployment, tmp_path: Path
) -> None:
    settings = deployment.settings.model_copy(update={"gateway_allowed_hosts": ["127.0.0.1"]})
    with archive_host() as host, archive_host() as fickle:
        fickle.put("answer", b"yes")
        fickle.refusals.append(404)
        task = write_task(tmp_path / "tasks", test=TEST.format(port=fickle.url.rpartition(":")[2]))
        url = host.put("task.zip", zipped(task, without="solution"))
        asked = VerifyTask.model_validate(
            {"task_slug": "fickle", "metadata": {"task_archive_url": url}, "repeats": 2}
        ).model_dump(mode="json")
        order = verification(asked, evidence_deployed=True)
        await jobs.prepare(deployment.database, CALLER, deployed.limits(settings), order.agents)
        async with deployment.database.begin() as connection:
            job = await jobs.create(connection, deployment.keyring, CALLER, order, retention=timedelta(days=1))
        async with RunningWorker(settings):
            ended = await until(lambda: over(deployment, job), 60)
    assert ended is not None
    async with deployment.database.connect() as connection:
        trials = await with_records(deployment.store, await find_trials(connection, job.id))
    document = job_document(ended, trials)
    verifier = document["result"]["verifier"]
    assert (document["status"], document["result"]["reward"]) == ("succeeded", 1.0)
    assert (verifier["exit_code"], verifier["flaky"]) == (None, True)
    assert sorted(run["exit_code"] for run in verifier["runs"]) == [0, 2]


async def over(deployment: Deployment, job: GatewayJob) -> GatewayJob | None:
    async with deployment.database.connect() as connection:
        found = await jobs.get(connection, CALLER, job.id)
    return None if found.unfinished else found
