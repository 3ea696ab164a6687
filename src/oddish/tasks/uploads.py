"""Uploads: a name reserved, an archive received, a version that exists whole or not at all.

``reserve`` says where an archive may be put, ``receive`` reads what arrived or refuses it, ``register`` makes the
version of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Select, and_, exists, func, insert, or_, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from oddish import ids
from oddish.db.tables import task_versions, tasks, uploads
from oddish.errors import InvalidInput, NotFound, OddishError
from oddish.identity.principal import Principal
from oddish.storage.errors import ObjectNotFound
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits
from oddish.tasks.arrivals import (
    LOOKED_FOR_SINGLY,
    arrived,
    arrived_before,
    discard,
    is_open,
    newest,
    upload_prefix,
    uploads_of,
)
from oddish.tasks.definition import task_name
from oddish.tasks.intake import Content, examine
from oddish.tasks.versions import version_where

MAX_NAME_LENGTH = 200
"""Leaves room for the rest of a trial's name in one path component."""
ATTEMPTS = 3


class ArchiveMissing(InvalidInput):
    """A completion without an archive to complete."""

    code = "archive_missing"


@dataclass(frozen=True)
class UploadRequest:
    name: str
    client_hash: str
    """The client's word for the content: equal words mean equal content, nothing else is known about it."""
    message: str | None = None
    force_new: bool = False


@dataclass(frozen=True)
class Reservation:
    """The name is the caller's to upload to; without an ``object_key`` the content is there already."""

    task_id: str
    name: str
    version: int
    """The version that exists, or the one that comes next unless another upload is faster."""
    previous_version: int | None
    """The one that was current until now."""
    content_hash: str
    object_key: str | None

    @property
    def existing_task(self) -> bool:
        return self.previous_version is not None


@dataclass(frozen=True)
class Registered:
    task_id: str
    name: str
    version: int
    previous_version: int | None
    """The one that was current before."""
    content_hash: str
    content_unchanged: bool
    """It is a version that was there already, the current one or an older one that is now current again."""

    @property
    def version_id(self) -> str:
        return ids.version_id(self.task_id, self.version)

    @property
    def existing_task(self) -> bool:
        return self.previous_version is not None


def usable_name(raw: str) -> str:
    """What a task is called that is uploaded as ``raw``. Raises ``InvalidInput``."""
    name = task_name(raw)
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidInput(
            f"The task name {name[:40]}... has {len(name)} characters, more than {MAX_NAME_LENGTH}.",
            fix="Give the task a shorter name.",
        )
    return name


async def reserve(
    connection: AsyncConnection, principal: Principal, request: UploadRequest, *, expires_in: int
) -> Reservation:
    """Reserve the name, racing fairly, and a place in the store for the archive unless the content is there."""
    name = usable_name(request.name)
    await connection.execute(
        postgresql.insert(tasks)
        .values(id=ids.task_id(name), org_id=principal.org_id, name=name, created_by=principal.user_id)
        .on_conflict_do_nothing(index_elements=[tasks.c.org_id, tasks.c.name], index_where=tasks.c.deleted_at.is_(None))
    )
    task = (await connection.execute(_named_task(principal, name))).one()
    known = None if request.force_new else await _known(connection, task, request.client_hash)
    if known is not None:
        return Reservation(
            task_id=task.id,
            name=name,
            version=known.version,
            previous_version=known.previous_version,
            content_hash=known.content_hash,
            object_key=None,
        )
    upload_id = ids.row_id("up")
    object_key = f"{upload_prefix(task.id)}/{upload_id}.tar.gz"
    await connection.execute(
        insert(uploads).values(
            id=upload_id,
            org_id=principal.org_id,
            user_id=principal.user_id,
            task_id=task.id,
            client_hash=request.client_hash,
            force_new=request.force_new,
            message=request.message,
            object_key=object_key,
            expires_at=datetime.now(UTC) + timedelta(seconds=expires_in),
        )
    )
    return Reservation(
        task_id=task.id,
        name=name,
        version=task.last_version + 1,
        previous_version=task.current_version,
        content_hash=request.client_hash,
        object_key=object_key,
    )


@dataclass(frozen=True)
class Delivery:
    """Uploads of one content: one whose archive is sound, or those that were completed before."""

    uploads: Sequence[Row[Any]]
    content: Content | None
    """None when they were completed before."""


