"""What a worker gives an attempt: what its task names, from the first source that has it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from oddish.db.tables import secrets, task_versions, trials
from oddish.identity.principal import Principal, Scope
from oddish.storage.manifest import read_manifest
from oddish.trials.confidential import Confidential
from oddish.trials.organisation_secrets import keep_secret
from support.deployments import ORG, USER, Deployment, RunningWorker

pytestmark = pytest.mark.anyio

SOLVE = 'echo "$SOLVER_DSN" > /logs/artifacts/value.txt; env | cut -d = -f 1 > /logs/artifacts/names.txt'
TEST = """case "$(cat /logs/artifacts/value.txt)" in
  of-the-worker) echo 0.1 ;; of-the-organisation) echo 0.2 ;; of-the-submission) echo 0.3 ;; *) echo 0 ;;
esac > /logs/verifier/reward.txt"""
CONFIG = '[agent]\ntimeout_sec = 300\n[verifier]\ntimeout_sec = 60\n[solution.env]\nSOLVER_DSN = "${SOLVER_DSN}"\n'
VARIABLES = {"variables": [{"name": "SOLVER_DSN", "section": "solution.env", "required": True}]}


@pytest.fixture
def offering(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """Its worker may hand on two variables of its environment."""
    monkeypatch.setenv("SOLVER_DSN", "of-the-worker")
    monkeypatch.setenv("OTHER_KEY", "named-by-nobody")
    monkeypatch.setenv("THIRD_KEY", "not-on-the-list")
    deployment.settings = deployment.settings.model_copy(update={"worker_credentials": ["SOLVER_DSN", "OTHER_KEY"]})
    return deployment


@pytest.fixture
async def task_id(offering: Deployment, make_task: Callable[..., Path]) -> str:
    directory = make_task("solved", solve=f"mkdir -p /logs/artifacts; {SOLVE}", test=TEST)
    (directory / "task.toml").write_text(CONFIG)
    task_id = await offering.task(directory)
    async with offering.database.begin() as connection:
        await connection.execute(update(task_versions).values(definition=VARIABLES))
    return task_id


async def keep(deployment: Deployment, value: str) -> None:
    me = Principal("key", ORG, USER, "somebody", "admin", Scope.FULL)
    async with deployment.database.begin() as connection:
        await keep_secret(connection, deployment.keyring, me, "SOLVER_DSN", value)


async def hand_over(deployment: Deployment, value: str) -> None:
    kept = Confidential(credentials={"SOLVER_DSN": value, "OTHER_KEY": "named-by-nobody"})
    async with deployment.database.begin() as connection:
        await connection.execute(update(secrets).values(ciphertext=deployment.keyring.encrypt(kept.plaintext())))


async def files(deployment: Deployment, trial_id: str) -> dict[str, bytes]:
    [attempt] = await deployment.attempts(trial_id)
    prefix = attempt["artifact_prefix"]
    manifest = await read_manifest(deployment.store, prefix)
    paths = [file.path for file in manifest.files]
    return {path: await deployment.store.get(f"{prefix}/{path}", max_bytes=2**20) for path in paths}


async def test_an_attempt_gets_what_its_worker_may_hand_on_and_nothing_else(offering: Deployment, task_id: str) -> None:
    trial_id = await offering.submit(task_id)
    async with RunningWorker(offering.settings):
        [trial] = await offering.finished(trial_id)
    assert (trial["status"], trial["reward"]) == ("success", 0.1)
    stored = await files(offering, trial_id)
    names = stored["artifacts/logs/artifacts/names.txt"].decode().split()
    assert "SOLVER_DSN" in names
    assert not {"OTHER_KEY", "THIRD_KEY", "ODDISH_HOME"} & set(names)
    assert stored["artifacts/logs/artifacts/value.txt"] == b"[REDACTED]\n"
    assert not any(b"of-the-worker" in content for content in stored.values())


async def test_the_submission_goes_before_the_organisation_and_that_before_the_worker(
    offering: Deployment, task_id: str
) -> None:
    await keep(offering, "of-the-organisation")
    second = await offering.submit(task_id, index=1)
    third = await offering.submit(task_id, index=2, secret_env={"ANY_TOKEN": "to-be-replaced"})
    await hand_over(offering, "of-the-submission")
    async with offering.database.begin() as connection:
        await connection.execute(update(trials).where(trials.c.id == third).values(agent_config={}))
    async with RunningWorker(offering.settings):
        rewards = [trial["reward"] for trial in await offering.finished(second, third)]
    assert rewards == [0.2, 0.3]


async def test_a_credential_that_nobody_offers_any_more_is_a_failure_by_name(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task_id = await deployment.task(make_task("solved", solve="true"))
    async with deployment.database.begin() as connection:
        await connection.execute(update(task_versions).values(definition=VARIABLES))
    trial_id = await deployment.submit(task_id)
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["attempts"]) == ("failed", 1)
    assert "'SOLVER_DSN'" in trial["error_message"]
    assert "oddish secrets set SOLVER_DSN" in trial["error_message"]


async def test_a_worker_says_which_variables_it_has(offering: Deployment) -> None:
    async with RunningWorker(offering.settings), offering.database.connect() as connection:
        rows: list[tuple[list[str]]] = []
        while not rows:
            rows = (await connection.exec_driver_sql("SELECT credentials FROM workers")).fetchall()  # type: ignore[assignment]
    assert rows == [(["OTHER_KEY", "SOLVER_DSN"],)]
