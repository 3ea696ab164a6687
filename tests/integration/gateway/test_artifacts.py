"""The files of a job's trials, in one zip."""

import hashlib
import io
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest

from oddish.errors import NotFound, TooLarge
from oddish.gateway import artifacts
from oddish.gateway.artifacts import SMALL_BYTES, Archive, Left, forget, packed, take_stock
from oddish.gateway.retention import delete_old_zips
from oddish.storage.manifest import Manifest, upload_tree
from oddish.storage.store import ArtifactStore

pytestmark = pytest.mark.anyio

JOB = "gw_1"
LARGE = b"0123456789abcdef" * (SMALL_BYTES // 8)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore.open(f"file://{tmp_path}/store")


async def left(store: ArtifactStore, directory: Path, trial: str, files: dict[str, bytes]) -> Left:
    for path, content in files.items():
        file = directory / trial / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    await upload_tree(store, directory / trial, f"trials/{trial}/1-abc")
    return Left(trial, "a", 1, f"trials/{trial}/1-abc")


async def contents(store: ArtifactStore, made: Archive) -> dict[str, bytes]:
    content = await store.get(made.key, max_bytes=10**8)
    assert (len(content), hashlib.sha256(content).hexdigest()) == (made.size, made.sha256)
    with zipfile.ZipFile(io.BytesIO(content)) as read:
        assert read.testzip() is None
        return {name: read.read(name) for name in read.namelist()}


async def test_a_zip_has_every_file_of_every_trial(store: ArtifactStore, tmp_path: Path) -> None:
    first = {"result.json": b"{}", "agent/log.txt": LARGE, "agent/empty": b"", "verifier/reward.txt": b"1"}
    both = [
        await left(store, tmp_path, "t-1", first),
        await left(store, tmp_path, "t-2", {"a/" + "ü" * 100: b"x", "100%#.txt": b"y", "back\\slash": b"z"}),
    ]
    found = await contents(store, await packed(store, JOB, both))
    for trial in both:
        stock = Manifest.from_json(found.pop(f"{trial.trial_id}/manifest.json"))
        assert [stock] == [entry.manifest for entry in await take_stock(store, [trial])]
    assert found == {f"t-1/{path}": content for path, content in first.items()} | {
        "t-2/a/" + "ü" * 100: b"x",
        "t-2/100%25%23.txt": b"y",
        "t-2/back%5Cslash": b"z",
    }


async def test_it_is_made_once_for_the_same_attempts_and_always_the_same(store: ArtifactStore, tmp_path: Path) -> None:
    one = await left(store, tmp_path, "t-1", {"log": b"one"})
    made = await packed(store, JOB, [one])
    written = (await store.head(made.key)).modified_at
    assert await packed(store, JOB, [one]) == made
    assert (await store.head(made.key)).modified_at == written
    await store.delete(made.key)
    assert await packed(store, JOB, [one]) == made

    await forget(store, JOB)
    assert not await store.exists(made.key)

    other = await left(store, tmp_path, "t-2", {"log": b"two"})
    assert {"t-1/log", "t-2/log"} < set(await contents(store, await packed(store, JOB, [one, other])))


async def test_a_zip_goes_after_its_time_and_is_not_handed_out_shortly_before(
    store: ArtifactStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await left(store, tmp_path, "t-1", {"log": b"one"})
    made = await packed(store, JOB, [one])
    written = (await store.head(made.key)).modified_at
    assert await delete_old_zips(store) == 0
    monkeypatch.setattr(artifacts, "REUSED", timedelta(0))
    assert await packed(store, JOB, [one]) == made
    assert (await store.head(made.key)).modified_at > written
    monkeypatch.setattr(artifacts, "KEPT", timedelta(0))
    assert await delete_old_zips(store) == 1
    assert not (await store.list(f"gateway/{JOB}")).objects
    assert (await store.list("trials/t-1")).objects


async def test_what_is_not_there_or_too_large_is_not_packed(
    store: ArtifactStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFound, match="gw_1"):
        await packed(store, JOB, [])
    one = await left(store, tmp_path, "t-1", {"log": b"three"})
    monkeypatch.setattr(artifacts, "LARGEST_BYTES", 4)
    with pytest.raises(TooLarge, match="5 bytes"):
        await packed(store, JOB, [one])
    assert not (await store.list(f"gateway/{JOB}")).objects
