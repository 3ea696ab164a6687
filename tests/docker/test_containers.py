"""What a task's container may use and see, and what of a trial lives on in it."""

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from support.deployments import Deployment, RunningWorker
from support.engine_state import command_line, containers, docker, inspect, runs
from support.waiting import until

pytestmark = pytest.mark.anyio

TICKING = "while true; do date +%N > /app/next; mv /app/next /app/tick; sleep 0.05; done"
"""The file is never empty, as it would be while it is written."""
STILL = "before=$(cat /app/tick); sleep 1; after=$(cat /app/tick)\n"


async def result(deployment: Deployment, task: Path, **trial: object) -> dict:
    trial_id = await deployment.submit(await deployment.task(task), max_attempts=1, **trial)  # type: ignore[arg-type]
    async with RunningWorker(deployment.settings):
        [finished] = await deployment.finished(trial_id)
    return finished


async def first_attempt(deployment: Deployment, trial_id: str) -> str:
    """The label of its containers."""
    [attempt] = await deployment.attempts(trial_id)
    return f"{trial_id}.1-{attempt['claim_id'].hex[:8]}"


async def test_a_container_has_the_limits_of_its_task_and_the_labels_of_its_attempt(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task("bounded", solve="sleep 300", config="[environment]\ncpus = 1\nmemory_mb = 256")
    trial_id = await deployment.submit(await deployment.task(task))
    async with RunningWorker(deployment.settings):
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        [container] = containers(attempt=await first_attempt(deployment, trial_id))
        limits = inspect(container, "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}}")
        project = inspect(container, '{{index .Config.Labels "com.docker.compose.project"}}')
        await deployment.cancel(trial_id)
        await deployment.finished(trial_id)
    assert limits == f"{10**9} {256 * 2**20}"
    assert trial_id in project


async def test_what_an_agent_leaves_running_on_purpose_is_there_for_the_verifier(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task(
        "serving",
        solve=f"nohup bash -c '{TICKING}' >/dev/null 2>&1 &\nuntil [ -e /app/tick ]; do sleep 0.05; done",
        test=f"{STILL}[ $before != $after ] && echo 1 > /logs/verifier/reward.txt",
    )
    trial = await result(deployment, task)
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]


async def test_an_agent_out_of_time_does_nothing_more_while_it_is_verified(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task(
        "overtime",
        solve=f"( sleep 300.5 & ) ; ( {TICKING} )",
        test=f"{STILL}[ $before = $after ] && grep -qa 300[.]5 /proc/*/cmdline && echo 1 > /logs/verifier/reward.txt",
        config="[agent]\ntimeout_sec = 3",
    )
    trial = await result(deployment, task)
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]


async def test_secrets_are_in_no_command_line(deployment: Deployment, make_task: Callable[..., Path]) -> None:
    secret = "correct-horse-battery-staple"
    task = make_task("quiet", solve="[ ${#SERVICE_TOKEN} = 28 ] && exec sleep 300.75")
    trial_id = await deployment.submit(await deployment.task(task), secret_env={"SERVICE_TOKEN": secret})
    async with RunningWorker(deployment.settings):
        await until(lambda: runs("sleep", "300.75"), 60)
        shown = " ".join(argument for process in psutil.process_iter() for argument in command_line(process))
        await deployment.cancel(trial_id)
        await deployment.finished(trial_id)
    assert "300.75" in shown
    assert secret not in shown


async def test_a_task_without_a_network_reaches_nothing_and_is_verified(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task(
        "alone",
        test="[ $(ls /sys/class/net) = lo ] && echo 1 > /logs/verifier/reward.txt",
        config='[environment]\nnetwork_mode = "no-network"',
    )
    trial = await result(deployment, task)
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]


async def test_the_containers_of_two_trials_do_not_reach_each_other(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    serving = make_task("listening", solve="python3 -m http.server 8000")
    task_id = await deployment.task(serving)
    trials = [await deployment.submit(task_id, index=index) for index in range(2)]
    async with RunningWorker(deployment.settings):
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", *trials)
        first, second = containers()
        address = inspect(first, "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
        fetch = "curl --silent --max-time 3 --retry 20 --retry-connrefused --output /dev/null"
        docker("exec", first, *fetch.split(), f"http://{address}:8000/")
        with pytest.raises(AssertionError):
            docker("exec", second, "curl", "--silent", "--max-time", "3", f"http://{address}:8000/")
        await deployment.cancel(*trials)
        await deployment.finished(*trials)


@pytest.mark.parametrize(
    ("name", "dockerfile", "said"),
    [
        (
            "ending",
            'FROM ubuntu:24.04\nENTRYPOINT ["sh", "-c", "echo no configuration; exit 3"]\n',
            "ended with code 3",
        ),
        ("shell-less", "FROM ubuntu:24.04\nRUN mv /bin/bash /bin/hidden\n", "No command can start"),
        ("nowhere", 'FROM ubuntu:24.04\nENTRYPOINT ["/no/such/program"]\n', "cannot be started"),
    ],
)
async def test_an_image_that_cannot_be_used_is_a_failed_build(
    deployment: Deployment, make_task: Callable[..., Path], name: str, dockerfile: str, said: str
) -> None:
    trial = await result(deployment, make_task(name, dockerfile=dockerfile))
    assert trial["status"] == "failed"
    assert said in trial["error_message"]


async def test_a_trial_starts_when_its_image_says_that_it_is_healthy(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    dockerfile = (
        "FROM ubuntu:24.04\nCOPY --chmod=755 entry /entry\n"
        'HEALTHCHECK --interval=500ms CMD test -f /ready\nENTRYPOINT ["/entry"]\n'
    )
    task = make_task(
        "healthy",
        dockerfile=dockerfile,
        solve="test -f /ready && touch /seen",
        test="[ -f /seen ] && echo 1 > /logs/verifier/reward.txt",
        files={"environment/entry": '#!/bin/sh\nsleep 1; touch /ready; exec "$@"\n'},
    )
    trial = await result(deployment, task)
    assert (trial["status"], trial["reward"]) == ("success", 1.0), trial["error_message"]


async def test_a_container_that_somebody_removes_before_it_is_healthy_is_no_fault_of_its_image(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    dockerfile = "FROM ubuntu:24.04\nHEALTHCHECK --interval=500ms --start-period=300s CMD false\n"
    trial_id = await deployment.submit(await deployment.task(make_task("removed", dockerfile=dockerfile)))
    async with RunningWorker(deployment.settings):
        await deployment.until(lambda row: row["status"] == "running", trial_id)
        label = await first_attempt(deployment, trial_id)
        [container] = await until(lambda: containers(attempt=label))
        await until(lambda: inspect(container, "{{.State.Health.Status}}") == "starting")
        docker("rm", "--force", container)
        await deployment.until(lambda row: row["status"] == "retrying", trial_id)
        await deployment.cancel(trial_id)
        await deployment.finished(trial_id)
    [attempt, *_] = await deployment.attempts(trial_id)
    assert attempt["reasons"] == ["RuntimeError"]


async def test_a_link_in_the_place_of_a_log_harms_no_file_of_the_worker(
    deployment: Deployment, make_task: Callable[..., Path], tmp_path: Path
) -> None:
    """Harbor writes exit-code.txt beside the agent's logs when a solution fails."""
    key = tmp_path / "key"
    key.write_text("the worker's own")
    task = make_task("linking", solve=f"ln -s {key} /logs/agent/exit-code.txt; exit 3")
    trial = await result(deployment, task, harbor={"environment": {"kwargs": {"auto_mounting": True}}})
    assert key.read_text() == "the worker's own"
    assert "agent/exit-code.txt" in trial["error_message"]
