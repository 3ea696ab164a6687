"""What a job's trials are, read from its request. Pure.

The request is as ``oddish.schemas.gateway`` accepts it: a job keeps what was checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oddish.gateway.addresses import Address, parse_address
from oddish.gateway.jobs import NO_AGENT
from oddish.registries import RegistryLogin
from oddish.trials.units import TrialConfig

MOST_AT_ONCE = 16
"""Trials of an agent that run at once, unless more are asked for."""
VERIFIER = "verifier"
"""What the trials of a verification are called in place of an agent."""
OVERRIDES = ("override_timeout_sec", "override_setup_timeout_sec", "max_timeout_sec")


@dataclass(frozen=True)
class Plan:
    """The trials of one agent."""

    agent: str
    """As the caller has named it."""
    config: TrialConfig
    max_running: int
    harbor: Mapping[str, Any] = field(default_factory=dict)


def plans(kind: str, request: Mapping[str, Any]) -> Sequence[Plan]:
    """One for each agent; a verification has one, of as many trials as it is repeated."""
    if kind == "verify":
        repeats = request["repeats"]
        config = TrialConfig(NO_AGENT, None, repeats, environment=request.get("environment"))
        return [Plan(VERIFIER, config, min(repeats, MOST_AT_ONCE))]
    return [_plan(agent, request["pass_at_k"]) for agent in request["agents"]]


def archive(request: Mapping[str, Any]) -> Address:
    """Where the task is."""
    return parse_address(request["metadata"]["task_archive_url"])


def fixture(request: Mapping[str, Any]) -> Address | None:
    """Where the files are that a verification lays over the task's own."""
    url = request.get("workspace_fixture_url")
    return None if url is None else parse_address(url)


def logins(request: Mapping[str, Any]) -> Sequence[RegistryLogin]:
    """At the registries of the trials' images. Raises ``InvalidLogin``."""
    given = request.get("registry_auth") or ()
    return [RegistryLogin.of(login["username"], login["token"], login["registry"]) for login in given]


def _plan(agent: Mapping[str, Any], trials: int) -> Plan:
    extensions = agent.get("harbor_extensions") or {}
    config = TrialConfig(
        agent["harbor_agent"],
        agent.get("model"),
        trials,
        environment=extensions.get("environment"),
        env=extensions.get("agent_env") or {},
        kwargs=extensions.get("kwargs") or {},
        overrides={name: extensions[name] for name in OVERRIDES if extensions.get(name) is not None},
    )
    at_once = extensions.get("n_concurrent") or min(trials, MOST_AT_ONCE)
    return Plan(agent["name"], config, at_once, extensions.get("harbor") or {})
