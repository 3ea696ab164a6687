"""Carrying out a plan in a running sandbox."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.errors import InvalidInput
from oddish.sandbox import host, transfer, users
from oddish.sandbox.context import Context, Source
from oddish.sandbox.plan import Copy, MakeDirectory, Plan, Run, Step
from oddish.sandbox.sandbox import CommandFailed, OutputLine, Sandbox
from oddish.sandbox.spec import PATH, Command

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_PROGRAMS = ("sh", "env", "sleep", "tar", "cat", "mkdir", "chmod", "dirname")
"""What starting a sandbox and copying into it and out of it takes."""
_TAIL_CHARACTERS = 4000
_UNPRIVILEGED = (
    " The system is read-only in a sandbox that an ordinary user starts: run the worker as root or use docker."
)


class BuildFailed(RuntimeError):
    """A step of the Dockerfile ended with an error; the message has its line and the end of its output."""


async def carry_out(
    plan: Plan,
    context: Context,
    sandbox: Sandbox,
    on_line: OutputLine | None = None,
) -> None:
    """Raises ``BuildFailed`` for what the Dockerfile is to blame for, ``CommandFailed`` for what it is not."""
    for step in plan.steps:
        with _blamed(f"Dockerfile line {step.line}", sandbox):
            await _carry_out(step, context, sandbox, on_line)
    if plan.steps:
        with _blamed("After the Dockerfile's last step", sandbox):
            await _require_programs(sandbox)


@contextlib.contextmanager
def _blamed(where: str, sandbox: Sandbox) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise BuildFailed(f"{where}: {error}") from error
    except CommandFailed as error:
        if sandbox.ended or error.exhausted:
            raise
        raise BuildFailed(f"{where}: a command cannot start: {error}") from error


async def _carry_out(step: Step, context: Context, sandbox: Sandbox, on_line: OutputLine | None) -> None:
    match step:
        case MakeDirectory():
            await _shell(sandbox, step.line, 'mkdir -p -- "$1"', step.path)
        case Run():
            await _run(sandbox, step, on_line)
        case Copy():
            await _copy(sandbox, step, context)


async def _require_programs(sandbox: Sandbox) -> None:
    search = 'for name; do command -v "$name" >/dev/null || echo "$name"; done'
    outcome = await sandbox.run(Command(("/bin/sh", "-c", search, "sh", *_PROGRAMS), {"PATH": PATH}))
    missing = outcome.stdout.decode(errors="replace").split()
    if missing or outcome.code > 0:
        what = ", ".join(missing) or "a working /bin/sh"
        raise BuildFailed(f"The Dockerfile's steps leave the sandbox without {what}, which it needs. Keep it.")


async def _run(
    sandbox: Sandbox,
    step: Run,
    on_line: OutputLine | None,
) -> None:
    user = await users.resolve(sandbox, step.user)
    environment = dict(step.env)
    if step.user != "root":
        environment["HOME"] = user.home
    argv = step.argv
    if not argv[0].startswith("/"):
        argv = ("/usr/bin/env", "--", *argv)
    outcome = await sandbox.run(Command(argv, environment, step.cwd, user), on_line=on_line)
    if outcome.code != 0:
        output = (outcome.stdout + outcome.stderr).decode(errors="replace").strip()[-_TAIL_CHARACTERS:]
        hint = _UNPRIVILEGED if "Read-only file system" in output and not host.privileged() else ""
        raise BuildFailed(f"Dockerfile line {step.line}: RUN ended with code {outcome.code}.{hint}\n{output}")


async def _shell(sandbox: Sandbox, line: int, script: str, *arguments: str) -> None:
    command = Command(("/bin/sh", "-c", script, "sh", *arguments), {"PATH": PATH})
    outcome = await sandbox.run(command)
    if outcome.code != 0:
        message = outcome.stderr.decode(errors="replace").strip()
        raise BuildFailed(f"Dockerfile line {line}: {message or f'ended with code {outcome.code}'}")


@dataclass(frozen=True, slots=True)
class _Staged:
    """What a COPY brings: ``names`` lie in ``directory`` as they land; ``archives`` are unpacked there."""

    directory: Path
    names: tuple[str, ...]
    archives: tuple[Path, ...]
    is_file: bool
    """One file or link whose target may be its new name."""


async def _copy(sandbox: Sandbox, step: Copy, context: Context) -> None:
    with tempfile.TemporaryDirectory(prefix="oddish-copy-") as name:
        staged = await asyncio.to_thread(_stage, step, context, name)
        try:
            if staged.is_file:
                await _put_one(sandbox, staged, step)
            else:
                await _put_many(sandbox, staged, step)
        except transfer.TransferFailed as error:
            raise BuildFailed(f"Dockerfile line {step.line}: {error}") from error


def _stage(step: Copy, context: Context, directory: str) -> _Staged:
    staged = Path(directory, "staged")
    staged.mkdir()
    sources = [source for wanted in step.sources for source in context.sources(wanted, step.line)]
    archives = []
    for source in sources:
        if source.is_directory:
            _stage_directory(source, staged, context)
        elif step.unpack and source.path.name.endswith(_ARCHIVES) and not source.path.is_symlink():
            archives.append(source.path)
        else:
            shutil.copy2(source.path, staged / source.path.name, follow_symlinks=False)
    for word, text in step.texts:
        (staged / word).write_text(text)
    for path in staged.rglob("*") if step.mode else ():
        if not path.is_symlink():
            path.chmod(int(step.mode, 8))
    names = tuple(sorted(path.name for path in staged.iterdir()))
    to_directory = step.target.endswith("/") or len(sources) + len(step.texts) > 1
    is_file = not (to_directory or archives or any(source.is_directory for source in sources))
    return _Staged(staged, names, tuple(archives), is_file)


def _stage_directory(source: Source, staged: Path, context: Context) -> None:
    prefix = "" if source.relative == "." else f"{source.relative}/"

    def left_out(directory: str, names: list[str]) -> set[str]:
        below = Path(directory).relative_to(source.path).as_posix()
        base = prefix if below == "." else f"{prefix}{below}/"
        return {name for name in names if context.ignored(f"{base}{name}")}

    shutil.copytree(source.path, staged, symlinks=True, ignore=left_out, dirs_exist_ok=True)


async def _put_one(sandbox: Sandbox, staged: _Staged, step: Copy) -> None:
    (name,) = staged.names
    target = step.target
    if await _is_directory(sandbox, target):
        target = f"{target.rstrip('/')}/{name}"
    parent, _, landed = target.rpartition("/")
    await asyncio.to_thread(os.rename, staged.directory / name, staged.directory / landed)
    await transfer.put_directory(sandbox, staged.directory, parent or "/")
    await _own(sandbox, step, target)


async def _put_many(sandbox: Sandbox, staged: _Staged, step: Copy) -> None:
    await transfer.put_directory(sandbox, staged.directory, step.target)
    for archive in staged.archives:
        landing = f"/installed-agent/.{archive.name}"
        await transfer.put_file(sandbox, archive, landing)
        unpack = 'mkdir -p -- "$2" && tar -x -f "$1" -C "$2" && rm -f -- "$1"'
        await _shell(sandbox, step.line, unpack, landing, step.target)
    await _own(sandbox, step, *(f"{step.target.rstrip('/')}/{name}" for name in staged.names))


async def _is_directory(sandbox: Sandbox, path: str) -> bool:
    outcome = await sandbox.run(Command(("/bin/sh", "-c", 'test -d "$1"', "sh", path), {"PATH": PATH}))
    return outcome.code == 0


async def _own(sandbox: Sandbox, step: Copy, *paths: str) -> None:
    if step.owner and paths:
        await _shell(sandbox, step.line, 'owner=$1; shift; chown -R "$owner" -- "$@"', step.owner, *paths)
