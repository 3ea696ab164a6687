"""Images of task environments are built once for all trials, and again when they have to be."""

import asyncio
import itertools
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oddish.engine.containers import evict
from oddish.engine.environments import docker_images as images
from oddish.engine.image_records import IMAGES
from support.deployments import Deployment, RunningWorker
from support.engine_state import docker, runs
from support.waiting import until

pytestmark = pytest.mark.anyio

STAMP = "FROM {base}\nRUN date +%s.%N > /stamp\nWORKDIR /app\n"
INDEXES = itertools.count()
SHOW = "mkdir -p /logs/artifacts && { cat /stamp; cat /marker; } > /logs/artifacts/seen 2>/dev/null"


async def seen(deployment: Deployment, task_id: str, count: int, harbor: dict[str, object] | None = None) -> list[str]:
    """What ``count`` trials at once showed of their image."""
    wanted = [await deployment.submit(task_id, index=next(INDEXES), harbor=harbor) for _ in range(count)]
    async with RunningWorker(deployment.settings):
        await deployment.finished(*wanted, seconds=120)
    found = []
    for trial_id in wanted:
        [attempt] = await deployment.attempts(trial_id)
        path = f"{attempt['artifact_prefix']}/artifacts/logs/artifacts/seen"
        found.append((await deployment.store.get(path, max_bytes=1000)).decode())
    return found


async def test_twelve_trials_at_once_share_one_build(deployment: Deployment, make_task: Callable[..., Path]) -> None:
    task = make_task("stamped", dockerfile=STAMP.format(base="ubuntu:24.04") + "# twelve\n", solve=SHOW)
    task_id = await deployment.task(task)
    stamps = await seen(deployment, task_id, 12)
    assert len(stamps) == 12
    assert len(set(stamps)) == 1


async def test_a_forced_build_takes_nothing_from_an_earlier_one(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task_id = await deployment.task(
        make_task("forced", dockerfile=STAMP.format(base="ubuntu:24.04") + "# forced\n", solve=SHOW)
    )
    [earlier] = await seen(deployment, task_id, 1)
    [forced] = await seen(deployment, task_id, 1, harbor={"environment": {"force_build": True}})
    assert forced != earlier
    assert await seen(deployment, task_id, 1) == [forced]


async def test_an_image_is_built_again_when_its_base_is_another(
    deployment: Deployment, make_task: Callable[..., Path], base_image: Callable[[str], str]
) -> None:
    task = make_task("standing", dockerfile=STAMP.format(base=base_image("first")), solve=SHOW)
    task_id = await deployment.task(task)
    [first] = await seen(deployment, task_id, 1)
    base_image("second")
    [second] = await seen(deployment, task_id, 1)
    assert (first.split()[1], second.split()[1]) == ("first", "second")


async def test_an_image_that_no_trial_has_used_for_long_is_removed(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task("forgotten", dockerfile=STAMP.format(base="ubuntu:24.04") + "# forgotten\n", solve=SHOW)
    task_id = await deployment.task(task)
    await seen(deployment, task_id, 1)
    [record] = (deployment.settings.home / "images").glob("*.json")
    assert await evict(deployment.settings.home, unused_seconds=60) == []
    os.utime(record, (0, 0))
    await seen(deployment, task_id, 1)
    assert await evict(deployment.settings.home, unused_seconds=60) == []
    os.utime(record, (0, 0))
    assert await evict(deployment.settings.home, unused_seconds=60) == [record.stem]
    assert record.stem not in docker("images", "--format", "{{.Tag}}", IMAGES)


async def test_trials_that_wait_for_a_build_share_its_failure(tmp_path: Path) -> None:
    context = tmp_path / "context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM ubuntu:24.04\nRUN date +%s.%N && sleep 1 && false\n")

    async def build(number: int) -> str:
        log = tmp_path / f"{number}.log"
        with pytest.raises(images.SandboxBuildFailedError, match="The image of broken cannot be built"):
            await images.built(context, task="broken", log=log, anew=False)
        return log.read_text()

    logs = await asyncio.gather(*(build(number) for number in range(5)))
    assert len({match[0] for log in logs if (match := re.search(r"\d{10}\.\d{9}", log))}) == 1


async def test_a_build_that_nobody_waits_for_any_more_is_ended(tmp_path: Path) -> None:
    context = tmp_path / "context"
    context.mkdir()
    seconds = f"300.{time.time_ns()}"
    (context / "Dockerfile").write_text(f"FROM ubuntu:24.04\nRUN sleep {seconds}\n")
    building = asyncio.create_task(images.built(context, task="endless", log=tmp_path / "log", anew=False))
    await until(lambda: runs("sleep", seconds))
    building.cancel()
    await asyncio.wait([building])
    await until(lambda: not runs("sleep", seconds))


async def test_a_prebuilt_image_that_nobody_has_is_a_failed_build(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    config = '[environment]\ndocker_image = "oddish-test.invalid/nothing:1"'
    task = make_task("absent", config=config)
    (task / "environment" / "Dockerfile").unlink()
    trial_id = await deployment.submit(await deployment.task(task), max_attempts=1)
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert trial["status"] == "failed"
    assert "oddish-test.invalid/nothing:1 is not on the engine" in trial["error_message"]


async def test_a_prebuilt_image_of_the_engine_is_used_as_it_is(
    deployment: Deployment, make_task: Callable[..., Path], base_image: Callable[[str], str]
) -> None:
    config = f'[environment]\ndocker_image = "{base_image("prebuilt")}"\nworkdir = "/work"'
    task = make_task(
        "prebuilt",
        config=config,
        solve="grep -q prebuilt /marker && test -f /work/given && touch /solved",
        test="test -f /solved && echo 1 > /logs/verifier/reward.txt",
        files={"environment/given": "a file of the task\n"},
    )
    (task / "environment" / "Dockerfile").unlink()
    trial_id = await deployment.submit(await deployment.task(task), max_attempts=1)
    async with RunningWorker(deployment.settings):
        [trial] = await deployment.finished(trial_id)
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]
