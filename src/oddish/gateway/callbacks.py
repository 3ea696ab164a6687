"""What a job tells to addresses that its request names: to whom, how it is signed, and when it is tried again. Pure.

Signatures are those of Standard Webhooks (standardwebhooks.com), which receivers have libraries for.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from oddish.errors import NotFound, OddishError
from oddish.gateway.outgoing import PASSING
from oddish.secrecy import SHORTEST_SECRET
from oddish.storable import storable

type Kind = Literal["notifications", "deliver", "writeback"]
type Outcome = Literal["delivered", "postponed", "failed"]

PAUSES: Sequence[float] = (5, 30, 120, 600, 1800, 3600, 7200)
"""Seconds from each attempt to send a message to the next; the one after the last is the last."""
LONGEST_PAUSE = 7200.0
JITTER = 0.2
SECRET_PREFIX = "whsec_"  # noqa: S105 - not one, only how one begins
SHORTEST_KEY = 24
"""Bytes of a key of Standard Webhooks."""
LONGEST_ERROR = 500
"""Characters of what is kept of a failure."""
AZURE = ".blob.core.windows.net"


class NotKept(NotFound):
    """A callback whose address is not kept any more."""

    code = "callback_not_kept"


@dataclass(frozen=True, slots=True)
class Callback:
    """Where something is sent, and what signs it."""

    url: str
    secret: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver says; ``retry_after`` in seconds."""

    status: int
    retry_after: float | None = None

    @property
    def accepts(self) -> bool:
        return 200 <= self.status < 300

    @property
    def passes(self) -> bool:
        """Whether another attempt may be answered otherwise."""
        return self.status in PASSING

    @property
    def complaint(self) -> str:
        if self.passes:
            return f"The receiver answers {self.status}."
        where = "elsewhere, and redirects are not followed" if 300 <= self.status < 400 else "with a refusal"
        return f"The receiver answers {self.status}, {where}."


@dataclass(frozen=True, slots=True)
class Attempted:
    """What came of an attempt to send a message."""

    result: Outcome
    seconds: float
    """It took."""
    status: int | None = None
    """Of the answer, if there was one."""
    error: str | None = None
    pause: float | None = None
    """Seconds to the next attempt; None when there is none."""
    given_up: bool = False
    """It might still have been accepted later."""


def callback_of(request: Mapping[str, Any] | None, kind: Kind, place: int) -> Callback:
    """As the whole request says. Raises ``NotKept``."""
    found = (request or {}).get(kind)
    if isinstance(found, list):
        found = found[place] if place < len(found) else None
    if not found:
        raise NotKept("The address is kept no longer.", fix="Submit the job again.")
    return Callback(found["url"], found.get("secret"))


class Signature:
    """Signs a message while its body goes by."""

    def __init__(self, message: str, at: int, secret: str | None) -> None:
        """``at``: seconds since the epoch. Without a secret nothing is signed."""
        self._headers = {"webhook-id": message, "webhook-timestamp": str(at)}
        self._code = None if secret is None else hmac.new(_key(secret), f"{message}.{at}.".encode(), hashlib.sha256)

    @property
    def signs(self) -> bool:
        return self._code is not None

    def update(self, chunk: bytes) -> None:
        if self._code is not None:
            self._code.update(chunk)

    @property
    def headers(self) -> dict[str, str]:
        if self._code is None:
            return self._headers
        return self._headers | {"webhook-signature": f"v1,{base64.b64encode(self._code.digest()).decode()}"}


def secret_flaw(secret: str) -> str | None:
    """Why it signs nothing worth the name, as a phrase that follows it."""
    if not secret.startswith(SECRET_PREFIX):
        return f"has fewer than {SHORTEST_SECRET} characters" if len(secret.strip()) < SHORTEST_SECRET else None
    key = _decoded(secret)
    if key is None:
        return f"is not base64 after {SECRET_PREFIX}"
    return f"has {len(key)} bytes after {SECRET_PREFIX}, fewer than {SHORTEST_KEY}" if len(key) < SHORTEST_KEY else None


def headers_of_upload(host: str) -> dict[str, str]:
    """What a store at ``host`` wants to be told with an upload."""
    return {"x-ms-blob-type": "BlockBlob"} if host.endswith(AZURE) else {}


def pause(attempt: int, *, retry_after: float | None = None, chance: float = 0.5) -> float | None:
    """Seconds from the end of this attempt, counted from 1, to the next; None after the last.

    ``retry_after`` is what the receiver asks for, ``chance`` a random number below 1.
    """
    if attempt > len(PAUSES):
        return None
    planned = PAUSES[attempt - 1] * (1 + JITTER * (2 * chance - 1))
    return max(planned, min(retry_after or 0.0, LONGEST_PAUSE))


def judged(attempt: int, came: Answer | Exception, *, seconds: float, chance: float) -> Attempted:
    """What comes of this attempt, which took ``seconds``: a refusal stays, anything else may pass."""
    if isinstance(came, Answer):
        if came.accepts:
            return Attempted("delivered", seconds, came.status)
        status, passes, error = came.status, came.passes, came.complaint
    elif isinstance(came, OddishError):
        status, passes, error = None, came.status >= 500, came.message
    else:
        status, passes, error = None, True, f"{type(came).__name__}: {came}"
    retry_after = came.retry_after if isinstance(came, Answer) else None
    again = pause(attempt, retry_after=retry_after, chance=chance) if passes else None
    result: Outcome = "failed" if again is None else "postponed"
    return Attempted(result, seconds, status, storable(error)[:LONGEST_ERROR], again, given_up=passes and again is None)


def _key(secret: str) -> bytes:
    """A secret of Standard Webhooks is ``whsec_`` and bytes in base64; of any other one the characters count."""
    return _decoded(secret) or secret.encode()


def _decoded(secret: str) -> bytes | None:
    if not secret.startswith(SECRET_PREFIX):
        return None
    try:
        return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
