"""Logins at container registries, from ``--registry-login`` and the shell. Nothing here ever shows a token."""

from collections.abc import Iterable, Sequence

import click

from oddish.cli.credentials import Sources
from oddish.client.types import RegistryAuth
from oddish.errors import InvalidInput
from oddish.registries import DOCKER_HUB, InvalidLogin, RegistryLogin, refuse_twice

OPTION = "--registry-login"
MEMBERS = ("username", "token", "registry")
HUB_USERNAME, HUB_TOKEN = "ODDISH_DOCKERHUB_USERNAME", "ODDISH_DOCKERHUB_TOKEN"
EXAMPLE = "username=USER,token=TOKEN or username=USER,token=TOKEN,registry=ghcr.io"


def read_logins(given: Iterable[str], sources: Sources, environments: Iterable[str | None]) -> Sequence[RegistryLogin]:
    """The logins of the options and, where all images may come from Docker Hub, the one that the shell names.

    Raises ``click.BadParameter`` for an option, ``InvalidInput`` for a shell with half a login.
    """
    logins = [_login(text, position) for position, text in enumerate(given, start=1)]
    fetching = all(environment in (None, "docker") for environment in environments)
    if fetching and all(login.registry != DOCKER_HUB for login in logins):
        logins += _of_shell(sources)
    try:
        refuse_twice(logins)
    except InvalidLogin as error:
        raise _bad(f"{error.message} {error.fix}") from None
    return logins


def as_members(logins: Iterable[RegistryLogin]) -> list[RegistryAuth]:
    """The logins as a request has them."""
    return [{"registry": login.registry, "username": login.username, "token": login.token} for login in logins]


def split_login(text: str) -> dict[str, str]:
    """``NAME=value`` parts between commas; a value in quotes may hold commas. Raises ``ValueError`` saying why not."""
    parts: dict[str, str] = {}
    rest = text
    while True:
        name, equals, rest = rest.partition("=")
        name = name.strip().lower()
        if not equals or name not in MEMBERS:
            raise ValueError("has a part that begins with none of username=, token= and registry=")
        if name in parts:
            raise ValueError(f"has {name}= twice")
        if (quote := rest[:1]) in ("'", '"') and quote:
            value, closed, rest = rest[1:].partition(quote)
            if not closed:
                raise ValueError(f"has a quote at {name}= that is not closed")
            separator, rest = rest[:1], rest[1:]
            if separator not in ("", ","):
                raise ValueError(f"goes on after the quote that ends {name}=")
        else:
            value, separator, rest = rest.partition(",")
            value = value.strip()
        parts[name] = value
        if not separator:
            return parts


def _login(text: str, position: int) -> RegistryLogin:
    try:
        parts = split_login(text)
        if missing := [name for name in ("username", "token") if name not in parts]:
            raise ValueError(f"has no {missing[0]}=")
    except ValueError as error:
        raise _bad(f"number {position} {error}; it looks like {EXAMPLE}, values with commas in quotes.") from None
    try:
        return RegistryLogin.of(**parts)
    except InvalidLogin as error:
        raise _bad(f"number {position}: {error.message} {error.fix}") from None


def _of_shell(sources: Sources) -> list[RegistryLogin]:
    username, token = (sources.find(name, with_shell=True) for name in (HUB_USERNAME, HUB_TOKEN))
    if username is None and token is None:
        return []
    if username is None or token is None:
        given, missing = (HUB_TOKEN, HUB_USERNAME) if username is None else (HUB_USERNAME, HUB_TOKEN)
        raise InvalidInput(f"{given} has a value and {missing} has none.", fix="Set both of them, or neither.")
    return [RegistryLogin.of(username[0].strip(), token[0].strip())]


def _bad(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint=f"'{OPTION}'")
