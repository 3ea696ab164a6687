"""Uploading trees that a sandbox left behind."""

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from oddish.storage.errors import ObjectNotFound, StorageUnavailable
from oddish.storage.manifest import Manifest, SkippedEntry, TreeLimits, Truncation, read_manifest, upload_tree
from oddish.storage.store import ArtifactStore

pytestmark = pytest.mark.anyio

PREFIX = "trials/t-1/2-abc"


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore.open(f"file://{tmp_path}/store")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    directory = tmp_path / "tree"
    directory.mkdir()
    return directory


def fill(tree: Path, **files: bytes) -> None:
    for name, data in files.items():
        path = tree / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def keys(store: ArtifactStore) -> list[str]:
    return [item.key.removeprefix(f"{PREFIX}/") for item in (await store.list(PREFIX)).objects]


async def test_a_tree_and_its_manifest(store: ArtifactStore, tree: Path) -> None:
    fill(tree, result=b"{}", agent__log=os.urandom(3_000_000), verifier__empty=b"")
    manifest = await upload_tree(store, tree, PREFIX)
    assert [(file.path, file.size) for file in manifest.files] == [
        ("agent/log", 3_000_000),
        ("result", 2),
        ("verifier/empty", 0),
    ]
    for file in manifest.files:
        stored = await store.get(f"{PREFIX}/{file.path}", max_bytes=10**7)
        assert hashlib.sha256(stored).hexdigest() == file.sha256
    assert (manifest.skipped, manifest.skipped_count, manifest.truncated) == ((), 0, None)
    assert await read_manifest(store, PREFIX) == manifest
    assert await keys(store) == ["agent/log", "manifest.json", "result", "verifier/empty"]


async def test_hostile_entries_are_recorded_and_not_touched(store: ArtifactStore, tree: Path) -> None:
    fill(tree, good=b"x", sub__good=b"y")
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "sub" / "dir").symlink_to("/")
    (tree / "loop").symlink_to(".")
    os.mkfifo(tree / "pipe")
    (tree / os.fsdecode(b"\xff")).write_text("")
    (tree / "odd\n#1\\%").write_text("odd")
    (tree / "manifest.json").write_text("forged")
    (tree / ("long" * 63)).write_text("kept")
    (tree / ("%" * 100)).write_text("its key is too long")
    manifest = await upload_tree(store, tree, PREFIX)
    assert [file.path for file in manifest.files] == ["good", "long" * 63, "odd\n#1\\%", "sub/good"]
    reasons = {entry.path: entry.reason for entry in manifest.skipped}
    assert reasons["link"] == "symbolic link to '/etc/passwd'"
    assert reasons["sub/dir"] == "symbolic link to '/'"
    assert reasons["loop"] == "symbolic link to '.'"
    assert reasons["pipe"] == "special file"
    assert "not valid text" in reasons["\\udcff"]
    assert "reserved for the manifest" in reasons["manifest.json"]
    assert "longer than 255 bytes" in reasons["%" * 100]
    assert manifest.skipped_count == len(reasons) == 7
    assert await read_manifest(store, PREFIX) == manifest


async def test_limits_keep_shallow_and_small_files(store: ArtifactStore, tree: Path) -> None:
    fill(tree, a__deep=b"12345", core=bytes(1000), result=b"123", z=b"12")
    manifest = await upload_tree(store, tree, PREFIX, TreeLimits(max_bytes=10))
    assert [file.path for file in manifest.files] == ["a/deep", "result", "z"]
    assert manifest.truncated == Truncation(files=1, bytes=1000, scan_stopped=False)
    assert manifest.skipped == (SkippedEntry("core", "over the limits"),)

    manifest = await upload_tree(store, tree, "other", TreeLimits(max_files=2))
    assert [file.path for file in manifest.files] == ["core", "result"]
    assert manifest.truncated == Truncation(files=2, bytes=7, scan_stopped=False)


async def test_the_scan_and_the_list_of_skipped_entries_are_bounded(store: ArtifactStore, tree: Path) -> None:
    fill(tree, **{f"f{number:03}": b"" for number in range(50)})
    manifest = await upload_tree(store, tree, PREFIX, TreeLimits(max_scanned=20, max_files=5, max_listed=3))
    assert len(manifest.files) == 5
    assert (len(manifest.skipped), manifest.skipped_count) == (3, 15)
    assert manifest.truncated == Truncation(files=15, bytes=0, scan_stopped=True)


async def test_a_sparse_file_is_not_read(store: ArtifactStore, tree: Path) -> None:
    fill(tree, result=b"x")
    with (tree / "sparse").open("wb") as file:
        file.truncate(10**12)
    manifest = await upload_tree(store, tree, PREFIX)
    assert [file.path for file in manifest.files] == ["result"]
    assert manifest.truncated == Truncation(files=1, bytes=10**12, scan_stopped=False)


async def test_very_deep_trees(store: ArtifactStore, tree: Path) -> None:
    deep = tree
    for _ in range(400):
        deep = deep / "dir"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    manifest = await upload_tree(store, tree, PREFIX)
    assert manifest.files == ()
    assert "longer than 1024 bytes" in manifest.skipped[0].reason


async def test_a_file_that_vanished_is_recorded(store: ArtifactStore, tree: Path) -> None:
    fill(tree, first=b"1", second=b"2")

    class Vanishing(ArtifactStore):
        async def put_file(self, *args: object, **options: object) -> object:  # type: ignore[override]
            remove(tree / "second")
            return await super().put_file(*args, **options)  # type: ignore[arg-type]

    manifest = await upload_tree(Vanishing.open(f"file://{tree.parent}/store"), tree, PREFIX, concurrency=1)
    assert [file.path for file in manifest.files] == ["first"]
    assert manifest.skipped == (SkippedEntry("second", "cannot be read: No such file or directory"),)


async def test_a_missing_directory_gives_an_empty_manifest(store: ArtifactStore, tree: Path) -> None:
    manifest = await upload_tree(store, tree / "absent", PREFIX)
    assert manifest.files == ()
    assert "cannot be listed" in manifest.skipped[0].reason


async def test_no_manifest_without_its_files(store: ArtifactStore, tree: Path) -> None:
    fill(tree, a__b=b"x", c=b"y")
    await store.put(f"{PREFIX}/a", b"an object where a directory is needed")
    with pytest.raises(StorageUnavailable):
        await upload_tree(store, tree, PREFIX)
    with pytest.raises(ObjectNotFound):
        await read_manifest(store, PREFIX)


async def test_many_files_at_bounded_concurrency(store: ArtifactStore, tree: Path) -> None:
    fill(tree, **{f"d{number % 7}__f{number}": b"%d" % number for number in range(300)})
    manifest = await upload_tree(store, tree, PREFIX, concurrency=3)
    assert len(manifest.files) == 300
    assert len(await keys(store)) == 301


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"version": 2}', b'{"version": 1, "files": [{"path": 1}]}', b"\xff"]
)
def test_a_damaged_manifest_is_named(tmp_path: Path, data: bytes) -> None:
    store = ArtifactStore.open(f"file://{tmp_path}/store")
    asyncio.run(store.put(f"{PREFIX}/manifest.json", data))
    with pytest.raises(StorageUnavailable, match=r"trials/t-1/2-abc/manifest\.json"):
        asyncio.run(read_manifest(store, PREFIX))
    with pytest.raises(ValueError, match=r"."):
        Manifest.from_json(data)
