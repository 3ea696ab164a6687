"""What others see of an attempt while it runs."""

import asyncio

import pytest

from oddish.worker.stages import SETTLE_SECONDS, Stages

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock:
    """Time passes when the test says so."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._pass = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._pass.wait()
        self._pass.clear()

    async def advance(self) -> None:
        self._pass.set()
        await settle()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_the_newest_stage_is_recorded_once_it_has_lasted_a_moment() -> None:
    recorded: list[str] = []

    async def record(stage: str) -> None:
        recorded.append(stage)

    clock = Clock()
    async with Stages(record, clock.sleep) as stages:
        for stage in ("trial_started", "environment_setup", "agent_running"):
            stages.show(stage)
            await settle()
        assert recorded == []
        await clock.advance()
        assert recorded == ["agent_running"]
        stages.show("agent_running")
        await settle()
        stages.show("verification")
        await settle()
        await clock.advance()
        assert recorded == ["agent_running", "verification"]
        stages.show("completed")
        await settle()
    assert recorded == ["agent_running", "verification"]
    assert set(clock.asked) == {SETTLE_SECONDS}


async def test_a_stage_that_is_being_recorded_is_waited_for_unless_the_attempt_is_taken_away() -> None:
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), []

    async def record(stage: str) -> None:
        begun.set()
        await may_end.wait()
        ended.append(stage)

    async def attempt() -> None:
        async with Stages(record, lambda _: asyncio.sleep(0)) as stages:
            stages.show("agent_running")
            await begun.wait()

    running = asyncio.create_task(attempt())
    await settle()
    assert not running.done()
    may_end.set()
    await running
    assert ended == ["agent_running"]

    begun.clear()
    may_end.clear()

    async def taken_away() -> None:
        async with Stages(record, lambda _: asyncio.sleep(0)) as stages:
            stages.show("agent_running")
            await asyncio.Event().wait()

    running = asyncio.create_task(taken_away())
    await begun.wait()
    running.cancel()
    await settle()
    assert running.cancelled()
    assert ended == ["agent_running"]
