"""Addresses that callers name for us to fetch, and what may be behind them. Pure; standard library only.

A server that fetches what it is told to is a way into the network it stands in. So an address is taken apart once,
here, in the strictest reading, and every IP address that its host resolves to has to be public.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit

from oddish.errors import InvalidInput

type IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
type IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

LONGEST_ADDRESS = 8192
"""Characters; presigned addresses reach two thousand."""
PORTS = {"http": 80, "https": 443}

_VISIBLE_ASCII = re.compile(r"[!-~]+")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_TUNNELS = (ipaddress.IPv6Network("2001::/32"), ipaddress.IPv6Network("64:ff9b:1::/48"), ipaddress.IPv6Network("::/96"))


class RefusedAddress(InvalidInput):
    """An address that is not fetched."""

    code = "address_refused"


class MalformedAddress(RefusedAddress):
    """What is no address at all, or one that programs read differently."""

    code = "address_malformed"


class RefusedScheme(RefusedAddress):
    """Another scheme than http and https."""

    code = "address_scheme"


class AddressWithCredentials(RefusedAddress):
    """A user name or password before the host."""

    code = "address_credentials"


class RefusedHost(RefusedAddress):
    """A host that is not public and not allowed by the deployment, or that does not resolve."""

    code = "address_host"


class NotAZip(RefusedAddress):
    """A path that does not end in ``.zip``."""

    code = "address_not_zip"


@dataclass(frozen=True, slots=True)
class Address:
    """An http or https address in its parts."""

    scheme: str
    host: str
    """A lower-case name or an IP address, an IPv6 one without brackets."""
    port: int
    path: str
    """At least ``/``."""
    query: str
    """May hold a signature, and so is a credential: never part of ``shown``."""
    secret_path: bool = False
    """The path is a credential as well, as that of a chat's webhook."""

    @property
    def authority(self) -> str:
        """Host and port as a ``Host`` header has them."""
        return self.host_in_url if self.port == PORTS[self.scheme] else f"{self.host_in_url}:{self.port}"

    @property
    def host_in_url(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def shown(self) -> str:
        """For messages and logs: without what a caller may have signed it with."""
        return f"{self.scheme}://{self.authority}{'/…' if self.secret_path else self.path[:200]}"

    @property
    def literal(self) -> IPAddress | None:
        """The host as an IP address, if it is one."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """What a deployment lets be fetched although it is not public."""

    names: frozenset[str] = frozenset()
    """Lower case; ``.example.com`` stands for every host below example.com."""
    networks: tuple[IPNetwork, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[str]) -> "AllowedHosts":
        """Raises ``ValueError`` naming an entry that is no host name, ``*.suffix``, IP address or range."""
        names, networks = set(), []
        for entry in entries:
            text = entry.strip().lower().rstrip(".")
            try:
                networks.append(ipaddress.ip_network(text.strip("[]")))
                continue
            except ValueError:
                name = text.removeprefix("*.")
                if not _is_name(name):
                    raise ValueError(f"{entry!r} is no host name, *.suffix, IP address or IP range") from None
            names.add(f".{name}" if text != name else name)
        return cls(frozenset(names), tuple(networks))

    def __or__(self, other: "AllowedHosts") -> "AllowedHosts":
        return AllowedHosts(self.names | other.names, self.networks + other.networks)

    def allow_name(self, host: str) -> bool:
        return host in self.names or any(host.endswith(name) for name in self.names if name.startswith("."))

    def allow_ip(self, address: IPAddress) -> bool:
        mapped = _embedded(address) or address
        return any(found in network for network in self.networks for found in (address, mapped))


LOOPBACK = AllowedHosts.of(["127.0.0.0/8", "::1/128"])


def parse_callback(text: str) -> Address:
    """As ``parse_address``, of an address that something is sent to: whoever knows it may send there as well."""
    return replace(parse_address(text), secret_path=True)


def parse_address(text: str, *, base: Address | None = None) -> Address:
    """Take ``text`` apart; with ``base``, it may be relative, as in a redirect.

    Raises ``RefusedScheme``, ``AddressWithCredentials`` or ``MalformedAddress``.
    """
    if not _VISIBLE_ASCII.fullmatch(text) or "\\" in text or len(text) > LONGEST_ADDRESS:
        raise MalformedAddress(
            f"{_clipped(text)} is no address: it is empty, too long, or holds spaces, backslashes or other characters "
            "that addresses encode.",
            fix="Percent-encode the path, and write the host in its xn-- form.",
        )
    if base is not None:
        text = urljoin(f"{base.scheme}://{base.authority}{base.path}", text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise MalformedAddress(f"{_clipped(text)} is no address: {error}.", fix="Give a complete address.") from None
    if port == 0:
        raise MalformedAddress(f"{_clipped(text)} has the port 0, on which nobody answers.", fix="Name another port.")
    if parts.scheme not in PORTS:
        raise RefusedScheme(
            f"{_clipped(text)} has the scheme {parts.scheme[:20]!r}; only http and https are fetched.",
            fix="Give an address that starts with https:// or http://.",
        )
    if "@" in parts.netloc:
        raise AddressWithCredentials(
            f"An address at {parts.netloc.rpartition('@')[2][:100]} holds a user name or a password.",
            fix="Use a presigned address instead of credentials.",
        )
    host = _host(parts.hostname or "", text)
    path = parts.path or "/"
    return Address(parts.scheme, host, PORTS[parts.scheme] if port is None else port, path, parts.query)


def require_zip(address: Address) -> Address:
    """``address``, whose path has to end in ``.zip``. Raises ``NotAZip``."""
    if not address.path.lower().endswith(".zip"):
        raise NotAZip(
            f"The path of {address.shown} does not end in .zip.", fix="Host the archive under a name that ends in .zip."
        )
    return address


def require_public(address: Address, resolved: Sequence[IPAddress], allowed: AllowedHosts) -> Sequence[IPAddress]:
    """``resolved``, all that the host of ``address`` resolves to, if it may be fetched from.

    One that is not public refuses them all, since nobody says which one a connection takes. Raises ``RefusedHost``.
    """
    if not resolved:
        raise RefusedHost(f"The host of {address.shown} does not resolve.", fix="Check the name of the host.")
    if allowed.allow_name(address.host):
        return resolved
    for found in resolved:
        if not is_public(found) and not allowed.allow_ip(found):
            raise RefusedHost(
                f"The host of {address.shown} is at {found}, which is no public address.",
                fix=f"{'Name a callback' if address.secret_path else 'Host the archive'} at a public address, or ask "
                "the operator to allow the host (ODDISH_GATEWAY_ALLOWED_HOSTS).",
            )
    return resolved


def is_public(address: IPAddress) -> bool:
    """Whether packets to ``address`` go to the internet, whatever form it is written in."""
    if isinstance(address, ipaddress.IPv6Address):
        embedded = _embedded(address)
        if embedded is not None:
            return is_public(embedded)
        if address.scope_id is not None or address.is_site_local or any(address in tunnel for tunnel in _TUNNELS):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded(address: IPAddress) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for."""
    if not isinstance(address, ipaddress.IPv6Address):
        return None
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _TRANSLATED else None


def _host(host: str, text: str) -> str:
    if ":" in host:
        try:
            found = ipaddress.IPv6Address(host)
        except ValueError:
            raise _no_host(host, text) from None
        if found.scope_id is not None:
            raise _no_host(host, text)
        return found.compressed
    host = host.removesuffix(".")
    if not _is_name(host) and not _is_ipv4(host):
        raise _no_host(host, text)
    return host


def _is_name(host: str) -> bool:
    """Of letters; one whose last label is a number is an IPv4 address in one of its many spellings, or nothing."""
    labels = host.split(".")
    return len(host) <= 253 and all(map(_LABEL.fullmatch, labels)) and not _NUMERIC_LABEL.fullmatch(labels[-1])


def _is_ipv4(host: str) -> bool:
    """In its one plain spelling: octal, hexadecimal, short and decimal ones are read differently by programs."""
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False


def _no_host(host: str, text: str) -> MalformedAddress:
    return MalformedAddress(
        f"{_clipped(text)} has no usable host: {host[:100]!r} is neither a name nor an IP address in its usual form.",
        fix="Give the name of the host, or its address as in 192.0.2.1 or [2001:db8::1].",
    )


def _clipped(text: str) -> str:
    """``text`` for a message, without a query, which may be a signature, and without credentials."""
    shown = text.partition("?")[0]
    scheme, separator, rest = shown.partition("://")
    authority, slash, path = rest.partition("/")
    if separator:
        shown = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    return repr(shown[:200])
