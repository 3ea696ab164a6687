"""The files that an attempt left: what there is, and the parts people look at first."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import attempts, trials
from oddish.errors import NotFound
from oddish.identity.principal import Principal
from oddish.storage.keys import artifact_key
from oddish.storage.manifest import ManifestFile, read_manifest
from oddish.storage.store import ArtifactStore

RESULT = "result.json"
MAX_RESULT_BYTES = 8 * 1024 * 1024
LOG_SUFFIXES = frozenset({".txt", ".log", ".out", ".err", ".stdout", ".stderr"})
MAX_LOG_BYTES = 256 * 1024
"""Of one file; its end is kept."""
MAX_LOG_FILES = 50


@dataclass(frozen=True)
class Evidence:
    """The stored files of the attempt that decided a trial, or of its latest one."""

    trial_id: str
    prefix: str
    files: Sequence[ManifestFile]

    def file(self, path: str) -> ManifestFile:
        """Raises ``NotFound``."""
        for file in self.files:
            if file.path == path:
                return file
        raise NotFound(f"Trial {self.trial_id!r} has no file {path!r}.", fix=f"GET /trials/{self.trial_id}/files.")

    def key(self, file: ManifestFile) -> str:
        return artifact_key(self.prefix, file.path)


async def find_evidence(
    connection: AsyncConnection, store: ArtifactStore, principal: Principal, trial_id: str
) -> Evidence:
    """Raises ``NotFound`` for an unknown trial and for one that has left no files yet."""
    statement = (
        select(attempts.c.artifact_prefix)
        .select_from(
            trials.outerjoin(
                attempts, and_(attempts.c.trial_id == trials.c.id, attempts.c.artifact_prefix.is_not(None))
            )
        )
        .where(trials.c.id == trial_id, trials.c.org_id == principal.org_id, trials.c.deleted_at.is_(None))
        .order_by((attempts.c.epoch == trials.c.decided_by_epoch).desc().nulls_last(), attempts.c.epoch.desc())
        .limit(1)
    )
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        raise NotFound(f"There is no trial {trial_id!r} here.", fix="A trial id is a task id, a hyphen and a number.")
    if row.artifact_prefix is None:
        raise NotFound(f"Trial {trial_id!r} has no files yet.", fix="They are stored when an attempt ends.")
    manifest = await read_manifest(store, row.artifact_prefix)
    return Evidence(trial_id, row.artifact_prefix, manifest.files)


async def read_result(store: ArtifactStore, evidence: Evidence) -> str:
    """Harbor's record of the trial as JSON. Raises ``NotFound`` when it left none that can be read."""
    data = await store.get(evidence.key(evidence.file(RESULT)), max_bytes=MAX_RESULT_BYTES)
    try:
        return json.dumps(json.loads(data), allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise NotFound(f"The {RESULT} of trial {evidence.trial_id!r} is not JSON: {error}.") from error


async def read_logs(store: ArtifactStore, evidence: Evidence) -> str:
    """The ends of the text files, each under its path."""
    texts = [file for file in evidence.files if file.size and PurePosixPath(file.path).suffix in LOG_SUFFIXES]
    parts = []
    for file in texts[:MAX_LOG_FILES]:
        start = max(0, file.size - MAX_LOG_BYTES)
        data = await store.get_range(evidence.key(file), start=start, length=MAX_LOG_BYTES)
        left_out = f"... {start} bytes left out ...\n" if start else ""
        parts.append(f"=== {file.path} ===\n{left_out}{data.decode(errors='replace')}")
    if len(texts) > MAX_LOG_FILES:
        parts.append(f"=== {len(texts) - MAX_LOG_FILES} more files ===\n")
    return "\n".join(parts)
