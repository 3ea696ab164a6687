"""The fork server: ``python -m oddish.engine.forkserver --control-fd N``.

One single-threaded process that has Harbor loaded and forks a child per attempt, so that an attempt starts in
milliseconds and shares most of its memory. The worker starts it with a curated environment (``oddish.engine.client``).

Agents that call a model need litellm, whose import takes seconds of processor time and 170 MB. It happens once, at the
first such attempt, in a second process forked from this one, which then serves those attempts over the same protocol:
other attempts never wait for it, and a worker that runs no model never pays for it.
"""

import argparse
import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from oddish import loading
from oddish.engine import process
from oddish.engine.connection import CHUNK, Connection, Message
from oddish.engine.protocol import Exited, Spawned

type AttemptBody = Callable[[socket.socket], None]

ORPHAN_GRACE_SEC = 10.0
"""How long what an ended attempt left behind may clean up (the keeper of a sandbox does) before it is killed."""
USED_BY_MOST_ATTEMPTS = (
    "concurrent.futures.thread",
    "dirhash",
    "harbor.agents.nop",
    "harbor.agents.oracle",
    "harbor.trial.multi_step",
    "harbor.trial.single_step",
    "harbor.trial.sync_trajectory",
    "harbor.verifier.verifier",
    "oddish.engine.environments.local",
)


@dataclass
class ModelServer:
    """The process that serves attempts with a model, and the attempts it has not reported as ended."""

    pid: int
    connection: Connection
    attempts: dict[str, int] = field(default_factory=dict)
    """Label -> process id, 0 until it is known."""


