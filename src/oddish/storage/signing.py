"""Signed URLs for stores that have none of their own: the server signs them and serves them.

A URL grants one method on one key until a time, and for uploads at most so many bytes of one content type, once. Pure:
the clock and the secret are passed in. Signed URLs are credentials: never log them.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, urlencode

from oddish.storage.errors import ExpiredUrl, InvalidSignature
from oddish.storage.keys import checked_key

type Method = Literal["GET", "PUT"]

ROUTE = "/store/"
"""Path prefix of the routes that serve signed URLs; the key follows."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a signed URL allows."""

    method: Method
    key: str
    expires_at: int
    """Seconds since the epoch; not valid from then on."""
    size_limit: int | None
    """Bytes of a PUT; None for a GET."""
    content_type: str | None
    """The only one accepted for a PUT; None: any."""


class UrlSigner:
    """Signs and verifies URLs with ``secret``, a key of at least 16 bytes that is used for nothing else."""

    def __init__(self, secret: bytes, *, clock: Callable[[], float] = time.time) -> None:
        if len(secret) < 16:
            raise ValueError("a signing secret has at least 16 bytes")
        self._key = secret
        self._clock = clock

    def sign(
        self,
        method: Method,
        key: str,
        *,
        expires_in: int,
        size_limit: int | None = None,
        content_type: str | None = None,
    ) -> str:
        """Path and query of the URL; ``expires_in`` in seconds, ``size_limit`` in bytes (required for a PUT)."""
        if method == "PUT" and size_limit is None:
            raise ValueError("an upload needs a size limit")
        expires_at = int(self._clock()) + expires_in
        grant = Grant(method, checked_key(key), expires_at, size_limit, content_type)
        query = {"expires": str(grant.expires_at)}
        if grant.size_limit is not None:
            query["limit"] = str(grant.size_limit)
        if grant.content_type is not None:
            query["type"] = grant.content_type
        query["signature"] = self._signature(grant)
        return f"{ROUTE}{quote(key)}?{urlencode(query)}"

    def verify(self, method: str, key: str, query: Mapping[str, str]) -> Grant:
        """The grant that a request for ``key`` (unquoted) carries in its query; a HEAD request may use a GET's.

        Raises ``InvalidSignature`` or ``ExpiredUrl``.
        """
        try:
            grant = Grant(
                method="PUT" if method.upper() == "PUT" else "GET",
                key=key,
                expires_at=_natural(query["expires"]),
                size_limit=_natural(query["limit"]) if "limit" in query else None,
                content_type=query.get("type"),
            )
            given = query["signature"].encode("ascii")
            expected = self._signature(grant).encode("ascii")
        except (KeyError, ValueError):
            raise _invalid() from None
        if method.upper() not in ("GET", "HEAD", "PUT") or not hmac.compare_digest(expected, given):
            raise _invalid()
        if self._clock() >= grant.expires_at:
            raise ExpiredUrl("This signed URL has expired.", fix="Ask for a new one.")
        return grant

    def _signature(self, grant: Grant) -> str:
        fields = [grant.method, grant.key, grant.expires_at, grant.size_limit, grant.content_type]
        digest = hmac.digest(self._key, json.dumps(fields).encode("ascii"), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def _natural(text: str) -> int:
    # int() also reads "+1", "1_0" and " 1", which were never signed.
    if not (text.isascii() and text.isdigit() and len(text) <= 18) or text != str(int(text)):
        raise ValueError(text)
    return int(text)


def _invalid() -> InvalidSignature:
    return InvalidSignature("This signed URL is not valid for this request.", fix="Ask for a new one.")
