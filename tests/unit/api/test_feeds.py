"""Followers are woken where there is something to read for them, and read together."""

import asyncio
from collections.abc import Hashable

import pytest

from oddish.api.feeds import Feed

pytestmark = pytest.mark.anyio


class Waiting:
    """Somebody who has seen something and waits for other."""

    def __init__(self, feed: Feed[str], seen: Hashable) -> None:
        self.task = asyncio.create_task(feed.changed(feed.changes, seen=seen))

    async def is_woken(self) -> bool:
        for _ in range(3):
            await asyncio.sleep(0)
        return self.task.done()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def feed() -> Feed[str]:
    return Feed()


async def test_a_change_wakes_all_and_none_is_missed(feed: Feed[str]) -> None:
    both = [Waiting(feed, "old"), Waiting(feed, "other")]
    assert not any([await one.is_woken() for one in both])
    before = feed.changes
    feed.change()
    assert all([await one.is_woken() for one in both])
    await feed.changed(before, seen="old")
    assert not await Waiting(feed, "old").is_woken()


async def test_a_glance_wakes_those_who_have_seen_something_else(feed: Feed[str]) -> None:
    old, new = Waiting(feed, "old"), Waiting(feed, "new")
    assert not await old.is_woken()
    feed.glance("new")
    assert (await old.is_woken(), await new.is_woken()) == (True, False)
    feed.glance(None)
    assert await new.is_woken(), "it is gone"


async def test_a_glance_that_finds_nothing_new_changes_nothing(feed: Feed[str]) -> None:
    before = feed.changes
    same = Waiting(feed, "same")
    await same.is_woken()
    feed.glance("same")
    assert (await same.is_woken(), feed.changes) == (False, before)


async def test_who_waits_no_more_is_forgotten(feed: Feed[str]) -> None:
    before = feed.changes
    gone = Waiting(feed, "old")
    assert not await gone.is_woken()
    gone.task.cancel()
    assert await gone.is_woken()
    feed.glance("new")
    assert feed.changes == before


async def test_those_who_read_the_same_after_the_same_change_share_a_reading(feed: Feed[str]) -> None:
    begun, go = list[str](), asyncio.Event()

    async def read() -> str:
        begun.append("reading")
        await go.wait()
        return f"reading {len(begun)}"

    shared = [asyncio.create_task(feed.read("place", read)) for _ in range(3)]
    other = asyncio.create_task(feed.read("elsewhere", read))
    await asyncio.sleep(0)
    feed.change()
    later = asyncio.create_task(feed.read("place", read))
    await asyncio.sleep(0)
    go.set()
    assert len({*await asyncio.gather(*shared)}) == 1
    await asyncio.gather(other, later)
    assert len(begun) == 3
