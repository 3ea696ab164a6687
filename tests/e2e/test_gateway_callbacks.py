"""A real worker tells others of a job, and sends them what it came to."""

import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from oddish.gateway.jobs import Order, create, prepare
from oddish.identity.principal import Principal, Scope
from oddish.sandbox.support import support
from oddish.trials import deployment as deployed
from support.archive_host import archive_host, zipped
from support.callback_receiver import receiver
from support.deployments import ORG, USER, Deployment, RunningWorker
from support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not support().usable, reason=str(support().reason))]

CALLER = Principal("key", ORG, USER, USER, "admin", Scope.FULL)


async def test_a_job_is_told_of_delivered_and_written_back(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    settings = deployment.settings.model_copy(update={"gateway_allowed_hosts": ["127.0.0.1"]})
    task = make_task("solved", solve="true", test="echo 1 > /logs/verifier/reward.txt")
    with archive_host() as host, receiver() as hook:
        request = {
            "metadata": {"task_archive_url": host.put("task.zip", zipped(task))},
            "agents": [{"name": "a", "harbor_agent": "oracle"}],
            "pass_at_k": 1,
            "notifications": [{"url": f"{hook.url}/events", "events": ["trial.finished", "job.finished"]}],
            "deliver": {"url": f"{hook.url}/in.zip"},
            "writeback": {"url": f"{hook.url}/results"},
        }
        order = Order("execute", "solved", request, request, request["agents"], 1, True)
        await prepare(deployment.database, CALLER, deployed.limits(settings), order.agents)
        async with deployment.database.begin() as connection:
            job = await create(connection, deployment.keyring, CALLER, order, retention=timedelta(days=1))
        async with RunningWorker(settings):
            await until(lambda: len(hook.requests) == 4, 60)

    events = [json.loads(told.body) for told in hook.requests if told.target == "/events"]
    assert [event["type"] for event in events] == ["trial.finished", "job.finished"]
    outcome = {"status": "unverified", "valid_for_scoring": False, "exceptions": []}
    ended = {"job_id": job.id, "status": "succeeded", "error": None}
    assert events[-1]["data"] == ended | {"outcome": outcome, "exit_codes": None}
    assert events[0]["data"]["outcome"] == outcome

    [result] = [json.loads(told.body) for told in hook.requests if told.target == "/results"]
    assert (result["job_id"], result["status"], result["outcome"]["trials"]["successful"]) == (job.id, "succeeded", 1)
    [trial] = result["result"]["agent_results"]

    [packed] = [told.body for told in hook.requests if told.target == "/in.zip"]
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        assert json.loads(files.read(f"{trial['trial_id']}/result.json")) == trial["result"]
        assert f"{trial['trial_id']}/manifest.json" in files.namelist()
