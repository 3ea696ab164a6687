"""The local stack's own database and store, running or not, for as long as a backup or a restore takes."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from psycopg.conninfo import make_conninfo

from oddish.doctor.store import shown
from oddish.errors import InvalidInput, Unavailable
from oddish.stack import account, binaries
from oddish.stack.client import Stack, find
from oddish.stack.cluster import DATABASE, PORT, SUPERUSER, Cluster
from oddish.stack.layout import Layout
from oddish.stack.lock import holder, open_lock, sign, try_lock
from oddish.stack.postgres import EmbeddedPostgres
from oddish.stack.sockets import socket_directory

type Say = Callable[[str], None]
"""Is told what is going on, a line at a time."""


def storage_url(where: Layout) -> str:
    return os.environ.get("ODDISH_STORAGE_URL") or where.store.as_uri()


def refuse_foreign(stack: Stack | None) -> None:
    """Raises ``InvalidInput`` when the database is not one that oddish runs itself."""
    if os.environ.get("ODDISH_DATABASE_URL"):
        which = f"ODDISH_DATABASE_URL names the database {shown(os.environ['ODDISH_DATABASE_URL'])}"
    elif stack is not None and stack.state.phase == "running" and "postgres" not in stack.state.services:
        which = "the running stack was started with another database"
    else:
        return
    raise InvalidInput(
        f"Only the database that oddish runs on this machine is backed up and restored here, and {which}.",
        fix="Use the tools of that database: its provider's backups, or pg_dump and pg_restore.",
    )


@contextmanager
def exclusive(where: Layout) -> Iterator[None]:
    """Keep stacks of this home from starting. Raises ``Unavailable`` when one runs."""
    where.create()
    lock = open_lock(where.lock)
    try:
        if not try_lock(lock):
            owner = holder(where.lock)
            who = f"by process {owner.pid}" if owner else "by a process that cannot be seen from here"
            raise Unavailable(f"{where.home} is in use {who}.", fix="Stop the stack: oddish down")
        sign(lock)
        yield
    finally:
        os.close(lock)


@contextmanager
def served(where: Layout, say: Say) -> Iterator[Cluster]:
    """The cluster, while its server runs: the stack's, else one started for this alone."""
    stack = find()
    refuse_foreign(stack)
    if stack is not None:
        if stack.state.phase != "running":
            raise Unavailable(f"The stack is {stack.state.phase}.", fix="Try again in a moment.")
        where.activity.touch()
        yield _cluster(where)
        return
    if not any(where.postgres.glob("[0-9]*/PG_VERSION")):
        raise InvalidInput(f"There is nothing to back up: no stack has run in {where.home}.", fix="Set ODDISH_HOME.")
    say("Starting the database ...")
    with exclusive(where), EmbeddedPostgres(where.postgres, log=where.log("postgres")):
        yield _cluster(where)


def _cluster(where: Layout) -> Cluster:
    runner = account.current()
    return Cluster(where.postgres, socket_directory(where.postgres / "socket", runner), binaries.installed()[0], runner)


def address(cluster: Cluster) -> str:
    """For psycopg."""
    return make_conninfo(host=str(cluster.sockets), port=PORT, user=SUPERUSER, dbname=DATABASE)
