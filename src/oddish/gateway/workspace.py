"""The workspace of a verification: what the task shows its agents, and on top of it what the caller sends.

It is kept in the store as one archive that is named by its content, for all trials of the job, until they have ended.
"""

import asyncio
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from oddish.errors import InvalidTask, TooLarge
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits, unpack
from oddish.tasks.package import HASH_PREFIX, PublishedFile, content_hash, write_archive
from oddish.tasks.ziparchive import unpack_zip

PREFIX = "workspaces"
"""Of the keys of all of them."""
KEPT = timedelta(days=1)
"""How long one stays at least, whether a job is known to need it or not: intake takes minutes."""
VISIBLE_SEED = "visible_seed"
"""In the directory of a task: what its agents find in their workspace. No part of what is published of a task."""


class UnusableWorkspace(InvalidTask):
    """A `visible_seed` or fixture of which no workspace can be made."""

    code = "workspace_not_usable"


async def keep_workspace(
    store: ArtifactStore, owner: str, task: Path, fixture: Path | None, scratch: Path, limits: ArchiveLimits
) -> str:
    """The key of an archive with what is in ``visible_seed`` of ``task``, and on top of it what is in ``fixture``.

    ``owner`` is the job, as ``ORGANISATION/JOB``. ``task`` is a directory that was unpacked here, ``fixture`` a zip;
    what is in neither makes an empty workspace.
    ``limits`` are those of the fixture, and of both together. Files are made in the directory ``scratch``, which is the
    caller's. Raises ``UnusableWorkspace``, ``TooLarge`` and the errors of the store.
    """
    packed = scratch / "workspace.tar.gz"
    digest = await asyncio.to_thread(_pack, task, fixture, scratch, packed, limits)
    key = f"{PREFIX}/{owner}/{digest}.tar.gz"
    await store.put_file(key, packed)
    return key


def lay_over(below: Sequence[PublishedFile], above: Sequence[PublishedFile]) -> list[PublishedFile]:
    """Both; directories are joined, and where anything else meets, what is ``above`` is taken."""
    upper = {entry.path: entry.kind for entry in above}
    directories = {parent for path in upper for parent in _parents(path)}
    kept = [
        entry
        for entry in below
        if entry.path not in upper
        and entry.path not in directories
        and all(upper.get(parent, "directory") == "directory" for parent in _parents(entry.path))
    ]
    filled = {parent for entry in kept for parent in _parents(entry.path)}
    return [*kept, *(entry for entry in above if entry.path not in filled)]


def _pack(task: Path, fixture: Path | None, scratch: Path, packed: Path, limits: ArchiveLimits) -> str:
    """Write the archive; the hash of its content in hex. What is packed can be unpacked again with these ``limits``."""
    content = list(_entries(task / VISIBLE_SEED))
    if fixture is not None:
        with _named("The fixture", fix="Send a zip of the files that belong in /workspace."):
            unpack_zip(fixture, scratch / "fixture", limits)
        content = lay_over(content, list(_entries(scratch / "fixture")))
    with packed.open("xb") as file:
        write_archive(content, file)
    with _named("The workspace", fix=f"Links in {VISIBLE_SEED} and the fixture must stay inside the workspace."):
        unpack(packed, scratch / "workspace", limits)
    return content_hash(content).removeprefix(HASH_PREFIX)


def _entries(root: Path) -> Iterator[PublishedFile]:
    """Everything below ``root``, of directories the empty ones; nothing if ``root`` is no directory."""
    for directory, directories, files in root.walk():
        for name in files:
            path = directory / name
            status = path.lstat()
            link = stat.S_ISLNK(status.st_mode)
            yield PublishedFile(
                path.relative_to(root).as_posix(),
                path,
                "symlink" if link else "file",
                size=0 if link else status.st_size,
                executable=not link and bool(status.st_mode & stat.S_IXUSR),
                target=os.readlink(path) if link else None,  # noqa: PTH115 - verbatim
            )
        if not (directories or files or directory == root):
            name = directory.relative_to(root).as_posix()
            yield PublishedFile(name, directory, "directory", size=0, executable=False, target=None)


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


@contextmanager
def _named(what: str, *, fix: str) -> Iterator[None]:
    """Say of which archive a refusal is."""
    try:
        yield
    except InvalidTask as error:
        raise UnusableWorkspace(f"{what} cannot be used: {error.message}", fix=fix) from error
    except TooLarge as error:
        raise TooLarge(f"{what} is too large: {error.message}", fix=error.fix) from error