class ForkServer:
    """Serves one control connection until it ends."""

    def __init__(self, control: Connection, attempt_body: AttemptBody) -> None:
        self._control = control
        self._attempt_body = attempt_body
        self._attempts: dict[int, str] = {}
        self._orphans: dict[int, float] = {}
        self._model_server: ModelServer | None = None
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_reader, False)
        os.set_blocking(self._wake_writer, False)

    def serve(self) -> None:
        """Answer until the control connection ends, then kill what is left."""
        process.adopt_orphans()
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        self._selector.register(self._control.sock, selectors.EVENT_READ, self._on_control)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, self._on_ended_children)
        try:
            connected = True
            while connected:
                for key, _ in self._selector.select(self._tend_orphans()):
                    connected = key.data() and connected
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            self._kill_everything()

    def _on_control(self) -> bool:
        messages = self._control.receive()
        if messages is None:
            return False
        for message in messages:
            if message["type"] == "spawn":
                with socket.socket(fileno=self._control.take_descriptor()) as attempt:
                    self._spawn(message, attempt)
            elif message["type"] == "kill":
                self._kill(message)
        return True

    def _spawn(self, message: Message, attempt: socket.socket) -> None:
        label = message["attempt"]
        try:
            if message["model"]:
                server = self._model_server or self._start_model_server()
                server.attempts[label] = 0
                server.connection.send({**message, "model": False}, attempt.fileno())
                return
            pid = process.fork(lambda: self._become_attempt(attempt, label))
        except OSError as error:
            print(f"attempt {label} could not be started: {error}", file=sys.stderr, flush=True)  # noqa: T201
            self._control.send(Exited(type="exited", attempt=label, pid=0, status=1))
            return
        self._attempts[pid] = label
        self._control.send(Spawned(type="spawned", attempt=label, pid=pid))

    def _become_attempt(self, attempt: socket.socket, label: str) -> None:
        self._leave(attempt, label)
        process.adopt_orphans()
        self._attempt_body(attempt)

    def _become_model_server(self, control: socket.socket) -> None:
        self._leave(control, "oddish-models")
        import_model_library()
        ForkServer(Connection(control), self._attempt_body).serve()

    def _leave(self, keep: socket.socket, name: str) -> None:
        """In a fresh child: forget the server it came from."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        process.close_descriptors_except(keep.fileno())
        process.set_name(name)

    def _kill(self, message: Message) -> None:
        server = self._model_server
        if server is not None and message["attempt"] in server.attempts:
            with contextlib.suppress(OSError):
                server.connection.send(message)
        for pid, label in self._attempts.items():
            if label == message["attempt"]:
                process.kill_group(pid)
                process.kill(pid)

    def _on_ended_children(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_reader, CHUNK)
        ended: dict[int, int] = {}
        while (reaped := process.reap()) is not None:
            ended[reaped[0]] = reaped[1]
        for pid in ended.keys() & self._attempts.keys():
            process.kill_group(pid)
        for pid in ended.keys() & self._attempts.keys():
            label = self._attempts.pop(pid)
            self._control.send(Exited(type="exited", attempt=label, pid=pid, status=ended[pid]))
        if self._model_server is not None and self._model_server.pid in ended:
            self._lose_model_server(self._model_server)
        return True

    def _tend_orphans(self) -> float | None:
        """Kill what ended attempts left behind when its grace is over; return the seconds until the next such moment.

        An attempt adopts its own orphans while it lives, so that every child here that is not an attempt was left by an
        ended one. What an orphan leaves in its turn arrives here the same way.
        """
        own = {*self._attempts, *([self._model_server.pid] if self._model_server is not None else [])}
        now = time.monotonic()
        self._orphans = {pid: self._orphans.get(pid, now + ORPHAN_GRACE_SEC) for pid in process.children() - own}
        for pid, grace_end in self._orphans.items():
            if grace_end <= now:
                process.kill(pid)
        return max(min(self._orphans.values()) - now, 0.02) if self._orphans else None

    def _start_model_server(self) -> ModelServer:
        ours, theirs = socket.socketpair()
        with theirs:
            pid = process.fork(lambda: self._become_model_server(theirs))
        server = ModelServer(pid, Connection(ours))
        self._selector.register(ours, selectors.EVENT_READ, lambda: self._on_model_server(server))
        self._model_server = server
        return server

    def _on_model_server(self, server: ModelServer) -> bool:
        messages = server.connection.receive()
        if messages is None:
            self._selector.unregister(server.connection.sock)
            return True
        for message in messages:
            if message["type"] == "spawned":
                server.attempts[message["attempt"]] = message["pid"]
            elif message["type"] == "exited":
                server.attempts.pop(message["attempt"], None)
            self._control.send(message)
        return True

    def _lose_model_server(self, server: ModelServer) -> None:
        while server.connection.sock in self._selector.get_map():
            self._on_model_server(server)
        server.connection.sock.close()
        self._model_server = None
        for label, pid in server.attempts.items():
            if pid:
                process.kill_group(pid)
            self._control.send(Exited(type="exited", attempt=label, pid=pid, status=-signal.SIGKILL))

    def _kill_everything(self) -> None:
        own = list(self._attempts)
        if self._model_server is not None:
            own.append(self._model_server.pid)
            for pid in filter(None, self._model_server.attempts.values()):
                process.kill_group(pid)
        for pid in own:
            process.kill_group(pid)
            process.kill(pid)
        self._attempts.clear()
        self._model_server = None
        give_up = time.monotonic() + 2 * ORPHAN_GRACE_SEC
        while time.monotonic() < give_up and self._tend_orphans() is not None:
            if process.reap() is None:
                time.sleep(0.005)


def import_model_library() -> None:
    """Load what the first ``Trial.create`` of an agent with a model would load."""
    with loading.for_good():
        importlib.import_module("harbor.llms.litellm_config")


def main() -> None:
    """Send Hello, then serve."""
    parser = argparse.ArgumentParser(prog="python -m oddish.engine.forkserver")
    parser.add_argument("--control-fd", type=int, required=True)
    control = Connection(socket.socket(fileno=parser.parse_args().control_fd))
    control.sock.set_inheritable(False)
    process.read_nothing()

    with loading.for_good():
        from oddish.engine.catalog import Probe, hello
    with Probe() as probe:
        with loading.for_good():
            from harbor.models.job.lock import TrialLock

            from oddish.engine.environments import local, registry
            from oddish.engine.runner import run_attempt
        registry.use_our_docker()
        greeting = hello(probe)
    control.send(greeting)
    docker = (registry.DOCKER,) if "docker" in greeting["environments"] and registry.docker_is_ours() else ()
    for module in (*USED_BY_MOST_ATTEMPTS, *docker):
        importlib.import_module(module)
    local.look_around()
    TrialLock.model_rebuild()
    gc.collect()
    gc.freeze()
    ForkServer(control, run_attempt).serve()


if __name__ == "__main__":
    main()
