"""A worker whose commits are carried out and not answered, or whose clearing up takes long, records what is true."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from structlog.testing import capture_logs

from chaos.weather import Mood, Weather
from oddish.worker.heartbeat import Lease
from oddish.worker.workspace import Workspace
from support.deployments import Deployment, RunningWorker

pytestmark = pytest.mark.anyio


@pytest.fixture
def weather(database_url: str) -> Iterator[Weather]:
    address = urlsplit(database_url)
    query = parse_qs(address.query)
    upstream = Path(query["host"][0]) / f".s.PGSQL.{query['port'][0]}" if "host" in query else address.port or 5432
    with Weather(upstream) as proxy:
        yield proxy


def by(weather: Weather, database_url: str) -> str:
    address = urlsplit(database_url)
    login = address.netloc.rpartition("@")[0]
    return address._replace(netloc=f"{login}@127.0.0.1:{weather.port}", query="").geturl()


async def test_a_loss_whose_commit_was_not_answered_is_recorded_once_and_is_no_error(
    deployment: Deployment, slow_task: Path, weather: Weather, database_url: str
) -> None:
    settings = deployment.settings.model_copy(update={"database_url": by(weather, database_url)})
    trial_id = await deployment.submit(await deployment.task(slow_task))
    with capture_logs() as logs:
        async with RunningWorker(settings) as service:
            await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
            assert service.engine_pid is not None
            with weather.mood(Mood.FORGETFUL):
                os.kill(service.engine_pid, signal.SIGKILL)
                await deployment.until(lambda row: row["status"] == "retrying", trial_id)
            await deployment.until(lambda row: row["harbor_stage"] == "agent_running", trial_id)
            await deployment.cancel(trial_id)
            [trial] = await deployment.finished(trial_id)
    assert weather.struck
    states = [(attempt["epoch"], attempt["state"]) for attempt in await deployment.attempts(trial_id)]
    assert (states, trial["attempts"]) == ([(1, "lost"), (2, "cancelled")], 1)
    assert "execution failed" not in {entry["event"] for entry in logs}


async def test_an_attempt_that_is_recorded_is_cleared_up_in_peace(
    deployment: Deployment, examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats = 0
    beaten, begun = threading.Event(), threading.Event()
    discard, renewed = Workspace.discard, Lease.renewed

    def discard_slowly(workspace: Workspace, label: str) -> None:
        begun.set()
        assert beaten.wait(30)
        discard(workspace, label)

    def count(lease: Lease, *, asked_at: float) -> None:
        nonlocal beats
        beats += begun.is_set()
        if beats >= 3:
            beaten.set()
        renewed(lease, asked_at=asked_at)

    monkeypatch.setattr(Workspace, "discard", discard_slowly)
    monkeypatch.setattr(Lease, "renewed", count)
    trial_id = await deployment.submit(await deployment.task(examples / "hello-world"))
    with capture_logs() as logs:
        async with RunningWorker(deployment.settings):
            await deployment.finished(trial_id)
            await deployment.until(lambda row: beaten.is_set(), trial_id)
    assert "execution is no longer ours" not in {entry["event"] for entry in logs}
