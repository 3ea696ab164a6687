"""The directory of local state: whose it is, who may read it, and the secrets in it."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oddish.doctor.disk import existing
from oddish.doctor.finding import Finding, ok, problem, warning
from oddish.home import home
from oddish.keyring import Keyring, KeyringError
from oddish.stack.layout import Layout
from oddish.stack.token import read_token

STATE, SECRET = "State directory", "Secret key"
_ELSEWHERE = "set ODDISH_HOME to a directory of yours"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory, or the place where it would be."""

    path: Path
    exists: bool
    is_directory: bool = True
    owner: int = 0
    mode: int = 0o700
    writable: bool = True
    """Of a missing one: the directory above it."""


def entry(path: Path) -> Entry:
    try:
        found = path.stat()
    except FileNotFoundError:
        return Entry(path, exists=False, writable=os.access(existing(path), os.W_OK | os.X_OK))
    mode = stat.S_IMODE(found.st_mode)
    return Entry(
        path, True, stat.S_ISDIR(found.st_mode), found.st_uid, mode, os.access(path, os.W_OK | os.X_OK | os.R_OK)
    )


def look() -> Iterator[Finding]:
    where = Layout(home())
    yield judge_directory(entry(where.home), os.geteuid())
    key = where.home / "secret.key"
    configured = os.environ.get("ODDISH_SECRET_KEY")
    if configured:
        yield judge_key("ODDISH_SECRET_KEY", configured.split(","))
    elif key.exists():
        yield judge_private_file(SECRET, _file(key), os.geteuid())
        found = judge_key(str(key), [key.read_text("latin-1")])
        if found.level != "ok":
            yield found
    if where.token.exists():
        yield judge_private_file("Local key", _file(where.token), os.geteuid())
        read_token(where)


def judge_directory(found: Entry, me: int) -> Finding:
    if not found.exists:
        if not found.writable:
            return problem(STATE, f"{found.path} does not exist and may not be made.", f"Make it, or {_ELSEWHERE}.")
        return ok(STATE, f"{found.path}, made at the first start")
    if not found.is_directory:
        return problem(STATE, f"{found.path} is not a directory.", f"Remove it, or {_ELSEWHERE}.")
    if found.owner != me:
        return problem(
            STATE,
            f"{found.path} belongs to user id {found.owner}, and you are {me}.",
            f"Run as the user who made it, or {_ELSEWHERE}.",
        )
    if not found.writable:
        return problem(STATE, f"{found.path} may not be written.", f"Run: chmod 700 {found.path}")
    if found.mode & 0o077:
        return warning(
            STATE,
            f"Others may look into {found.path} (mode {found.mode:04o}); the next start closes it.",
            f"Run: chmod 700 {found.path}",
        )
    return ok(STATE, str(found.path))


def judge_private_file(subject: str, found: Entry, me: int) -> Finding:
    if found.owner != me:
        return problem(
            subject, f"{found.path} belongs to user id {found.owner}, and you are {me}.", "Restore its owner."
        )
    if found.mode & 0o077:
        return warning(
            subject,
            f"Others may read {found.path} (mode {found.mode:04o}).",
            f"Run: chmod 600 {found.path}. If others use this machine, take what it protects as known to them.",
        )
    return ok(subject, f"{found.path}, yours alone")


def _file(path: Path) -> Entry:
    found = path.lstat()
    return Entry(path, True, False, found.st_uid, stat.S_IMODE(found.st_mode))


def judge_key(place: str, keys: list[str]) -> Finding:
    try:
        Keyring([key.strip() for key in keys if key.strip()])
    except (KeyringError, IndexError):
        return problem(
            SECRET,
            f"{place} does not hold a key.",
            "Restore it from a backup: without it the stored secrets are lost. Removing it makes a new one.",
        )
    return ok(SECRET, place)
