"""What the trials of a run cost together is known at any time and ends them at the limit, with however many workers."""

import asyncio
import random
from pathlib import Path

import pytest
from sqlalchemy import text

from oddish.outcome import AttemptFacts, judge
from oddish.queue.claim import Claim
from oddish.queue.reap import lose
from oddish.trials import overspending
from oddish.trials.ledger import Spending
from oddish.trials.overspending import stop_overspent
from oddish.trials.progress import record
from oddish.trials.recording import Report, record_outcome
from support.deployments import ORG, Deployment

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "examples" / "hello-world"
SUCCESS = AttemptFacts("done", rewards={"reward": 1.0}, engine_reward_valid=True)
LIMIT = "Cancelled at the cost limit: the run has cost about $1.20, and its limit is $1.00."


async def budget(deployment: Deployment, name: str, *trial_ids: str, limit: float = 1) -> None:
    async with deployment.database.begin() as connection:
        named = {"org": ORG, "id": name, "limit": limit, "trials": list(trial_ids)}
        await connection.execute(text("INSERT INTO budgets (org_id, id, limit_usd) VALUES (:org, :id, :limit)"), named)
        await connection.execute(text("UPDATE trials SET budget_id = :id WHERE id = ANY (:trials)"), named)


async def budgets(deployment: Deployment) -> dict[str, tuple[float, bool, bool]]:
    """By name: what was spent, whether that is too much, and whether the trials have been stopped."""
    statement = "SELECT id, spent_usd, exceeded_at IS NOT NULL, stopped_at IS NOT NULL FROM budgets"
    async with deployment.database.connect() as connection:
        return {row[0]: tuple(row[1:]) for row in await connection.execute(text(statement))}


async def spend(deployment: Deployment, *spent: tuple[Claim, float]) -> None:
    async with deployment.database.begin() as connection:
        await record(connection, {}, {held: Spending(1, 0, 0, 1, usd, True, "p/m") for held, usd in spent})


async def settle(deployment: Deployment, held: Claim, usd: float | None, tokens: int | None = None) -> None:
    spending = Spending(input_tokens=tokens, cost_usd=usd, cost_is_estimated=None if usd is None else False)
    report = Report(rewards=SUCCESS.rewards, spending=spending)
    async with deployment.database.begin() as connection:
        await record_outcome(connection, held, judge(SUCCESS), report, rng=random.Random(1))


async def trials(deployment: Deployment, count: int) -> list[str]:
    task_id = await deployment.task(EXAMPLE)
    return [await deployment.submit(task_id, index=index) for index in range(count)]


async def test_a_budget_follows_the_ledger_of_its_trials(deployment: Deployment) -> None:
    mine, other = await trials(deployment, 2)
    await budget(deployment, "b", mine, limit=10)
    first, second = await deployment.claim(slots=2)
    await spend(deployment, (first, 0.25), (second, 5.0))
    await spend(deployment, (first, 0.5))
    await spend(deployment, (first, 0.25))
    assert (await budgets(deployment))["b"][0] == 0.5
    async with deployment.database.begin() as connection:
        await lose(connection, first)
    [again] = await deployment.claim()
    assert (first.subject_id, second.subject_id, again.subject_id) == (mine, other, mine)
    await spend(deployment, (first, 9.0), (again, 0.75))
    assert (await budgets(deployment))["b"][0] == 1.25
    await settle(deployment, again, 0.25)
    assert await budgets(deployment) == {"b": (0.75, False, False)}
    await settle(deployment, second, None)
    assert await budgets(deployment) == {"b": (0.75, False, False)}


async def test_a_cost_that_is_not_known_in_the_end_is_not_charged_back(deployment: Deployment) -> None:
    [mine] = await trials(deployment, 1)
    await budget(deployment, "b", mine)
    [held] = await deployment.claim()
    await spend(deployment, (held, 0.5))
    await settle(deployment, held, None, tokens=10)
    trial = await deployment.trial(mine)
    assert (trial["input_tokens"], trial["cost_usd"], trial["cost_is_estimated"]) == (10, None, None)
    assert await budgets(deployment) == {"b": (0.5, False, False)}


async def test_at_the_limit_everything_of_the_run_is_cancelled_and_says_why(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overspending, "STOPPED_AT_A_TIME", 2)
    names = await trials(deployment, 6)
    *mine, other = names
    await budget(deployment, "b", *mine)
    running, done, retrying = await deployment.claim(slots=3)
    await settle(deployment, done, 0.7)
    async with deployment.database.begin() as connection:
        await lose(connection, retrying)
    assert await stop_overspent(deployment.database) == 0
    await spend(deployment, (running, 0.5))
    assert await budgets(deployment) == {"b": (1.2, True, False)}
    assert await stop_overspent(deployment.database) == 4
    assert await budgets(deployment) == {"b": (1.2, True, True)}
    await settle(deployment, running, 0.6)
    shown = {name: await deployment.trial(name) for name in names}
    assert shown.pop(other)["status"] == "queued"
    assert shown.pop(done.subject_id)["status"] == "success"
    assert {trial["error_message"] for trial in shown.values()} == {LIMIT}
    assert {(trial["status"], trial["harbor_stage"]) for trial in shown.values()} == {("failed", "cancelled")}
    assert shown[running.subject_id]["cost_usd"] == 0.6


async def test_a_lost_execution_of_a_run_past_its_limit_says_why_it_is_over(deployment: Deployment) -> None:
    [mine] = await trials(deployment, 1)
    await budget(deployment, "b", mine)
    [held] = await deployment.claim()
    await spend(deployment, (held, 1.2))
    await stop_overspent(deployment.database)
    async with deployment.database.begin() as connection:
        await lose(connection, held)
    assert (await deployment.trial(mine))["error_message"] == LIMIT


async def test_two_workers_that_stop_the_same_run_share_the_work(deployment: Deployment) -> None:
    mine = await trials(deployment, 3)
    await budget(deployment, "b", *mine)
    [held] = await deployment.claim()
    await settle(deployment, held, 1.2)
    stopped = await asyncio.gather(*(stop_overspent(deployment.database) for _ in range(3)))
    assert sum(stopped) == 2
    assert await budgets(deployment) == {"b": (1.2, True, True)}


async def test_many_workers_at_once_count_every_cent_once(deployment: Deployment) -> None:
    names = await trials(deployment, 8)
    await budget(deployment, "a", *names[::2], limit=1000)
    await budget(deployment, "b", *names[1::2], limit=1000)
    held = await deployment.claim(slots=8)
    rng = random.Random(7)

    async def work(own: list[Claim]) -> None:
        for cents in range(1, 20):
            rng.shuffle(own)
            await spend(deployment, *((claim, cents / 4) for claim in own))
        for claim in own:
            await settle(deployment, claim, 8.0)

    await asyncio.gather(*(work(held[start::3]) for start in range(3)))
    assert await budgets(deployment) == {"a": (32.0, False, False), "b": (32.0, False, False)}
