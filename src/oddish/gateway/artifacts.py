"""What the trials of a job left: an inventory, and all of it in one zip.

A zip is made when it is asked for and kept in the store for a day; its name tells of which attempts it is, its size
and its hash. The same files make the same bytes: names in order, no times, and those characters encoded that the store
encodes in its keys. When a trial is deleted, so are the zips that it is in.
"""

import asyncio
import hashlib
import re
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import batched
from typing import IO

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish.errors import NotFound, TooLarge
from oddish.storage.errors import translated
from oddish.storage.keys import artifact_key
from oddish.storage.manifest import MANIFEST_NAME, Manifest, ManifestFile, read_manifest
from oddish.storage.store import ArtifactStore

LARGEST_BYTES = 32 * 1024**3
"""Of the files of one zip, which is written to a disk here first."""
SMALL_BYTES = 256 * 1024
"""Smaller files are asked for together, so that a store far away is not waited for once for each."""
TOGETHER = 32
COMPRESSION_LEVEL = 1
PREFIX = "gateway"
"""Of the keys of all zips."""
KEPT = timedelta(days=1)
"""How long a zip stays, which can be made again."""
REUSED = timedelta(hours=20)
"""Since it was made; the rest of its time is longer than a signed URL is valid."""
LARGEST_PLAIN_BYTES = 2**31 - 1
"""Of an entry in the plain format of a zip."""

_NAME = re.compile(r"(?P<size>\d+)-(?P<sha256>[0-9a-f]{64})\.zip")

# The attempts whose files are those of the job's trials: the one that decided each, else the latest that left any.
LEFT = text("""
SELECT t.id AS trial_id, t.gateway_agent AS agent, a.epoch AS attempt, a.artifact_prefix AS prefix
FROM trials t JOIN LATERAL (
  SELECT epoch, artifact_prefix FROM attempts WHERE trial_id = t.id AND artifact_prefix IS NOT NULL
  ORDER BY (epoch = t.decided_by_epoch) IS TRUE DESC, epoch DESC LIMIT 1
) a ON true
WHERE t.gateway_job_id = :job_id AND t.deleted_at IS NULL ORDER BY t.trial_index
""")


@dataclass(frozen=True, slots=True)
class Left:
    """Where the files of a trial are: those of one attempt."""

    trial_id: str
    agent: str
    """As the job calls it."""
    attempt: int
    prefix: str


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The files of a trial."""

    left: Left
    manifest: Manifest

    def key(self, file: ManifestFile) -> str:
        return artifact_key(self.left.prefix, file.path)

    def name(self, path: str) -> str:
        """In the zip of the job."""
        return artifact_key(self.left.trial_id, path)


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip in the store: bytes, and SHA-256 in hex."""

    key: str
    size: int
    sha256: str


async def files_left(connection: AsyncConnection, job_id: str) -> Sequence[Left]:
    """By the order of the trials; those that left nothing are left out."""
    return [Left(**row) for row in (await connection.execute(LEFT, {"job_id": job_id})).mappings()]


async def take_stock(store: ArtifactStore, left: Sequence[Left]) -> Sequence[Artifacts]:
    """Raises the errors of the store."""
    found: list[Artifacts] = []
    for some in batched(left, TOGETHER):
        manifests = await asyncio.gather(*(read_manifest(store, entry.prefix) for entry in some))
        found += map(Artifacts, some, manifests)
    return found


async def archive(database: AsyncEngine, store: ArtifactStore, job_id: str) -> Archive:
    """The zip of what the trials of a job left, with the manifest of each; made unless it is there.

    Raises ``NotFound`` when there are no files, ``TooLarge`` above ``LARGEST_BYTES``, and the errors of the store.
    """
    left = await _read(database, job_id)
    while True:
        made = await packed(store, job_id, left)
        now_left = await _read(database, job_id)
        if now_left == left:
            return made
        # Whoever deleted a trial meanwhile may have looked for zips of it before this one was there.
        await store.delete(made.key)
        left = now_left


