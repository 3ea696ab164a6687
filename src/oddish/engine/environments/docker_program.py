"""The docker program as a child process that does not outlive its caller's interest."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Exit code and both output streams, in the order in which they were written."""

    code: int
    output: str

    @property
    def said(self) -> str:
        """The end of the output, for a message."""
        return self.output.strip()[-2000:]


async def ask(*arguments: str, env: Mapping[str, str] | None = None, log: Path | None = None) -> Answer:
    """Run docker to its end. ``env`` is added to this process's variables; with ``log`` the output is kept there.

    When the caller is cancelled the program is ended, and with it what it asked the engine for, like a build.
    """
    async with started(*arguments, env=env) as process:
        output, _ = await process.communicate()
    if log is not None:
        await asyncio.to_thread(log.write_bytes, output)
    return Answer(process.returncode or 0, output.decode(errors="replace"))


@contextlib.asynccontextmanager
async def started(
    *arguments: str, env: Mapping[str, str] | None = None, stdin: int = subprocess.DEVNULL
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A running docker program with its standard error on its output; it is ended on leaving the context.

    It leads a process group of its own, since older ones do not hand a signal on to their plugins.
    """
    process = await asyncio.create_subprocess_exec(
        "docker",
        *arguments,
        env={**os.environ, **(env or {})},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            await asyncio.shield(end(process))


async def end(process: asyncio.subprocess.Process) -> None:
    """Ask the program and its plugin to end, then make them."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
