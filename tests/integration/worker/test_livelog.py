"""Live transcripts are stored while attempts run, and never get in their way."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.engine import connect
from oddish.engine.protocol import LogLine
from oddish.queue.claim import Claim
from oddish.queue.reap import lose
from oddish.transcript import Usage
from oddish.trials.ledger import Spending
from oddish.worker import livelog
from oddish.worker import tail as tails
from oddish.worker.folders import Place
from oddish.worker.livelog import LiveLogs
from oddish.worker.tail import Tail
from support.claims import EXAMPLE, claimed, deployment_with_a_worker
from support.deployments import Deployment
from support.live_events import said
from support.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def deployment(engine: AsyncEngine, oddish_home: Path, database_url: str) -> Deployment:
    return await deployment_with_a_worker(engine, oddish_home, database_url)


@pytest.fixture
async def claims(deployment: Deployment) -> list[Claim]:
    task = await deployment.task(EXAMPLE)
    for index in range(2):
        await deployment.submit(task, index=index)
    return [await claimed(deployment) for _ in range(2)]


def live_logs(deployment: Deployment, database: AsyncEngine | None = None, **changes: object) -> LiveLogs:
    quickly = {"live_interval_seconds": 0.02, "live_unfollowed_interval_seconds": 0.02}
    settings = deployment.settings.model_copy(update=quickly | changes)
    return LiveLogs(settings, database or deployment.database)


def place(tmp_path: Path, claim: Claim) -> Place:
    (tmp_path / claim.label / "agent").mkdir(parents=True, exist_ok=True)
    return Place(tmp_path / claim.label, "agent")


def write(place: Place, words: str, name: str = "oracle.txt") -> None:
    with (place.base / place.below / name).open("a") as file:
        file.write(words)


def unchanged(words: str) -> str:
    return words


def a_cent_a_token(usage: Usage) -> Spending:
    if "priceless" in usage.by_model:
        raise ZeroDivisionError
    return Spending(input_tokens=usage.input_tokens, cost_usd=usage.input_tokens / 100)


def follow(
    live: LiveLogs, claim: Claim, place: Place, *, agent: str = "oracle", redact: Callable[[str], str] = unchanged
) -> AbstractAsyncContextManager[Tail]:
    return live.follow(claim, agent, place, redact=redact, spend=a_cent_a_token)


def answered(tokens: int, model: str = "m", words: str = "an answer") -> str:
    """A line as Claude Code prints it."""
    usage = {"input_tokens": tokens, "output_tokens": 0}
    message = {"id": f"{tokens}", "model": model, "content": [{"type": "text", "text": words}], "usage": usage}
    return json.dumps({"type": "assistant", "uuid": f"{tokens}", "message": message}) + "\n"


async def stored(deployment: Deployment, claim: Claim) -> list[str]:
    return await said(deployment.database, claim.subject_id, claim.epoch)


async def until_stored(deployment: Deployment, claim: Claim, *words: str) -> None:
    async def are_stored() -> bool:
        return await stored(deployment, claim) == list(words)

    await until(are_stored)


async def ended_by(error: BaseException, deployment: Deployment, claim: Claim, folder: Place) -> None:
    async with follow(live_logs(deployment), claim, folder):
        write(folder, "last words\n")
        raise error


async def test_several_attempts_are_stored_together_while_they_run_and_to_their_end(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    live = live_logs(deployment)
    first, second = (place(tmp_path, claim) for claim in claims)
    async with follow(live, claims[0], first):
        async with follow(live, claims[1], second):
            write(first, "one\n")
            write(second, "uno\n")
            await until_stored(deployment, claims[0], "one")
            await until_stored(deployment, claims[1], "uno")
            write(second, "due")
        assert await stored(deployment, claims[1]) == ["uno", "due"]
        write(first, "two\n")
    assert await stored(deployment, claims[0]) == ["one", "two"]


async def test_an_attempt_that_is_followed_is_read_at_once_and_the_others_in_their_turn(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    live = live_logs(deployment, live_unfollowed_interval_seconds=10_000)
    first, second = (place(tmp_path, claim) for claim in claims)
    async with follow(live, claims[0], first), follow(live, claims[1], second):
        write(first, "one\n")
        write(second, "uno\n")
        live.followed(claims[0].subject_id)
        await until_stored(deployment, claims[0], "one")
        write(first, "two\n")
        await until_stored(deployment, claims[0], "one", "two")
        assert await stored(deployment, claims[1]) == []
        live.followed(claims[1].subject_id)
        await until_stored(deployment, claims[1], "uno")


async def test_an_attempt_that_begins_after_its_follower_has_come_is_read_at_once(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    live = live_logs(deployment, live_unfollowed_interval_seconds=10_000)
    live.followed(claims[1].subject_id)
    first, second = (place(tmp_path, claim) for claim in claims)
    async with follow(live, claims[0], first), follow(live, claims[1], second):
        write(first, "one\n")
        write(second, "uno\n")
        await until_stored(deployment, claims[1], "uno")
        assert await stored(deployment, claims[0]) == []


async def test_an_agent_that_prints_much_does_not_wait_for_its_turn(
    deployment: Deployment, claims: list[Claim], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tails, "HEARD_CHARACTERS", 40)
    live = live_logs(deployment, live_unfollowed_interval_seconds=10_000)
    async with follow(live, claims[0], place(tmp_path, claims[0])) as tail:
        tail.hear(LogLine(type="log", phase="agent", text="more than a quarter\n"))
        await until_stored(deployment, claims[0], "more than a quarter")


async def test_what_an_agent_spends_is_kept_while_it_runs_though_no_more_of_it_is_shown(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    async def kept(tokens: int, dollars: float) -> bool:
        row = (await deployment.attempts(claims[0].subject_id))[0]
        return (row["input_tokens"], row["cost_usd"]) == (tokens, dollars)

    live = live_logs(deployment, live_max_events=1)
    folder = place(tmp_path, claims[0])
    async with follow(live, claims[0], folder, agent="claude-code"):
        write(folder, answered(1), "claude-code.txt")
        await until(lambda: kept(1, 0.01))
        write(folder, answered(2) + answered(3), "claude-code.txt")
    assert await kept(6, 0.06)
    assert await stored(deployment, claims[0]) == ["an answer", "Only the first 1 events are shown live."]


async def test_a_price_that_cannot_be_told_leaves_the_transcript(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    live = live_logs(deployment)
    folder = place(tmp_path, claims[0])
    async with follow(live, claims[0], folder, agent="claude-code"):
        write(folder, answered(1, model="priceless"), "claude-code.txt")
        await until_stored(deployment, claims[0], "an answer")


async def test_an_attempt_that_was_taken_away_is_followed_no_more(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    live = live_logs(deployment)
    lost, kept = (place(tmp_path, claim) for claim in claims)
    async with (
        follow(live, claims[0], lost),
        follow(live, claims[1], kept),
    ):
        async with deployment.database.begin() as connection:
            await lose(connection, claims[0])
        write(lost, "too late\n")
        write(kept, "in time\n")
        await until_stored(deployment, claims[1], "in time")
    assert await stored(deployment, claims[0]) == []


async def test_nothing_is_stored_of_an_execution_that_was_cancelled(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    with pytest.raises(asyncio.CancelledError):
        await ended_by(asyncio.CancelledError(), deployment, claims[0], place(tmp_path, claims[0]))
    assert await stored(deployment, claims[0]) == []


async def test_a_database_that_is_away_holds_nobody_up(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    nowhere = connect("postgresql+psycopg://nobody@/nothing?host=/nonexistent", role="test")
    live = live_logs(deployment, nowhere)
    folder = place(tmp_path, claims[0])
    async with asyncio.timeout(livelog.LAST_SECONDS), follow(live, claims[0], folder):
        write(folder, "unheard\n")
        await asyncio.sleep(0.1)
    await nowhere.dispose()


async def test_events_wait_for_a_database_that_comes_back(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    live = live_logs(deployment)
    folder = place(tmp_path, claims[0])
    async with follow(live, claims[0], folder):
        async with deployment.database.connect() as connection:
            await connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            )
        write(folder, "kept\n")
        await until_stored(deployment, claims[0], "kept")


async def test_an_attempt_whose_logs_cannot_be_read_or_stored_harms_no_other(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    refuse = text(f"ALTER TABLE trial_events ADD CHECK (trial_id <> '{claims[0].subject_id}')")
    async with deployment.database.begin() as connection:
        await connection.execute(refuse)
    live = live_logs(deployment)
    bad, good = (place(tmp_path, claim) for claim in claims)
    async with (
        follow(live, claims[0], bad),
        follow(live, claims[1], good),
    ):
        for number in range(livelog.MOST_FAILURES + 1):
            write(bad, "refused\n")
            write(good, f"{number}\n")
            await until_stored(deployment, claims[1], *(str(earlier) for earlier in range(number + 1)))
    assert await stored(deployment, claims[0]) == []


async def test_a_defect_in_reading_ends_a_transcript_and_no_trial(
    deployment: Deployment, claims: list[Claim], tmp_path: Path
) -> None:
    def broken(words: str) -> str:
        raise ZeroDivisionError(words)

    live = live_logs(deployment)
    bad, good = (place(tmp_path, claim) for claim in claims)
    async with (
        follow(live, claims[0], bad, redact=broken),
        follow(live, claims[1], good),
    ):
        for number in range(livelog.MOST_FAILURES + 1):
            write(bad, "unreadable\n")
            write(good, f"{number}\n")
            await until_stored(deployment, claims[1], *(str(earlier) for earlier in range(number + 1)))
    assert await stored(deployment, claims[0]) == []


async def test_an_error_of_the_attempt_passes(deployment: Deployment, claims: list[Claim], tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        await ended_by(LookupError(), deployment, claims[0], place(tmp_path, claims[0]))
    assert await stored(deployment, claims[0]) == ["last words"]
