"""Calls that may be repeated: what each was answered is kept under the ``Idempotency-Key`` it came with.

The record of a call belongs to the transaction that makes the rows of its answer and is inserted before them. A twin
that comes meanwhile waits for it, and neither the rows nor the record exist without the other. Refusals are not kept.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import idempotency_records as records
from oddish.errors import Conflict, InvalidInput
from oddish.identity.principal import Principal
from oddish.keyring import Keyring

KEY = re.compile(r"[!-~]{1,255}")
DELETED_AT_A_TIME = 5_000


class KeyReused(Conflict):
    """An `Idempotency-Key` that stands for another request, or for that of another user."""

    code = "idempotency_key_reused"


class InProgress(Conflict):
    """Other calls with the same `Idempotency-Key` keep overtaking this one."""

    code = "idempotency_key_in_progress"


class Overtaken(Exception):
    """A twin has committed since this call looked for a record: the twin's answer is the answer."""


@dataclass(frozen=True)
class Call:
    """One request and the key its caller may repeat it under."""

    principal: Principal
    route: str
    """Method and path template."""
    key: str = field(repr=False)
    request: bytes = field(repr=False)
    """What makes two requests of a route the same one."""

    @classmethod
    def of(cls, principal: Principal, route: str, key: str, *, target: str, body: bytes) -> "Call":
        """``target`` is the path with its query. Raises ``InvalidInput`` for a key of another form."""
        if not KEY.fullmatch(key):
            shown = f"{key[:40]!r}..." if len(key) > 40 else repr(key)
            raise InvalidInput(
                f"The Idempotency-Key {shown} has {len(key)} characters or one that is no visible ASCII character.",
                fix="Send 1 to 255 visible ASCII characters, for example a random UUID, new for each new request.",
            )
        return cls(principal, route, key, target.encode() + b"\n" + canonical(body))

    def part(self, index: int, body: bytes) -> "Call":
        """The part of a batch with that position and body, as a call of its own."""
        request = canonical(body)
        return Call(self.principal, self.route, f"{self.key} {index} {hashlib.sha256(request).hexdigest()}", request)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        key_hash = hashlib.sha256(self.key.encode()).digest()
        return {"org_id": self.principal.org_id, "route": self.route, "key_hash": key_hash}

    @cached_property
    def body_hash(self) -> bytes:
        """Keyed with what the database does not hold: from a plain hash, secrets in a body could be guessed."""
        return hmac.digest(self.key.encode(), self.request, hashlib.sha256)


@dataclass(frozen=True)
class Record:
    """What a call was answered, and the run of it that the answer is from."""

    run: UUID
    answer: bytes


def canonical(body: bytes) -> bytes:
    """The same bytes for the same JSON document, whatever its spacing and the order of its members."""
    try:
        return json.dumps(json.loads(body), sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return body


async def find(connection: AsyncConnection, keyring: Keyring, call: Call) -> Record | None:
    """The record of an earlier run of ``call``. Raises ``KeyReused`` when its key stands for something else."""
    row = (
        await connection.execute(
            select(records.c.run, records.c.user_id, records.c.body_hash, records.c.answer).where(
                _is_of(call), records.c.expires_at > func.now()
            )
        )
    ).one_or_none()
    if row is None:
        return None
    if row.user_id != call.principal.user_id:
        raise KeyReused(
            "Another user of this organisation has sent this Idempotency-Key.",
            fix="Draw a new random key for each new request.",
        )
    if not hmac.compare_digest(row.body_hash, call.body_hash):
        raise KeyReused(
            "This Idempotency-Key was sent before, with a different request.",
            fix="Send a new key with a new request; a repetition has to be the same as the first one.",
        )
    return Record(row.run, keyring.decrypt(row.answer))


async def begin(connection: AsyncConnection, call: Call, *, instead_of: Record | None, retention: timedelta) -> None:
    """Insert the record of ``call``, or take over that of the run it is carried out ``instead_of``.

    Waits for a twin that is about to do the same. Raises ``Overtaken`` when there is a record of another run.
    """
    values = {
        "body_hash": call.body_hash,
        "user_id": call.principal.user_id,
        "run": uuid4(),
        "answer": None,
        "created_at": func.now(),
        "expires_at": func.now() + retention,
    }
    statement = insert(records).values(**call.identity, **values)
    replaceable = records.c.expires_at <= func.now()
    if instead_of is not None:
        replaceable = or_(replaceable, records.c.run == instead_of.run)
    identity = list(records.primary_key)
    taken = await connection.scalar(
        statement.on_conflict_do_update(index_elements=identity, set_=values, where=replaceable).returning(
            records.c.run
        )
    )
    if taken is None:
        raise Overtaken


async def keep(
    connection: AsyncConnection, keyring: Keyring, call: Call, answer: bytes, *, valid_for: timedelta | None = None
) -> None:
    """Put the answer into the record that ``begin`` has made; it is given again for ``valid_for`` at most."""
    values: dict[str, object] = {"answer": keyring.encrypt(answer)}
    if valid_for is not None:
        values["expires_at"] = func.least(records.c.expires_at, func.now() + valid_for)
    await connection.execute(update(records).where(_is_of(call)).values(values))


async def delete_expired_records(connection: AsyncConnection) -> int:
    """Delete what is past its time, in several transactions; how many there were."""
    identity = list(records.primary_key)
    some = (
        select(*identity)
        .where(records.c.expires_at <= func.now())
        .limit(DELETED_AT_A_TIME)
        .with_for_update(skip_locked=True)
    )
    deleted = 0
    while count := (await connection.execute(delete(records).where(tuple_(*identity).in_(some)))).rowcount:
        await connection.commit()
        deleted += count
    return deleted


def _is_of(call: Call) -> ColumnElement[bool]:
    return and_(*(records.c[name] == value for name, value in call.identity.items()))
