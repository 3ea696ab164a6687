"""The store on a real directory and in memory: the same behaviour through the same methods."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from oddish.errors import InvalidInput, TooLarge
from oddish.storage.errors import AlreadyExists, InvalidKey, InvalidSignature, ObjectNotFound, StorageUnavailable
from oddish.storage.intake import accept_upload
from oddish.storage.signing import Grant
from oddish.storage.store import ArtifactStore
from oddish.storage.writing import Written

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    return ArtifactStore.open(f"file://{tmp_path}/store" if request.param == "file" else "memory://")


@pytest.fixture
def local(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore.open(f"file://{tmp_path}/store")


def files_of(tmp_path: Path) -> list[str]:
    root = tmp_path / "store"
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def plain_files(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.is_file()]


async def arriving(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


def written(data: bytes) -> Written:
    return Written(len(data), hashlib.sha256(data).hexdigest())


async def read(store: ArtifactStore, key: str) -> bytes:
    return await store.get(key, max_bytes=100_000_000)


async def test_put_and_read(store: ArtifactStore) -> None:
    await store.put("a/b é.txt", b"0123456789")
    head = await store.head("a/b é.txt")
    assert (head.key, head.size) == ("a/b é.txt", 10)
    assert head.modified_at.utcoffset() is not None
    assert await store.exists("a/b é.txt")
    assert not await store.exists("a/b")
    assert await read(store, "a/b é.txt") == b"0123456789"
    assert await store.get_range("a/b é.txt", start=3, length=4) == b"3456"
    assert await store.get_range("a/b é.txt", start=8, length=100) == b"89"
    assert await store.get_range("a/b é.txt", start=10, length=5) == b""
    assert b"".join([chunk async for chunk in store.stream("a/b é.txt", start=2, length=3)]) == b"234"
    assert [chunk async for chunk in store.stream("a/b é.txt", start=10)] == []
    with pytest.raises(TooLarge):
        await store.get("a/b é.txt", max_bytes=9)


async def test_write_once(store: ArtifactStore) -> None:
    await store.put("k", b"first", write_once=True)
    with pytest.raises(AlreadyExists, match='"k"'):
        await store.put("k", b"second", write_once=True)
    assert await read(store, "k") == b"first"
    await store.put("k", b"third")
    assert await read(store, "k") == b"third"


@pytest.mark.parametrize("size", [0, 10, 1_048_577, 20_000_000])
async def test_files_are_hashed_while_they_are_stored(store: ArtifactStore, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    source = tmp_path / "source"
    source.write_bytes(data)
    assert await store.put_file("f", source) == written(data)
    assert await read(store, "f") == data
    assert await store.fetch("f", tmp_path / "copy") == size
    assert (tmp_path / "copy").read_bytes() == data
    with pytest.raises(AlreadyExists):
        await store.put_file("f", source, write_once=True)


async def test_missing_objects(store: ArtifactStore, tmp_path: Path) -> None:
    for request in (
        store.head("no"),
        read(store, "no"),
        store.get_range("no", start=0, length=1),
        store.fetch("no", tmp_path / "copy"),
    ):
        with pytest.raises(ObjectNotFound, match='"no"'):
            await request
    await store.delete("no")
    assert plain_files(tmp_path) == []
    assert (await store.list("no")).objects == ()


async def test_bad_keys_reach_no_backend(store: ArtifactStore, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("x")
    for request in (
        store.put("../x", b""),
        store.put_file("/x", source),
        store.put_stream("a//b", arriving([]), size_limit=1),
        store.head(""),
        store.exists(".."),
        store.delete("a/../b"),
        store.list("../"),
        store.upload_url("../x", size_limit=1),
        store.download_url("/x"),
    ):
        with pytest.raises(InvalidKey):
            await request


async def test_pages(store: ArtifactStore) -> None:
    keys = [f"p/{number:02}" for number in range(7)] + ["p/sub/x", "pq"]
    for key in reversed(keys):
        await store.put(key, b"x")
    collected: list[str] = []
    after: str | None = None
    while True:
        page = await store.list("p", after=after, limit=3)
        collected += [item.key for item in page.objects]
        after = page.next_after
        if after is None:
            break
        assert len(page.objects) == 3
    assert collected == keys[:-1]
    assert [item.key for item in (await store.list()).objects] == keys


async def test_delete_prefix(local: ArtifactStore, tmp_path: Path) -> None:
    for key in ("t/1/a", "t/1/b/c", "t/2/a"):
        await local.put(key, b"x")
    assert await local.delete_prefix("t/1") == 2
    assert files_of(tmp_path) == ["t/2/a"]
    assert not (tmp_path / "store" / "t" / "1").exists()


async def test_a_key_below_an_object_is_an_error_with_a_name(local: ArtifactStore, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("x")
    await local.put("a", b"x")
    with pytest.raises(StorageUnavailable, match="a/b"):
        await local.put("a/b", b"y")
    with pytest.raises((StorageUnavailable, AlreadyExists), match="a/b"):
        await local.put_file("a/b", source)


async def test_readers_see_whole_objects_only(local: ArtifactStore, tmp_path: Path) -> None:
    versions = [bytes([number]) * 3_000_000 for number in range(8)]
    sources = [tmp_path / f"source{number}" for number in range(8)]
    for source, data in zip(sources, versions, strict=True):
        source.write_bytes(data)
    await local.put("k", versions[0])
    done = False

    async def reader() -> int:
        reads = 0
        while not done:
            assert await read(local, "k") in versions
            reads += 1
        return reads

    reading = asyncio.create_task(reader())
    for source, data in zip(sources, versions, strict=True):
        await local.put_file("k", source)
        await local.put("k", data)
    done = True
    assert await reading > 0


async def test_only_one_of_many_writers_creates(local: ArtifactStore, tmp_path: Path) -> None:
    sources = [tmp_path / f"source{number}" for number in range(8)]
    for number, source in enumerate(sources):
        source.write_bytes(bytes([number]) * 100_000)
    outcomes = await asyncio.gather(
        *(local.put_file("k", source, write_once=True) for source in sources), return_exceptions=True
    )
    winners = [outcome for outcome in outcomes if isinstance(outcome, Written)]
    assert len(winners) == 1
    assert all(isinstance(outcome, Written | AlreadyExists) for outcome in outcomes)
    assert written(await read(local, "k")) == winners[0]
    assert files_of(tmp_path) == ["k"]


async def test_a_stream_that_fails_leaves_nothing(local: ArtifactStore, tmp_path: Path) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"x" * 100_000
        raise ConnectionError("the client went away")

    with pytest.raises(ConnectionError):
        await local.put_stream("k", breaking(), size_limit=10**9)
    with pytest.raises(TooLarge, match="larger than 10 bytes"):
        await local.put_stream("k", arriving([b"12345", b"67890", b"1"]), size_limit=10)
    assert files_of(tmp_path) == []
    assert await local.put_stream("k", arriving([b"12345", b"67890"]), size_limit=10) == written(b"1234567890")


def test_leftovers_of_dead_writers_are_removed_and_never_listed(tmp_path: Path) -> None:
    staging = tmp_path / "store" / ".staging"
    staging.mkdir(parents=True)
    old, young = staging / "a#0", staging / "b#0"
    for leftover in (old, young):
        leftover.write_text("half")
    os.utime(old, (time.time() - 100_000,) * 2)
    store = ArtifactStore.open(f"file://{tmp_path}/store")
    assert files_of(tmp_path) == [".staging/b#0"]
    assert asyncio.run(store.list()).objects == ()


def test_the_directory_is_private(tmp_path: Path) -> None:
    ArtifactStore.open(f"file://{tmp_path}/new%20store")
    assert (tmp_path / "new store").stat().st_mode & 0o777 == 0o700


UPLOAD = Grant("PUT", "up/load", 2**40, size_limit=10, content_type="application/gzip")


async def test_an_upload_may_be_repeated_but_not_replaced(store: ArtifactStore) -> None:
    for _ in range(2):
        result = await accept_upload(
            store, UPLOAD, arriving([b"12", b"345"]), content_length=5, content_type="application/gzip; x=y"
        )
        assert result == written(b"12345")
    with pytest.raises(AlreadyExists):
        await accept_upload(store, UPLOAD, arriving([b"other"]), content_type="application/gzip")
    assert await read(store, "up/load") == b"12345"


@pytest.mark.parametrize(
    ("chunks", "length", "kind", "error"),
    [
        ([b"12345678901"], None, "application/gzip", TooLarge),
        ([], 11, "application/gzip", TooLarge),
        ([b"123"], 4, "application/gzip", InvalidInput),
        ([b"123"], 3, "text/html", InvalidInput),
        ([b"123"], 3, None, InvalidInput),
    ],
)
async def test_refused_uploads_store_nothing(
    store: ArtifactStore, chunks: list[bytes], length: int | None, kind: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await accept_upload(store, UPLOAD, arriving(chunks), content_length=length, content_type=kind)
    assert (await store.list()).objects == ()


async def test_a_download_grant_uploads_nothing(store: ArtifactStore) -> None:
    with pytest.raises(InvalidSignature):
        await accept_upload(store, Grant("GET", "k", 2**40, None, None), arriving([b"x"]))
