"""Images that were built for tasks are not removed under those who begin to use them."""

import os
from pathlib import Path

import pytest

from oddish.engine.containers import evict
from oddish.engine.image_records import beginning_to_use, locked, records, removing

pytestmark = pytest.mark.anyio

IMAGE = "0123456789abcdef"


@pytest.fixture
def old_record(tmp_path: Path) -> Path:
    record = records(tmp_path) / f"{IMAGE}.json"
    record.touch()
    os.utime(record, (0, 0))
    return record


async def evicted(home: Path) -> list[str]:
    return await evict(home, unused_seconds=60, program="true")


async def test_an_image_that_somebody_begins_to_use_or_builds_stays(tmp_path: Path, old_record: Path) -> None:
    with beginning_to_use(tmp_path, IMAGE):
        assert await evicted(tmp_path) == []
    async with locked(tmp_path, IMAGE):
        assert await evicted(tmp_path) == []
    assert await evicted(tmp_path) == [IMAGE]
    assert await evicted(tmp_path) == []


async def test_an_image_whose_use_just_began_stays(tmp_path: Path, old_record: Path) -> None:
    with beginning_to_use(tmp_path, IMAGE):
        os.utime(old_record)
    assert await evicted(tmp_path) == []


async def test_many_begin_to_use_an_image_at_once_and_none_while_it_is_removed_or_built(tmp_path: Path) -> None:
    with beginning_to_use(tmp_path, IMAGE) as first, beginning_to_use(tmp_path, IMAGE) as second:
        assert first
        assert second
        with removing(tmp_path, IMAGE) as is_removed:
            assert not is_removed
    with removing(tmp_path, IMAGE) as is_removed, beginning_to_use(tmp_path, IMAGE) as is_used:
        assert is_removed
        assert not is_used
    async with locked(tmp_path, IMAGE):
        with beginning_to_use(tmp_path, IMAGE) as is_used:
            assert not is_used
