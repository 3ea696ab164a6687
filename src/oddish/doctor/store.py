"""The object store: one object is written, read and deleted."""

import asyncio
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from oddish.doctor.finding import Finding, ok, problem, warning
from oddish.doctor.state import entry
from oddish.errors import OddishError
from oddish.home import home
from oddish.storage.store import ArtifactStore

STORE = "Object store"
_SLOW_SECONDS = 1.0


def look() -> Iterator[Finding]:
    url = os.environ.get("ODDISH_STORAGE_URL", "").strip() or (home() / "store").absolute().as_uri()
    directory = directory_of(url)
    if directory is not None and not directory.exists():
        yield judge_missing(directory, writable=entry(directory).writable)
        return
    started = time.monotonic()
    try:
        answer = asyncio.run(_round_trip(url))
    except OddishError as error:
        yield problem(
            STORE, f"{shown(url)}: {error.message}", error.fix or "Check ODDISH_STORAGE_URL and its credentials."
        )
        return
    yield judge(url, intact=answer, seconds=time.monotonic() - started)


def judge_missing(directory: Path, *, writable: bool) -> Finding:
    if not writable:
        return problem(STORE, f"{directory} may not be made.", "Make it, or set ODDISH_STORAGE_URL to another place.")
    return ok(STORE, f"{directory}, made at the first start")


def judge(url: str, *, intact: bool, seconds: float) -> Finding:
    """``intact``: what was read is what had been written; ``seconds`` for writing, reading and deleting."""
    if not intact:
        return problem(
            STORE,
            f"{shown(url)} gave back other bytes than it was given.",
            "Use another store: results would be damaged.",
        )
    if seconds > _SLOW_SECONDS:
        return warning(
            STORE, f"{shown(url)} took {seconds:.1f} s to write, read and delete one object.", "Use one that is nearer."
        )
    return ok(STORE, f"{shown(url)}: written, read, deleted")


def directory_of(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def shown(url: str) -> str:
    """The address without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


async def _round_trip(url: str) -> bool:
    store = ArtifactStore.open(url)
    prefix = f"doctor-{secrets.token_hex(6)}"
    content = secrets.token_bytes(64)
    try:
        await store.put(f"{prefix}/probe", content, write_once=True)
        return await store.get(f"{prefix}/probe", max_bytes=len(content)) == content
    finally:
        await store.delete_prefix(prefix)
