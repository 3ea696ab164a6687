"""What attempts spend is kept while they run and settled when they end; each attempt counts once."""

import random
from pathlib import Path

import pytest

from oddish.identity.principal import ADMIN, Principal, Scope
from oddish.outcome import AttemptFacts, RecordedException, judge
from oddish.queue.claim import Claim
from oddish.queue.reap import lose
from oddish.trials.ledger import Spending
from oddish.trials.progress import record
from oddish.trials.queries import get_trial
from oddish.trials.recording import Report, record_outcome
from support.deployments import ORG, USER, Deployment

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "examples" / "hello-world"
SUCCESS = AttemptFacts("done", rewards={"reward": 1.0}, engine_reward_valid=True)
FLAKY = AttemptFacts("done", exceptions=(RecordedException("HealthcheckError", "not yet", "environment_setup"),))
CALLER = Principal("k", ORG, USER, "user", ADMIN, Scope.FULL)
EARLY = Spending(10, 4, 2, 1, 0.1, True, "p/m")
LATER = Spending(20, 8, 4, 2, 0.2, True, "p/m")


@pytest.fixture
async def held(deployment: Deployment) -> Claim:
    await deployment.submit(await deployment.task(EXAMPLE), max_attempts=3)
    [held] = await deployment.claim()
    return held


async def seen(deployment: Deployment, held: Claim, spending: Spending) -> None:
    async with deployment.database.begin() as connection:
        await record(connection, {}, {held: spending})


async def settled(deployment: Deployment, held: Claim, facts: AttemptFacts, spending: Spending) -> None:
    async with deployment.database.begin() as connection:
        report = Report(rewards=facts.rewards, spending=spending)
        await record_outcome(connection, held, judge(facts), report, rng=random.Random(1))


async def ledger(deployment: Deployment, held: Claim) -> list[Spending]:
    columns = ("input_tokens", "cache_tokens", "cache_write_tokens", "output_tokens", "cost_usd", "cost_is_estimated")
    attempts = await deployment.attempts(held.subject_id)
    return [Spending(*(attempt[name] for name in (*columns, "model"))) for attempt in attempts]


async def shown(deployment: Deployment, held: Claim) -> tuple:
    trial = await deployment.trial(held.subject_id)
    return trial["input_tokens"], trial["cache_write_tokens"], trial["cost_usd"], trial["cost_is_estimated"]


async def test_figures_of_a_running_attempt_only_rise(deployment: Deployment, held: Claim) -> None:
    await seen(deployment, held, LATER)
    await seen(deployment, held, EARLY)
    assert await ledger(deployment, held) == [LATER]


async def test_what_is_unknown_stays_unknown_and_takes_nothing_away(deployment: Deployment, held: Claim) -> None:
    await seen(deployment, held, Spending(10, 0, 0, 1))
    assert await ledger(deployment, held) == [Spending(10, 0, 0, 1)]
    await seen(deployment, held, LATER)
    await seen(deployment, held, Spending())
    assert await ledger(deployment, held) == [LATER]


async def test_a_trial_that_runs_shows_what_it_has_spent_so_far(deployment: Deployment, held: Claim) -> None:
    async def read() -> tuple:
        async with deployment.database.connect() as connection:
            trial = await get_trial(connection, CALLER, held.subject_id)
        return trial.input_tokens, trial.cache_write_tokens, trial.cost_usd, trial.cost_is_estimated

    assert await read() == (None, None, None, None)
    await seen(deployment, held, EARLY)
    assert await read() == (10, 2, 0.1, True)
    await settled(deployment, held, FLAKY, Spending(9, 1, 1, 1, 0.05, False))
    again = (await deployment.claim())[0]
    assert await read() == (9, 1, 0.05, False)
    await seen(deployment, again, LATER)
    assert await read() == (20, 4, 0.2, True)


async def test_an_execution_that_lost_its_claim_writes_nothing(deployment: Deployment, held: Claim) -> None:
    await seen(deployment, held, EARLY)
    async with deployment.database.begin() as connection:
        await lose(connection, held)
    [again] = await deployment.claim()
    async with deployment.database.begin() as connection:
        await record(connection, {}, {held: LATER, again: LATER})
    assert await ledger(deployment, held) == [EARLY, LATER]


async def test_settling_says_what_it_came_to_in_the_end(deployment: Deployment, held: Claim) -> None:
    await seen(deployment, held, LATER)
    await settled(deployment, held, SUCCESS, Spending(19, 8, None, 2, 0.15, False, "p/m"))
    assert await ledger(deployment, held) == [Spending(19, 8, 4, 2, 0.15, False, "p/m")]
    assert await shown(deployment, held) == (19, 4, 0.15, False)
    await seen(deployment, held, LATER)
    assert (await ledger(deployment, held))[0].input_tokens == 19


async def test_what_was_seen_last_counts_where_the_end_knows_nothing(deployment: Deployment, held: Claim) -> None:
    await seen(deployment, held, EARLY)
    await settled(deployment, held, SUCCESS, Spending())
    assert await ledger(deployment, held) == [EARLY]
    assert await shown(deployment, held) == (10, 2, 0.1, True)


async def test_every_attempt_keeps_its_own_and_the_trial_shows_the_last(deployment: Deployment, held: Claim) -> None:
    await settled(deployment, held, FLAKY, EARLY)
    assert await shown(deployment, held) == (10, 2, 0.1, True)
    [second] = await deployment.claim()
    await seen(deployment, second, LATER)
    async with deployment.database.begin() as connection:
        await lose(connection, second)
    assert await shown(deployment, held) == (20, 4, 0.2, True)
    [third] = await deployment.claim()
    async with deployment.database.begin() as connection:
        await lose(connection, third)
    assert await shown(deployment, held) == (20, 4, 0.2, True)
    assert await ledger(deployment, held) == [EARLY, LATER, Spending()]


async def test_a_cancelled_trial_shows_what_it_had_spent(deployment: Deployment, held: Claim) -> None:
    await seen(deployment, held, EARLY)
    await deployment.cancel(held.subject_id)
    await settled(deployment, held, FLAKY, LATER)
    trial = await deployment.trial(held.subject_id)
    assert (trial["status"], trial["decided_by_epoch"]) == ("failed", 1)
    assert await shown(deployment, held) == (20, 4, 0.2, True)
