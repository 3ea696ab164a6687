"""The exports of organisations, one row for each dataset."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, delete, func, insert, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import exports, organisations, users
from oddish.errors import NotFound
from oddish.exports.errors import ExportQuota
from oddish.identity.principal import Principal


@dataclass(frozen=True, slots=True)
class Place:
    """Whose dataset, and what it is called."""

    org_id: str
    project: str
    dataset: str

    @property
    def name(self) -> str:
        """Unmistakable: ids have no slash."""
        return f"{self.project}/{self.dataset}"


@dataclass(frozen=True, slots=True)
class Archive:
    """What is in the store of an export."""

    object_key: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Export:
    project: str
    dataset: str
    object_key: str
    sha256: str
    bytes: int
    """Of the archive."""
    exported_by: str
    """Name of the user."""
    exported_at: datetime


async def keep(
    connection: AsyncConnection, principal: Principal, place: Place, archive: Archive, *, quota: int
) -> tuple[Export, Archive | None]:
    """Make the archive that of the dataset, in the caller's transaction, and say which one was before.

    That one is deleted after the commit. Raises ``ExportQuota``.
    """
    await _take_turns(connection, place.org_id)
    others = func.coalesce(func.sum(exports.c.bytes).filter(~_is(place)), 0)
    used = (await connection.execute(select(others).where(exports.c.org_id == place.org_id))).scalar_one()
    if used + archive.bytes > quota:
        raise ExportQuota(
            f"The export has {archive.bytes} bytes, the organisation's others {used}: more than {quota} in all.",
            fix="Delete some that nobody looks at: oddish delete --export PROJECT/DATASET. The limit of the server is "
            "its setting ODDISH_EXPORT_QUOTA_BYTES.",
        )
    replaced = await _removed(connection, place)
    statement = insert(exports).values(
        org_id=place.org_id,
        project=place.project,
        dataset=place.dataset,
        object_key=archive.object_key,
        sha256=archive.sha256,
        bytes=archive.bytes,
        exported_by=principal.user_id,
    )
    at = (await connection.execute(statement.returning(exports.c.exported_at))).scalar_one()
    kept = Export(
        place.project, place.dataset, archive.object_key, archive.sha256, archive.bytes, principal.user_name, at
    )
    return kept, replaced


async def forget(connection: AsyncConnection, place: Place) -> Archive:
    """Its archive, which is deleted after the commit. Raises ``NotFound``."""
    await _take_turns(connection, place.org_id)
    archive = await _removed(connection, place)
    if archive is None:
        raise _absent(place)
    return archive


async def find(connection: AsyncConnection, place: Place) -> Export:
    """Raises ``NotFound``."""
    found = await _read(connection, _is(place))
    if not found:
        raise _absent(place)
    return found[0]


async def count(connection: AsyncConnection, org_id: str, project: str | None) -> int:
    return (
        await connection.execute(select(func.count()).select_from(exports).where(*_of(org_id, project)))
    ).scalar_one()


async def listing(
    connection: AsyncConnection,
    org_id: str,
    *,
    project: str | None = None,
    after: tuple[str, str] | None = None,
    offset: int = 0,
    limit: int,
) -> Sequence[Export]:
    """At most ``limit``, by project and dataset; those of ``project``, and ``after`` these two ids, where given."""
    conditions = _of(org_id, project)
    if after is not None:
        conditions.append(tuple_(exports.c.project, exports.c.dataset) > tuple_(*after))
    return await _read(connection, *conditions, offset=offset, limit=limit)


def _of(org_id: str, project: str | None) -> list[ColumnElement[bool]]:
    own = [exports.c.org_id == org_id]
    return own if project is None else [*own, exports.c.project == project]


def _is(place: Place) -> ColumnElement[bool]:
    return (
        (exports.c.org_id == place.org_id) & (exports.c.project == place.project) & (exports.c.dataset == place.dataset)
    )


async def _read(
    connection: AsyncConnection, *conditions: ColumnElement[bool], offset: int = 0, limit: int | None = None
) -> Sequence[Export]:
    statement = (
        select(
            exports.c.project,
            exports.c.dataset,
            exports.c.object_key,
            exports.c.sha256,
            exports.c.bytes,
            users.c.name.label("exported_by"),
            exports.c.exported_at,
        )
        .join(users, users.c.id == exports.c.exported_by)
        .where(*conditions)
        .order_by(exports.c.project, exports.c.dataset)
        .offset(offset)
        .limit(limit)
    )
    return [Export(**row) for row in (await connection.execute(statement)).mappings()]


async def _take_turns(connection: AsyncConnection, org_id: str) -> None:
    """Whoever changes the organisation's exports sees what others did before. All else that refers to its row goes on.

    Locks: the organisation, against others who do the same.
    """
    await connection.execute(
        select(organisations.c.id).where(organisations.c.id == org_id).with_for_update(key_share=True)
    )


async def _removed(connection: AsyncConnection, place: Place) -> Archive | None:
    statement = delete(exports).where(_is(place)).returning(exports.c.object_key, exports.c.sha256, exports.c.bytes)
    row = (await connection.execute(statement)).one_or_none()
    return None if row is None else Archive(*row)


def _absent(place: Place) -> NotFound:
    return NotFound(f"There is no export {place.name!r} here.", fix="GET /viewer/exports lists those there are.")