async def receive(
    engine: AsyncEngine,
    store: ArtifactStore,
    limits: ArchiveLimits,
    principal: Principal,
    *,
    task_id: str,
    client_hash: str,
) -> Delivery:
    """Find the archive that has arrived and examine it.

    Raises ``NotFound`` for a task that is not the organisation's, ``ArchiveMissing`` before the archive is there, and
    what ``examine`` refuses it for; a refused archive is deleted.
    """
    own = (principal, task_id, client_hash)
    for _ in range(ATTEMPTS):
        async with engine.connect() as connection:
            waiting = (await connection.execute(newest(uploads_of(*own, is_open), LOOKED_FOR_SINGLY))).all()
        if not waiting:
            raise NotFound(f"There is no task {task_id!r} here.", fix="Start with POST /tasks/upload/init.")
        upload = await arrived(store, waiting)
        if upload is None and len(waiting) == LOOKED_FOR_SINGLY:
            upload = await arrived_before(engine, store, task_id, uploads_of(*own, is_open))
        if upload is None:
            return Delivery(await _completed_before(engine, uploads_of(*own, ~is_open)), None)
        try:
            content = await examine(store, upload.object_key, limits, name=upload.name, client_hash=client_hash)
        except ObjectNotFound:
            continue  # another completion of the same content was faster and removed it
        except OddishError as error:
            if error.status < 500:
                await discard(engine, store, upload)
            raise
        return Delivery([upload], content)
    raise _missing(task_id)


async def register(
    connection: AsyncConnection,
    principal: Principal,
    delivery: Delivery,
    *,
    user_name: str | None = None,
    priority: str | None = None,
) -> tuple[Registered, Sequence[str]]:
    """Make the version of what was delivered, in the caller's transaction; repeating it changes nothing.

    The version, and the archives that are not needed for it: they are deleted after the commit.
    """
    if delivery.content is not None:
        shown = {"user_name": user_name} | ({} if priority is None else {"priority": priority})
        return await _register(connection, principal, delivery.uploads[0], delivery.content, shown)
    registered, archive_keys = await _registered_before(connection, delivery.uploads[0])
    return registered, [upload.object_key for upload in delivery.uploads if upload.object_key not in archive_keys]


def _named_task(principal: Principal, name: str) -> Select[Any]:
    return select(tasks.c.id, tasks.c.current_version, tasks.c.last_version).where(
        tasks.c.org_id == principal.org_id, tasks.c.name == name, tasks.c.deleted_at.is_(None)
    )


@dataclass(frozen=True)
class _Known:
    version: int
    previous_version: int
    content_hash: str


async def _known(connection: AsyncConnection, task: Row[Any], client_hash: str) -> _Known | None:
    """The version with that content, which is current from now on."""
    if task.current_version is None:
        return None
    uploaded = exists().where(
        uploads.c.task_id == task_versions.c.task_id,
        uploads.c.version == task_versions.c.version,
        uploads.c.client_hash == client_hash,
    )
    same = or_(task_versions.c.content_hash == client_hash, task_versions.c.client_hash == client_hash, uploaded)
    found = (await connection.execute(version_where(task.id, same))).one_or_none()
    if found is None or found.is_current:
        return None if found is None else _Known(found.version, found.version, found.content_hash)
    locked = (await connection.execute(_locked(task.id))).one_or_none()
    if locked is None:
        return None
    found = (await connection.execute(version_where(task.id, same))).one()
    if not found.is_current:
        await _make_current(connection, task.id, found.version)
    return _Known(found.version, locked.current_version, found.content_hash)


def _locked(task_id: str) -> Select[Any]:
    """What is read after it is as the last holder of the lock left it."""
    return (
        select(tasks.c.current_version, tasks.c.last_version, tasks.c.user_name)
        .where(tasks.c.id == task_id, tasks.c.deleted_at.is_(None))
        .with_for_update(key_share=True)
    )


async def _make_current(connection: AsyncConnection, task_id: str, version: int, **changes: object) -> None:
    values = {"current_version": version, "updated_at": func.now(), **changes}
    await connection.execute(update(tasks).where(tasks.c.id == task_id).values(values))


