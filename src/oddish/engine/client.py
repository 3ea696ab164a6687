"""The worker's side of the runner protocol. Imports nothing of Harbor: the worker stays small.

async with ForkServer() as server:
    async with server.attempt(run) as attempt:
        async for line in attempt:
            ...                       # StageLine, LogLine, at last Done
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast

from oddish.engine.connection import decode, encode
from oddish.engine.process import kill_group
from oddish.engine.protocol import LINE_LIMIT, VERSION, Cancel, Done, FromChild, Hello, Kill, Run, Spawn
from oddish.engine.relay import relay
from oddish.variables import inherited

HELLO_TIMEOUT_SEC = 30.0
CLOSE_TIMEOUT_SEC = 30.0
KILL_TIMEOUT_SEC = 30.0
KNOWN_LINES = frozenset({"stage", "log", "logs", "done"})

HIDDEN_DIRECTORY = "ODDISH_HOME"
"""A path and no secret: the local sandbox needs it to keep the directory out of sight."""
FIXED = {"HARBOR_TELEMETRY": "0", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


class EngineError(Exception):
    """An attempt or the fork server ended in a way that says nothing about the trial."""


class EngineUnavailable(EngineError):
    """The fork server could not be started or does not run; what it printed is in the worker's own log."""


class AttemptCrashed(EngineError):
    """The child ended without Done: killed, out of memory, or a defect. ``status``: exit code or minus the signal."""

    def __init__(self, label: str, status: int) -> None:
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
        super().__init__(f"The process of attempt {label} ended with {how} before it reported a result.")
        self.status = status


class AttemptLost(EngineError):
    """The fork server ended, and the attempt with it."""

    def __init__(self, label: str) -> None:
        super().__init__(f"The fork server ended while attempt {label} was running.")


