"""What tests of the local sandbox share beside their fixtures."""

import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oddish.sandbox.cgroup import hierarchies
from oddish.sandbox.libraries import DIRECTORY as LIBRARIES
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import PATH, Command, Completed, Spec, User

ENVIRONMENT = {"PATH": PATH, "HOME": "/root"}

type StartSandbox = Callable[..., Coroutine[Any, Any, Sandbox]]


def shell(script: str, *, cwd: str = "/", user: User | None = None, env: dict[str, str] | None = None) -> Command:
    return Command(("/bin/sh", "-c", script), ENVIRONMENT | (env or {}), cwd, user or User())


async def output(sandbox: Sandbox, script: str) -> str:
    """What ``script`` prints; it must succeed."""
    done: Completed = await sandbox.run(shell(script), timeout=20)
    assert done.code == 0, done
    return done.stdout.decode()


@dataclass(frozen=True)
class Traces:
    """What a sandbox could leave on a machine: its mounts, its control groups, its processes, its files."""

    mounts: tuple[str, ...]
    groups: tuple[str, ...]
    processes: tuple[str, ...]
    files: tuple[str, ...]


NOTHING = Traces((), (), (), ())


def traces(name: str, scratch: Path) -> Traces:
    """Everything on this machine that has ``name`` in it."""
    return Traces(
        mounts=tuple(line for line in Path("/proc/self/mounts").read_text().splitlines() if name in line),
        groups=tuple(str(path) for hierarchy in hierarchies() for path in hierarchy.directory.glob(f"oddish-*{name}*")),
        processes=tuple(path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _mentions(path, name)),
        files=tuple(str(path) for path in scratch.glob(f"*{name}*")),
    )


def exists(*paths: str | Path) -> list[bool]:
    """Whether each is there, be it a dangling link."""
    return [os.path.lexists(path) for path in paths]


def names(directory: Path) -> list[str]:
    """What is in it, but for the copies of libraries that sandboxes share."""
    return sorted(path.name for path in directory.iterdir() if path.name != LIBRARIES)


def _mentions(path: Path, name: str) -> bool:
    try:
        return path.parent.name != str(os.getpid()) and name.encode() in path.read_bytes()
    except OSError:
        return False


def spec(name: str, scratch: Path, **changes: Any) -> Spec:
    return Spec(name=name, directory=scratch / name, **changes)
