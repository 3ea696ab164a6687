"""Directories made once, held by users, and evicted when they have not been used for longest."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from oddish.cache import DirectoryCache

pytestmark = pytest.mark.anyio
KILOBYTE = 1024


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def making(size_kb: int) -> Callable[[Path], Awaitable[None]]:
    async def make(directory: Path) -> None:
        await asyncio.to_thread((directory / "data").write_bytes, os.urandom(size_kb * KILOBYTE))

    return make


async def fill(cache: DirectoryCache, name: str, size_kb: int, age: int = 0) -> None:
    async with cache.hold(name, making(size_kb)) as held:
        moment = (await asyncio.to_thread(held.path.stat)).st_mtime - age
        os.utime(held.path, (moment, moment))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.is_dir())


async def test_an_entry_is_made_once_by_many_who_want_it(tmp_path: Path) -> None:
    made = 0

    async def make(directory: Path) -> None:
        nonlocal made
        made += 1
        await asyncio.sleep(0.05)
        await making(1)(directory)

    async def use() -> bytes:
        async with DirectoryCache(tmp_path).hold("a", make) as held:
            return await asyncio.to_thread((held.path / "data").read_bytes)

    contents = await asyncio.gather(*(use() for _ in range(8)))
    assert (made, len(set(contents))) == (1, 1)


async def test_whoever_waits_goes_on_while_the_maker_still_uses_it(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path)
    async with cache.hold("a", making(1)), asyncio.timeout(5), cache.hold("a", making(1)) as second:
        assert second.path == tmp_path / "a"


async def test_one_that_could_not_be_made_leaves_nothing_and_is_made_by_the_next(tmp_path: Path) -> None:
    async def fail(directory: Path) -> None:
        await making(1)(directory)
        raise OSError("no")

    cache = DirectoryCache(tmp_path)
    with pytest.raises(OSError, match="no"):
        async with cache.hold("a", fail):
            pass
    assert names(tmp_path) == []
    await fill(cache, "a", 1)
    assert names(tmp_path) == ["a"]


async def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, 250 * KILOBYTE)
    await fill(cache, "old", 100, age=300)
    await fill(cache, "older", 100, age=400)
    await fill(cache, "new", 100)
    assert names(tmp_path) == ["new", "old"]
    assert sorted(os.listdir(tmp_path)) == ["new", "new.lock", "old", "old.lock"]  # noqa: PTH208


async def test_a_use_makes_an_entry_young(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, 250 * KILOBYTE)
    await fill(cache, "a", 100, age=400)
    await fill(cache, "b", 100, age=300)
    async with cache.hold("a", making(1)):
        pass
    await fill(cache, "c", 100)
    assert names(tmp_path) == ["a", "c"]


async def test_what_is_held_stays_however_large(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, 10 * KILOBYTE)
    async with cache.hold("a", making(100)) as held:
        await fill(cache, "b", 100)
        assert (held.path / "data").exists()
    assert sorted(cache.evict()) == ["a", "b"]


async def test_a_process_that_inherited_the_lock_holds_the_entry(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path, 0)
    async with cache.hold("a", making(1)) as held:
        holder = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(held.lock,)
        )
    assert cache.evict() == ()
    holder.communicate(b"\n")
    assert cache.evict() == ("a",)


async def test_makers_users_and_evictors_do_not_disturb_each_other(tmp_path: Path) -> None:
    async def use(name: str) -> None:
        for _ in range(20):
            async with DirectoryCache(tmp_path, 30 * KILOBYTE).hold(name, making(20)) as held:
                await asyncio.sleep(0)
                assert (held.path / "data").stat().st_size == 20 * KILOBYTE

    async with asyncio.timeout(60):
        await asyncio.gather(*(use(name) for name in "abcabc"))


async def test_what_a_killed_maker_left_is_removed_once_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".partial-x").mkdir()
    cache = DirectoryCache(tmp_path)
    cache.evict()
    assert names(tmp_path) == [".partial-x"]
    monkeypatch.setattr("oddish.cache._ABANDONED_SECONDS", -1)
    cache.evict()
    assert names(tmp_path) == []


async def test_entries_of_unknown_size_are_measured(tmp_path: Path) -> None:
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "data").write_bytes(os.urandom(100 * KILOBYTE))
    assert DirectoryCache(tmp_path, 200 * KILOBYTE).evict() == ()
    assert DirectoryCache(tmp_path, 50 * KILOBYTE).evict() == ("found",)


async def test_an_entry_is_discarded_unless_it_is_in_use(tmp_path: Path) -> None:
    cache = DirectoryCache(tmp_path)
    await fill(cache, "a", 1)
    async with cache.hold("b", making(1)):
        assert [cache.discard(name) for name in ("a", "b", "absent")] == [True, False, False]
    assert names(tmp_path) == ["b"]
    assert cache.discard("b") is True
    assert os.listdir(tmp_path) == []  # noqa: PTH208
