"""Files into a sandbox and out of it, as streams through commands that run inside."""

import asyncio
import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from oddish.sandbox import archive
from oddish.sandbox.archive import Attributes, Bounds, Entry, Extracted
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import PATH, ROOT, Command, User

_ENVIRONMENT = {"PATH": PATH, "LC_ALL": "C.UTF-8"}
_ERROR_BYTES = 4096
_END_SECONDS = 30.0
_TAR_PACKED = frozenset({0, 1})
"""GNU tar says 1 when a file changed while it was read, which is normal beside running processes."""
_PUT_FILE = """
target=$1
if [ -d "$target" ]; then target=${target%/}/$2; fi
mkdir -p -- "$(dirname -- "$target")" && cat > "$target" && chmod "$3" -- "$target"
"""
_PUT_DIRECTORY = 'mkdir -p -- "$1" && exec tar -x -f - --no-same-owner --no-overwrite-dir -p -C "$1"'
_PUT_OWNED = """
target=$1 owner=$2 missing=
directory=$target
while [ ! -d "$directory" ]; do missing=$directory; directory=$(dirname -- "$directory"); done
mkdir -p -- "$target" && if [ -n "$missing" ]; then chown -R -- "$owner" "$missing"; fi &&
exec tar -x -f - --same-owner --numeric-owner --no-overwrite-dir -p -C "$target"
"""
_GET_FILE = 'if [ -f "$1" ]; then exec cat -- "$1"; fi; echo "$1: no such file" >&2; exit 1'
_GET_DIRECTORY = (
    'if [ ! -d "$1" ]; then echo "$1: no such directory" >&2; exit 2; fi; d=$1; shift; exec tar -c -f - "$@" -C "$d" .'
)


class TransferFailed(RuntimeError):
    """A copy into or out of the sandbox did not succeed."""


def _script(script: str, *arguments: str, user: User = ROOT) -> Command:
    return Command(("/bin/sh", "-c", script, "sh", *arguments), _ENVIRONMENT, user=user)


async def _stream(
    sandbox: Sandbox,
    command: Command,
    work: Callable[[BinaryIO], Extracted | None],
    *,
    inwards: bool,
    accepted: frozenset[int] = frozenset({0}),
) -> Extracted | None:
    """Run ``command`` with one end of a pipe and ``work`` on the other, in a thread."""
    read, write = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    inside, outside = (read, write) if inwards else (write, read)
    with tempfile.TemporaryFile() as errors, os.fdopen(outside, "wb" if inwards else "rb") as ours:
        try:
            running = await sandbox.spawn(
                command, inside if inwards else null, null if inwards else inside, errors.fileno()
            )
        finally:
            os.close(inside)
            os.close(null)
        try:
            outcome, failure = await asyncio.shield(asyncio.to_thread(_finish, work, ours))
            await asyncio.wait([running.ended], timeout=_END_SECONDS)
        finally:
            await asyncio.shield(running.kill())
        code = running.ended.result()
        if code not in accepted and (failure is None or code > 0 or isinstance(failure, BrokenPipeError)):
            errors.seek(0)
            message = errors.read(_ERROR_BYTES).decode(errors="replace").strip()
            raise TransferFailed(message or f"The copy ended with code {code}.") from failure
        if failure is not None:
            raise failure
        return outcome


def _finish(
    work: Callable[[BinaryIO], Extracted | None], ours: BinaryIO
) -> tuple[Extracted | None, BaseException | None]:
    outcome, failure = None, None
    try:
        outcome = work(ours)
    except BaseException as error:  # noqa: BLE001 - raised again by the caller once the command is gone
        failure = error
    with contextlib.suppress(OSError):
        ours.close()
    return outcome, failure


async def put_file(sandbox: Sandbox, source: Path, target: str, *, user: User = ROOT) -> None:
    """Copy one file with its permissions; a ``target`` that is a directory receives it under its own name."""
    status = await asyncio.to_thread(source.stat)
    mode = f"{stat.S_IMODE(status.st_mode) & 0o777:o}"

    def send(sink: BinaryIO) -> None:
        with source.open("rb") as file:
            while data := file.read(1024 * 1024):
                sink.write(data)

    await _stream(sandbox, _script(_PUT_FILE, target, source.name, mode, user=user), send, inwards=True)


async def put_directory(sandbox: Sandbox, source: Path, target: str) -> None:
    """Copy the content of ``source`` into ``target``, which is made; links stay links."""
    await _stream(sandbox, _script(_PUT_DIRECTORY, target), lambda sink: archive.pack(source, sink), inwards=True)


async def put_entries(sandbox: Sandbox, entries: Iterable[Entry], target: str, attributes: Attributes) -> None:
    """Put ``entries`` into the directory ``target``, which is made, as are the directories above it."""
    uid, gid = attributes.owner
    command = _script(_PUT_OWNED, target, f"{uid}:{gid}") if uid or gid else _script(_PUT_DIRECTORY, target)
    await _stream(sandbox, command, lambda sink: archive.pack_entries(entries, sink, attributes), inwards=True)


async def get_file(sandbox: Sandbox, source: str, target: Path) -> None:
    """Copy one regular file out; ``target`` appears complete or not at all."""
    partial = await asyncio.to_thread(_partial_file, target)

    def receive(stream: BinaryIO) -> None:
        with partial.open("wb") as file:
            archive.copy_bounded(stream, file, Bounds())

    try:
        await _stream(sandbox, _script(_GET_FILE, source), receive, inwards=False)
        await asyncio.to_thread(partial.replace, target)
    finally:
        await asyncio.to_thread(partial.unlink, missing_ok=True)


def _partial_file(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".transfer-")
    os.fchmod(descriptor, 0o644)
    os.close(descriptor)
    return Path(name)


async def get_directory(
    sandbox: Sandbox,
    source: str,
    target: Path,
    *,
    exclude: tuple[str, ...] = (),
    wanted: Callable[[str], bool] = lambda _: True,
) -> Extracted:
    """Copy the content of a directory out. ``exclude`` are tar's patterns, ``wanted`` is asked for each file's name."""
    options = [f"--exclude={pattern}" for pattern in exclude]
    result = await _stream(
        sandbox,
        _script(_GET_DIRECTORY, source, "--ignore-failed-read", *options),
        lambda stream: archive.extract(stream, target, Bounds(), wanted=wanted),
        inwards=False,
        accepted=_TAR_PACKED,
    )
    return result or Extracted()
