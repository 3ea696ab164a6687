"""What the host of an address resolves to."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from oddish.errors import Unavailable
from oddish.gateway.addresses import Address, AllowedHosts, IPAddress, require_public

type Resolver = Callable[[str], Awaitable[Sequence[IPAddress]]]
"""All addresses of a host; none when it has none. Raises ``Unresolved`` when that cannot be told."""

RESOLUTION_SECONDS = 5.0
ABSENT = {socket.EAI_NONAME, socket.EAI_NODATA}


class Unresolved(Unavailable):
    """The name service gives no answer."""

    code = "address_unresolved"


async def system_resolver(host: str) -> Sequence[IPAddress]:
    """Ask the resolver of this machine."""
    try:
        async with asyncio.timeout(RESOLUTION_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in ABSENT:
            return []
        raise Unresolved(f"The host {host} cannot be resolved: {error.strerror}.", fix="Try again.") from None
    except TimeoutError:
        raise Unresolved(
            f"The host {host} was not resolved within {RESOLUTION_SECONDS:g} s.",
            fix="Try again, or check the name service of this machine.",
        ) from None
    except UnicodeError:
        return []
    return [*dict.fromkeys(ipaddress.ip_address(str(address[0])) for *_, address in found)]


async def public_addresses(address: Address, allowed: AllowedHosts, resolve: Resolver) -> Sequence[IPAddress]:
    """Where to connect to for ``address``. Raises ``RefusedHost`` or ``Unresolved``."""
    literal = address.literal
    return require_public(address, await resolve(address.host) if literal is None else [literal], allowed)
