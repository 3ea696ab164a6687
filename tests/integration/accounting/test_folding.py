"""Attempts are added up once, whoever ends late, dies or does the same meanwhile."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.accounting.folding import fold, fold_all
from oddish.accounting.spend import read_breakdown, read_tasks
from oddish.accounting.sums import Sums
from oddish.accounting.window import Window
from oddish.db.url import plain
from oddish.storage.store import ArtifactStore
from oddish.worker.upkeep import keep_up
from support.accounts import RAN, Accounts, Ran, Spent

pytestmark = pytest.mark.anyio

ORG = "org"
NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(hours=5)
LARGEST = 1.7e308
IN_STEPS = {"steps": [{"timing": {}}, {"timing": {"agent_execution": {"started_at": "2026-01-01T00:00:00Z"}}}]}


@pytest.fixture
def accounts(database_url: str) -> Iterator[Accounts]:
    with psycopg.connect(plain(database_url), autocommit=True) as connection:
        made = Accounts(connection, ORG)
        made.open()
        yield made


async def spent(engine: AsyncEngine) -> Sums:
    """In all, as far as both ways of adding up agree."""
    window = Window(7, NOW)
    async with engine.connect() as connection:
        found = await read_breakdown(connection, window, org_id=ORG)
        tasks = await read_tasks(connection, window, org_id=ORG, user_id="u0")
    total = sum((share.sums for share in found.by_model_and_agent), Sums())
    assert total == sum((one.sums for one in tasks.shown), Sums())
    return total


async def test_an_end_that_is_committed_after_its_hour_was_folded_counts(
    engine: AsyncEngine, accounts: Accounts
) -> None:
    accounts.add(Ran((Spent(LONG_AGO, 1.0),)))
    late = accounts.add(Ran((Spent(None, 2.0),)))
    with accounts.connection.transaction():
        accounts.connection.execute(
            "UPDATE attempts SET state = 'finished', finished_at = %s, cost_usd = 3 WHERE trial_id = %s",
            [LONG_AGO, late],
        )
        assert await fold_all(engine) == 1
        assert (await spent(engine)).cost_usd == 3.0
    assert (await spent(engine)).cost_usd == 4.0
    assert await fold_all(engine) == 1
    assert (await spent(engine)).cost_usd == 4.0


async def test_a_worker_that_is_killed_while_it_folds_leaves_everything_as_it_was(
    engine: AsyncEngine, accounts: Accounts
) -> None:
    for _ in range(3):
        accounts.add(Ran((Spent(LONG_AGO, 1.0),)))
    async with engine.connect() as killed:
        assert await fold(killed, most=2) == 2
        async with engine.begin() as other:
            assert await fold(other) == 0, "one folds at a time"
        await killed.rollback()
    assert (await spent(engine)).cost_usd == 3.0
    assert await fold_all(engine) == 3
    assert await spent(engine) == Sums(attempts=3, trials=3, cost_usd=3.0)


async def test_upkeep_folds_what_has_ended_and_nothing_else(
    engine: AsyncEngine, accounts: Accounts, tmp_path: Path
) -> None:
    accounts.add(Ran((Spent(LONG_AGO, 1.0), Spent(None, 2.0))))
    accounts.add(Ran((Spent(LONG_AGO, 9.0),), imported=True))
    await keep_up(engine, ArtifactStore.open(tmp_path.as_uri()), finished_job_days=30)
    rows = accounts.connection.execute("SELECT attempts, trials, cost_usd FROM spend_hours").fetchall()
    assert rows == [(1, 1, 1.0)]
    assert await spent(engine) == Sums(attempts=2, trials=1, running=1, cost_usd=3.0)


async def test_costs_that_no_sum_has_room_for_stop_nothing(engine: AsyncEngine, accounts: Accounts) -> None:
    for cost in (LARGEST, LARGEST, -LARGEST, float("nan"), float("inf")):
        accounts.add(Ran((Spent(LONG_AGO, cost, estimated=True),)))
    before = await spent(engine)
    assert await fold_all(engine) == 5
    assert await spent(engine) == before
    assert 0 < before.cost_usd < LARGEST


@pytest.mark.parametrize(
    ("trial", "unpriced", "unreported"),
    [
        pytest.param(Ran((Spent(LONG_AGO, None, input_tokens=5),)), 1, 0, id="tokens without a price"),
        pytest.param(Ran((Spent(LONG_AGO, None, output_tokens=5, facts=RAN),)), 1, 0, id="written only"),
        pytest.param(Ran((Spent(LONG_AGO, 0.0, input_tokens=5),)), 0, 0, id="free of charge"),
        pytest.param(Ran((Spent(LONG_AGO, None, input_tokens=0, output_tokens=0, facts=RAN),)), 0, 0, id="not used"),
        pytest.param(Ran((Spent(LONG_AGO, None, facts=RAN),)), 0, 1, id="a silent agent"),
        pytest.param(Ran((Spent(LONG_AGO, None, facts=IN_STEPS),)), 0, 1, id="a silent agent in steps"),
        pytest.param(Ran((Spent(LONG_AGO, None, facts={}),)), 0, 0, id="ended before its agent"),
        pytest.param(Ran((Spent(LONG_AGO, None, state="lost", stage="agent_running"),)), 0, 1, id="lost in its agent"),
        pytest.param(Ran((Spent(LONG_AGO, None, state="lost", stage="agent_setup"),)), 0, 0, id="lost before it"),
        pytest.param(Ran((Spent(LONG_AGO, None, facts=RAN),), agent="oracle"), 0, 0, id="an agent without a model"),
        pytest.param(Ran((Spent(None, None, stage="agent_running"),)), 0, 0, id="running"),
    ],
)
async def test_what_has_no_price_is_told_from_what_nobody_knows(
    engine: AsyncEngine, accounts: Accounts, trial: Ran, unpriced: int, unreported: int
) -> None:
    accounts.add(trial)
    for _ in range(2):
        found = await spent(engine)
        assert (found.unpriced, found.unreported, found.cost_usd) == (unpriced, unreported, 0.0)
        await fold_all(engine)


async def test_an_unknown_cost_goes_by_the_model_that_has_no_price(engine: AsyncEngine, accounts: Accounts) -> None:
    asked = "anthropic/claude-haiku-4-5"
    accounts.add(
        Ran((Spent(LONG_AGO, None, input_tokens=5, model="foo-9"), Spent(LONG_AGO, 1.0, model="x")), model=asked)
    )
    for _ in range(2):
        async with engine.connect() as connection:
            found = await read_breakdown(connection, Window(7, NOW), org_id=ORG)
        models = {share.model and share.model.name: share.sums.unpriced for share in found.by_model_and_agent}
        assert models == {"foo-9": 1, asked: 0}
        await fold_all(engine)


async def test_an_attempt_from_before_the_ledger_has_what_its_trial_shows_of_it(
    engine: AsyncEngine, accounts: Accounts
) -> None:
    trial_id = accounts.add(Ran((Spent(LONG_AGO, None), Spent(LONG_AGO, None, facts=RAN))))
    accounts.connection.execute(
        "UPDATE trials SET decided_by_epoch = 2, cost_usd = 2, cost_is_estimated = true, input_tokens = 7 "
        "WHERE id = %s",
        [trial_id],
    )
    expected = Sums(attempts=2, trials=1, input_tokens=7, cost_usd=2.0, estimated_cost_usd=2.0)
    assert await spent(engine) == expected
    await fold_all(engine)
    assert await spent(engine) == expected
