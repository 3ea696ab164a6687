"""What an attempt came to is recorded once, by its owner only, and decides whether the trial runs again."""

import random
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.outcome import AttemptFacts, RecordedException, judge
from oddish.queue.claim import Claim
from oddish.queue.finish import StaleClaim
from oddish.queue.reap import lose
from oddish.trials.recording import Report, record_outcome, record_stage
from support.claims import EXAMPLE, claimed, deployment_with_a_worker
from support.deployments import Deployment

pytestmark = pytest.mark.anyio

SUCCESS = AttemptFacts("done", rewards={"reward": 1.0}, engine_reward_valid=True)
FLAKY = AttemptFacts("done", exceptions=(RecordedException("HealthcheckError", "not yet", "environment_setup"),))
REFUSED = AttemptFacts("done", exceptions=(RecordedException("AgentAuthenticationError", "no", "agent_execution"),))
UNTRUSTED = AttemptFacts(
    "done",
    rewards={"reward": 1.0},
    exceptions=(RecordedException("RuntimeError", "docker broke", "agent_execution", has_valid_reward=True),),
    engine_reward_valid=True,
)


def limited(message: str) -> AttemptFacts:
    return AttemptFacts("done", exceptions=(RecordedException("RateLimitError", message, "agent_execution"),))


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    return await deployment_with_a_worker(engine, oddish_home, database_url)


@pytest.fixture
async def trial_id(deployment: Deployment) -> str:
    return await deployment.submit(await deployment.task(EXAMPLE), max_attempts=2)


async def recorded(deployment: Deployment, held: Claim, facts: AttemptFacts) -> dict:
    report = Report(
        rewards=facts.rewards,
        failure={"type": "T", "message": "m"} if facts.exceptions else None,
        total_tool_calls=3,
        tool_counts={"bash": 2},
        duration_seconds=1.5,
    )
    async with deployment.database.begin() as connection:
        await record_outcome(connection, held, judge(facts), report, rng=random.Random(1))
    return await deployment.trial(held.subject_id)


async def delay(deployment: Deployment) -> float:
    async with deployment.database.connect() as connection:
        seconds = await connection.scalar(text("SELECT extract(epoch FROM run_at - now()) FROM jobs"))
        return float(seconds)


async def test_a_success_ends_the_trial(deployment: Deployment, trial_id: str) -> None:
    trial = await recorded(deployment, await claimed(deployment), SUCCESS)
    assert (trial["status"], trial["reward"], trial["decided_by_epoch"]) == ("success", 1.0, 1)
    assert (trial["total_tool_calls"], trial["tool_counts"], trial["duration_seconds"]) == (3, {"bash": 2}, 1.5)
    assert trial["finished_at"] is not None
    async with deployment.database.connect() as connection:
        unsaid = await connection.scalar(
            text("SELECT t.result IS NULL AND a.failure IS NULL FROM trials t JOIN attempts a ON a.trial_id = t.id")
        )
    assert unsaid, "what nobody said is no JSON null"


async def test_a_failure_runs_again_within_the_budget_and_shows_no_reward_meanwhile(
    deployment: Deployment, trial_id: str
) -> None:
    first = await recorded(deployment, await claimed(deployment), UNTRUSTED)
    assert (first["status"], first["reward"], first["attempts"]) == ("retrying", None, 1)
    assert 25 < await delay(deployment) < 40
    second = await recorded(deployment, await claimed(deployment), UNTRUSTED)
    assert (second["status"], second["reward"], second["attempts"]) == ("failed", 1.0, 2)
    states = [attempt["state"] for attempt in await deployment.attempts(trial_id)]
    assert states == ["finished", "finished"]


async def test_what_a_repetition_cannot_cure_is_not_repeated(deployment: Deployment, trial_id: str) -> None:
    trial = await recorded(deployment, await claimed(deployment), REFUSED)
    assert (trial["status"], trial["attempts"], trial["reasons"]) == ("failed", 1, ["AgentAuthenticationError"])


@pytest.mark.parametrize(
    ("message", "least", "most"),
    [("slow down", 300, 376), ("slow down; retry-after: 900", 900, 1126), ("try again in 3 h", 1800, 2251)],
)
async def test_a_rate_limit_waits_longer_and_as_long_as_asked(
    deployment: Deployment, trial_id: str, message: str, least: float, most: float
) -> None:
    trial = await recorded(deployment, await claimed(deployment), limited(message))
    assert trial["status"] == "retrying"
    assert least - 5 < await delay(deployment) < most


async def test_a_lost_attempt_leaves_the_budget_whole(deployment: Deployment, trial_id: str) -> None:
    held = await claimed(deployment)
    async with deployment.database.begin() as connection:
        await lose(connection, held)
    await recorded(deployment, await claimed(deployment), FLAKY)
    trial = await recorded(deployment, await claimed(deployment), FLAKY)
    assert (trial["status"], trial["attempts"]) == ("failed", 2)
    assert [attempt["state"] for attempt in await deployment.attempts(trial_id)] == ["lost", "finished", "finished"]


async def test_a_cancel_wins_over_the_result_that_comes_after_it(deployment: Deployment, trial_id: str) -> None:
    held = await claimed(deployment)
    await deployment.cancel(trial_id)
    trial = await recorded(deployment, held, SUCCESS)
    assert (trial["status"], trial["harbor_stage"], trial["error_message"]) == (
        "failed",
        "cancelled",
        "Cancelled by user",
    )
    [attempt] = await deployment.attempts(trial_id)
    assert (attempt["state"], attempt["status"]) == ("cancelled", "cancelled")


async def test_a_late_report_changes_nothing(deployment: Deployment, trial_id: str) -> None:
    zombie = await claimed(deployment)
    async with deployment.database.begin() as connection:
        await lose(connection, zombie)
    current = await claimed(deployment)
    before = await deployment.trial(trial_id), await deployment.attempts(trial_id)
    with pytest.raises(StaleClaim):
        await recorded(deployment, zombie, SUCCESS)
    async with deployment.database.begin() as connection:
        await record_stage(connection, zombie, "verification")
    assert (await deployment.trial(trial_id), await deployment.attempts(trial_id)) == before
    assert (await recorded(deployment, current, SUCCESS))["decided_by_epoch"] == 2
