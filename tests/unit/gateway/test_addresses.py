"""Which addresses are fetched from, by their text and by what their hosts resolve to."""

import asyncio
import ipaddress
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddish.gateway.addresses import (
    LOOPBACK,
    Address,
    AddressWithCredentials,
    AllowedHosts,
    IPAddress,
    MalformedAddress,
    NotAZip,
    RefusedAddress,
    RefusedHost,
    RefusedScheme,
    is_public,
    parse_address,
    require_zip,
)
from oddish.gateway.resolution import public_addresses

NOBODY = AllowedHosts()
AMBIGUOUS = """
    2130706433 0x7f000001 0x7f.1 0177.0.0.1 127.1 127.0.1 127.0.0.0x1 127.0.0.01 1.2.3.4.5 256.1.1.1 a.1 a.0x1
    [::1 [::1%25eth0] [::ffff:1.2.3.4.5] [1] -a.example a-.example a..example . bücher.example files.example\\@evil
    %31%32%37.0.0.1 a,b files.example:99999 files.example:x
"""
NOT_PUBLIC = """
    127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0
    192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
    ::1 :: fc00::1 fd12:3456::1 fe80::1 fec0::1 ff02::1 ff0e::1 2001:db8::1 100::1 ::7f00:1
    ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::1
    2002:7f00:1:: 2002:a00:1::1 2001::1
"""


def resolving(*found: str, host: str = "files.example", allowed: AllowedHosts = NOBODY) -> Sequence[IPAddress]:
    async def resolve(asked: str) -> Sequence[IPAddress]:
        assert asked == host
        return [ipaddress.ip_address(address) for address in found]

    return asyncio.run(public_addresses(parse_address(f"https://{host}/task.zip"), allowed, resolve))


def literal(host: str, allowed: AllowedHosts = NOBODY) -> Sequence[IPAddress]:
    async def resolve(asked: str) -> Sequence[IPAddress]:
        raise AssertionError(f"{asked} needs no resolving")

    return asyncio.run(public_addresses(parse_address(f"http://{host}/task.zip"), allowed, resolve))


def test_an_address_is_taken_apart() -> None:
    address = parse_address("HTTPS://Files.Example.:8443/a%20b/task.zip?sig=1%2F2#part")
    assert address == Address("https", "files.example", 8443, "/a%20b/task.zip", "sig=1%2F2")
    assert address.authority == "files.example:8443"
    assert parse_address("http://[2001:DB8::1]").authority == "[2001:db8::1]"
    assert parse_address("http://h.example?x").path == "/"


def test_what_may_be_a_signature_is_never_shown() -> None:
    assert parse_address("https://files.example/task.zip?sig=secret").shown == "https://files.example/task.zip"
    for text in (
        "ftp://files.example/t.zip?sig=secret",
        "https://user:secret@files.example/t.zip",
        "https://[1?secret",
    ):
        with pytest.raises(RefusedAddress) as refusal:
            parse_address(text)
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "ftp://files.example/t.zip",
        "file:///etc/passwd",
        "gopher://files.example/",
        "data:x",
        "//files.example/t.zip",
        "t.zip",
    ],
)
def test_other_schemes_are_refused(text: str) -> None:
    with pytest.raises(RefusedScheme):
        parse_address(text)


@pytest.mark.parametrize(
    "authority", ["user@files.example", "user:password@files.example", "@files.example", "a@b@c.example"]
)
def test_credentials_are_refused(authority: str) -> None:
    with pytest.raises(AddressWithCredentials):
        parse_address(f"https://{authority}/task.zip")


@pytest.mark.parametrize("host", [*AMBIGUOUS.split(), "", "a b.example", "a\tb", "a\\b", "x" * 64])
def test_hosts_that_programs_read_differently_are_refused(host: str) -> None:
    with pytest.raises(MalformedAddress) as refusal:
        parse_address(f"http://{host}/task.zip")
    assert refusal.value.fix


@pytest.mark.parametrize("place", NOT_PUBLIC.split())
def test_a_host_that_is_not_public_is_refused(place: str) -> None:
    assert not is_public(ipaddress.ip_address(place))
    with pytest.raises(RefusedHost) as refusal:
        resolving(place)
    assert "ODDISH_GATEWAY_ALLOWED_HOSTS" in str(refusal.value)
    with pytest.raises(RefusedHost):
        literal(f"[{place}]" if ":" in place else place)


@pytest.mark.parametrize(
    "place", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"]
)
def test_a_public_host_is_fetched_from(place: str) -> None:
    assert resolving(place) == [ipaddress.ip_address(place)]


def test_one_address_that_is_not_public_refuses_them_all() -> None:
    with pytest.raises(RefusedHost):
        resolving("8.8.8.8", "10.0.0.1")


def test_a_host_that_does_not_resolve_is_refused() -> None:
    with pytest.raises(RefusedHost, match="does not resolve"):
        resolving()


def test_a_deployment_allows_names_and_networks() -> None:
    allowed = AllowedHosts.of(["Files.Example", "*.corp.example", "10.1.0.0/16", "fd00::/8"])
    assert resolving("10.9.9.9", allowed=allowed)
    assert resolving("10.9.9.9", host="a.b.corp.example", allowed=allowed)
    assert resolving("10.1.2.3", host="other.example", allowed=allowed)
    assert literal("[fd00::1]", allowed)
    assert literal("[::ffff:10.1.2.3]", allowed)
    for host in ("corp.example", "xcorp.example", "other.example"):
        with pytest.raises(RefusedHost):
            resolving("10.9.9.9", host=host, allowed=allowed)


def test_a_machines_own_stack_fetches_from_itself_only() -> None:
    assert literal("127.0.0.1", LOOPBACK)
    assert literal("[::1]", LOOPBACK)
    assert resolving("127.0.0.1", "::1", host="localhost", allowed=LOOPBACK)
    with pytest.raises(RefusedHost):
        literal("10.0.0.1", LOOPBACK)


@pytest.mark.parametrize(
    "entry", ["", "*", "a b", "10.0.0.0/99", "http://files.example", "*.1.2.3.4", "bücher.example"]
)
def test_what_is_no_host_cannot_be_allowed(entry: str) -> None:
    with pytest.raises(ValueError, match="is no host name"):
        AllowedHosts.of([entry])


def test_the_path_ends_in_zip() -> None:
    for path in ("/task.zip", "/a/TASK.ZIP", "/task.zip?x=1"):
        require_zip(parse_address(f"https://files.example{path}"))
    for path in ("/task.tar.gz", "/", "", "/task.zip/", "/x?name=task.zip", "/x#task.zip"):
        with pytest.raises(NotAZip):
            require_zip(parse_address(f"https://files.example{path}"))


@given(st.text(max_size=60), st.sampled_from(["", "http://", "https://", "http://files.example", "//"]))
def test_any_text_is_an_address_or_refused(text: str, start: str) -> None:
    try:
        address = parse_address(start + text)
    except RefusedAddress as refusal:
        assert refusal.fix  # noqa: PT017 - either way is right
    else:
        assert address.scheme in ("http", "https")
        assert parse_address(f"{address.scheme}://{address.authority}{address.path}").host == address.host


@given(st.ip_addresses())
def test_what_is_public_is_so_in_every_form(address: IPAddress) -> None:
    if isinstance(address, ipaddress.IPv4Address):
        for form in (f"::ffff:{address}", f"64:ff9b::{address}"):
            assert is_public(ipaddress.ip_address(form)) == is_public(address)
