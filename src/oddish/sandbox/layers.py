"""Finished layers: the changes that a Dockerfile's steps made, kept on disk and put under later sandboxes.

A layer is a directory with one entry per overlay (see ``layout.upper_name``), in ``<store>/<key>``; it appears there by
one rename, when it is complete, and is never changed. Its modification time is that of its last use. Nothing evicts
layers yet; a directory that no running sandbox has below it may be deleted at any time.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import platform
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from oddish.home import private_directory
from oddish.sandbox import host, layout
from oddish.sandbox.plan import Copy, Plan
from oddish.sandbox.sandbox import Sandbox

_FORMAT = "1"
_SYSTEM = ("/etc/os-release", "/var/lib/dpkg/status", "/lib/apk/db/installed")
_PACKAGES = ("/var/lib/rpm", "/usr/lib/sysimage/rpm", "/var/lib/pacman/local")
_LOCK_POLL_SECONDS = 0.02


def key(plan: Plan, context: Path) -> str:
    """Identity of what the steps of ``plan`` make on this machine: steps, copied files, system, packages, user mode."""
    digest = hashlib.sha256()
    for text in (_FORMAT, repr(plan.steps), platform.machine(), str(host.privileged()), repr(layout.SHOWN)):
        _add(digest, text.encode())
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

    def __init__(self, directory: Path) -> None:
        self.directory = private_directory(directory)

    def find(self, name: str) -> Path | None:
        path = self.directory / name
        try:
            os.utime(path)
        except FileNotFoundError:
            return None
        return path

    @contextlib.asynccontextmanager
    async def building(self, name: str) -> AsyncIterator[None]:
        """One process at a time builds ``name``; the others wait here and then find it."""
        descriptor = os.open(self.directory / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(_LOCK_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    async def keep(self, name: str, sandbox: Sandbox) -> Path:
        """Stop ``sandbox`` and make its changes the layer ``name``."""
        partial = self.directory / f"{sandbox.spec.name}.partial"
        await asyncio.to_thread(partial.mkdir, mode=0o700)
        for upper in layout.uppers(sandbox.spec):
            await asyncio.to_thread((sandbox.spec.directory / upper).rename, partial / upper)
        await sandbox.stop()
        return await asyncio.to_thread(partial.rename, self.directory / name)