async def forget(store: ArtifactStore, job_id: str) -> int:
    """Delete the zips of a job, whose signed URLs lead nowhere from then on; how many there were."""
    return await store.delete_prefix(f"{PREFIX}/{job_id}/artifacts")


async def packed(store: ArtifactStore, job_id: str, left: Sequence[Left]) -> Archive:
    """The zip of these files, as ``archive`` makes it."""
    if not left:
        raise NotFound(f"Job {job_id!r} has left no files.", fix="They are stored when a trial ends.")
    place = f"{PREFIX}/{job_id}/artifacts/{_fingerprint(left)}"
    if (made := await _made(store, place)) is not None:
        return made
    stock = await take_stock(store, left)
    size = sum(file.size for artifacts in stock for file in artifacts.manifest.files)
    if size > LARGEST_BYTES:
        raise TooLarge(
            f"The files of job {job_id!r} have {size} bytes, and no zip of more than {LARGEST_BYTES} bytes is made.",
            fix="Fetch them one by one: GET /trials/TRIAL/files lists them.",
        )
    try:
        with tempfile.TemporaryFile(dir=store.directory) as file:
            await _pack(store, stock, file)
            file.seek(0)
            sha256 = (await asyncio.to_thread(hashlib.file_digest, file, "sha256")).hexdigest()
            size = file.tell()
            file.seek(0)
            key = f"{place}/{size}-{sha256}.zip"
            await store.put_file(key, file)
    except OSError as error:
        raise translated(error, place) from error
    return Archive(key, size, sha256)


async def _read(database: AsyncEngine, job_id: str) -> Sequence[Left]:
    async with database.connect() as connection:
        return await files_left(connection, job_id)


async def _made(store: ArtifactStore, place: str) -> Archive | None:
    for stored in (await store.list(place, limit=1)).objects:
        name = _NAME.fullmatch(stored.key.rpartition("/")[2])
        if name is not None and datetime.now(UTC) - stored.modified_at < REUSED:
            return Archive(stored.key, int(name["size"]), name["sha256"])
    return None


async def _pack(store: ArtifactStore, stock: Sequence[Artifacts], target: IO[bytes]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL) as packed:
        for artifacts in stock:
            with _entry(packed, artifacts.name(MANIFEST_NAME)) as entry:
                await asyncio.to_thread(entry.write, artifacts.manifest.to_json())
            for files in _portions(artifacts.manifest.files):
                if len(files) == 1:
                    with _entry(packed, artifacts.name(files[0].path), size=files[0].size) as entry:
                        async for chunk in store.stream(artifacts.key(files[0])):
                            await asyncio.to_thread(entry.write, chunk)
                    continue
                keys = [artifacts.key(file) for file in files]
                contents = await asyncio.gather(*(store.get(key, max_bytes=SMALL_BYTES) for key in keys))
                for file, content in zip(files, contents, strict=True):
                    with _entry(packed, artifacts.name(file.path)) as entry:
                        await asyncio.to_thread(entry.write, content)


def _entry(packed: zipfile.ZipFile, name: str, *, size: int = 0) -> IO[bytes]:
    """To be written to. Opened by its name it has no time of its own."""
    return packed.open(name, "w", force_zip64=size > LARGEST_PLAIN_BYTES)


def _portions(files: Sequence[ManifestFile]) -> Iterator[Sequence[ManifestFile]]:
    """In order: large files alone, small ones together."""
    portion: list[ManifestFile] = []
    for file in files:
        if portion and (len(portion) == TOGETHER or max(file.size, portion[-1].size) > SMALL_BYTES):
            yield portion
            portion = []
        portion.append(file)
    if portion:
        yield portion


def _fingerprint(left: Sequence[Left]) -> str:
    return hashlib.sha256("\n".join(entry.prefix for entry in left).encode()).hexdigest()[:16]
