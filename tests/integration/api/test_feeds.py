"""Feeds that listen to a real database."""

import asyncio
from collections.abc import Collection, Mapping

import pytest

from oddish.api.feeds import Feeds
from oddish.trials.events import LIVE_CHANNEL

pytestmark = pytest.mark.anyio


async def nothing_new(_: Collection[str]) -> Mapping[str, None]:
    return {}


async def test_what_is_read_before_the_server_listens_is_read_again_as_soon_as_it_does(database_url: str) -> None:
    feeds = Feeds[str](database_url, LIVE_CHANNEL, nothing_new)
    async with feeds.follow("trial") as feed, asyncio.timeout(60):
        await feed.changed(feed.changes, seen=None)
