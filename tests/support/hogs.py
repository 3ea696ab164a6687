"""Programs that take all there is. As a program: runs each in a sandbox and prints as JSON what came of it."""

import asyncio
import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from oddish.sandbox import cgroup, host
from oddish.sandbox.failures import CommandFailed
from oddish.sandbox.libraries import DIRECTORY as LIBRARIES
from oddish.sandbox.sandbox import Sandbox
from oddish.sandbox.spec import PATH, Command, Limits, Spec
from support.waiting import until

MEBIBYTE = 1024**2
LIMITS = Limits(memory_bytes=64 * MEBIBYTE, processes=100, disk_bytes=32 * MEBIBYTE)
BOMB_SECONDS = 2.0

_MEMORY = "head -c 300000000 /dev/zero | tail -c 300000000 | wc -c"
_FORKS = """exec python3 -c '
import os, time
os.closerange(0, 3)
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.001)
'"""
_MANY_FILES = "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > /app/$i; done"
_ONE_FILE = "head -c 100000000 /dev/zero > /app/large; stat -c %s /app/large"
_SURVIVOR = (
    "(trap '' TERM HUP; setsid setsid sh -c 'while :; do sleep 0.1; : NONCE; done' </dev/null >/dev/null 2>&1 &) &"
)


def _shell(script: str) -> Command:
    return Command(("/bin/sh", "-c", script), {"PATH": PATH})


async def _usable(sandbox: Sandbox) -> str:
    return (await sandbox.run(_shell("echo usable"), timeout=20)).stdout.decode().strip()


async def _memory(sandbox: Sandbox) -> dict[str, Any]:
    done = await sandbox.run(_shell(_MEMORY), timeout=60)
    return {"bounded": "memory" in cgroup.controllers(), "counted": done.stdout.decode().strip()}


async def _forks(sandbox: Sandbox) -> dict[str, Any]:
    bomb = asyncio.create_task(sandbox.run(_shell(_FORKS)))
    most, slowest = 0, 0.0
    end = time.monotonic() + BOMB_SECONDS
    while time.monotonic() < end:
        begun = time.monotonic()
        await asyncio.to_thread(subprocess.run, ["/bin/true"], check=True)
        slowest = max(slowest, time.monotonic() - begun)
        most = max(most, len(_inside(sandbox)))
        await asyncio.sleep(0.02)
    bomb.cancel()
    await asyncio.wait([bomb])
    with contextlib.suppress(TimeoutError):
        await until(lambda: len(_inside(sandbox)) <= 1)
    return {"most": most, "slowest_start": slowest, "left": len(_inside(sandbox))}


def _inside(sandbox: Sandbox) -> list[str]:
    """Process ids in the namespace of a sandbox."""
    namespace = _namespace(str(sandbox.init))
    return [pid for pid in _processes() if namespace and _namespace(pid) == namespace]


def _processes() -> list[str]:
    return [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]


def _namespace(pid: str) -> str | None:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115
    return None


async def _disk(scratch: Path, base: Path) -> dict[str, Any]:
    """Bounded in nothing else: what waits to be written counts as memory."""
    free = os.statvfs(base).f_bfree
    limits = Limits(disk_bytes=LIMITS.disk_bytes)
    sandbox = await Sandbox.start(Spec(f"disk-hog-{os.getpid()}", scratch / "disk-hog", limits=limits))
    one = (await sandbox.run(_shell(_ONE_FILE), timeout=60)).stdout.decode().strip()
    try:
        done = await sandbox.run(_shell(_MANY_FILES), timeout=150)
        ended = f"exit code {done.code}"
    except CommandFailed as error:
        ended = f"{type(error).__name__}: {error}"
    await sandbox.stop()
    taken = (free - os.statvfs(base).f_bfree) * os.statvfs(base).f_frsize
    return {"one_file": one, "ended": ended, "still_taken": taken}


async def _survivor(scratch: Path, name: str) -> dict[str, Any]:
    sandbox = await Sandbox.start(Spec(name, scratch / name))
    await sandbox.run(_shell(_SURVIVOR.replace("NONCE", name)), timeout=20)
    await until(lambda: any(_says(pid, name) for pid in _inside(sandbox)))
    await sandbox.stop()
    return {"left": len([pid for pid in _processes() if _says(pid, name)])}


def _says(pid: str, nonce: str) -> bool:
    with contextlib.suppress(OSError):
        return nonce.encode() in Path("/proc", pid, "cmdline").read_bytes()
    return False


async def run(base: Path) -> dict[str, Any]:
    scratch = base / "scratch"
    sandbox = await Sandbox.start(Spec(f"hog-{os.getpid()}", scratch / "hog", limits=LIMITS))
    try:
        memory = await _memory(sandbox)
        after_memory = await _usable(sandbox)
        forks = await _forks(sandbox)
        after_forks = await _usable(sandbox)
    finally:
        await sandbox.stop()
    disk = await _disk(scratch, base)
    return {
        "privileged": host.privileged(),
        "memory": {**memory, "after": after_memory},
        "forks": {**forks, "after": after_forks},
        "disk": disk,
        "survivor": await _survivor(scratch, f"survivor-{os.getpid()}"),
        "left": [path.name for path in scratch.iterdir() if path.name != LIBRARIES],
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="oddish-hogs-") as name:
        print(json.dumps(asyncio.run(run(Path(name)))))  # noqa: T201
