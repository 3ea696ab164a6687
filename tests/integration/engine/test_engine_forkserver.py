"""The fork server without Harbor: whom it starts, reports, adopts and kills."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from oddish.engine.connection import Connection, Message
from support.waiting import eventually

SERVER = """
import os, signal, socket, subprocess, sys, time
from oddish.engine import forkserver
from oddish.engine.connection import Connection

forkserver.ORPHAN_GRACE_SEC = float(sys.argv[2])
forkserver.import_model_library = lambda: None

def body(sock):
    while (messages := Connection(sock).receive()) == []:
        pass
    for message in messages or []:
        exec(message["type"])

forkserver.ForkServer(Connection(socket.socket(fileno=int(sys.argv[1]))), body).serve()
"""
"""Runs the text of each attempt's first line; the second argument is the grace of orphans in seconds."""

DETACHED = "subprocess.Popen(['sleep', '600'], start_new_session=True)"


class Server:
    """A fork server and this end of its control connection."""

    def __init__(self, orphan_grace: float) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVER, str(theirs.fileno()), str(orphan_grace)], pass_fds=[theirs.fileno()]
            )
        ours.settimeout(20)
        self.control = Connection(ours)
        self._messages: list[Message] = []

    def spawn(self, label: str, code: str, *, model: bool = False) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self.control.send({"type": "spawn", "attempt": label, "model": model}, theirs.fileno())
        Connection(ours).send({"type": code})
        return ours

    def next(self) -> Message:
        while not self._messages:
            received = self.control.receive()
            assert received is not None
            self._messages = received
        return self._messages.pop(0)

    def end(self) -> None:
        self.control.sock.close()
        self.process.wait(20)


@pytest.fixture
def start() -> Iterator[Callable[[float], Server]]:
    servers: list[Server] = []

    def start(orphan_grace: float) -> Server:
        servers.append(Server(orphan_grace))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture
def server(start: Callable[[float], Server]) -> Server:
    return start(0.2)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_child_is_reported_when_it_starts_and_when_it_ends(server: Server) -> None:
    with server.spawn("one", "sys.exit(3)"):
        spawned, exited = server.next(), server.next()
    assert spawned == {"type": "spawned", "attempt": "one", "pid": spawned["pid"]}
    assert exited["attempt"] == "one"
    assert exited["pid"] == spawned["pid"]
    assert exited["status"] == 1


def test_a_child_leads_a_session_and_holds_nothing_of_the_server(server: Server) -> None:
    code = (
        "import json\n"
        "leads = os.getpid() == os.getsid(0) == os.getpgid(0)\n"
        "descriptors = os.listdir('/proc/self/fd')\n"
        "sock.sendall(json.dumps([leads, len(descriptors), open('/proc/self/comm').read()]).encode()); sock.recv(1)"
    )
    with server.spawn("trial-name-0.1-abcdef", code) as attempt:
        leads, descriptors, name = json.loads(attempt.recv(65536))
    assert leads
    assert descriptors == 5  # the standard three, its socket, the listing itself
    assert name == "trial-name-0.1-abcdef"[-15:] + "\n"


def test_kill_ends_the_group_of_one_attempt_only(server: Server) -> None:
    with server.spawn("one", "time.sleep(600)"), server.spawn("two", "time.sleep(600)"):
        one, two = server.next(), server.next()
        server.control.send({"type": "kill", "attempt": "one"})
        assert server.next() == {"type": "exited", "attempt": "one", "pid": one["pid"], "status": -signal.SIGKILL}
        assert not gone(two["pid"])


def test_processes_of_the_group_end_with_the_attempt(server: Server) -> None:
    code = "sock.sendall(str(subprocess.Popen(['sleep', '600']).pid).encode())"
    with server.spawn("one", code) as attempt:
        sleeper = int(attempt.recv(100))
        eventually(lambda: gone(sleeper))


def test_what_left_the_group_is_killed_after_its_grace(server: Server) -> None:
    with server.spawn("one", f"sock.sendall(str({DETACHED}.pid).encode()); sock.recv(1)") as attempt:
        sleeper = int(attempt.recv(100))
    eventually(lambda: gone(sleeper))


def test_orphans_of_a_live_attempt_are_left_alone(server: Server) -> None:
    code = (
        "pid = os.fork()\n"
        "if not pid:\n"
        f"    sock.sendall(str({DETACHED}.pid).encode()); os._exit(0)\n"
        "os.waitpid(pid, 0); sock.recv(1)"
    )
    with server.spawn("one", code) as attempt, server.spawn("two", "pass"):
        sleeper = int(attempt.recv(100))
        assert {server.next()["attempt"], server.next()["attempt"], server.next()["attempt"]} == {"one", "two"}
        time.sleep(0.5)
        assert not gone(sleeper)


def test_the_end_of_the_control_connection_ends_everything(start: Callable[[float], Server]) -> None:
    server = start(0.2)
    with server.spawn("one", f"sock.sendall(str({DETACHED}.pid).encode()); time.sleep(600)") as attempt:
        sleeper = int(attempt.recv(100))
        child = server.next()["pid"]
        server.end()
        assert gone(child)
        assert gone(sleeper)


@pytest.mark.parametrize("model", [False, True])
def test_the_death_of_the_server_kills_its_children(server: Server, model: bool) -> None:
    with server.spawn("one", "time.sleep(600)", model=model):
        child = server.next()["pid"]
        server.process.kill()
        eventually(lambda: gone(child))


def test_attempts_with_a_model_come_from_one_other_process(server: Server) -> None:
    code = "sock.sendall(str(os.getppid()).encode())"
    with (
        server.spawn("plain", code) as plain,
        server.spawn("first", code, model=True) as first,
        server.spawn("second", code, model=True) as second,
    ):
        parents = [int(attempt.recv(100)) for attempt in (plain, first, second)]
        ended = {message["attempt"]: message for message in (server.next() for _ in range(6)) if "status" in message}
    assert parents[0] == server.process.pid
    assert parents[1] == parents[2] != server.process.pid
    assert {label: message["status"] for label, message in ended.items()} == {"plain": 0, "first": 0, "second": 0}


def test_an_attempt_with_a_model_can_be_killed(server: Server) -> None:
    with server.spawn("one", "time.sleep(600)", model=True):
        server.next()
        server.control.send({"type": "kill", "attempt": "one"})
        assert server.next()["status"] == -signal.SIGKILL


def test_the_death_of_the_model_process_ends_its_attempts_and_a_new_one_follows(server: Server) -> None:
    with server.spawn("one", "sock.sendall(str(os.getppid()).encode()); time.sleep(600)", model=True) as attempt:
        spawned = server.next()
        os.kill(int(attempt.recv(100)), signal.SIGKILL)
        assert server.next() == {"type": "exited", "attempt": "one", "pid": spawned["pid"], "status": -signal.SIGKILL}
    with server.spawn("two", "pass", model=True):
        assert [server.next()["type"], server.next()["type"]] == ["spawned", "exited"]


def test_a_deadline_is_enforced_while_the_loop_is_blocked(tmp_path: Path) -> None:
    code = """
import os, socket, sys, threading
from oddish.engine.connection import Connection
from oddish.engine.interruption import Interruption
os.setsid()
asked = threading.Event()
here, there = socket.socketpair()
Interruption(Connection(here), deadline_sec=0.05, grace_sec=0.05, ask=asked.set,
             last_words=lambda: os.write(1, b"overdue" if asked.is_set() else b"not asked")).start()
while True:
    pass
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=20)
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout == b"overdue"
