"""Compose's subcommands as commands of the docker program, and what both need of their arguments. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oddish.secrecy import is_secret_name
from oddish.variables import can_be_handed_over, is_variable_name

_WITH_VALUE = frozenset({"-w", "-u"})
_WITHOUT_MEANING = frozenset({"-T", "--no-TTY"})


@dataclass(frozen=True, slots=True)
class Exec:
    """A command in the container of a service."""

    service: str
    options: tuple[str, ...]
    env: Mapping[str, str]
    argv: tuple[str, ...]


def parse_exec(arguments: Sequence[str]) -> Exec:
    """The arguments of ``docker compose exec`` as Harbor writes them."""
    options: list[str] = []
    env: dict[str, str] = {}
    rest = list(arguments)
    while rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "-e":
            name, _, value = rest.pop(0).partition("=")
            env[name] = value
        elif option in _WITH_VALUE:
            options += [option, rest.pop(0)]
        elif option not in _WITHOUT_MEANING:
            options.append(option)
    return Exec(rest[0], tuple(options), env, tuple(rest[1:]))


def without_values(env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Options that take the variables from the program's own environment, where other users cannot read them, and
    that environment. Variables that would steer the program itself have to be written out: no secret is among them."""
    quiet = {name: value for name, value in env.items() if can_be_handed_over(name) or _is_secret(name)}
    shown = [f"{name}={value}" for name, value in env.items() if name not in quiet]
    return [part for variable in (*quiet, *shown) for part in ("--env", variable)], quiet


def _is_secret(name: str) -> bool:
    return is_variable_name(name) and is_secret_name(name)


def service_of_path(argument: str) -> str | None:
    """The service of a ``SERVICE:PATH`` argument of cp; None for a path of this machine."""
    service, colon, _ = argument.partition(":")
    return service if colon and "/" not in service else None


def promptly(command: Sequence[str]) -> list[str]:
    """A Compose command that grants no grace period when it stops containers: the first process of a task's container
    sleeps and ignores SIGTERM, and its files have been collected by then."""
    verb, *rest = command
    return [verb, "--timeout", "0", *rest] if verb in {"down", "stop"} else list(command)
