"""What an agent says is there for others to see while it still runs."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oddish.identity.principal import MEMBER, Principal, Scope
from oddish.trials.audience import Audience
from oddish.trials.following import Place, live_page
from support.deployments import ORG, USER, Deployment, RunningWorker
from support.live_events import said
from support.waiting import until

pytestmark = pytest.mark.anyio

SOMEBODY = Principal("key", ORG, USER, USER, MEMBER, Scope.READ)


async def until_said(deployment: Deployment, trial_id: str, words: str, attempt: int = 1) -> None:
    """Follows the trial, and says so each time: workers that have just begun may not have heard it before."""

    async def found() -> bool:
        async with deployment.database.begin() as connection:
            seen = await live_page(connection, SOMEBODY, trial_id, Place(), Audience())
        return seen.attempt == attempt and words in [event.payload["text"] for event in seen.events]

    await until(found)


async def test_lines_are_there_while_the_agent_runs_and_all_of_them_when_it_has_ended(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task("speaking", solve='echo hello; echo "token $SERVICE_TOKEN"; sleep 1; seq 1000; echo bye')
    secret = {"SERVICE_TOKEN": "correct-horse"}
    trial_id = await deployment.submit(await deployment.task(task), secret_env=secret)
    async with RunningWorker(deployment.settings):
        await until_said(deployment, trial_id, "hello")
        assert (await deployment.trial(trial_id))["status"] == "running"
        [trial] = await deployment.finished(trial_id)
    assert trial["reward"] == 1.0
    numbers = [str(number) for number in range(1, 1001)]
    assert await said(deployment.database, trial_id) == ["hello", "token [REDACTED]", *numbers, "bye"]


async def test_beyond_the_limit_a_summary_says_so(deployment: Deployment, make_task: Callable[..., Path]) -> None:
    trial_id = await deployment.submit(await deployment.task(make_task("verbose", solve="seq 1000")))
    async with RunningWorker(deployment.settings.model_copy(update={"live_max_events": 3})):
        await deployment.finished(trial_id)
    assert await said(deployment.database, trial_id) == ["1", "2", "3", "Only the first 3 events are shown live."]


async def test_when_a_worker_is_killed_the_next_attempt_begins_a_transcript_of_its_own(
    deployment: Deployment, make_task: Callable[..., Path]
) -> None:
    task = make_task("endless", solve="i=0; while :; do i=$((i+1)); echo $i; sleep 0.1; done")
    trial_id = await deployment.submit(await deployment.task(task))
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "oddish.worker"),
        env=dict(os.environ)
        | {"ODDISH_HOME": str(deployment.settings.home), "ODDISH_DATABASE_URL": deployment.settings.database_url}
        | {"ODDISH_LEASE_SECONDS": "12", "ODDISH_HEARTBEAT_SECONDS": "1"},
    )
    await until_said(deployment, trial_id, "5")
    worker.kill()
    await worker.wait()
    left = await said(deployment.database, trial_id)
    async with RunningWorker(deployment.settings):
        await until_said(deployment, trial_id, "3", attempt=2)
        await deployment.cancel(trial_id)
        await deployment.finished(trial_id)
    assert (await said(deployment.database, trial_id, attempt=2))[0] == "1"
    assert await said(deployment.database, trial_id) == left, "nothing of the dead attempt comes later"
