"""One PostgreSQL data directory: made whole or not at all, cleared of what a crash left."""

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from oddish.errors import Unavailable
from oddish.stack import process
from oddish.stack.account import Account
from oddish.stack.binaries import Binaries
from oddish.stack.leash import leashed
from oddish.variables import inherited

SUPERUSER = "oddish"
DATABASE = "oddish"
PORT = 5432
_TITLE, _NAME = "postgres: ", "oddish-"
_FAST, _IMMEDIATE, _KILL = (signal.SIGINT, 10.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)


@dataclass(frozen=True, slots=True)
class Cluster:
    data: Path
    sockets: Path
    binaries: Binaries
    account: Account

    @property
    def name(self) -> str:
        """Shown in the process titles, so that this cluster's processes are recognised after a crash."""
        return _NAME + hashlib.sha256(os.fsencode(self.data)).hexdigest()[:16]

    def create(self) -> None:
        """initdb in a directory beside the final one, which appears by a rename."""
        staging = Path(tempfile.mkdtemp(prefix=".new-", dir=self.data.parent))
        try:
            self.account.own(staging)
            self.run("initdb", *_initdb_options(self.binaries.major), "-D", str(staging))
            single = ("--single", "-c", "exit_on_error=on", "-D", str(staging), "template1")
            self.run("postgres", *single, stdin=f"CREATE DATABASE {DATABASE}\n")
            staging.rename(self.data)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def clear(self) -> None:
        """End what an earlier run left of this cluster, and drop its lock files when nothing runs any more.

        PostgreSQL only asks whether some process has the recorded pid, which a zombie or a stranger also has.
        """
        left = process.end(process.matching(self._is_postmaster), steps=(_FAST, _IMMEDIATE, _KILL))
        left += process.end(process.matching(self._is_own_backend), steps=(_IMMEDIATE, _KILL))
        if left:
            raise Unavailable(
                f"PostgreSQL processes of an earlier run do not end: {', '.join(str(entry.pid) for entry in left)}.",
                fix=f"End them, then try again. They use {self.data}.",
            )
        socket = self.sockets / f".s.PGSQL.{PORT}"
        for lock in (self.data / "postmaster.pid", socket, socket.with_name(socket.name + ".lock")):
            lock.unlink(missing_ok=True)

    def run(self, program: str, *arguments: str, stdin: str = "") -> str:
        """The output of one of PostgreSQL's programs, run as the account that owns the data."""
        return self._run(program, arguments, input=stdin.encode(), stdout=subprocess.PIPE).decode()

    def run_from(self, source: IO[bytes], program: str, *arguments: str) -> str:
        """As ``run``, reading a file of this process, which that account may not be able to open."""
        return self._run(program, arguments, stdin=source, stdout=subprocess.PIPE).decode()

    def run_into(self, target: IO[bytes], place: Path, program: str, *arguments: str) -> None:
        """As ``run``, with the output in a file of this process, which lies below ``place``."""
        self._run(program, arguments, place, stdin=subprocess.DEVNULL, stdout=target)

    def _run(self, program: str, arguments: Sequence[str], place: Path | None = None, **streams: Any) -> bytes:
        answer = subprocess.run(
            self.leashed(signal.SIGKILL, program, *arguments),
            stderr=subprocess.PIPE,
            check=False,
            env=clean_environment(),
            cwd="/",
            **streams,
        )
        if answer.returncode != 0:
            said = (answer.stderr or answer.stdout or b"").decode(errors="replace")
            raise Unavailable(
                f"{program} failed with status {answer.returncode}:\n{said}".rstrip(),
                fix=f"Check that {place or self.data.parent} is on a disk with free space that you may write to.",
            )
        return answer.stdout or b""

    @property
    def connection(self) -> tuple[str, ...]:
        """Options by which PostgreSQL's programs reach its server."""
        return ("--host", str(self.sockets), "--port", str(PORT), "--username", SUPERUSER)

    def leashed(self, number: signal.Signals, program: str, *arguments: str) -> Sequence[str]:
        """The command for ``program`` as its account, which gets the signal ``number`` when this process ends."""
        return [*self.account.prefix, *leashed(number, self.binaries.program(program), *arguments)]

    def _is_postmaster(self, arguments: Sequence[str]) -> bool:
        pairs = pairwise(arguments)
        return ("-D", str(self.data)) in pairs and any(Path(part).name == "postgres" for part in arguments)

    def _is_own_backend(self, arguments: Sequence[str]) -> bool:
        return arguments[0].startswith(f"{_TITLE}{self.name}: ")


def is_backend(arguments: Sequence[str]) -> bool:
    """Whether a process is a server process of some embedded PostgreSQL, by its title."""
    return bool(arguments) and arguments[0].startswith(_TITLE + _NAME)


def clean_environment() -> dict[str, str]:
    """What a program needs and nothing of libpq's and PostgreSQL's, which would redirect servers and clients alike."""
    return {key: value for key, value in os.environ.items() if inherited(key) or key == "ODDISH_HOME"} | {
        "LC_ALL": "C",
        "TZ": "UTC",
    }


def _initdb_options(major: int) -> list[str]:
    collation = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"] if major >= 17 else []
    return [
        f"--username={SUPERUSER}",
        "--auth-local=trust",
        "--auth-host=reject",
        "--encoding=UTF8",
        "--locale=C",
        *collation,
    ]
