"""The stack of this machine: the one that runs, or what starting one would meet."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from oddish import __version__
from oddish.doctor.finding import Finding, ok, problem, warning
from oddish.errors import Unavailable
from oddish.stack import account, binaries
from oddish.stack.account import Account
from oddish.stack.binaries import Binaries
from oddish.stack.client import Stack, find
from oddish.stack.cluster import DATABASE, PORT, SUPERUSER, clean_environment
from oddish.stack.layout import layout
from oddish.stack.port import HOST, PREFERRED

STACK, POSTGRES = "Local stack", "PostgreSQL programs"
_ANSWER_SECONDS = 2.0


def look_at_stack() -> Iterator[Finding]:
    stack = find()
    if stack is None:
        yield ok(STACK, "not running; other commands start it")
        yield judge_port(_wanted_port(), free=_is_free(_wanted_port()))
        return
    yield judge_stack(stack, answers=stack.healthy())


def look_at_programs() -> Iterator[Finding]:
    """Whether PostgreSQL can run here, found out without starting one."""
    if os.environ.get("ODDISH_DATABASE_URL"):
        yield ok(POSTGRES, "not needed: ODDISH_DATABASE_URL names a server")
        return
    try:
        yield judge_programs(binaries.installed(), data_majors(layout().postgres))
        yield judge_account(account.current(), binaries.installed()[0])
    except Unavailable as error:
        yield problem(POSTGRES, error.message, error.fix)


def embedded_url() -> str | None:
    """Of the database that the running stack has started."""
    sockets = layout().postgres / "socket"
    if find() is None or not (sockets / f".s.PGSQL.{PORT}").exists():
        return None
    return f"postgresql+psycopg://{SUPERUSER}@/{DATABASE}?host={sockets}&port={PORT}"


def judge_stack(stack: Stack, *, answers: bool) -> Finding:
    state = stack.state
    restart = "Run 'oddish down'; the next command starts it anew."
    if state.phase != "running":
        return warning(STACK, f"Process {state.pid} is {state.phase}.", "Wait a moment, then look again.")
    if state.trouble:
        return problem(STACK, f"{state.trouble}.", restart)
    if not answers:
        return problem(STACK, f"Process {state.pid} runs, and nothing answers at {state.url}.", restart)
    if state.version != __version__:
        return warning(STACK, f"It is oddish {state.version}, and this is {__version__}: {state.url}", restart)
    return ok(STACK, f"runs at {state.url}, process {state.pid}")


def judge_port(port: int, *, free: bool) -> Finding:
    if not free:
        return warning(
            "Port",
            f"{port} of {HOST} is taken by another program; the stack will use the next free one.",
            "To choose one, set ODDISH_PORT.",
        )
    return ok("Port", f"{port} of {HOST} is free")


def judge_programs(installed: list[Binaries], data: list[int]) -> Finding:
    """``data`` are the major versions that have written data here."""
    best = installed[0]
    known = {entry.major for entry in installed}
    if data and max(data) not in known:
        return problem(
            POSTGRES,
            f"The data were written by PostgreSQL {max(data)}; the programs are of version "
            f"{', '.join(map(str, sorted(known)))}.",
            f"Install PostgreSQL {max(data)} and set {binaries.SETTING} to its bin directory.",
        )
    if data and max(data) < best.major:
        return warning(
            POSTGRES,
            f"The next start moves the data from PostgreSQL {max(data)} to {best.major}; the old ones are kept.",
            "Make sure that the disk has room for them twice.",
        )
    return ok(POSTGRES, f"{best.major}, {best.directory}")


def judge_account(found: Account, programs: Binaries) -> Finding:
    """Runs one of the programs the way the server would be run."""
    subject = "PostgreSQL account"
    how = f"by {Path(found.prefix[0]).name}, since it refuses root" if found.prefix else "as this user"
    answer = subprocess.run(
        [*found.prefix, programs.program("postgres"), "--version"],
        capture_output=True,
        text=True,
        check=False,
        env=clean_environment(),
        timeout=_ANSWER_SECONDS,
    )
    if answer.returncode != 0:
        return problem(
            subject,
            f"{programs.program('postgres')} cannot be run {how}: {answer.stderr.strip() or answer.returncode}",
            "Install oddish where every user may read it, or set ODDISH_DATABASE_URL to a PostgreSQL server.",
        )
    return ok(subject, f"runs {how}")


def data_majors(directory: Path) -> list[int]:
    """The major versions of the data directories below ``directory``."""
    if not directory.is_dir():
        return []
    return sorted(int(path.parent.name) for path in directory.glob("*/PG_VERSION") if path.parent.name.isdecimal())


def _wanted_port() -> int:
    text = os.environ.get("ODDISH_PORT", "")
    return int(text) if text.isdecimal() and 0 < int(text) < 65536 else PREFERRED


def _is_free(port: int) -> bool:
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return False
    return True
