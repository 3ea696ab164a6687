"""Browsers that act for a key: a link that works once becomes a cookie, which pages take in place of the key.

Both are signed with what the deployment's secret key gives, so that every server knows them and none is stored; that a
link was used is. They end with the API key: whenever one is used it is looked up.
"""

import base64
import hmac
import json
import secrets
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.requests import Request

from oddish.errors import Unauthenticated
from oddish.identity.idempotency import Call, Overtaken, begin
from oddish.identity.keys import authenticate_by_id
from oddish.identity.principal import Principal
from oddish.keyring import Keyring
from oddish.web.cookies import name_for
from oddish.web.signin import PATH

COOKIE = "oddish"
ROUTE = f"GET {PATH}"
LINK_LIFETIME, SESSION_LIFETIME = timedelta(minutes=10), timedelta(days=7)
FIX = "Run 'oddish open' for a link that signs this browser in."

type Purpose = Literal["link", "session"]


@dataclass(frozen=True, slots=True)
class Pass:
    """What a link or a cookie says."""

    purpose: Purpose
    key_id: str
    nonce: str
    expires_at: float
    """Seconds since 1970."""


def seal(keyring: Keyring, purpose: Purpose, key_id: str, lifetime: timedelta) -> str:
    sealed = Pass(purpose, key_id, secrets.token_hex(16), time.time() + lifetime.total_seconds())
    said = base64.urlsafe_b64encode(json.dumps(asdict(sealed)).encode()).decode().rstrip("=")
    return f"{said}.{_signature(keyring, said)}"


def unseal(keyring: Keyring, purpose: Purpose, token: str) -> Pass:
    """Raises ``Unauthenticated`` for what was not sealed here, for this purpose, or is too old."""
    said, _, signature = token.partition(".")
    if hmac.compare_digest(signature.encode(), _signature(keyring, said).encode()):
        found = Pass(**json.loads(base64.urlsafe_b64decode(said + "=" * (-len(said) % 4))))
        if found.purpose == purpose and time.time() < found.expires_at:
            return found
    which = "This link" if purpose == "link" else "The sign-in of this browser"
    raise Unauthenticated(f"{which} is too old, or not of this server.", fix=FIX)


def _signature(keyring: Keyring, said: str) -> str:
    return hmac.digest(keyring.derive("browsers that signed in"), said.encode(), "sha256").hex()


async def redeem(connection: AsyncConnection, keyring: Keyring, code: str) -> Principal:
    """The caller who made a link, which is used then. Raises ``Unauthenticated``, also where it was used before."""
    found = unseal(keyring, "link", code)
    principal = await authenticate_by_id(connection, found.key_id)
    try:
        once = Call(principal, ROUTE, found.nonce, b"")
        await begin(connection, once, instead_of=None, retention=2 * LINK_LIFETIME)
    except Overtaken:
        raise Unauthenticated("This link was used before.", fix=FIX) from None
    return principal


async def signed_in(connection: AsyncConnection, keyring: Keyring, request: Request) -> Principal:
    """The caller whose cookie the request has. Raises ``Unauthenticated`` without one, or for one that is over."""
    token = request.cookies.get(name_for(request, COOKIE))
    if token is None:
        raise Unauthenticated("This browser is not signed in here.", fix=FIX)
    return await authenticate_by_id(connection, unseal(keyring, "session", token).key_id)