def curated_environment(allow: Iterable[str] = (), source: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables a fork server starts with: what programs need to run at all, and those in ``allow``, which every
    attempt sees. Nothing of ``ODDISH_*``, whatever ``allow`` says, but the directory to be hidden."""
    allowed = {name for name in allow if not name.startswith("ODDISH_")} | {HIDDEN_DIRECTORY}
    return {name: value for name, value in source.items() if inherited(name) or name in allowed} | FIXED


class Attempt:
    """One running attempt. Iterate over it, in one go or several: its lines end with Done.

    Iteration raises AttemptCrashed when the child ends without Done and AttemptLost when the fork server ends.
    """

    def __init__(
        self, server: "ForkServer", label: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self.label = label
        self.pid: int | None = None
        """Process id and group of the child; None until it is forked."""
        self.done: Done | None = None
        self._ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    @property
    def ended(self) -> bool:
        """The child is gone."""
        return self._ended.done()

    async def __aiter__(self) -> AsyncIterator[FromChild]:
        while True:
            try:
                raw = await self._reader.readline()
            except ConnectionError:
                raw = b""
            if not raw.endswith(b"\n"):
                break
            line = decode(raw)
            if line["type"] in KNOWN_LINES:
                if line["type"] == "done":
                    self.done = cast(Done, line)
                yield cast(FromChild, line)
        status = await self.wait()
        if self.done is None:
            raise AttemptCrashed(self.label, status)

    async def cancel(self) -> None:
        """Ask for an orderly end; the lines go on until Done. Does nothing once the child is gone."""
        with contextlib.suppress(ConnectionError):
            self._writer.write(encode(Cancel(type="cancel")))
            await self._writer.drain()

    async def kill(self) -> None:
        """Kill the child's process group and wait until it is gone; a fork server that does not see to it loses it."""
        if not self.ended:
            await self._server.send(Kill(type="kill", attempt=self.label))
        await asyncio.wait([self._ended], timeout=KILL_TIMEOUT_SEC)
        if not self.ended:
            if self.pid is not None:
                kill_group(self.pid)
            self.end(None)

    async def wait(self) -> int:
        """The child's exit code, or minus its signal, once it is gone. Raises AttemptLost."""
        status = await asyncio.shield(self._ended)
        if status is None:
            raise AttemptLost(self.label)
        return status

    def end(self, status: int | None) -> None:
        """The fork server's word that the child is gone; None when the fork server itself is."""
        if not self._ended.done():
            self._ended.set_result(status)

    def disconnect(self) -> None:
        """Close the connection; a child that is still there kills its group."""
        self._writer.close()


class ForkServer:
    """A fork server process and its attempts. May be started again after it ended. Use as an async context."""

    def __init__(self, *, python: str = sys.executable, environ: Mapping[str, str] | None = None) -> None:
        """``python`` has the engine installed; ``environ`` is ``curated_environment()`` unless given."""
        self._python = python
        self._environ = dict(environ) if environ is not None else curated_environment()
        self._attempts: dict[str, Attempt] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._listener: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()
        self._starting = asyncio.Lock()
        self.hello: Hello | None = None
        """What the running server announced."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def alive(self) -> bool:
        """Started and not ended."""
        return self._listener is not None and not self._listener.done()

    @property
    def pid(self) -> int | None:
        """Process id of the server that was started last."""
        return self._process.pid if self._process is not None else None

    async def start(self) -> Hello:
        """Start the server, again if it has ended, and return what it announces. Raises EngineUnavailable.

        Callers that find it dead at the same time start one between them.
        """
        async with self._starting:
            if self.alive and self.hello is not None:
                return self.hello
            return await self._start()

    async def _start(self) -> Hello:
        await self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: ASYNC220  milliseconds, once in the life of a server
                    [self._python, "-P", "-m", "oddish.engine.forkserver", "--control-fd", str(theirs.fileno())],
                    cwd="/",
                    env=self._environ,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise EngineUnavailable(f"The fork server could not be started: {error}") from error
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        relay(self._process.stdout)
        ours.setblocking(False)
        self._control = ours.dup()
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LINE_LIMIT)
        try:
            hello = await greeting(reader)
        except BaseException:
            writer.close()
            await asyncio.shield(asyncio.to_thread(self._end_process))
            raise
        self.hello = hello
        self._listener = asyncio.create_task(self._listen(reader, writer))
        return hello

    async def close(self) -> None:
        """End the server and every attempt. Attempts in iteration raise AttemptLost."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_RDWR)
        if self._listener is not None:
            await asyncio.wait([self._listener])
            self._listener = None
        self.hello = None

    @asynccontextmanager
    async def attempt(self, run: Run) -> AsyncIterator[Attempt]:
        """Start the attempt ``run``; on leaving the context it is killed if it still runs, and gone.

        Raises EngineUnavailable when the server is not running.
        """
        label = run["attempt"]
        if not self.alive:
            raise EngineUnavailable("The fork server is not running.")
        if label in self._attempts:
            raise ValueError(f"The attempt {label} is already running.")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LINE_LIMIT)
        attempt = Attempt(self, label, reader, writer)
        self._attempts[label] = attempt
        try:
            with theirs:
                await self.send(Spawn(type="spawn", attempt=label, model=run["model"] is not None), theirs.fileno())
            writer.write(encode(run))
            yield attempt
        finally:
            try:
                await asyncio.shield(attempt.kill())
            finally:
                del self._attempts[label]
                attempt.disconnect()

    async def send(self, message: Spawn | Kill, *descriptors: int) -> None:
        """Write a control line; a server that is gone takes it silently, its attempts end by that."""
        loop = asyncio.get_running_loop()
        async with self._sending:
            line, control = encode(message), self._control
            if control is None:
                return
            with contextlib.suppress(ConnectionError):
                while line:
                    try:
                        sent = socket.send_fds(control, [line], descriptors)
                    except BlockingIOError:
                        writable = loop.create_future()
                        loop.add_writer(control, writable.set_result, None)
                        try:
                            await writable
                        finally:
                            loop.remove_writer(control)
                        continue
                    line, descriptors = line[sent:], ()

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, ValueError):
                while line := await reader.readline():
                    self._on_message(decode(line))
        finally:
            writer.close()
            await asyncio.shield(asyncio.to_thread(self._end_process))
            for attempt in self._attempts.values():
                if attempt.pid is not None and not attempt.ended:
                    kill_group(attempt.pid)
                attempt.end(None)

    def _on_message(self, message: dict[str, Any]) -> None:
        attempt = self._attempts.get(message.get("attempt", ""))
        if attempt is None:
            return
        if message["type"] == "spawned":
            attempt.pid = message["pid"]
        elif message["type"] == "exited":
            attempt.end(message["status"])

    def _end_process(self) -> None:
        """Close the control connection for good and see the process off."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is None:
            return
        try:
            self._process.wait(CLOSE_TIMEOUT_SEC)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


async def greeting(reader: asyncio.StreamReader) -> Hello:
    """The Hello that a server opens with. Raises EngineUnavailable when there is none, or one of another version."""
    try:
        line = await asyncio.wait_for(reader.readline(), HELLO_TIMEOUT_SEC)
        hello = cast(Hello, decode(line)) if line else None
    except (TimeoutError, ValueError, ConnectionError) as error:
        raise EngineUnavailable(f"The fork server gave no valid greeting: {error!r}.") from error
    if hello is None:
        raise EngineUnavailable("The fork server ended before it was ready; its output says why.")
    if hello.get("version") != VERSION:
        raise EngineUnavailable(f"The engine speaks runner protocol {hello.get('version')}, this worker {VERSION}.")
    return hello
