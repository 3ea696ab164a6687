"""Requests to addresses that callers named.

The connection goes to the IP address that was checked, never to what the name resolves to a moment later. Redirects are
answers like others. Nothing is sent but the request: no cookies, no credentials, no proxy's.
"""

import functools
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2

from oddish import __version__
from oddish.gateway.addresses import Address, AllowedHosts, IPAddress
from oddish.gateway.resolution import Resolver, public_addresses

CONNECT_SECONDS = 10.0
STALL_SECONDS = 30.0
HEADERS = {"User-Agent": f"oddish/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"}
PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Answers that another attempt may not meet."""

type Content = Callable[[], bytes | AsyncIterator[bytes]]
"""A body, made anew for each address of a host that is tried."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Asks hosts that are public, or ``allowed`` by the deployment."""

    client: httpx2.AsyncClient
    allowed: AllowedHosts
    resolve: Resolver

    @classmethod
    @asynccontextmanager
    async def open(cls, allowed: AllowedHosts, resolve: Resolver) -> "AsyncIterator[Outgoing]":
        async with httpx2.AsyncClient(
            # A connection that was kept would be used for whatever other host is at the same IP address.
            transport=httpx2.AsyncHTTPTransport(
                verify=_ssl_context(), limits=httpx2.Limits(max_keepalive_connections=0)
            ),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            timeout=httpx2.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS),
            trust_env=False,
            follow_redirects=False,
        ) as client:
            yield cls(client, allowed, resolve)

    async def ask(
        self,
        address: Address,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: Content = bytes,
    ) -> httpx2.Response:
        """The answer, whose body is not read yet and which the caller closes.

        Raises ``RefusedHost``, ``Unresolved`` or ``httpx2.TransportError``.
        """
        found = await public_addresses(address, self.allowed, self.resolve)
        for place in found[:-1]:
            try:
                return await self._ask_at(place, address, method, headers or {}, content)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue
        return await self._ask_at(found[-1], address, method, headers or {}, content)

    async def _ask_at(
        self, place: IPAddress, address: Address, method: str, headers: Mapping[str, str], content: Content
    ) -> httpx2.Response:
        host = f"[{place}]" if place.version == 6 else str(place)
        target = f"{address.path}?{address.query}" if address.query else address.path
        request = self.client.build_request(
            method,
            f"{address.scheme}://{host}:{address.port}/",
            headers=HEADERS | {"Host": address.authority, **headers},
            content=content(),
            extensions={"sni_hostname": address.host, "target": target.encode()},
        )
        return await self.client.send(request, stream=True)


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Reading all certificates of the machine takes longer than a request."""
    return httpx2.create_ssl_context()
