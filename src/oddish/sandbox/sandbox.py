"""A running sandbox: start it, run commands in it, stop it."""

import asyncio
import contextlib
import errno
import marshal
import os
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from oddish.errors import Unavailable
from oddish.sandbox import cgroup, host, keeper, layout, libraries, privileges, sweep, syscalls
from oddish.sandbox.capture import Capture
from oddish.sandbox.failures import CommandFailed, DiskLimitExceeded, DiskScarce
from oddish.sandbox.spec import Command, Completed, Spec
from oddish.sandbox.streams import OutputLine, Stream, Streams

if TYPE_CHECKING:
    from oddish.sandbox.wire import Claim, Order, Report, Request

OUTPUT_LIMIT = 16 * 1024 * 1024
"""Bytes kept of each output stream of one command."""
_CHUNK = 64 * 1024
_END_SECONDS = 10.0
_LAST_WORDS_SECONDS = 1.0
_COUNTED_PER_NAMESPACE = (5, 14)
"""The kernel since which a limit of processes holds for each user namespace."""
_NICENESS = 10
"""Of commands where no control group makes the rest of the machine come first."""
_STREAMS: tuple[Stream, Stream] = ("stdout", "stderr")


def _keeper_environment() -> dict[str, str]:
    """Nothing of the caller's, which may hold secrets, except what the interpreter itself may need to start."""
    inherited = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {"PATH": "/usr/bin:/bin"} | inherited


class Running:
    """A command that has been started."""

    def __init__(self, sandbox: "Sandbox", number: int) -> None:
        self._sandbox = sandbox
        self._number = number
        self.pid = 0
        """As the host numbers it."""
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def kill(self) -> None:
        """SIGKILL for the command, its session and its descendants; returns when it has ended."""
        if not self.ended.done():
            with contextlib.suppress(OSError):
                await self._sandbox.send({"id": self._number, "kill": True}, ())
            await asyncio.wait([self.ended], timeout=_END_SECONDS)


