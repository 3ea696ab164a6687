"""Images of a registry that asks for a login: fetched with the trial's own, and not without it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oddish.registries import RegistryLogin
from support.deployments import Deployment, RunningWorker
from support.engine_state import docker
from support.registry import TOKEN, USERNAME, Registry, running_registry

pytestmark = pytest.mark.anyio

COMPOSE = """
services:
  main:
    build: {{context: .}}
    depends_on: [side]
  side:
    image: {image}
    command: sleep infinity
"""
REPOSITORY = "acme/private"
FROM_PRIVATE = "grep -c private /marker > /logs/verifier/reward.txt"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """With an image that is on no engine any more."""
    directory = tmp_path_factory.mktemp("registry")
    (directory / "Dockerfile").write_text("FROM ubuntu:24.04\nRUN echo private > /marker\n")
    with running_registry() as registry:
        image = f"{registry.host}/{REPOSITORY}:1"
        config = ("--config", str(directory / "config"))
        docker("build", "--tag", image, str(directory))
        docker(*config, "login", "--username", USERNAME, "--password", TOKEN, registry.host)
        docker(*config, "push", "--quiet", image)
        docker("rmi", image)
        registry.refused = 0
        yield registry


@pytest.fixture
def private(registry: Registry) -> Iterator[str]:
    """The name of that image, which the engine does not have before and after."""
    name = f"{registry.host}/{REPOSITORY}:1"
    yield name
    docker("rmi", "--force", name)


@pytest.fixture
def login(registry: Registry) -> RegistryLogin:
    return RegistryLogin.of(USERNAME, TOKEN, registry.host)


async def test_an_image_is_fetched_with_the_login_of_the_trial_and_the_login_is_left_nowhere(
    deployment: Deployment, make_task: Callable[..., Path], private: str, login: RegistryLogin
) -> None:
    config = f'[environment]\ndocker_image = "{private}"'
    task_id = await deployment.task(make_task("prebuilt", config=config, test=FROM_PRIVATE))
    refused = await deployment.submit(task_id, index=0)
    wrong = await deployment.submit(
        task_id, index=1, logins=[RegistryLogin.of(USERNAME, f"{TOKEN}-no", login.registry)]
    )
    async with RunningWorker(deployment.settings):
        for trial in await deployment.finished(refused, wrong):
            assert (trial["status"], trial["attempts"]) == ("failed", 1)
            assert "cannot be fetched" in trial["error_message"]
            assert TOKEN not in trial["error_message"]
        signed_in = await deployment.submit(task_id, index=2, logins=[login])
        [trial] = await deployment.finished(signed_in)
        assert trial["reward"] == 1.0, trial["error_message"]
    found = [path for path in deployment.settings.home.rglob("*") if path.is_file() and _holds(path, login)]
    assert found == []


async def test_an_image_is_built_on_a_private_one(
    deployment: Deployment, make_task: Callable[..., Path], private: str, login: RegistryLogin
) -> None:
    task = make_task(
        "standing",
        dockerfile=f"FROM {private}\nWORKDIR /app\n",
        test=FROM_PRIVATE,
    )
    task_id = await deployment.task(task)
    without = [await deployment.submit(task_id, index=index) for index in range(3)]
    within = [await deployment.submit(task_id, index=index, logins=[login]) for index in range(3, 6)]
    async with RunningWorker(deployment.settings):
        trials = await deployment.finished(*within, *without, seconds=120)
    assert [trial["reward"] for trial in trials[:3]] == [1.0] * 3, [trial["error_message"] for trial in trials]


async def test_a_service_of_a_task_runs_a_private_image(
    deployment: Deployment, make_task: Callable[..., Path], private: str, login: RegistryLogin
) -> None:
    task_id = await deployment.task(
        make_task("served", files={"environment/docker-compose.yaml": COMPOSE.format(image=private)})
    )
    trial_id = await deployment.submit(task_id, logins=[login])
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id, seconds=120)
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]


async def test_the_worker_s_own_configuration_is_as_before(
    deployment: Deployment,
    make_task: Callable[..., Path],
    private: str,
    login: RegistryLogin,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = tmp_path / "docker"
    own.mkdir()
    (own / "config.json").write_text(json.dumps({"auths": {login.registry: {"auth": "bm9ib2R5Om5vdGhpbmc="}}}))
    before = (own / "config.json").read_bytes()
    monkeypatch.setenv("DOCKER_CONFIG", str(own))
    task_id = await deployment.task(make_task("prebuilt", config=f'[environment]\ndocker_image = "{private}"'))
    trial_id = await deployment.submit(task_id, logins=[login])
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]
    assert ([path.name for path in own.iterdir()], (own / "config.json").read_bytes()) == (["config.json"], before)


def _holds(path: Path, login: RegistryLogin) -> bool:
    content = path.read_bytes()
    return login.token.encode() in content or login.basic.encode() in content
