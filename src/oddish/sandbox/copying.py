"""COPY and ADD: from the build context into a running sandbox."""

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.sandbox import transfer, users
from oddish.sandbox.archive import Attributes, Entry
from oddish.sandbox.context import Context, Source
from oddish.sandbox.plan import Copy
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import PATH, Command
from oddish.sandbox.transfer import TransferFailed

_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_READERS: tuple[type[io.FileIO | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile], ...] = (
    io.FileIO,
    gzip.GzipFile,
    bz2.BZ2File,
    lzma.LZMAFile,
)
_UNPACK = 'mkdir -p -- "$2" && tar -x -f "$1" -C "$2"; code=$?; rm -f -- "$1"; exit $code'


@dataclass(frozen=True, slots=True)
class _Brought:
    """What one instruction brings: ``entries`` land as they are called, ``archives`` are unpacked."""

    sources: tuple[Source, ...]
    archives: tuple[Path, ...]
    texts: tuple[tuple[str, str], ...]

    @property
    def single(self) -> bool:
        """One file, which a target that is no directory gives a new name."""
        count = len(self.sources) + len(self.texts)
        return count == 1 and not self.archives and not any(source.is_directory for source in self.sources)


async def copy(sandbox: Sandbox, step: Copy, context: Context) -> None:
    """Raises ``InvalidTask`` for a source that is not there, ``InvalidInput`` for an owner, ``TransferFailed``."""
    brought = _brought(step, context)
    attributes = Attributes(await _owner(sandbox, step.owner), int(step.mode, 8) if step.mode else None)
    target = step.target
    if brought.single and not (target.endswith("/") or await _is_directory(sandbox, target)):
        parent, _, name = target.rpartition("/")
        entries = [Entry(name, entry.source, entry.text) for entry in _entries(brought, context)]
        await transfer.put_entries(sandbox, entries, parent or "/", attributes)
        return
    if brought.sources or brought.texts:
        await transfer.put_entries(sandbox, _entries(brought, context), target, attributes)
    for archive in brought.archives:
        landing = f"/installed-agent/.{archive.name}"
        await transfer.put_file(sandbox, archive, landing)
        await shell(sandbox, _UNPACK, landing, target)


def _brought(step: Copy, context: Context) -> _Brought:
    sources = [source for wanted in step.sources for source in context.sources(wanted, step.line)]
    archives = [source for source in sources if step.unpack and is_archive(source.path)]
    plain = [source for source in sources if source not in archives]
    return _Brought(tuple(plain), tuple(source.path for source in archives), step.texts)


def _entries(brought: _Brought, context: Context) -> Iterator[Entry]:
    for source in brought.sources:
        if source.is_directory:
            for name, path in context.below(source):
                yield Entry(name, path)
        else:
            yield Entry(source.name, source.path)
    for name, text in brought.texts:
        yield Entry(name, None, text)


def is_archive(path: Path) -> bool:
    """By its content, as engines decide: the name says nothing. Looks at its first block alone: whatever follows may
    be hostile, and is for the sandbox to read."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(len(_ZSTANDARD)) == _ZSTANDARD:
            return True
    return any(_begins_with_header(path, reader) for reader in _READERS)


def _begins_with_header(path: Path, reader: type[io.FileIO | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]) -> bool:
    try:
        with reader(path) as file:
            tarfile.TarInfo.frombuf(file.read(tarfile.BLOCKSIZE), "utf-8", "surrogateescape")
    except (tarfile.TarError, lzma.LZMAError, zlib.error, OSError, EOFError):
        return False
    return True


async def _owner(sandbox: Sandbox, wanted: str) -> tuple[int, int]:
    """Numbers of ``--chown``. A user's number alone is that of the group as well."""
    if not wanted:
        return 0, 0
    name, _, group = wanted.partition(":")
    account = await users.resolve(sandbox, f"{name}:{name}" if not group and name.isdigit() else wanted)
    return account.uid, account.gid


async def _is_directory(sandbox: Sandbox, path: str) -> bool:
    outcome = await sandbox.run(Command(("/bin/sh", "-c", 'test -d "$1"', "sh", path), {"PATH": PATH}))
    return outcome.code == 0


async def shell(sandbox: Sandbox, script: str, *arguments: str) -> None:
    """Run ``script`` as root; raises ``TransferFailed`` with what it says when it fails."""
    outcome = await sandbox.run(Command(("/bin/sh", "-c", script, "sh", *arguments), {"PATH": PATH}))
    if outcome.code != 0:
        message = outcome.stderr.decode(errors="replace").strip()
        raise TransferFailed(message or f"ended with code {outcome.code}")
