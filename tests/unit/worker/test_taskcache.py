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
from oddish.worker.taskcache import TaskCache, writable
from unit.tasks.trees import TASK, Link, plant

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


@pytest.mark.parametrize(
    "place", ["environment/docker-compose.yaml", "tests/docker-compose.yaml", "steps/one/tests/docker-compose.yaml"]
)
async def test_what_services_write_to_a_bound_task_reaches_no_other_attempt(tmp_path: Path, place: str) -> None:
    task = plant(tmp_path / "greeting", {**TASK, "environment/data/a": "1", "environment/b": Link("data/a"), place: ""})
    before = {path: path.stat() for path in task.rglob("*")}
    async with writable(task, tmp_path / "own") as own:
        assert own.name == "greeting"
        assert not {path.stat().st_ino for path in own.rglob("*")} & {status.st_ino for status in before.values()}
        assert {path.relative_to(own) for path in own.rglob("*")} == {path.relative_to(task) for path in before}
        assert os.access(own / "tests/test.sh", os.X_OK)
        assert (own / "environment/b").readlink() == Path("data/a")
        (own / "environment/data/a").write_text("2")
        (own / "environment/data/new").write_text("3")
        (own / "environment/Dockerfile").chmod(0o777)
    assert not (tmp_path / "own").exists()
    assert (task / "environment/data/a").read_text() == "1"
    assert {path: (path.stat().st_mode, path.stat().st_mtime_ns) for path in task.rglob("*")} == {
        path: (status.st_mode, status.st_mtime_ns) for path, status in before.items()
    }


async def test_a_task_without_services_is_not_copied(tmp_path: Path) -> None:
    task = plant(tmp_path / "greeting", TASK)
    async with writable(task, tmp_path / "own") as own:
        assert own == task
    assert task.is_dir()


async def test_services_that_come_with_a_submission_get_a_copy_too(tmp_path: Path) -> None:
    task = plant(tmp_path / "greeting", TASK)
    async with writable(task, tmp_path / "own", further_services=True) as own:
        assert own == tmp_path / "own" / "greeting"
        assert (own / "instruction.md").read_text() == "Do it.\n"
