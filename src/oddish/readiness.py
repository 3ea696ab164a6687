"""Whether a process can do its work right now, dependency by dependency.

What it says may be public: it names no address, no path and nothing that an error of a library says.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from oddish.db.compatibility import UnknownSchema
from oddish.db.revision import HEAD
from oddish.db.schema import read_schema
from oddish.errors import OddishError
from oddish.recent import Recent
from oddish.room import FLOOR_BYTES, MIB, free_bytes
from oddish.storage.store import ArtifactStore

log = structlog.get_logger()

PATIENCE_SECONDS = 2.0
FRESH_SECONDS = 1.0
STORE_FRESH_SECONDS = 10.0
NO_ANSWER = "does not answer in time"


class Unready(Exception):
    """A dependency that cannot be worked with; the message is public."""


@dataclass(frozen=True, slots=True)
class Dependency:
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """Ready only when every dependency is; while draining nobody is asked, so that the answer comes at once."""

    status: Literal["ready", "unready", "draining"]
    dependencies: Mapping[str, Dependency]


@dataclass(frozen=True, slots=True)
class Check:
    ask: Callable[[], Awaitable[str]]
    """Says how a dependency is, or raises ``Unready``."""
    seconds: float
    """For how long an answer is good."""


class Readiness:
    """What the checks of a process say, by the names of what it depends on; each is asked once in a while only."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._looks = {
            name: Recent(functools.partial(_judged, check.ask), seconds=check.seconds) for name, check in checks.items()
        }
        self.draining = False

    def drain(self) -> None:
        """The process is about to end: it is not ready from now on."""
        self.draining = True

    async def report(self) -> Report:
        if self.draining:
            return Report("draining", {})
        found = await asyncio.gather(*(look.get() for look in self._looks.values()))
        dependencies = dict(zip(self._looks, found, strict=True))
        return Report("ready" if all(entry.ok for entry in found) else "unready", dependencies)


async def _judged(ask: Callable[[], Awaitable[str]]) -> Dependency:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return Dependency(True, await ask())
    except TimeoutError:
        return Dependency(False, NO_ANSWER)
    except Unready as error:
        return Dependency(False, str(error))


def database(engine: AsyncEngine) -> Check:
    """It answers, with a schema that this release works with."""

    async def check() -> str:
        try:
            async with engine.connect() as connection:
                schema = await read_schema(connection)
            schema.check()
        except (SQLAlchemyError, OSError):
            raise Unready("does not answer") from None
        except UnknownSchema:
            raise Unready(f"has revision {schema.revision or 'none'}; this release needs {HEAD}") from None
        return f"has revision {schema.revision}"

    return Check(check, FRESH_SECONDS)


def store(store: ArtifactStore) -> Check:
    """It answers to the credentials of this process."""

    async def check() -> str:
        try:
            await store.check()
        except OddishError as error:
            raise Unready(error.code) from None
        return "answers"

    return Check(check, STORE_FRESH_SECONDS)


def disk(directory: Path, role: str) -> Check:
    """There is room for what this process writes. ``role`` is the public name of ``directory``."""
    told = False

    async def check() -> str:
        nonlocal told
        try:
            free = await asyncio.to_thread(free_bytes, directory)
        except OSError as error:
            if not told:
                log.error(f"{role} cannot be used", directory=str(directory), error=error.strerror)
                told = True
            raise Unready(f"{role} cannot be used") from None
        told = False
        if free < FLOOR_BYTES:
            raise Unready(f"has {free // MIB} MiB free")
        return f"has {free // MIB} MiB free"

    return Check(check, FRESH_SECONDS)
