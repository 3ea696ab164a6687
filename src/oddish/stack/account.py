"""How PostgreSQL, which refuses root and users without a name, runs all the same. No account is ever created."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from oddish.errors import Unavailable

PATIENCE = 45.0
"""Seconds that a program which does nothing may take on an overloaded machine."""
_PREFERRED = ("nobody", "postgres", "daemon")


@dataclass(frozen=True, slots=True)
class Account:
    """A command prefix, and the owner that files must have outside for the program to own them inside."""

    prefix: tuple[str, ...]
    uid: int
    gid: int

    def own(self, path: Path) -> None:
        """Make ``path`` and all below it this account's, when they are not and may be."""
        owner = path.stat().st_uid
        if owner == self.uid:
            return
        if os.geteuid() != 0 or owner not in {0, *_unprivileged_uids()}:
            raise Unavailable(
                f"{path} belongs to user id {owner}, not to {self.uid}.",
                fix="Run as the user who made it, or set ODDISH_HOME to another directory.",
            )
        for entry in (path, *path.rglob("*")):
            os.chown(entry, self.uid, self.gid, follow_symlinks=False)


def current() -> Account:
    """Just us, if we have a name; else a user namespace where we have one; as root at last a system account."""
    me = os.geteuid()
    if me != 0 and _has_name(me):
        return Account((), me, os.getegid())
    found = in_namespace() or (as_system_account() if me == 0 else None)
    if found is not None:
        return found
    if me == 0:
        raise Unavailable(
            "PostgreSQL does not run as root, and here root can neither make a user namespace nor become another user.",
            fix="Run oddish as an ordinary user, or set ODDISH_DATABASE_URL to a PostgreSQL server.",
        )
    raise Unavailable(
        f"User id {me} has no name in /etc/passwd, which PostgreSQL wants, and user namespaces are not allowed here.",
        fix="Add an entry for it, or set ODDISH_DATABASE_URL to a PostgreSQL server.",
    )


def in_namespace() -> Account | None:
    unshare = shutil.which("unshare")
    for entry in _candidates() if unshare else ():
        prefix = (str(unshare), "--user", f"--map-user={entry.pw_uid}", f"--map-group={entry.pw_gid}")
        if _works(prefix):
            return Account(prefix, os.geteuid(), os.getegid())
    return None


def as_system_account() -> Account | None:
    setpriv = shutil.which("setpriv")
    for entry in _candidates() if setpriv else ():
        # The one capability lets it reach its files inside root's closed home directory.
        prefix = (
            str(setpriv),
            f"--reuid={entry.pw_uid}",
            f"--regid={entry.pw_gid}",
            "--clear-groups",
            "--inh-caps=-all,+dac_override",
            "--ambient-caps=-all,+dac_override",
            "--bounding-set=-all,+dac_override",
        )
        if _works(prefix):
            return Account(prefix, entry.pw_uid, entry.pw_gid)
    return None


def _candidates() -> list[pwd.struct_passwd]:
    """Accounts that exist: initdb insists on finding a name for the user it runs as."""
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    return [known[name] for name in _PREFERRED if name in known]


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _unprivileged_uids() -> set[int]:
    return {entry.pw_uid for entry in _candidates()}


def _works(prefix: tuple[str, ...]) -> bool:
    try:
        return subprocess.run([*prefix, "true"], capture_output=True, check=False, timeout=PATIENCE).returncode == 0
    except subprocess.TimeoutExpired as error:
        raise Unavailable(
            f"How PostgreSQL can run here is not known: {prefix[0]} did not answer within {PATIENCE:.0f} s.",
            fix="Try again when the machine is less busy.",
        ) from error
