"""The process beside one sandbox: starts it, runs commands in it, and removes it whatever happens.

Runs in a bare interpreter (see ``bootstrap``), so it holds none of its caller's memory, and imports the standard
library only. It splits in two:

* the **supervisor** keeps its privileges and reads nothing that is inside. It starts ``bwrap``, waits, and when its
  caller closes the lifeline, dies, the sandbox ends, or takes more of the disk than it may, kills every process,
  removes the control groups and deletes the sandbox's directory;
* the **gate** enters the namespaces, gives up its privileges *before* anything inside can influence it, and from then
  on forks the commands it is asked for. Nothing that a command can replace (its shell, its libraries, its ``/etc``) is
  ever read by a process that holds more than the command itself.
"""

import array
import contextlib
import errno
import marshal
import os
import resource
import select
import signal
import socket
import struct
import time

from oddish.removal import discard
from oddish.sandbox import privileges
from oddish.sandbox.diskwatch import INTERVAL_MILLISECONDS, DiskWatch
from oddish.sandbox.killing import kill_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from oddish.sandbox.wire import Claim, Order, Report, Request

HEADER = struct.Struct("=I")
REPLY = struct.Struct("=IBi")
STARTED, ENDED, FAILED = 1, 2, 3
"""Kinds of reply. Their values: the command's process id, its wait status, an ``errno``."""

_NAMESPACES = os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWIPC | os.CLONE_NEWUTS | os.CLONE_NEWCGROUP
_REMOVAL_SECONDS = 10.0
_REMOVAL_PAUSE_SECONDS = 0.002


