"""The files that the attempts at a trial left: what there is of them, and Harbor's own documents among them."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import attempts, trials
from oddish.documents import mapping, mappings
from oddish.errors import NotFound, TooLarge
from oddish.identity.principal import Principal
from oddish.storage.keys import artifact_key
from oddish.storage.manifest import Manifest, ManifestFile, read_manifest
from oddish.storage.store import ArtifactStore
from oddish.trials.queries import UNFINISHED, no_trial

RESULT = "result.json"
MAX_RESULT_BYTES = 8 * 1024 * 1024
TRAJECTORY = "agent/trajectory.json"
MAX_TRAJECTORY_BYTES = 32 * 1024 * 1024
MAX_ATTEMPTS = 100
"""That are told of one trial: the one that decided it, then the newest that left files, then the others."""
_OF_STEP = re.compile(rf"steps/[^/]+/{re.escape(TRAJECTORY)}")


@dataclass(frozen=True)
class Attempt:
    """One execution of a trial and what it left. ``attempt`` is its epoch."""

    attempt: int
    deciding: bool
    """The trial shows what came of this one."""
    state: str
    status: str | None
    prefix: str | None
    """Below which its files are stored; None if it left none."""
    files: int
    bytes: int
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True)
class Evidence:
    """The stored files of one attempt: of the one that was asked for, else the deciding one, else the latest."""

    trial_id: str
    prefix: str
    attempt: int
    attempts: Sequence[Attempt]
    """All that there were, as far as they are told."""
    manifest: Manifest

    @property
    def files(self) -> Sequence[ManifestFile]:
        return self.manifest.files

    def find(self, path: str) -> ManifestFile | None:
        return next((file for file in self.files if file.path == path), None)

    def file(self, path: str) -> ManifestFile:
        """Raises ``NotFound``."""
        if (file := self.find(path)) is None:
            raise NotFound(f"Trial {self.trial_id!r} has no file {path!r}.", fix=f"GET /trials/{self.trial_id}/files.")
        return file

    def key(self, file: ManifestFile) -> str:
        return artifact_key(self.prefix, file.path)


async def list_attempts(connection: AsyncConnection, principal: Principal, trial_id: str) -> Sequence[Attempt]:
    """Raises ``NotFound`` for an unknown trial."""
    return _attempts(await _rows(connection, principal, trial_id))


async def _rows(connection: AsyncConnection, principal: Principal, trial_id: str) -> Sequence[Row[Any]]:
    """The trial with each of its attempts; one row where it has none."""
    deciding = (attempts.c.epoch == trials.c.decided_by_epoch).label("deciding")
    statement = (
        select(
            trials.c.status.label("trial_status"),
            deciding,
            attempts.c.epoch,
            attempts.c.state,
            attempts.c.status,
            attempts.c.artifact_prefix,
            attempts.c.artifact_files,
            attempts.c.artifact_bytes,
            attempts.c.started_at,
            attempts.c.finished_at,
        )
        .select_from(trials.outerjoin(attempts, attempts.c.trial_id == trials.c.id))
        .where(trials.c.id == trial_id, trials.c.org_id == principal.org_id, trials.c.deleted_at.is_(None))
        .order_by(deciding.desc().nulls_last(), attempts.c.artifact_prefix.is_(None), attempts.c.epoch.desc())
        .limit(MAX_ATTEMPTS)
    )
    rows = (await connection.execute(statement)).all()
    if not rows:
        raise no_trial(trial_id)
    return rows


async def find_evidence(
    connection: AsyncConnection,
    store: ArtifactStore,
    principal: Principal,
    trial_id: str,
    *,
    attempt: int | None = None,
) -> Evidence:
    """Raises ``NotFound`` for an unknown trial or attempt, and for one that has left no files, or none yet."""
    rows = await _rows(connection, principal, trial_id)
    known = _attempts(rows)
    if attempt is None:
        chosen = next((entry for entry in known if entry.prefix is not None), None)
        what = f"Trial {trial_id!r}"
    else:
        chosen = next((entry for entry in known if entry.attempt == attempt), None)
        what = f"Attempt {attempt} at trial {trial_id!r}"
        if chosen is None:
            raise NotFound(f"There is no attempt {attempt} at trial {trial_id!r}.", fix="Leave `attempt` out.")
    if chosen is None or chosen.prefix is None:
        if rows[0].trial_status in UNFINISHED:
            raise NotFound(f"{what} has no files yet.", fix="They are stored when an attempt ends.")
        why = "has left no files" if known else "has no files, for it never ran"
        raise NotFound(f"{what} {why}.", fix=f"What became of it: GET /trials/{trial_id}.")
    manifest = await read_manifest(store, chosen.prefix)
    return Evidence(trial_id, chosen.prefix, chosen.attempt, known, manifest)


async def read_result(store: ArtifactStore, evidence: Evidence) -> bytes:
    """Harbor's record of the trial as JSON. Raises ``NotFound`` when it left none that can be read."""
    return await _read_json(store, evidence, evidence.file(RESULT), MAX_RESULT_BYTES)


async def read_trajectory(store: ArtifactStore, evidence: Evidence, *, step: str | None) -> bytes:
    """The agent's trajectory as JSON, ``null`` where it left none.

    Of a task with steps that of ``step``, else of the last one that has any. Raises ``NotFound`` for one that is no
    JSON, ``TooLarge`` for one of more than ``MAX_TRAJECTORY_BYTES``.
    """
    file = evidence.find(TRAJECTORY if step is None else f"steps/{step}/{TRAJECTORY}")
    if file is None and step is None:
        file = await _last_of_steps(store, evidence)
    return b"null" if file is None else await _read_json(store, evidence, file, MAX_TRAJECTORY_BYTES)


async def _last_of_steps(store: ArtifactStore, evidence: Evidence) -> ManifestFile | None:
    """By the order in which Harbor's record names the steps; their directories have none."""
    found = {file.path: file for file in evidence.files if _OF_STEP.fullmatch(file.path)}
    if len(found) > 1:
        for name in reversed(await _steps(store, evidence)):
            if (file := found.get(f"steps/{name}/{TRAJECTORY}")) is not None:
                return file
    return found[max(found)] if found else None


async def _steps(store: ArtifactStore, evidence: Evidence) -> Sequence[str]:
    try:
        document = json.loads(await read_result(store, evidence))
    except (NotFound, TooLarge):
        return []
    return [str(step.get("step_name")) for step in mappings(mapping(document).get("step_results"))]


async def _read_json(store: ArtifactStore, evidence: Evidence, file: ManifestFile, max_bytes: int) -> bytes:
    data = await store.get(evidence.key(file), max_bytes=max_bytes)
    try:
        return await asyncio.to_thread(_checked_json, data)
    except (ValueError, RecursionError) as error:
        raise NotFound(f"The {file.path} of trial {evidence.trial_id!r} is not JSON: {error}.") from error


def _checked_json(data: bytes) -> bytes:
    return json.dumps(json.loads(data), allow_nan=False).encode()


def _attempts(rows: Sequence[Row[Any]]) -> list[Attempt]:
    return [_attempt(row) for row in rows if row.epoch is not None]


def _attempt(row: Row[Any]) -> Attempt:
    return Attempt(
        attempt=row.epoch,
        deciding=bool(row.deciding),
        state=row.state,
        status=row.status,
        prefix=row.artifact_prefix,
        files=row.artifact_files or 0,
        bytes=row.artifact_bytes or 0,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )
