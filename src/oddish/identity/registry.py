"""The keys of an organisation: who may make them for whom, and which may be revoked.

An admin makes keys of every scope for every user, and the users themselves. A member makes own keys that can
submit or read, and revokes them. No key makes one that outlives it, and a full-scope key of an admin always remains.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Select, and_, func, insert, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish import ids
from oddish.db.tables import api_keys, organisations, users
from oddish.errors import Conflict, Forbidden, NotFound
from oddish.identity.keys import key_hash, key_prefix
from oddish.identity.principal import ADMIN, MEMBER, Principal, Scope

UNEXPIRED = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > func.now())
USABLE = and_(api_keys.c.revoked_at.is_(None), UNEXPIRED)


class OtherRole(Conflict):
    """A user who exists with another role than the one asked for."""

    code = "other_role"


class LastKey(Conflict):
    """The key with which the organisation can manage its keys longest."""

    code = "last_full_key"


class Outlives(Forbidden):
    """A key that would be usable longer than the one it is made with."""

    code = "outlives_its_maker"


class MadeKeyEnded(Conflict):
    """A repetition of a call that made a key which has been revoked or has expired since."""

    code = "made_key_ended"


@dataclass(frozen=True)
class KeyRequest:
    name: str
    scope: Scope
    user: str | None = None
    """Name of a user, made if new; the caller otherwise."""
    role: str | None = None
    """Of a user who is made; of one who exists, the role to have."""
    lifetime: timedelta | None = None


@dataclass(frozen=True)
class ApiKey:
    """Everything about a key but the key."""

    id: str
    name: str
    prefix: str
    scope: str
    user: str
    role: str
    created_at: datetime
    created_by: str | None
    """Name of the user who made it; none for the first key of a deployment."""
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


async def create_key(connection: AsyncConnection, principal: Principal, wanted: KeyRequest) -> tuple[ApiKey, str]:
    """Make a key, and its user when there is none of that name; the key itself is known to the caller alone.

    Raises ``Forbidden`` for more than the principal may give, ``Outlives`` and ``OtherRole``.
    """
    if principal.role != ADMIN:
        _check_member(principal, wanted)
    user_id = await _user(connection, principal, wanted.user or principal.user_name, wanted.role)
    secret = f"ok_{secrets.token_hex(16)}"
    key_id = ids.row_id("key")
    await connection.execute(
        insert(api_keys).values(
            id=key_id,
            org_id=principal.org_id,
            user_id=user_id,
            name=wanted.name,
            key_hash=key_hash(secret),
            key_prefix=key_prefix(secret),
            scope=wanted.scope,
            created_by=principal.user_id,
            expires_at=None if wanted.lifetime is None else func.now() + wanted.lifetime,
        )
    )
    made = await _read_one(connection, principal, key_id)
    _check_lifetime(principal, made)
    return made, secret


async def check_usable(connection: AsyncConnection, key_id: str) -> None:
    """Raises ``MadeKeyEnded`` for a key that is revoked or expired."""
    if not await connection.scalar(select(api_keys.c.id).where(api_keys.c.id == key_id, USABLE)):
        raise MadeKeyEnded(
            f"This call made the key {key_id}, which has been revoked or has expired since.",
            fix="Send a new Idempotency-Key to make another one.",
        )


async def list_keys(
    connection: AsyncConnection, principal: Principal, *, limit: int, after: str | None = None
) -> Sequence[ApiKey]:
    """The organisation's, newest first, from the one that follows the key ``after``."""
    order = (api_keys.c.created_at, api_keys.c.id)
    statement = _keys(principal).order_by(*(column.desc() for column in order)).limit(limit)
    if after is not None:
        last = select(*order).where(api_keys.c.id == after, api_keys.c.org_id == principal.org_id)
        statement = statement.where(tuple_(*order) < last.scalar_subquery())
    return [ApiKey(**row) for row in (await connection.execute(statement)).mappings()]


async def revoke_key(connection: AsyncConnection, principal: Principal, key_id: str) -> ApiKey:
    """End a key at once; one that is revoked stays as it is. Revocations of an organisation take turns.

    Raises ``NotFound``, ``Forbidden`` for a member who names the key of somebody else, and ``LastKey``.
    """
    turn = select(organisations.c.id).where(organisations.c.id == principal.org_id)
    await connection.execute(turn.with_for_update(key_share=True))
    owner = await connection.scalar(
        select(api_keys.c.user_id).where(api_keys.c.id == key_id, api_keys.c.org_id == principal.org_id)
    )
    if owner is None:
        raise NotFound(f"There is no API key {key_id!r} here.", fix="`oddish admin key ls` lists the keys.")
    if principal.role != ADMIN and owner != principal.user_id:
        raise Forbidden("A member revokes own keys only.", fix="Ask an admin of the organisation.")
    await _check_remaining(connection, principal, key_id)
    await connection.execute(
        update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None)).values(revoked_at=func.now())
    )
    return await _read_one(connection, principal, key_id)


