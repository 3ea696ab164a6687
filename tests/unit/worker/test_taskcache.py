"""Tasks on a worker's machine: unpacked once, there while they are used, evicted when they are old."""

import asyncio
import io
import os
from pathlib import Path

import pytest

from oddish.errors import OddishError
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits
from oddish.tasks.package import publish_set, write_archive
from oddish.worker.taskcache import TaskCache
from unit.tasks.trees import TASK, plant

pytestmark = pytest.mark.anyio
LIMITS = ArchiveLimits(max_bytes=10**6, max_extracted_bytes=10**7, max_entries=100)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def store(tmp_path: Path) -> ArtifactStore:
    store = ArtifactStore.open((tmp_path / "store").as_uri())
    task = await asyncio.to_thread(plant, tmp_path / "task", {**TASK, "tests/data": os.urandom(500_000)})
    archive = io.BytesIO()
    write_archive(publish_set(task), archive)
    await store.put("tasks/one", archive.getvalue())
    return store


def cache(tmp_path: Path, store: ArtifactStore, max_bytes: int | None = None) -> TaskCache:
    (tmp_path / "tasks").mkdir(exist_ok=True)
    return TaskCache(tmp_path / "tasks", store, LIMITS, max_bytes=max_bytes)


async def test_a_task_is_unpacked_under_its_name_and_kept(tmp_path: Path, store: ArtifactStore) -> None:
    tasks = cache(tmp_path, store)
    async with tasks.directory(content_hash="oddish1:a", task_name="greeting", archive_key="tasks/one") as first:
        assert first.name == "greeting"
        assert sorted(path.name for path in first.iterdir()) == [
            "environment",
            "instruction.md",
            "solution",
            "task.toml",
            "tests",
        ]
    async with tasks.directory(content_hash="oddish1:a", task_name="greeting", archive_key="gone") as second:
        assert second == first
    async with tasks.directory(content_hash="oddish1:a", task_name="other", archive_key="tasks/one") as other:
        assert other.name == "other"


async def test_a_task_whose_archive_is_gone_is_an_error_that_leaves_nothing(
    tmp_path: Path, store: ArtifactStore
) -> None:
    with pytest.raises(OddishError):
        async with cache(tmp_path, store).directory(content_hash="a", task_name="t", archive_key="tasks/none"):
            pass
    assert not [path for path in (tmp_path / "tasks").iterdir() if path.is_dir()]


async def test_old_tasks_make_room_and_those_in_use_stay(tmp_path: Path, store: ArtifactStore) -> None:
    tasks = cache(tmp_path, store, max_bytes=600_000)
    async with tasks.directory(content_hash="a", task_name="t", archive_key="tasks/one") as used:
        async with tasks.directory(content_hash="b", task_name="t", archive_key="tasks/one") as second:
            assert used.is_dir()
        async with tasks.directory(content_hash="c", task_name="t", archive_key="tasks/one"):
            assert used.is_dir()
            assert not second.exists()
