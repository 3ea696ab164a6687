"""A private directory for a Unix socket, with a path short enough for one."""

import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from oddish.errors import Unavailable
from oddish.home import private_directory
from oddish.stack.account import Account

_LIMIT = 107
_LONGEST_NAME = "/.s.PGSQL.5432"


def socket_directory(preferred: Path, account: Account) -> Path:
    """``preferred``, else a directory in the temporary one whose name follows from ``preferred``.

    A comma separates hosts in a connection string, so a path with one will not do either.
    """
    if len(os.fsencode(preferred)) + len(_LONGEST_NAME) <= _LIMIT and "," not in str(preferred):
        account.own(private_directory(preferred))
        return preferred
    digest = hashlib.sha256(os.fsencode(preferred)).hexdigest()[:16]
    bases = [base for base in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp") if base]  # noqa: S108
    for base in bases:
        directory = Path(base) / f"oddish-{os.geteuid()}-{digest}"
        if len(os.fsencode(directory)) + len(_LONGEST_NAME) <= _LIMIT and _take(directory, account):
            return directory
    raise Unavailable(
        f"No directory with a short enough path is left for PostgreSQL's socket: {preferred} is too long.",
        fix=f"Set ODDISH_HOME to a shorter path; {', '.join(bases)} cannot be used.",
    )


def drop_substitute(directory: Path, preferred: Path) -> None:
    """Remove a directory in the temporary one; nobody may be using it."""
    if directory != preferred:
        shutil.rmtree(directory, ignore_errors=True)


def _take(directory: Path, account: Account) -> bool:
    """Make it ours; False when somebody else made it first or it cannot be made."""
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077 or found.st_uid not in {os.geteuid(), account.uid}:
        return False
    account.own(directory)
    return True