async def _check_remaining(connection: AsyncConnection, principal: Principal, key_id: str) -> None:
    """Raises ``LastKey`` unless another key of scope ``full`` remains that can do what this one can, as long."""
    managing = (
        select(api_keys.c.id, users.c.role, api_keys.c.expires_at)
        .join(users, users.c.id == api_keys.c.user_id)
        .where(api_keys.c.org_id == principal.org_id, api_keys.c.scope == Scope.FULL, USABLE)
    )
    others = {row.id: row for row in await connection.execute(managing)}
    ending = others.pop(key_id, None)
    if ending is None:
        return
    able = [other for other in others.values() if other.role in (ending.role, ADMIN)]
    if not able:
        raise LastKey(
            f"{key_id} is the last usable key of scope 'full' of any {ending.role}: "
            "without it nobody could make others.",
            fix=f"Make another one first: oddish admin key create NAME --scope full --role {ending.role}",
        )
    if ending.role == ADMIN and not any(_lasts(other.expires_at, ending.expires_at) for other in able):
        raise LastKey(
            f"All other keys of scope 'full' of admins expire before {key_id}: "
            "without it nobody could make others then.",
            fix=f"Make one first that lasts as long, with {key_id}: "
            "oddish admin key create NAME --scope full --role admin",
        )


def _lasts(expiry: datetime | None, until: datetime | None) -> bool:
    """Whether what expires then, or never, is usable until the other time, or for ever."""
    return expiry is None or (until is not None and expiry >= until)


def _check_lifetime(principal: Principal, made: ApiKey) -> None:
    latest = principal.expires_at
    if _lasts(latest, made.expires_at):
        return
    assert latest is not None  # noqa: S101 - one that never expires outlasts every other
    wanted = f"until {_minute(made.expires_at)}" if made.expires_at else "for ever"
    days = (latest - made.created_at).days
    raise Outlives(
        f"The new key would be usable {wanted}, longer than the one it is made with. "
        f"Possible is {_minute(latest)} at the latest.",
        fix=f"Ask for {days} days at most: --expires-in-days {days}" if days else "Use a key that is usable longer.",
    )


def _minute(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _check_member(principal: Principal, wanted: KeyRequest) -> None:
    if wanted.scope is Scope.FULL:
        raise Forbidden(
            f"{principal.user_name!r} is a member, and members make keys of scope 'read' or 'tasks' only.",
            fix="Ask for one of these scopes, or ask an admin of the organisation.",
        )
    if wanted.user not in (None, principal.user_name):
        raise Forbidden(
            f"{principal.user_name!r} is a member, and members make keys for themselves only.",
            fix=f"Leave out the user {wanted.user!r}, or ask an admin of the organisation.",
        )


async def _user(connection: AsyncConnection, principal: Principal, name: str, role: str | None) -> str:
    """The id of the user of that name, made if new; waits for another transaction that makes the same."""
    await connection.execute(
        postgresql.insert(users)
        .values(id=ids.row_id("user"), org_id=principal.org_id, name=name, role=role or MEMBER)
        .on_conflict_do_nothing(index_elements=[users.c.org_id, users.c.name])
    )
    found = (
        await connection.execute(
            select(users.c.id, users.c.role).where(users.c.org_id == principal.org_id, users.c.name == name)
        )
    ).one()
    if role not in (None, found.role):
        raise OtherRole(
            f"The user {name!r} is there already, as {found.role}, not as {role}.",
            fix="Leave out the role, or name another user.",
        )
    user_id: str = found.id
    return user_id


def _keys(principal: Principal) -> Select[Any]:
    makers = users.alias()
    shown = ("id", "name", "scope", "created_at", "expires_at", "last_used_at", "revoked_at")
    return (
        select(
            *(api_keys.c[name] for name in shown),
            api_keys.c.key_prefix.label("prefix"),
            users.c.name.label("user"),
            users.c.role,
            makers.c.name.label("created_by"),
        )
        .join(users, users.c.id == api_keys.c.user_id)
        .outerjoin(makers, makers.c.id == api_keys.c.created_by)
        .where(api_keys.c.org_id == principal.org_id)
    )


async def _read_one(connection: AsyncConnection, principal: Principal, key_id: str) -> ApiKey:
    return ApiKey(**(await connection.execute(_keys(principal).where(api_keys.c.id == key_id))).mappings().one())
