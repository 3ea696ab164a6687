"""Which server a command talks to."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from oddish.errors import InvalidInput, Unauthenticated

KEY = "ODDISH_API_KEY"
GATEWAY, GATEWAY_KEY = "SANDBOX_GATEWAY_URL", "SANDBOX_API_KEY"


@dataclass(frozen=True)
class Endpoint:
    url: str
    key: str
    source: str
    """The option or variable that chose it."""
    key_source: str = KEY
    """Where the key is from."""


def given_key(environ: Mapping[str, str] = os.environ) -> str | None:
    """The key of ``ODDISH_API_KEY``, which is used wherever a command goes."""
    return environ.get(KEY, "").strip() or None


def remote_endpoint(api: str | None = None, environ: Mapping[str, str] = os.environ) -> Endpoint | None:
    """The server named by ``--api``, ``ODDISH_API_URL`` or ``ODDISH_PREVIEW_PR``, in this order, or none of them."""
    chosen = _chosen(api, environ)
    if chosen is None:
        return None
    source, url = chosen
    key = given_key(environ)
    if key is None:
        raise Unauthenticated(
            f"No key for {url} (chosen by {source}).",
            fix="Set ODDISH_API_KEY to a key of that server, or leave the address out to run on this machine.",
        )
    return Endpoint(url, key, source)


def gateway_endpoint(environ: Mapping[str, str] = os.environ) -> Endpoint | None:
    """The gateway of ``SANDBOX_GATEWAY_URL`` with the key of ``SANDBOX_API_KEY``; None where it names none."""
    url = environ.get(GATEWAY, "").strip()
    if not url:
        return None
    key = environ.get(GATEWAY_KEY, "").strip()
    if not key:
        raise Unauthenticated(f"No key for {url} (chosen by {GATEWAY}).", fix=f"Set {GATEWAY_KEY} to a key of it.")
    return Endpoint(url, key, GATEWAY, GATEWAY_KEY)


@dataclass(frozen=True)
class Endpoints:
    server: Endpoint
    gateway: Endpoint
    """Another one only where ``SANDBOX_GATEWAY_URL`` names it."""


def named_endpoints(environ: Mapping[str, str] = os.environ) -> Endpoints:
    """Those that variables name. Raises ``InvalidInput`` where there is none."""
    gateway = gateway_endpoint(environ)
    server = remote_endpoint(environ=environ) or gateway
    if server is None:
        raise InvalidInput(
            "No server is named.",
            fix=f"Give its address and key, or set ODDISH_API_URL and {KEY}, or {GATEWAY} and {GATEWAY_KEY}.",
        )
    return Endpoints(server, gateway or server)


def _chosen(api: str | None, environ: Mapping[str, str]) -> tuple[str, str] | None:
    if api:
        return "--api", api
    if url := environ.get("ODDISH_API_URL"):
        return "ODDISH_API_URL", url
    if number := environ.get("ODDISH_PREVIEW_PR"):
        return "ODDISH_PREVIEW_PR", _preview_url(number, environ.get("ODDISH_PREVIEW_URL_TEMPLATE"))
    return None


def _preview_url(number: str, template: str | None) -> str:
    if not (number.isascii() and number.isdecimal()):
        raise InvalidInput(f"ODDISH_PREVIEW_PR is {number!r}, not a pull request number.")
    if not template or "{n}" not in template:
        found = f"is {template!r}, without {{n}}" if template else "is not set"
        raise InvalidInput(
            f"ODDISH_PREVIEW_PR is {number}, and ODDISH_PREVIEW_URL_TEMPLATE, the address of previews, {found}.",
            fix="Set ODDISH_PREVIEW_URL_TEMPLATE to the address with {n} in place of the number.",
        )
    return template.replace("{n}", number)
