"""Fetching an archive from an address that a caller named.

Each redirect is checked like the first address.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import httpx2

from oddish.errors import InvalidInput, TooLarge, Unavailable
from oddish.gateway.addresses import Address, AllowedHosts, RefusedAddress, parse_address
from oddish.gateway.outgoing import PASSING, Outgoing
from oddish.gateway.resolution import Resolver, system_resolver
from oddish.room import is_full

CHUNK_BYTES = 256 * 1024
MOST_REDIRECTS = 5
LEAST_RATE = 16 * 1024
"""Bytes a second, on average, after a while: a host that drips would occupy a worker that others wait for."""
REDIRECTS = {301, 302, 303, 307, 308}


class ArchiveUnreachable(Unavailable):
    """The host of an archive does not answer, or answers with a fault of its own; trying again may help."""

    code = "archive_unreachable"


class ArchiveRefused(InvalidInput):
    """The host of an archive answers, and not with the archive."""

    code = "archive_not_available"


class RedirectRefused(RefusedAddress):
    """The host of an archive sends us where we do not go."""

    code = "redirect_refused"


class ArchiveTooLarge(TooLarge):
    """The archive is larger than the deployment fetches."""

    code = "archive_too_large"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was written: its size in bytes, and the hexadecimal SHA-256 of it."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches archives of at most ``max_bytes``, each within ``total_seconds``."""

    max_bytes: int
    total_seconds: float
    allowed: AllowedHosts
    resolve: Resolver = system_resolver
    patience_seconds: float = 20.0
    """Before the rate counts."""

    async def fetch(self, address: Address, destination: Path) -> Fetched:
        """Write what is at ``address`` to the new file ``destination``, which is gone again when this fails.

        Raises ``RefusedAddress``, ``Unresolved``, ``ArchiveUnreachable``, ``ArchiveRefused`` or ``ArchiveTooLarge``,
        and ``Unavailable`` when the disk is full.
        """
        with _fresh(destination):
            try:
                async with asyncio.timeout(self.total_seconds), self._answer(address) as answer:
                    return await self._write(address, answer, destination)
            except TimeoutError:
                raise ArchiveUnreachable(
                    f"{address.shown} was not fetched within {self.total_seconds:g} s.",
                    fix="Host the archive where it can be fetched faster, or make it smaller.",
                ) from None

    @asynccontextmanager
    async def _answer(self, address: Address) -> AsyncIterator[httpx2.Response]:
        """The first answer that is no redirect."""
        async with Outgoing.open(self.allowed, self.resolve) as outgoing:
            at = address
            for _ in range(MOST_REDIRECTS + 1):
                try:
                    answer = await outgoing.ask(at)
                except httpx2.TransportError as error:
                    raise _unreachable(at, error) from error
                except RefusedAddress as error:
                    if at is address:
                        raise
                    raise _refused_redirect(address, error) from error
                try:
                    if answer.status_code not in REDIRECTS:
                        yield answer
                        return
                    at = _redirected(at, answer)
                finally:
                    await answer.aclose()
        raise RedirectRefused(
            f"{address.shown} redirects more than {MOST_REDIRECTS} times.",
            fix="Give the address of the archive itself.",
        )

    async def _write(self, address: Address, answer: httpx2.Response, destination: Path) -> Fetched:
        _require_content(address, answer)
        self._require_size(address, int(answer.headers.get("Content-Length", "0")))
        digest, size, began = sha256(), 0, time.monotonic()
        with destination.open("xb") as file:
            try:
                async for chunk in answer.aiter_raw(CHUNK_BYTES):
                    size += len(chunk)
                    self._require_size(address, size)
                    self._require_rate(address, size, time.monotonic() - began)
                    digest.update(chunk)
                    await asyncio.to_thread(file.write, chunk)
            except httpx2.TransportError as error:
                raise _unreachable(address, error) from error
        return Fetched(size, digest.hexdigest())

    def _require_size(self, address: Address, size: int) -> None:
        if size > self.max_bytes:
            raise ArchiveTooLarge(
                f"The archive at {address.shown} is larger than {self.max_bytes} bytes.",
                fix="Leave out what the task does not need, or ask the operator (SANDBOX_HARBOR_MAX_ARCHIVE_BYTES).",
            )

    def _require_rate(self, address: Address, size: int, seconds: float) -> None:
        if seconds > self.patience_seconds and size < LEAST_RATE * seconds:
            raise ArchiveUnreachable(
                f"{address.shown} sends {size / seconds:.0f} bytes a second, and {LEAST_RATE} are the least.",
                fix="Host the archive where it can be fetched faster.",
            )


def _redirected(address: Address, answer: httpx2.Response) -> Address:
    location = answer.headers.get("Location", "")
    try:
        return parse_address(location, base=address)
    except RefusedAddress as error:
        raise _refused_redirect(address, error) from error


def _refused_redirect(address: Address, error: RefusedAddress) -> RedirectRefused:
    return RedirectRefused(f"{address.shown} redirects elsewhere: {error.message}", fix=error.fix)


def _require_content(address: Address, answer: httpx2.Response) -> None:
    if answer.status_code in PASSING:
        raise ArchiveUnreachable(f"{address.shown} answers {answer.status_code}.", fix="Try again.")
    if answer.status_code != httpx2.codes.OK:
        raise ArchiveRefused(
            f"{address.shown} answers {answer.status_code}, not with the archive.",
            fix="Check that the address is complete and, if it is presigned, not expired.",
        )
    encoding = answer.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise ArchiveRefused(
            f"{address.shown} answers with the content encoding {encoding[:40]!r}, which was not asked for.",
            fix="Host the archive as it is.",
        )


def _unreachable(address: Address, error: httpx2.TransportError) -> ArchiveUnreachable:
    return ArchiveUnreachable(
        f"{address.shown} cannot be fetched: {str(error) or type(error).__name__}.",
        fix="Check that the host answers from where the workers run.",
    )


@contextmanager
def _fresh(destination: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        destination.unlink(missing_ok=True)
        if isinstance(error, OSError) and is_full(error):
            raise Unavailable("No space left to fetch the archive.", fix="Free space on this machine.") from error
        raise