class Sandbox:
    """One sandbox. Bound to the event loop that started it; stopping twice is harmless."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.init = 0
        """Process id of the init, as the host numbers it."""
        self.scoped = False
        """Whether the host's abstract Unix sockets are out of reach (else only a network namespace keeps them away)."""
        self._loop = asyncio.get_running_loop()
        self._life, self._life_end = socket.socketpair()
        self._door, self._door_end = socket.socketpair()
        self._keeper: asyncio.subprocess.Process | None = None
        self._running: dict[int, Running] = {}
        self._started: dict[int, asyncio.Future[None]] = {}
        self._sending = asyncio.Lock()
        self._streams = Streams()
        self._inbox = bytearray()
        self._count = 0
        self._gone = asyncio.Event()
        self._last_words: Report = {}

    @classmethod
    async def start(cls, spec: Spec) -> Self:
        """Raises ``Unavailable`` with the reason when this machine refuses."""
        if host.privileged() or spec.layers:
            host.require_upper(spec.directory.parent)
        async with libraries.hold(spec.directory.parent, layout.system_directories()) as held:
            return await cls._start(replace(spec, libraries=held.path, locks=(*spec.locks, held.lock)))

    @classmethod
    async def _start(cls, spec: Spec) -> Self:
        failure: Unavailable | None = None
        for program in host.bwrap_candidates():
            sandbox = cls(spec)
            try:
                await sandbox._open(program)
            except Unavailable as error:
                failure = error
                await sandbox.stop()
            except BaseException:
                await sandbox.stop()
                raise
            else:
                return sandbox
        raise failure or Unavailable("There is no bwrap program.", fix="Install oddish[worker] or bubblewrap.")

    @property
    def written(self) -> Path:
        """On the host, the root of what was written beside the host's own directories. May hold any links."""
        return self.spec.directory / layout.ROOT

    @property
    def ended(self) -> bool:
        """Whether it was stopped, or its init or its keeper died."""
        return self._gone.is_set()

    async def _open(self, program: str) -> None:
        lock = sweep.claim(self.spec.directory, self.spec.name)
        try:
            await self._start_keeper(lock, *self.spec.locks)
        finally:
            os.close(lock)
        self._life.setblocking(False)
        self._door.setblocking(False)
        groups = [str(group) for group in cgroup.paths(self.spec.name)]
        claim: Claim = {"groups": groups, "directory": str(self.spec.directory)}
        await self._tell(claim)
        cgroup.create(self.spec.name, self.spec.limits)
        order: Order = {
            "bwrap": [program, *layout.arguments(self.spec)],
            "filter": syscalls.program(),
            "user_namespace": not host.privileged(),
            "network_namespace": not self.spec.network,
            "capabilities": privileges.mask(),
            "processes": None if host.privileged() or "pids" in cgroup.controllers() else self._process_limit(),
            "disk_bytes": self.spec.limits.disk_bytes,
            "niceness": 0 if "cpu" in cgroup.controllers() else _NICENESS,
        }
        await self._tell(order)
        report = await self._report()
        if "error" in report:
            raise Unavailable(f"The local sandbox did not start: {report['error']}.")
        self.init, self.scoped = report["init"], report["scoped"]
        self._loop.add_reader(self._door, self._read_replies)

    def _process_limit(self) -> int | None:
        """Older kernels would count all processes of the user, in the sandbox and out of it."""
        return self.spec.limits.processes if host.kernel() >= _COUNTED_PER_NAMESPACE else None

    async def _tell(self, message: "Claim | Order") -> None:
        await self._loop.sock_sendall(self._life, keeper.framed(message))

    async def _start_keeper(self, *locks: int) -> None:
        inherited = (self._life_end.fileno(), self._door_end.fileno(), *locks)
        self._keeper = await asyncio.create_subprocess_exec(
            sys.executable,
            *keeper.bootstrap(*inherited),
            env=_keeper_environment(),
            pass_fds=inherited,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        self._life_end.close()
        self._door_end.close()

    async def _report(self) -> "Report":
        header = await self._exactly(keeper.HEADER.size)
        body = await self._exactly(keeper.HEADER.unpack(header)[0]) if header else b""
        if not body:
            return {"error": "its keeper ended without a word"}
        report: Report = marshal.loads(body)  # noqa: S302 - written by our own keeper
        return report

    async def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = await self._loop.sock_recv(self._life, size - len(data))
            if not more:
                return b""
            data += more
        return data

    async def send(self, request: "Request", descriptors: Iterable[int]) -> None:
        message = keeper.framed(request)
        async with self._sending:
            while True:
                try:
                    sent = socket.send_fds(self._door, [message], list(descriptors))
                    break
                except BlockingIOError:
                    await self._writable()
            await self._loop.sock_sendall(self._door, message[sent:])

    async def _writable(self) -> None:
        ready = asyncio.Event()
        self._loop.add_writer(self._door, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_writer(self._door)

    def _read_replies(self) -> None:
        try:
            data = self._door.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._door)
            self._fail_all()
            return
        self._inbox += data
        size = keeper.REPLY.size
        while len(self._inbox) >= size:
            number, kind, value = keeper.REPLY.unpack(self._inbox[:size])
            del self._inbox[:size]
            self._dispatch(number, kind, value)

    def _dispatch(self, number: int, kind: int, value: int) -> None:
        if kind == keeper.ENDED:
            running = self._running.pop(number, None)
            if running and not running.ended.done():
                running.ended.set_result(value)
            return
        started = self._started.pop(number, None)
        if started is None or started.done():
            return
        if kind == keeper.STARTED:
            if running := self._running.get(number):
                running.pid = value
            started.set_result(None)
        else:
            self._running.pop(number, None)
            started.set_exception(CommandFailed(os.strerror(value), value))

    def _fail_all(self) -> None:
        self._gone.set()
        self._last_words = self._last_words or self._read_last_words()
        for started in self._started.values():
            if not started.done():
                started.set_exception(self._failure())
        for running in self._running.values():
            if not running.ended.done():
                running.ended.set_exception(self._failure())
                running.ended.exception()
        self._started.clear()
        self._running.clear()

    def _read_last_words(self) -> "Report":
        """Why the keeper ended the sandbox, where it was the keeper; it says so before."""
        try:
            data = self._life.recv(_CHUNK)
        except OSError:
            return {}
        if len(data) <= keeper.HEADER.size:
            return {}
        report: Report = marshal.loads(data[keeper.HEADER.size :])  # noqa: S302 - written by our own keeper
        return report

    def _failure(self) -> CommandFailed:
        if found := self._last_words.get("disk_limit"):
            return DiskLimitExceeded(f"The sandbox was ended: {found}.")
        if found := self._last_words.get("disk_scarce"):
            return DiskScarce(f"The sandbox was ended: {found}.")
        return CommandFailed("The sandbox has ended.")

    async def spawn(self, command: Command, stdin: int, stdout: int, stderr: int) -> Running:
        """Start ``command`` on three open descriptors, which stay the caller's. Raises ``CommandFailed``."""
        if self._gone.is_set() or not self.init:
            raise self._failure() if self._last_words else CommandFailed("The sandbox is not running.")
        if flaw := command.flaw():
            raise CommandFailed(flaw, errno.EINVAL)
        self._count += 1
        number = self._count
        running = Running(self, number)
        started: asyncio.Future[None] = self._loop.create_future()
        self._running[number], self._started[number] = running, started
        try:
            await self.send(
                {
                    "id": number,
                    "argv": list(command.argv),
                    "env": dict(command.env),
                    "cwd": command.cwd,
                    "uid": command.user.uid,
                    "gid": command.user.gid,
                    "groups": list(command.user.groups),
                },
                (stdin, stdout, stderr),
            )
            await started
        except OSError as error:
            raise self._failure() from error
        except CommandFailed as error:
            # The kernel says so too of a sandbox whose first process is gone, which the keeper is about to tell.
            if error.code == errno.ENOMEM and await self._ends_within(_LAST_WORDS_SECONDS):
                raise self._failure() from error
            raise
        except asyncio.CancelledError:
            await asyncio.shield(running.kill())
            raise
        return running

    async def _ends_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._gone.wait()
        return self._gone.is_set()

    async def run(
        self,
        command: Command,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the command's own limit; what it started is killed inside
        on_line: OutputLine | None = None,
        output_limit: int = OUTPUT_LIMIT,
        on_start: Callable[[int], None] | None = None,
    ) -> Completed:
        """Run to the end. What the command leaves in the background lives on.

        ``on_start`` is told its process id, as the host numbers it.
        Raises ``TimeoutError`` after ``timeout`` seconds and ``CommandFailed``; on these and on cancellation the
        command's processes are killed.
        """
        outputs = [os.pipe(), os.pipe()]
        stdin = os.open(os.devnull, os.O_RDONLY)
        try:
            running = await self.spawn(command, stdin, outputs[0][1], outputs[1][1])
        except BaseException:
            for read, _ in outputs:
                os.close(read)
            raise
        finally:
            os.close(stdin)
            for _, write in outputs:
                os.close(write)
        if on_start:
            on_start(running.pid)
        captures = [Capture(output_limit), Capture(output_limit)]
        pumps = [
            asyncio.create_task(self._streams.pump(read, running.ended, capture, name, on_line))
            for (read, _), capture, name in zip(outputs, captures, _STREAMS, strict=True)
        ]
        try:
            async with asyncio.timeout(timeout):
                code = await asyncio.shield(running.ended)
                await asyncio.gather(*pumps)
        except BaseException:
            for pump in pumps:
                pump.cancel()
            await asyncio.shield(running.kill())
            await asyncio.gather(*pumps, return_exceptions=True)
            raise
        return Completed(code, captures[0].value(), captures[1].value())

    async def stop(self) -> None:
        """Kill everything and remove every trace; returns when it is gone."""
        if self._door.fileno() >= 0:
            self._loop.remove_reader(self._door)
        for connection in (self._life, self._life_end, self._door, self._door_end):
            connection.close()
        self._fail_all()
        self._streams.close()
        if self._keeper:
            await asyncio.shield(self._keeper.wait())
