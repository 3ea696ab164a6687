"""Finished layers: the changes that a Dockerfile's steps made, kept on disk and put under later sandboxes.

A layer is a directory with one entry per overlay (see ``layout.upper_name``), in ``<store>/<key>``, and is never
changed. The keeper of a sandbox that has it below holds its lock, so that it is not deleted (see ``oddish.cache``).
"""

import asyncio
import hashlib
import os
import platform
import stat
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from oddish.cache import DirectoryCache, Held
from oddish.home import private_directory
from oddish.sandbox import host, layout
from oddish.sandbox.plan import Copy, Plan
from oddish.sandbox.sandbox import Sandbox

_FORMAT = "3"
_SYSTEM = ("/etc/os-release", "/var/lib/dpkg/status", "/lib/apk/db/installed")
_PACKAGES = ("/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/lib/pacman/local")


def key(plan: Plan, context: Path) -> str:
    """Identity of what the steps of ``plan`` make on this machine: steps, copied files, system, packages, user mode."""
    digest = hashlib.sha256()
    for text in (_FORMAT, platform.machine(), str(host.privileged()), repr(layout.SHOWN)):
        _add(digest, text.encode())
    for step in plan.steps:
        _add(digest, repr(step).encode())
    for name in _SYSTEM:
        path = Path(name)
        _add(digest, path.read_bytes() if path.is_file() else b"")
    for name in _PACKAGES:
        path = Path(name)
        _add(digest, str(path.stat().st_mtime_ns).encode() if path.exists() else b"")
    if any(isinstance(step, Copy) for step in plan.steps):
        for part in _content(context):
            _add(digest, part)
    return digest.hexdigest()[:40]


def _add(digest: "hashlib._Hash", part: bytes) -> None:
    digest.update(len(part).to_bytes(8, "big"))
    digest.update(part)


def _content(directory: Path) -> Iterator[bytes]:
    for path in sorted(directory.rglob("*")):
        status = path.lstat()
        yield os.fsencode(path.relative_to(directory))
        yield str(status.st_mode).encode()
        if stat.S_ISLNK(status.st_mode):
            yield os.fsencode(path.readlink())
        elif stat.S_ISREG(status.st_mode):
            with path.open("rb") as file:
                yield hashlib.file_digest(file, "sha256").digest()


class LayerStore:
    """Layers below one directory, shared by the processes of one user. Must be on the sandboxes' filesystem."""

    def __init__(self, directory: Path, max_bytes: int | None = None) -> None:
        self._cache = DirectoryCache(private_directory(directory), max_bytes)

    def hold(self, name: str, build: Callable[[], Awaitable[Sandbox]]) -> AbstractAsyncContextManager[Held]:
        """The layer ``name``; where there is none, the changes in the sandbox of ``build``, which is stopped."""

        async def make(partial: Path) -> None:
            sandbox = await build()
            try:
                for upper in layout.uppers(sandbox.spec):
                    await asyncio.to_thread((sandbox.spec.directory / upper).rename, partial / upper)
            finally:
                await sandbox.stop()

        return self._cache.hold(name, make)
