"""Tasks with services of their own run under Compose."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.deployments import Deployment, RunningWorker
from support.engine_state import docker
from support.waiting import until

pytestmark = pytest.mark.anyio

COMPOSE = """
services:
  main:
    environment: {GREETING: hello}
  web:
    build: ./web
    command: [python3, -m, http.server, "8000", --directory, /site]
"""
FILES = {
    "environment/docker-compose.yaml": COMPOSE,
    "environment/web/Dockerfile": "FROM ubuntu:24.04\nRUN mkdir /site && echo page > /site/index.html\n",
}
FETCH = "curl --silent --retry 20 --retry-connrefused http://web:8000/"


def made_network(number: int) -> str:
    name = f"oddish-test-{number}"
    docker("network", "create", name)
    return name


@pytest.fixture
def no_networks_left() -> Iterator[list[str]]:
    """Networks that take all addresses the engine has for them, whichever are taken already."""
    made: list[str] = []
    try:
        with pytest.raises(AssertionError, match="non-overlapping"):
            made.extend(made_network(number) for number in itertools.count())
        yield made
    finally:
        docker("network", "rm", *made)


async def test_a_task_reaches_its_services_and_nothing_of_them_stays(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task(
        "web",
        solve=f'{FETCH} > /app/page; echo "$GREETING" >> /app/page',
        test='[ "$(cat /app/page)" = "$(printf \'page\\nhello\')" ] && echo 1 > /logs/verifier/reward.txt',
        files=FILES,
    )
    task_id = await deployment.task(task)
    trials = [await deployment.submit(task_id, index=index, max_attempts=1) for index in range(2)]
    async with RunningWorker(deployment.settings):
        done = await deployment.finished(*trials, seconds=120)
    assert [(trial["status"], trial["reward"]) for trial in done] == [("success", 1.0)] * 2
    assert "oddish-" not in docker(
        "images", "--filter", "label=com.docker.compose.project", "--format", "{{.Repository}}"
    )


async def test_a_service_that_cannot_be_built_is_a_failed_build(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    files = FILES | {"environment/web/Dockerfile": "FROM ubuntu:24.04\nRUN echo no page >&2; exit 4\n"}
    trial_id = await deployment.submit(await deployment.task(make_task("pageless", files=files)))
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    [attempt] = await deployment.attempts(trial_id)
    assert attempt["reasons"] == ["image_build_failed"]
    assert "no page" in trial["error_message"]


async def test_a_task_waits_for_a_network_while_the_engine_has_none(
    deployment: Deployment, make_task: Callable[..., Path], no_networks_left: list[str]
) -> None:
    task = make_task("crowded", solve=f"{FETCH} > /app/page", files=FILES)
    trial_id = await deployment.submit(await deployment.task(task), max_attempts=1)
    work = deployment.settings.home / "work"
    async with RunningWorker(deployment.settings):
        logs = f"*/{trial_id}*/*/trial.log"
        crowded = "no addresses for another network"
        await until(lambda: any(crowded in path.read_text() for path in work.glob(logs)))
        docker("network", "rm", no_networks_left.pop())
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]


async def test_what_a_container_writes_into_its_task_reaches_no_other_trial(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    files = {
        "environment/docker-compose.yaml": "services: {main: {volumes: ['./data:/data']}}\n",
        "environment/data/given": "",
    }
    task = make_task(
        "bound",
        solve='[ "$(ls /data)" = given ] && touch /data/left /app/done',
        test="[ -e /app/done ] && [ -e /data/left ] && echo 1 > /logs/verifier/reward.txt",
        files=files,
    )
    task_id = await deployment.task(task)
    trials = [await deployment.submit(task_id, index=index, max_attempts=1) for index in range(2)]
    async with RunningWorker(deployment.settings):
        done = await deployment.finished(*trials, seconds=120)
    assert [(trial["status"], trial["reward"]) for trial in done] == [("success", 1.0)] * 2
    kept = {path.name for path in (deployment.settings.home / "work" / "tasks").rglob("*")}
    assert "given" in kept
    assert "left" not in kept
