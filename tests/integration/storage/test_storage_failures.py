"""A full disk and missing permissions have names, and leave nothing behind."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from obstore import exceptions

from oddish.storage.errors import StorageDenied, StorageFull, StorageUnavailable, translated

WRITE = """
import asyncio, os, resource, sys, tempfile
from pathlib import Path
from oddish.errors import OddishError
from oddish.storage.store import ArtifactStore

root, source, user, limit = sys.argv[1:]
async def arriving():
    yield Path(source).read_bytes()

store = ArtifactStore.open(f"file://{root}")
asyncio.run(store.put_stream("warm", arriving(), size_limit=10**9))
asyncio.run(store.delete("warm"))
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
if os.geteuid() == 0 and int(user):
    Path(root).chmod(0o755)
    os.setuid(int(user))
elif int(user):
    Path(root).chmod(0o500)

async def attempt(writing):
    try:
        await writing
    except OddishError as error:
        print(error.code, error)
    else:
        print("written")

async def main():
    await attempt(store.put("d/one", Path(source).read_bytes()))
    await attempt(store.put_file("d/two", Path(source)))
    await attempt(store.put_stream("d/three", arriving(), size_limit=10**9))
    if not int(user):
        print(*(item.key for item in (await store.list()).objects))

asyncio.run(main())
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other users can reach."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    (directory / "source").write_bytes(bytes(3_000_000))
    yield directory
    shutil.rmtree(directory)


def write(place: Path, *, user: int = 0, limit: int = 0) -> list[str]:
    arguments = [sys.executable, "-c", WRITE, place / "store", place / "source", str(user), str(limit)]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()


def test_no_space(place: Path) -> None:
    lines = write(place, limit=1_000_000)
    assert [line.partition(" ")[0] for line in lines[:3]] == ["storage_full"] * 3
    assert '"d/two"' in lines[1]
    assert lines[3:] == [""]


def test_no_permission(place: Path) -> None:
    lines = write(place, user=65534)
    assert [line.partition(" ")[0] for line in lines[:3]] == ["storage_denied"] * 3
    assert '"d/three"' in lines[2]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(28, "No space left on device"), StorageFull),
        (OSError(122, "Disk quota exceeded"), StorageFull),
        (PermissionError(13, "Permission denied"), StorageDenied),
        (exceptions.GenericError("Unable to copy data to file: No space left on device (os error 28)"), StorageFull),
        (exceptions.PermissionDeniedError("403"), StorageDenied),
        (exceptions.UnauthenticatedError("401"), StorageDenied),
        (exceptions.GenericError("connection refused\n\nDebug source: ..."), StorageUnavailable),
    ],
)
def test_names(error: Exception, kind: type[Exception]) -> None:
    named = translated(error, "some/key")
    assert type(named) is kind
    assert '"some/key"' in str(named)
    assert "Debug" not in str(named)
    assert os.linesep not in str(named)
