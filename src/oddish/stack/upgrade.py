"""From one PostgreSQL major version to the next: dump, restore into a new cluster, keep the old one."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from oddish.stack.cluster import DATABASE, PORT, SUPERUSER, Cluster
from oddish.stack.postmaster import Postmaster

_READY, _STOP = 300.0, 60.0


def upgrade(old: Cluster, new: Cluster, log: Path) -> Path:
    """Fill ``new`` from ``old``; the directory that now keeps the old data. Nothing changes unless all succeeded."""
    work = Path(tempfile.mkdtemp(prefix=".upgrade-", dir=new.data.parent))
    new.account.own(work)
    try:
        dump = work / "database.dump"
        old.clear()
        _serving(old, log, "pg_dump", "--format=custom", f"--file={dump}", DATABASE)
        restored = replace(new, data=work / "data")
        restored.create()
        restored.clear()
        options = ("--exit-on-error", "--single-transaction", f"--dbname={DATABASE}")
        _serving(restored, log, "pg_restore", *options, str(dump), tools=new)
        restored.data.rename(new.data)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return set_aside(old.data)


def set_aside(data: Path) -> Path:
    """Rename a data directory that is no longer used, so that nothing takes it for a current one."""
    number = 1
    while (backup := data.with_name(f"{data.name}.backup{number}")).exists():
        number += 1
    return data.rename(backup)


def _serving(cluster: Cluster, log: Path, program: str, *arguments: str, tools: Cluster | None = None) -> None:
    postmaster = Postmaster(cluster, log=log, settings={})
    try:
        postmaster.wait_ready(_READY)
        connection = ("--host", str(cluster.sockets), "--port", str(PORT), "--username", SUPERUSER)
        (tools or cluster).run(program, *connection, *arguments)
    finally:
        postmaster.stop(_STOP)
