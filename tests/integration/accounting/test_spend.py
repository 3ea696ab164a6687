"""What is reported equals what was spent, whatever has been folded when."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.accounting.folding import fold
from oddish.accounting.shares import Ranking, Share
from oddish.accounting.spend import read_breakdown, read_periods, read_tasks
from oddish.accounting.sums import Sums
from oddish.accounting.window import Window, truncated
from oddish.db.engine import connect
from oddish.db.url import plain
from support.accounts import RAN, Accounts, Ran, Spent, entries, total

ORG = "org"
HOUR = truncated(datetime.now(UTC), timedelta(hours=1))
DAYS = (0, 1, 2, 7, 93)
EDGES = sorted({24 * days * windows + beside for days in DAYS for windows in (1, 2) for beside in (0, 1)})
"""Hours ago, at the beginnings of windows and of those before them."""
MODELS = (("openai", "openai/gpt-5"), ("anthropic", "anthropic/opus"), ("openai", None))
TRIALS_AT_MOST = 12

costs = st.one_of(st.none(), st.integers(0, 400).map(lambda eighths: eighths / 8))
"""Sums of eighths are exact in any order."""
tokens = st.one_of(st.none(), st.integers(0, 2**40))


@st.composite
def attempts(draw: st.DrawFn) -> Spent:
    hours = draw(st.one_of(st.sampled_from(EDGES), st.integers(0, 24 * 70)))
    cost, read, written = draw(costs), draw(tokens), draw(tokens)
    ran = draw(st.booleans())
    return Spent(
        ended=HOUR - timedelta(hours=hours) + timedelta(minutes=draw(st.integers(0, 59))),
        cost_usd=cost,
        estimated=draw(st.booleans()),
        input_tokens=read,
        output_tokens=written,
        cache_tokens=draw(tokens),
        cache_write_tokens=draw(tokens),
        state=draw(st.sampled_from(["finished", "cancelled"])),
        facts=RAN if ran else None,
        unreported=ran and cost is read is written is None,
    )


@st.composite
def trials(draw: st.DrawFn) -> Ran:
    ended = draw(st.lists(attempts(), max_size=3))
    running = draw(st.lists(st.builds(Spent, st.none(), costs), max_size=1))
    provider, model = draw(st.sampled_from(MODELS))
    return Ran(
        attempts=(*ended, *running),
        user=draw(st.sampled_from(["u0", "u1"])),
        experiment=draw(st.sampled_from(["e0", "e1"])),
        task=draw(st.sampled_from(["t0", "t1"])),
        agent=draw(st.sampled_from(["codex", "aider"])),
        model=model,
        provider=provider,
        imported=draw(st.integers(0, 5)) == 0,
        deleted=draw(st.booleans()),
        probe=draw(st.booleans()),
    )


steps = st.lists(st.one_of(trials(), st.integers(1, 8)), max_size=2 * TRIALS_AT_MOST)
"""Trials that are added, and folds of so many attempts, in turn."""


@pytest.fixture(scope="module")
def database(new_database: Callable[[], str]) -> str:
    return new_database()


@pytest.fixture(scope="module")
def accounts(database: str) -> Iterator[Accounts]:
    with psycopg.connect(plain(database), autocommit=True) as connection:
        made = Accounts(connection, ORG)
        made.open()
        yield made


@settings(max_examples=20)
@given(history=steps, days=st.sampled_from(DAYS))
def test_reports_equal_what_was_spent(
    database: str, accounts: Accounts, history: Sequence[Ran | int], days: int
) -> None:
    async def example() -> None:
        engine = connect(database, role="test")
        added: list[Ran] = []
        async with engine.connect() as connection:
            for step in history:
                if isinstance(step, Ran):
                    accounts.add(step)
                    added.append(step)
                else:
                    await fold(connection, most=step)
                    await connection.commit()
            await check(connection, added, days)
        await engine.dispose()

    accounts.clear()
    asyncio.run(example())


async def check(connection: AsyncConnection, added: Sequence[Ran], days: int) -> None:
    now = await connection.scalar(select(func.now()))
    assert now is not None
    window = Window(days, now)
    everything = entries(added, now)
    spent = [entry for entry in everything if entry[0] >= window.start]

    def bucket(hour: datetime) -> datetime:
        day = hour.replace(hour=0)
        return {"hour": hour, "day": day, "week": day - timedelta(days=day.weekday())}[window.bucket]

    found = await read_breakdown(connection, window, org_id=ORG)
    assert parts(found.by_agent_and_bucket) == total(spent, lambda hour, trial: (bucket(hour), None, trial.agent, None))
    assert parts(found.by_model_and_bucket) == total(
        spent, lambda hour, trial: (bucket(hour), None, None, (trial.provider, trial.model))
    )
    assert parts(found.by_user_and_bucket) == total(spent, lambda hour, trial: (bucket(hour), trial.user, None, None))
    assert parts(found.by_model_and_user) == total(
        spent, lambda _, trial: (None, trial.user, None, (trial.provider, trial.model))
    )
    assert parts(found.by_model_and_agent) == total(
        spent, lambda _, trial: (None, None, trial.agent, (trial.provider, trial.model))
    )
    assert ranks(found.experiments) == total(spent, lambda _, trial: trial.experiment)
    for user in ("u0", "u1"):
        own = [entry for entry in spent if entry[1].user == user]
        of_user = await read_breakdown(connection, window, org_id=ORG, user_id=user)
        assert parts(of_user.by_model_and_agent) == total(
            own, lambda _, trial: (None, None, trial.agent, (trial.provider, trial.model))
        )
        tasks = await read_tasks(connection, window, org_id=ORG, user_id=user)
        assert ranks(tasks) == total(own, lambda _, trial: trial.task)
    for other in (Window(days, now) for days in DAYS):
        periods = await read_periods(connection, other, org_id=ORG)
        before = [sums.cost_usd for hour, _, sums in everything if other.previous_start <= hour < other.start]
        assert periods.previous == sum(before)
        assert periods.month == sum(
            sums.cost_usd for hour, _, sums in everything if (hour.year, hour.month) >= (now.year, now.month)
        )


def parts(shares: Sequence[Share]) -> dict[tuple[object, ...], Sums]:
    found = {
        (
            share.bucket,
            share.user and share.user.id,
            share.agent,
            share.model and (share.model.provider, share.model.name),
        ): share.sums
        for share in shares
    }
    assert len(found) == len(shares)
    return found


def ranks(ranking: Ranking) -> dict[str, Sums]:
    costs_in_order = [one.sums.cost_usd for one in ranking.shown]
    assert costs_in_order == sorted(costs_in_order, reverse=True)
    assert ranking.found == len(ranking.shown)
    return {one.id: one.sums for one in ranking.shown}