async def _completed_before(engine: AsyncEngine, found: Select[Any]) -> Sequence[Row[Any]]:
    async with engine.connect() as connection:
        completed: Sequence[Row[Any]] = (await connection.execute(newest(found, LOOKED_FOR_SINGLY))).all()
    if not completed or completed[0].id is None:
        raise _missing(completed[0].name if completed else "")
    return completed


async def _registered_before(connection: AsyncConnection, upload: Row[Any]) -> tuple[Registered, set[str]]:
    """What ``upload`` came to, and the archives that versions of the task are made of."""
    versions = (
        await connection.execute(
            select(task_versions.c.version, task_versions.c.content_hash, task_versions.c.archive_key).where(
                task_versions.c.task_id == upload.task_id
            )
        )
    ).all()
    decided = await connection.scalar(select(uploads.c.version).where(uploads.c.id == upload.id))
    version = next(version for version in versions if version.version == decided)
    unchanged = version.archive_key != upload.object_key
    registered = Registered(
        task_id=upload.task_id,
        name=upload.name,
        version=version.version,
        previous_version=version.version if unchanged else version.version - 1 or None,
        content_hash=version.content_hash,
        content_unchanged=unchanged,
    )
    return registered, {version.archive_key for version in versions}


async def _register(
    connection: AsyncConnection, principal: Principal, upload: Row[Any], content: Content, shown: Mapping[str, Any]
) -> tuple[Registered, Sequence[str]]:
    """The version of the content, made unless there is one, and the archives that are not needed for it.

    ``shown``: what a new version changes of the task, beside its author, who stays who it was.
    """
    task = (await connection.execute(_locked(upload.task_id))).one_or_none()
    state = (
        await connection.execute(
            select(uploads.c.completed_at)
            .where(uploads.c.id == upload.id, uploads.c.client_hash == upload.client_hash)
            .with_for_update()
        )
    ).one_or_none()
    if task is None or state is None:
        raise _missing(upload.name)
    if state.completed_at is not None:
        registered, _ = await _registered_before(connection, upload)
        return registered, []
    same = task_versions.c.content_hash == content.content_hash
    found = (await connection.execute(version_where(upload.task_id, same))).one_or_none()
    unchanged = found is not None and not upload.force_new
    version: int = found.version if found is not None and unchanged else task.last_version + 1
    if not unchanged:
        await _add_version(connection, principal, upload, content, version)
        changes = {**shown, "user_name": task.user_name or shown["user_name"]}
        await _make_current(connection, upload.task_id, version, last_version=version, **changes)
    elif version != task.current_version:
        await _make_current(connection, upload.task_id, version)
    redundant = await _mark_completed(connection, upload, version)
    registered = Registered(
        task_id=upload.task_id,
        name=upload.name,
        version=version,
        previous_version=task.current_version,
        content_hash=content.content_hash,
        content_unchanged=unchanged,
    )
    return registered, redundant if unchanged else [key for key in redundant if key != upload.object_key]


async def _add_version(
    connection: AsyncConnection, principal: Principal, upload: Row[Any], content: Content, version: int
) -> None:
    await connection.execute(
        insert(task_versions).values(
            id=ids.version_id(upload.task_id, version),
            org_id=principal.org_id,
            task_id=upload.task_id,
            version=version,
            content_hash=content.content_hash,
            client_hash=upload.client_hash,
            archive_key=upload.object_key,
            archive_bytes=content.archive_bytes,
            definition=content.definition,
            message=upload.message,
            created_by=principal.user_id,
        )
    )


async def _mark_completed(connection: AsyncConnection, upload: Row[Any], version: int) -> Sequence[str]:
    """Complete the upload, and with it the caller's others of the same content; the keys of all their archives."""
    same = and_(
        uploads.c.task_id == upload.task_id,
        uploads.c.client_hash == upload.client_hash,
        uploads.c.user_id == upload.user_id,
        is_open,
        uploads.c.force_new.is_(False),
    )
    return (
        await connection.scalars(
            update(uploads)
            .where(or_(uploads.c.id == upload.id, same))
            .values(completed_at=func.now(), version=version)
            .returning(uploads.c.object_key)
        )
    ).all()


def _missing(name: str) -> ArchiveMissing:
    return ArchiveMissing(
        f"No archive of task {name!r} with that content hash has arrived.",
        fix="Send it with PUT to the upload_url of POST /tasks/upload/init, then complete it with the same hash.",
    )
