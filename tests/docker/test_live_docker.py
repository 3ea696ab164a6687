"""What an agent in a container says is there for others to see while it still runs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.deployments import Deployment, RunningWorker
from support.engine_state import containers, docker
from support.live_events import said
from support.waiting import until

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "agent", [pytest.param("support.plain_agent:Waiting", id="printed"), pytest.param("oracle", id="in a file")]
)
async def test_lines_are_there_while_the_agent_runs_and_all_of_them_when_it_has_ended(
    deployment: Deployment, make_task: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    task = make_task("speaking", solve="echo one; until [ -e /app/heard ]; do sleep 0.05; done; echo two")
    trial_id = await deployment.submit(await deployment.task(task), agent=agent)
    async with RunningWorker(deployment.settings.model_copy(update={"allow_import_paths": True})):
        await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
        await until(lambda: said(deployment.database, trial_id))
        [container] = containers(attempt=f"{trial_id}.1-{(await claim_of(deployment, trial_id))[:8]}")
        docker("exec", container, "touch", "/app/heard")
        [trial] = await deployment.finished(trial_id)
    assert trial["reward"] == 1.0
    assert await said(deployment.database, trial_id) == ["one", "two"]


async def claim_of(deployment: Deployment, trial_id: str) -> str:
    [attempt] = await deployment.attempts(trial_id)
    return str(attempt["claim_id"]).replace("-", "")
