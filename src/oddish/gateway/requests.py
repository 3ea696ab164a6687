"""What was asked for with a job, with its secrets, for as long as they are kept."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from oddish.db.tables import secrets
from oddish.errors import InvalidInput
from oddish.gateway.jobs import GatewayJob
from oddish.keyring import Keyring


class RequestGone(InvalidInput):
    """A job whose request is not kept any more: what is secret in it was deleted after its time."""

    code = "request_gone"


async def whole_request(connection: AsyncConnection, keyring: Keyring, job: GatewayJob) -> Mapping[str, Any]:
    """As JSON. Raises ``RequestGone``, and ``KeyringError`` for what another key has encrypted."""
    ciphertext = await connection.scalar(select(secrets.c.ciphertext).where(secrets.c.id == job.secret_id))
    if ciphertext is None:
        raise RequestGone(
            f"What was asked for with job {job.id!r} is not kept any more.",
            fix="Ask for a new job: POST /sandbox/harbor/v2/jobs/execute-tasks.",
        )
    request: Mapping[str, Any] = json.loads(keyring.decrypt(ciphertext))
    return request
