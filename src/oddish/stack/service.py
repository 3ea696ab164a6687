"""The programs of a local stack beside PostgreSQL."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from oddish.stack.environment import stack_environment
from oddish.stack.layout import Layout
from oddish.stack.leash import leashed
from oddish.stack.logs import open_log
from oddish.stack.port import HOST

PYTHON = (sys.executable, "-P")


@dataclass(frozen=True, slots=True)
class Context:
    """What a service is told."""

    layout: Layout
    database_url: str
    token: str

    def environment(self) -> dict[str, str]:
        return {
            **stack_environment(),
            "ODDISH_HOME": str(self.layout.home),
            "ODDISH_DEPLOYMENT": "local",
            "ODDISH_DRAIN_SECONDS": "0",
            "ODDISH_DATABASE_URL": self.database_url,
            "ODDISH_STORAGE_URL": os.environ.get("ODDISH_STORAGE_URL") or self.layout.store.as_uri(),
        }


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    program: tuple[str, ...]
    environment: Mapping[str, str]
    patience: float
    """Seconds between asking it to end and killing it."""
    listens: bool = False
    """It serves a listening socket that it inherits, named by ``ODDISH_LISTEN_FD``."""

    def spawn(self, layout: Layout, listener: socket.socket) -> subprocess.Popen[bytes]:
        """A child in a session of its own, appending to its log, that is asked to end when this process does.

        The listener stays ours as well: while the child is away nobody else can take its port, and who connects waits.
        """
        inherited = (listener.fileno(),) if self.listens else ()
        told = {"ODDISH_LISTEN_FD": str(listener.fileno())} if self.listens else {}
        output = open_log(layout.log(self.name))
        try:
            return subprocess.Popen(
                leashed(signal.SIGTERM, *self.program),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**self.environment, **told},
                cwd=layout.home,
                start_new_session=True,
                pass_fds=inherited,
            )
        finally:
            os.close(output)


Services = Callable[[Context], Sequence[Service]]


def api_and_worker(context: Context) -> Sequence[Service]:
    common = context.environment()
    server = {
        "ODDISH_HOST": HOST,
        "ODDISH_BOOTSTRAP_KEY": context.token,
    }
    worker = {"ODDISH_ALLOW_IMPORT_PATHS": "true"}
    return (
        Service("api", (*PYTHON, "-m", "oddish.api"), common | server, patience=12.0, listens=True),
        Service("worker", (*PYTHON, "-m", "oddish.worker"), common | worker, patience=40.0),
    )
