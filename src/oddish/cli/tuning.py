"""Options of ``oddish run`` that Harbor's own command has under the same names: what they come to in a submission."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from oddish.cli.gathering import gathered
from oddish.cli.pairs import split_values, split_variables
from oddish.client.types import JSON

POLICIES = ("auto", "limit", "request", "guarantee", "ignore")
MULTIPLIERS = {
    "timeout_multiplier": "all time limits of the task",
    "agent_timeout_multiplier": "the agent's time limit",
    "verifier_timeout_multiplier": "the verifier's time limit",
    "agent_setup_timeout_multiplier": "the time limit of the agent's installation",
    "environment_build_timeout_multiplier": "the time limit of the environment's build",
}


@dataclass(frozen=True)
class Tuning:
    """None and empty: as the task and the server have it."""

    timeout_multiplier: float | None = None
    agent_timeout_multiplier: float | None = None
    verifier_timeout_multiplier: float | None = None
    agent_setup_timeout_multiplier: float | None = None
    environment_build_timeout_multiplier: float | None = None
    cpu_policy: str | None = None
    memory_policy: str | None = None
    allow_environment_host: tuple[str, ...] = ()
    allow_verifier_host: tuple[str, ...] = ()
    mounts: str | None = None
    extra_docker_compose: tuple[Path, ...] = ()
    verifier: str | None = None
    verifier_kwarg: tuple[str, ...] = ()
    verifier_env: tuple[str, ...] = ()

    def block(self) -> dict[str, JSON]:
        """Of a submission's ``harbor``. Raises ``click.BadParameter`` naming the option."""
        environment: dict[str, JSON] = {
            "cpu_enforcement_policy": self.cpu_policy,
            "memory_enforcement_policy": self.memory_policy,
            "extra_allowed_hosts": [*hosts(self.allow_environment_host, "--allow-environment-host")],
            "mounts": _mounts(self.mounts),
            "extra_docker_compose": [str(path.resolve()) for path in self.extra_docker_compose],
        }
        verifier: dict[str, JSON] = {
            "extra_allowed_hosts": [*hosts(self.allow_verifier_host, "--allow-verifier-host")],
            "import_path": self.verifier,
            "kwargs": split_values(self.verifier_kwarg, "--verifier-kwarg"),
            "env": {**split_variables(self.verifier_env, "--ve")},
        }
        factors: dict[str, JSON] = {name: self._factor(name) for name in MULTIPLIERS}
        return _said({**factors, "environment": _said(environment), "verifier": _said(verifier)})

    def _factor(self, name: str) -> float | None:
        factor: float | None = getattr(self, name)
        if factor is not None and not math.isfinite(factor):
            raise _bad(f"--{name.replace('_', '-')}", f"{factor} is not a finite number.")
        return factor


def hosts(given: Sequence[str], option: str) -> list[str]:
    """Names of hosts alone. Raises ``click.BadParameter``."""
    names: list[str] = []
    for host in given:
        name = host.strip()
        if not name or "://" in name or any(map(str.isspace, name)):
            raise _bad(option, f"{host!r} is no host; name it alone, such as docs.example or *.example.")
        names.append(name)
    return names


def _mounts(text: str | None) -> JSON:
    if text is None:
        return None
    try:
        mounts: JSON = json.loads(text)
    except (ValueError, RecursionError):
        mounts = None
    if not (isinstance(mounts, list) and all(isinstance(mount, dict) for mount in mounts)):
        example = '[{"type": "bind", "source": "/data", "target": "/data"}]'
        raise _bad("--mounts", f"it is no JSON array of objects, for example {example}.")
    return mounts


def _said(members: dict[str, JSON]) -> dict[str, JSON]:
    return {name: value for name, value in members.items() if value not in (None, [], {})}


def _bad(option: str, message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint=f"'{option}'")


_MULTIPLIER_OPTIONS = tuple(
    click.option(
        f"--{name.replace('_', '-')}",
        type=click.FloatRange(min=0, min_open=True),
        metavar="FACTOR",
        help=f"Multiply {what}.",
    )
    for name, what in MULTIPLIERS.items()
)
TUNING_OPTIONS = (
    *_MULTIPLIER_OPTIONS,
    click.option(
        "--cpus", "cpu_policy", type=click.Choice(POLICIES), help="How the environment enforces the task's CPUs."
    ),
    click.option(
        "--memory", "memory_policy", type=click.Choice(POLICIES), help="How the environment enforces the task's memory."
    ),
    click.option(
        "--allow-environment-host",
        multiple=True,
        metavar="HOST",
        help="One more host for an environment that the task keeps from the internet.",
    ),
    click.option(
        "--allow-verifier-host", multiple=True, metavar="HOST", help="One more host while the verifier works."
    ),
    click.option(
        "--mounts",
        "--mounts-json",
        "mounts",
        metavar="JSON",
        help="Mounts of the environment, as in Compose files.",
    ),
    click.option(
        "--extra-docker-compose",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="One more Compose file, on the worker.",
    ),
    click.option("--verifier", metavar="MODULE:CLASS", help="Verify with this class instead of the task's tests."),
    click.option("--verifier-kwarg", multiple=True, metavar="key=value", help="Setting of that verifier."),
    click.option(
        "--ve", "--verifier-env", "verifier_env", multiple=True, metavar="KEY=VALUE", help="Variable for the verifier."
    ),
)

tuning_options = gathered("tuning", Tuning, TUNING_OPTIONS)
"""The command gets them as ``tuning``."""
