"""What a worker shows to the provider of an environment stays between the two."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text, update

from oddish.db.tables import task_versions
from oddish.storage.manifest import read_manifest
from support.deployments import Deployment, RunningWorker

pytestmark = pytest.mark.anyio

PLACE = "oddish.engine.environments.local:LocalEnvironment"
"""An environment with a login of its own, as far as the deployment is concerned."""
SECRET = "known-to-the-provider"
SOLVE = 'mkdir -p /logs/artifacts; echo "$SEEN" | tee /logs/artifacts/seen.txt'
TEST = f"grep -q {SECRET[:5]} /logs/artifacts/seen.txt && echo 1 || echo 0; true"
CONFIG = """[agent]
timeout_sec = 300
[verifier]
timeout_sec = 60
[solution.env]
SEEN = "${PROVIDER_KEY:-nothing}"
"""
NAMED = {"variables": [{"name": "PROVIDER_KEY", "section": "solution.env", "required": False}]}


@pytest.fixture
def connected(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    monkeypatch.setenv("PROVIDER_KEY", SECRET)
    deployment.settings = deployment.settings.model_copy(update={"provider_credentials": {PLACE: ["PROVIDER_KEY"]}})
    return deployment


@pytest.fixture
async def task_id(connected: Deployment, make_task: Callable[..., Path]) -> str:
    directory = make_task("curious", solve=SOLVE, test=f"({TEST}) > /logs/verifier/reward.txt")
    (directory / "task.toml").write_text(CONFIG)
    return await connected.task(directory)


async def submit(deployment: Deployment, task_id: str, index: int, environment: str) -> str:
    trial_id = await deployment.submit(task_id, index=index, environment=environment)
    async with deployment.database.begin() as connection:
        pool = f"local@{deployment.engine_name}"
        await connection.execute(text("UPDATE jobs SET pool = :pool"), {"pool": pool})
    return trial_id


async def stored(deployment: Deployment, trial_id: str) -> list[bytes]:
    [attempt] = await deployment.attempts(trial_id)
    prefix = attempt["artifact_prefix"]
    manifest = await read_manifest(deployment.store, prefix)
    return [await deployment.store.get(f"{prefix}/{file.path}", max_bytes=2**20) for file in manifest.files]


async def test_the_login_of_a_provider_is_in_its_own_attempts_alone_and_in_nothing_they_leave(
    connected: Deployment, task_id: str
) -> None:
    there = await submit(connected, task_id, 0, PLACE)
    elsewhere = await submit(connected, task_id, 1, "local")
    async with RunningWorker(connected.settings):
        rewards = [trial["reward"] for trial in await connected.finished(there, elsewhere)]
    assert rewards == [1, 0]
    assert not any(SECRET.encode() in content for content in await stored(connected, there))


async def test_a_task_that_names_the_login_of_its_environment_does_not_run_there(
    connected: Deployment, task_id: str
) -> None:
    async with connected.database.begin() as connection:
        await connection.execute(update(task_versions).values(definition=NAMED))
    there = await submit(connected, task_id, 0, PLACE)
    elsewhere = await submit(connected, task_id, 1, "local")
    async with RunningWorker(connected.settings):
        refused, run = await connected.finished(there, elsewhere)
    assert (refused["status"], refused["attempts"]) == ("failed", 1)
    assert "PROVIDER_KEY, with which the worker itself logs in" in refused["error_message"]
    assert (run["status"], run["reward"]) == ("success", 0)