def bootstrap(*descriptors: int) -> list[str]:
    """Interpreter arguments that run ``main`` of this module on inherited descriptors."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    code = (
        "import sys, types\n"
        f"for name, path in (('oddish', {package!r}), ('oddish.sandbox', {package + '/sandbox'!r})):\n"
        "    module = types.ModuleType(name); module.__path__ = [path]; sys.modules[name] = module\n"
        "from oddish.sandbox.keeper import main\n"
        f"main{descriptors!r}"
    )
    return ["-I", "-S", "-c", code]


def main(life: int, gate: int, *locks: int) -> "NoReturn":
    """``life`` and ``gate`` are sockets; ``locks`` are only kept open, for as long as this process lives."""
    for descriptor in (life, gate, *locks):
        os.set_inheritable(descriptor, False)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))  # our caller's own limit is not that of the sandbox
    with socket.socket(fileno=life) as lifeline, socket.socket(fileno=gate) as door:
        claim = _receive(lifeline, [])
        if claim is None:
            os._exit(0)
        supervisor = _Supervisor(marshal.loads(claim), lifeline)  # noqa: S302 - written by our own parent
        try:
            if order := _receive(lifeline, []):
                supervisor.start(marshal.loads(order), door)  # noqa: S302 - written by our own parent
                door.close()
                supervisor.watch()
        except OSError as error:
            supervisor.say({"error": str(error)})
        supervisor.end()
    os._exit(0)


class _Supervisor:
    def __init__(self, claim: "Claim", lifeline: socket.socket) -> None:
        self.claim = claim
        self.lifeline = lifeline
        self.bwrap = 0
        self.init = -1
        self.gate = 0
        self.disk: DiskWatch | None = None
        privileges.adopt_orphans()
        privileges.close_memory()

    def say(self, report: "Report") -> None:
        with contextlib.suppress(OSError):
            self.lifeline.sendall(framed(report))

    def start(self, order: "Order", door: socket.socket) -> None:
        ready, diagnostics, info = os.pipe(), os.pipe(), os.pipe()
        self.bwrap = os.fork()
        if self.bwrap == 0:
            _in_child(lambda: self._become_bwrap(order, ready[1], diagnostics[1], info[1]))
        for _, write in (ready, diagnostics, info):
            os.close(write)
        said = os.read(ready[0], 1)
        if not said:
            message = os.read(diagnostics[0], 4096).decode(errors="replace").strip()
            raise OSError(errno.EPERM, message or "bwrap ended without a message")
        pid = int(os.read(info[0], 4096).partition(b'"child-pid":')[2].partition(b",")[0].strip(b" \n}"))
        for read, _ in (ready, diagnostics, info):
            os.close(read)
        self.init = os.pidfd_open(pid)
        scoped, scoped_write = os.pipe()
        self.gate = os.fork()
        if self.gate == 0:
            _in_child(lambda: self._become_gate(order, door, scoped_write))
        os.close(scoped_write)
        answer = os.read(scoped, 4096)
        os.close(scoped)
        if answer not in (b"0", b"1"):
            raise OSError(errno.EPERM, answer.decode(errors="replace") or "the gate of the sandbox did not open")
        self.disk = DiskWatch(self.claim["directory"], order["disk_bytes"], pid)
        self.say({"init": pid, "scoped": answer == b"1"})

    def _join_groups(self) -> None:
        privileges.go_first()
        for group in self.claim["groups"]:
            with open(f"{group}/cgroup.procs", "w") as file:  # noqa: PTH123 - keeps pathlib out of the hot path
                file.write("0")

    def _become_bwrap(self, order: "Order", ready: int, diagnostics: int, info: int) -> None:
        os.dup2(diagnostics, 2)
        self._join_groups()
        rules, rules_write = os.pipe()
        os.write(rules_write, order["filter"])
        os.close(rules_write)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(ready, 1)
        os.set_inheritable(info, True)
        os.set_inheritable(rules, True)
        program, *arguments = order["bwrap"]
        os.execve(program, [program, "--info-fd", str(info), "--seccomp", str(rules), *arguments], {})  # noqa: S606

    def _become_gate(self, order: "Order", door: socket.socket, scoped: int) -> None:
        try:
            self.lifeline.close()
            self._join_groups()
            namespaces = _NAMESPACES
            if order["user_namespace"]:
                namespaces |= os.CLONE_NEWUSER
            if order["network_namespace"]:
                namespaces |= os.CLONE_NEWNET
            os.setns(self.init, namespaces)
            os.chdir("/")
            if order["user_namespace"]:
                os.setresgid(0, 0, 0)
                os.setresuid(0, 0, 0)
            restricted = privileges.leave_other_domains()
            privileges.filter_system_calls(order["filter"])
            for kind, limit in (
                (resource.RLIMIT_FSIZE, order["disk_bytes"]),
                (resource.RLIMIT_NPROC, order["processes"]),
            ):
                if limit is not None:
                    resource.setrlimit(kind, (limit, limit))
            privileges.keep_only(order["capabilities"])
            privileges.close_memory()
            privileges.die_with_parent()
        except OSError as error:
            os.write(scoped, str(error).encode())
            return
        os.write(scoped, b"1" if restricted else b"0")
        os.close(scoped)
        _Gate(door, may_set_groups=not order["user_namespace"], niceness=order["niceness"]).serve()

    def watch(self) -> None:
        """Return when the lifeline closes, when either process ends, and when the disk fills."""
        poll = select.poll()
        gate = os.pidfd_open(self.gate)
        poll.register(self.lifeline, select.POLLIN)
        poll.register(self.init, select.POLLIN)
        poll.register(gate, select.POLLIN)
        while not poll.poll(INTERVAL_MILLISECONDS):
            if self.disk and (report := self.disk.verdict()):
                self.say(report)
                return

    def end(self) -> None:
        for group in self.claim["groups"]:
            _weigh_again(group)
        if self.init >= 0:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self.init, signal.SIGKILL)
        for pid in (self.bwrap, self.gate):
            if pid:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        for group in self.claim["groups"]:
            remove_group(group, _REMOVAL_SECONDS)
        discard(self.claim["directory"])


class _Gate:
    def __init__(self, door: socket.socket, *, may_set_groups: bool, niceness: int) -> None:
        self.door = door
        self.may_set_groups = may_set_groups
        self.niceness = niceness
        self.commands: dict[int, tuple[int, int, int]] = {}
        """Request id -> (process id out here, process id in there, pidfd)."""
        self.poll = select.poll()
        self.poll.register(door, select.POLLIN)

    def serve(self) -> None:
        while True:
            ready = {descriptor for descriptor, _ in self.poll.poll()}
            for request, (pid, _, descriptor) in list(self.commands.items()):
                if descriptor in ready:
                    self._reap(request, pid, descriptor)
            if self.door.fileno() in ready and not self._handle():
                return

    def _reply(self, request: int, kind: int, value: int) -> None:
        self.door.sendall(REPLY.pack(request, kind, value))

    def _reap(self, request: int, pid: int, descriptor: int) -> None:
        _, status = os.waitpid(pid, 0)
        self.poll.unregister(descriptor)
        os.close(descriptor)
        del self.commands[request]
        self._reply(request, ENDED, os.waitstatus_to_exitcode(status))

    def _handle(self) -> bool:
        descriptors: list[int] = []
        body = _receive(self.door, descriptors)
        if body is None:
            return False
        request: Request = marshal.loads(body)  # noqa: S302 - written by our own parent
        if request.get("kill"):
            if command := self.commands.get(request["id"]):
                kill_tree(command[0], command[1])
            return True
        try:
            self._start(request, descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _start(self, request: "Request", descriptors: list[int]) -> None:
        report, report_write = os.pipe()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(report)
            os.close(report_write)
            self._reply(request["id"], FAILED, error.errno or errno.EAGAIN)
            return
        if pid == 0:
            _in_child(lambda: self._become_command(request, descriptors, report_write))
        os.close(report_write)
        inside = int.from_bytes(os.read(report, 4), "little")
        failure = os.read(report, 4)
        os.close(report)
        if failure:
            os.waitpid(pid, 0)
            self._reply(request["id"], FAILED, int.from_bytes(failure, "little"))
            return
        descriptor = os.pidfd_open(pid)
        self.poll.register(descriptor, select.POLLIN)
        self.commands[request["id"]] = (pid, inside, descriptor)
        self._reply(request["id"], STARTED, pid)

    def _become_command(self, request: "Request", descriptors: list[int], report: int) -> None:
        os.write(report, os.getpid().to_bytes(4, "little"))
        try:
            os.setsid()
            for target, descriptor in enumerate(descriptors):
                os.dup2(descriptor, target)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.umask(0o022)
            os.nice(self.niceness)
            os.chdir(request["cwd"])
            if self.may_set_groups:
                os.setgroups(request["groups"])
            os.setresgid(request["gid"], request["gid"], request["gid"])
            os.setresuid(request["uid"], request["uid"], request["uid"])
            os.execve(request["argv"][0], request["argv"], request["env"])  # noqa: S606
        except OSError as error:
            os.write(report, (error.errno or errno.EINVAL).to_bytes(4, "little"))
        except Exception:  # noqa: BLE001 - the interpreter refuses, before the kernel could, what cannot be passed on
            os.write(report, errno.EINVAL.to_bytes(4, "little"))


def framed(message: "Mapping[str, object]") -> bytes:
    body = marshal.dumps(dict(message))
    return HEADER.pack(len(body)) + body


def _receive(connection: socket.socket, descriptors: list[int]) -> bytes | None:
    """One message, or None at the end. Descriptors that came with it are appended to ``descriptors``."""
    header = b""
    while len(header) < HEADER.size:
        data, ancillary, _, _ = connection.recvmsg(
            HEADER.size - len(header), socket.CMSG_SPACE(3 * 4), socket.MSG_CMSG_CLOEXEC
        )
        if not data:
            return None
        header += data
        for _, kind, content in ancillary:
            if kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(content[: len(content) - len(content) % received.itemsize])
                descriptors.extend(received)
    (length,) = HEADER.unpack(header)
    body = bytearray()
    while len(body) < length:
        data = connection.recv(length - len(body))
        if not data:
            return None
        body += data
    return bytes(body)


def _in_child(work: "Callable[[], None]") -> "NoReturn":
    """Run ``work`` in a forked child that must never return into its parent's code."""
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - nothing may escape into the parent's stack
        os.write(2, f"{error}\n".encode())
    os._exit(127)


def _weigh_again(group: str) -> None:
    """Thousands of processes that have to end get the CPU for it."""
    for name, ordinary in (("cpu.shares", "1024"), ("cpu.weight", "100")):
        with contextlib.suppress(OSError), open(f"{group}/{name}", "r+") as file:  # noqa: PTH123
            file.write(ordinary)


def remove_group(path: str, patience: float = 0.5) -> bool:
    """Remove a control group once the last process in it has gone; False when that takes longer, in seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            os.rmdir(path)  # noqa: PTH106
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > deadline:
                return False
            select.select([], [], [], _REMOVAL_PAUSE_SECONDS)
        else:
            return True
