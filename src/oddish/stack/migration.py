"""Bringing the database of a local stack to the schema of this version."""

import contextlib
import re
import signal
import subprocess

from oddish.db.revision import HEAD
from oddish.errors import Unavailable
from oddish.stack import database
from oddish.stack.leash import leashed
from oddish.stack.service import PYTHON, Context

_EXCEPTION = re.compile(r"^\w+(?:\.\w+)+: .+", re.MULTILINE)


def migrate(context: Context) -> None:
    """Migrations are imported only when the schema is not one that this version works with."""
    if database.schema(context.database_url).fit() in ("same", "ahead"):
        return
    log = context.layout.log("migrate")
    answer = subprocess.run(
        leashed(signal.SIGTERM, *PYTHON, "-m", "oddish.db", "upgrade"),
        env=context.environment(),
        cwd=context.layout.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if answer.returncode == 0:
        log.unlink(missing_ok=True)
        return
    with contextlib.suppress(OSError):
        log.write_text(answer.stdout)
    cause = _EXCEPTION.search(answer.stdout)
    raise Unavailable(
        f"The database could not be brought to revision {HEAD}:\n{cause[0] if cause else answer.stdout.rstrip()}",
        fix=f"Its data are unchanged. If a newer oddish has written them, use that one. The whole answer is in {log}.",
    )
