"""The tasks that Harbor alone has run on Docker, and the examples: the same rewards and the same failures."""

from pathlib import Path
from typing import Any

import pytest

from support.deployments import Deployment, RunningWorker

pytestmark = pytest.mark.anyio

type Ending = tuple[str, dict[str, float] | None, str | None]
"""Status of the trial, rewards, class of the recorded exception."""

SCORED = "success"
ORACLE: dict[str, Ending] = {
    "broken-build": ("failed", None, "SandboxBuildFailedError"),
    "csv-totals": (SCORED, {"reward": 1}, None),
    "greet-script": (SCORED, {"reward": 1}, None),
    "hello-world": (SCORED, {"reward": 1}, None),
    "partial-credit": (SCORED, {"reward": 0.4, "presence": 0.6, "correctness": 0.4}, None),
    "separate-verifier": (SCORED, {"reward": 1}, None),
    "slow-count": (SCORED, {"reward": 1}, None),
    "timeout-after-work": (SCORED, {"reward": 1}, "AgentTimeoutError"),
    "timeout-before-work": (SCORED, {"reward": 0}, "AgentTimeoutError"),
    "two-steps": (SCORED, {"reward": 0.75, "lines": 4}, None),
    "verifier-empty-reward": ("failed", None, "RewardFileEmptyError"),
    "verifier-garbage-json": ("failed", None, "VerifierOutputParseError"),
    "verifier-garbage-text": ("failed", None, "VerifierOutputParseError"),
    "verifier-no-reward": ("failed", None, "RewardFileNotFoundError"),
    "zero-tests": (SCORED, {"reward": 1}, None),
}
NOP: dict[str, Ending] = {
    "csv-totals": (SCORED, {"reward": 0}, None),
    "hello-world": (SCORED, {"reward": 0}, None),
    "separate-verifier": (SCORED, {"reward": 0}, None),
    "two-steps": (SCORED, {"reward": 0, "lines": 0}, None),
}
EXAMPLES: dict[str, Ending] = {
    "broken-oracle": (SCORED, {"reward": 0}, None),
    "csv-report": (SCORED, {"reward": 1}, None),
    "hello-world": (SCORED, {"reward": 1}, None),
    "partial-credit": (SCORED, {"reward": 0.75, "present": 0.75}, None),
    "two-steps": (SCORED, {"reward": 1}, None),
}


async def outcomes(
    deployment: Deployment, tasks: list[Path], agent: str
) -> tuple[dict[str, Ending], dict[str, dict[str, Any]]]:
    """Run all tasks at once: task name -> how it ended, and its only attempt."""
    submitted = {task.name: await deployment.submit(await deployment.task(task), agent=agent) for task in sorted(tasks)}
    async with RunningWorker(deployment.settings):
        trials = await deployment.finished(*submitted.values(), seconds=180)
    endings: dict[str, Ending] = {}
    attempts = {}
    for (name, trial_id), trial in zip(submitted.items(), trials, strict=True):
        [attempts[name]] = await deployment.attempts(trial_id)
        failure = attempts[name]["failure"]
        endings[name] = (trial["status"], trial["rewards"], failure and failure["type"])
    return endings, attempts


async def test_the_oracle_ends_as_with_harbor_alone_and_a_failed_build_keeps_its_log(
    deployment: Deployment, recorded_tasks: Path
) -> None:
    endings, attempts = await outcomes(deployment, [recorded_tasks / name for name in ORACLE], "oracle")
    assert endings == ORACLE
    assert attempts["broken-build"]["reasons"] == ["image_build_failed"]
    log = await deployment.store.get(f"{attempts['broken-build']['artifact_prefix']}/build.log", max_bytes=2**20)
    assert b"tool.c:12: error: missing semicolon" in log


def test_every_recorded_task_has_an_expected_end(recorded_tasks: Path) -> None:
    assert set(ORACLE) == {path.name for path in recorded_tasks.iterdir()}


async def test_an_agent_that_does_nothing_ends_as_with_harbor_alone(
    deployment: Deployment, recorded_tasks: Path
) -> None:
    endings, _ = await outcomes(deployment, [recorded_tasks / name for name in NOP], "nop")
    assert endings == NOP


async def test_the_examples_score_what_they_say(deployment: Deployment, examples: Path) -> None:
    endings, _ = await outcomes(deployment, [examples / name for name in EXAMPLES], "oracle")
    assert endings == EXAMPLES
