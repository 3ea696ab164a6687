"""Variables that task.toml takes from the outside, ``${NAME}`` and ``${NAME:-default}``. Standard library only."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oddish.tasks.fields import FieldError

_WHOLE_VALUE = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}")
_EMBEDDED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET_NAME = re.compile(r"(KEY|SECRET|TOKEN(?!S)|PASSWORD|CREDENTIAL|AUTH)", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_REFERENCE = r"\$\{[A-Za-z_][A-Za-z0-9_]*(?::-)?\}"
_CREDENTIAL = re.compile(rf"\s*(?:[A-Za-z]+\s+)?{_REFERENCE}(?:[\s:-]*{_REFERENCE})*\s*")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that a section of task.toml reads from the machine that runs the trial."""

    name: str
    section: str
    """Where it is named: ``environment.env``, ``verifier.env``, ``solution.env``, ``steps[0].verifier.env`` ..."""
    required: bool
    """False when the task gives a default."""


def mcp_header(name: str, value: str, key: str) -> None:
    """Refuse a header that is malformed or that holds a credential instead of naming the variable with it."""
    if not _HEADER_NAME.fullmatch(name):
        raise FieldError(key, "is not a valid HTTP header name")
    if "\r" in value or "\n" in value:
        raise FieldError(key, "must not contain a line break")
    templates = _EMBEDDED.findall(value)
    if "${" in _EMBEDDED.sub(" ", value) or any("${" in default for _, default in templates):
        raise FieldError(key, "contains a malformed variable: write ${NAME} or ${NAME:-default}")
    credential = bool(_SECRET_NAME.search(name)) or name.lower() in ("cookie", "set-cookie")
    literal_default = any(default and (credential or _SECRET_NAME.search(variable)) for variable, default in templates)
    literal_value = credential and value.strip() and not _CREDENTIAL.fullmatch(value)
    if literal_default or literal_value:
        raise FieldError(key, "must name the variable that holds the credential, such as ${TOKEN}, without a default")


def variables(config: dict[str, Any]) -> tuple[Variable, ...]:
    """Every variable of a checked configuration, in the order of its sections; the same name may occur in several."""
    return tuple(_in_config(config))


def references(env: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """The variables that the values of ``env`` stand for, and whether they have no default."""
    for value in env.values():
        match = _WHOLE_VALUE.fullmatch(value)
        if match:
            yield match[1], match[2] is None


def _in_config(config: dict[str, Any]) -> Iterator[Variable]:
    yield from _in_environment(config.get("environment", {}), "environment")
    yield from _in_verifier(config.get("verifier", {}), "verifier")
    yield from _in_env(config.get("solution", {}).get("env", {}), "solution.env")
    for index, step in enumerate(config.get("steps", [])):
        yield from _in_verifier(step.get("verifier", {}), f"steps[{index}].verifier")


def _in_verifier(verifier: dict[str, Any], section: str) -> Iterator[Variable]:
    yield from _in_env(verifier.get("env", {}), f"{section}.env")
    yield from _in_environment(verifier.get("environment", {}), f"{section}.environment")


def _in_environment(environment: dict[str, Any], section: str) -> Iterator[Variable]:
    yield from _in_env(environment.get("env", {}), f"{section}.env")
    for index, server in enumerate(environment.get("mcp_servers", [])):
        for value in server.get("headers", {}).values():
            for match in _EMBEDDED.finditer(value):
                yield Variable(match[1], f"{section}.mcp_servers[{index}].headers", match[2] is None)


def _in_env(env: dict[str, str], section: str) -> Iterator[Variable]:
    for name, required in references(env):
        yield Variable(name, section, required)
