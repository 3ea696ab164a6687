"""Credentials that ``oddish run`` hands over: found out, listed by name, and sent only when agreed to."""

import os
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import click

from oddish.cli.envfile import read_env_file
from oddish.cli.lookup import of_task
from oddish.cli.output import confirmed, say
from oddish.cli.session import LOCAL, connect
from oddish.cli.text import one_line, plural
from oddish.client import Client
from oddish.client.endpoint import Endpoint
from oddish.client.errors import ApiError
from oddish.client.types import JSON, CredentialNeeds, SweepConfig
from oddish.errors import InvalidInput, OddishError
from oddish.secrecy import is_secret_name
from oddish.tasks.characters import variable_flaw
from oddish.tasks.config import check_config
from oddish.tasks.definition import load_task
from oddish.tasks.fields import FieldError
from oddish.tasks.structure import CONFIG_FILE
from oddish.tasks.variables import references, variables
from oddish.variables import can_be_handed_over

BASELINES = frozenset({"oracle", "nop"})
env_file_option = click.option(
    "--env-file",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Look here, too, for the credentials that the agent and the tasks name.",
)
yes_option = click.option("-y", "--yes", is_flag=True, help="Send the credentials that were found without asking.")

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SHELL = "this shell"
SHOWN = 3


@dataclass(frozen=True)
class Sources:
    """Where values come from, the first one first."""

    file: Mapping[str, str] = field(default_factory=dict, repr=False)
    file_name: str = ""
    shell: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, env_file: Path | None, shell: Mapping[str, str] = os.environ) -> "Sources":
        if env_file is None:
            return cls(shell=shell)
        return cls(read_env_file(env_file), str(env_file), shell)

    def find(self, name: str, *, with_shell: bool) -> tuple[str, str] | None:
        """The value and its origin. An empty value is none."""
        if value := self.file.get(name):
            return value, self.file_name
        if with_shell and (value := self.shell.get(name)):
            return value, SHELL
        return None

    def complete(self, given: Iterable[str], option: str) -> list[str]:
        """``NAME=value`` for each NAME that is given alone; others as they are."""
        return [self._completed(entry, option) for entry in given]

    def _completed(self, entry: str, option: str) -> str:
        if "=" in entry or not can_be_handed_over(entry):
            return entry
        found = self.find(entry, with_shell=True)
        if found is None:
            raise click.BadParameter(
                f"{entry} has no value in the shell{' or the file' if self.file_name else ''}.",
                param_hint=f"'{option}'",
            )
        return f"{entry}={found[0]}"


@dataclass(frozen=True)
class Consent:
    """Where credentials may be looked for, and whether they may be sent."""

    sources: Sources
    agreed: bool
    """In advance, with --yes."""
    may_ask: bool
    """Somebody may be there who can be asked."""


@dataclass(frozen=True)
class Found:
    """A variable that would be sent."""

    name: str
    value: str = field(repr=False)
    origin: str
    agents: Sequence[str]
    """What names it for every trial: agents, the block of a file, or the one task that the server has."""
    tasks: Sequence[Path]
    """Those that name it."""

    def for_task(self, task: Path | None) -> bool:
        return bool(self.agents) or task in self.tasks

    def wording(self) -> str:
        """What names it, as the end of a sentence."""
        users = [*self.agents, *(f"task {task.resolve().name}" for task in self.tasks)]
        more = f" and {len(users) - SHOWN} more" if len(users) > SHOWN else ""
        return ", ".join(map(one_line, users[:SHOWN])) + more


@dataclass(frozen=True)
class Granted:
    """The variables that may be sent."""

    found: Sequence[Found] = field(default=(), repr=False)

    def for_task(self, task: Path | None) -> dict[str, str]:
        """Those that its trials can use; None is a task that the server has."""
        return {entry.name: entry.value for entry in self.found if entry.for_task(task)}


def hand_over(
    endpoint: Endpoint,
    configs: Sequence[SweepConfig],
    tasks: Sequence[Path],
    consent: Consent,
    *,
    verified: bool,
    gated: bool = False,
    harbor: Mapping[str, JSON] = {},
    server_task: str | None = None,
) -> Granted:
    """The variables to send with each task of a run; none when the user says no. ``gated``: oracle runs as well.

    ``server_task`` is one that only the server has, by id or name. The shell's variables are looked at for a server of
    this machine. Raises ``InvalidInput`` when nobody can be asked.
    """
    sources = consent.sources
    names = {config["agent"] for config in configs}
    use = _Use(names, verified, solved=gated or "oracle" in names)
    of_tasks = _of_tasks(tasks, use)
    named = _referred(configs, harbor)
    if names <= BASELINES and not of_tasks and not named and server_task is None:
        return Granted()
    with connect(endpoint) as client:
        shell = _is_local(endpoint, client)
        if not shell and not sources.file:
            return Granted()
        of_agents = _of_agents(client, configs)
        for name in () if server_task is None else _of_server_task(client, server_task, use):
            named.setdefault(name, []).append(f"task {server_task}")
    of_agents = {name: [*of_agents.get(name, ()), *named.get(name, ())] for name in (*of_agents, *named)}
    found = [
        Found(name, *value, list(dict.fromkeys(of_agents.get(name, ()))), of_tasks.get(name, ()))
        for name in dict.fromkeys((*of_agents, *of_tasks))
        if can_be_handed_over(name) and (value := sources.find(name, with_shell=shell))
    ]
    for entry in found:
        if reason := variable_flaw(entry.name, entry.value):
            raise InvalidInput(f"{reason} (from {entry.origin}).")
    if not found or not (consent.agreed or _agreed(found, endpoint, may_ask=consent.may_ask)):
        return Granted()
    return Granted(found)


def _referred(configs: Sequence[SweepConfig], harbor: Mapping[str, JSON]) -> dict[str, list[str]]:
    """The variables that values of agents' and the engine's own variables stand for, and whose these are."""
    users: dict[str, list[str]] = {}
    for config in configs:
        for name, _ in references(config.get("agent_config", {}).get("env", {})):
            users.setdefault(name, []).append(f"agent {config['agent']}")
    for name in ("environment", "verifier"):
        section = harbor.get(name)
        env = section.get("env") if isinstance(section, dict) else None
        texts = {key: value for key, value in env.items() if isinstance(value, str)} if isinstance(env, dict) else {}
        for variable, _ in references(texts):
            users.setdefault(variable, []).append(f"harbor.{name}.env")
    return users


def _is_local(endpoint: Endpoint, client: Client) -> bool:
    """Whether the server is of this machine; one elsewhere is not believed when it says so."""
    if endpoint.source == LOCAL:
        return True
    if urlsplit(endpoint.url).hostname not in LOOPBACK:
        return False
    with suppress(ApiError):
        return client.health().get("deployment") == "local"
    return False


def _of_agents(client: Client, configs: Sequence[SweepConfig]) -> dict[str, list[str]]:
    """The variables that agents can use, without those that they are given already, and the agents that can."""
    users: dict[str, list[str]] = {}
    for config in configs:
        for name in _of_agent(client, config):
            users.setdefault(name, []).append(f"agent {config['agent']}")
    return users


def _of_agent(client: Client, config: SweepConfig) -> list[str]:
    """The variables that the agent can use, without those that it is given already."""
    agent, model = config["agent"], config["model"]
    if agent in BASELINES:
        return []
    try:
        known = client.credentials.agents(agent=agent, model=model)["agents"]
    except ApiError as error:
        if error.http_status != 404:
            raise
        return []  # a release that takes no credentials
    given = config.get("agent_config", {}).get("env", {})
    return [name for entry in known for name in _useful(entry["credentials"], given)]


def _useful(needs: CredentialNeeds, given: Mapping[str, str]) -> list[str]:
    grouped = [name for group in needs["one_of"] for name in group]
    has_key = any(is_secret_name(name) for name in grouped if name in given)
    return [
        name
        for name in dict.fromkeys((*grouped, *needs["also"]))
        if name not in given and not (has_key and name in grouped and is_secret_name(name))
    ]


@dataclass(frozen=True)
class _Use:
    """What trials use of a task.toml."""

    agents: Set[str]
    verified: bool
    solved: bool

    def includes(self, section: str) -> bool:
        return not (
            (section.startswith("solution.") and not self.solved)
            or (section.endswith(".headers") and self.agents <= BASELINES)
            or ("verifier" in section.split(".") and not self.verified)
        )


def _of_tasks(tasks: Sequence[Path], use: _Use) -> dict[str, list[Path]]:
    """Variables that task.toml names in what such trials use, and the tasks that do. Faulty tasks are left out."""
    users: dict[str, list[Path]] = {}
    for task in tasks:
        with suppress(OddishError):
            for variable in load_task(task, disable_verification=not use.verified).variables:
                if use.includes(variable.section) and task not in users.setdefault(variable.name, []):
                    users[variable.name].append(task)
    return users


def _of_server_task(client: Client, task: str, use: _Use) -> list[str]:
    """Variables that the current version of a task on the server names; none where they cannot be found out."""
    try:
        text = of_task(client, task, lambda task_id: client.versions.file(task_id, CONFIG_FILE))["content"]
        config = check_config(tomllib.loads(text))
    except ApiError as error:
        if error.http_status != 404:
            raise
        return []  # no such task, which the submission says better, or a release that does not show files
    except (FieldError, ValueError, RecursionError):
        return []
    return [variable.name for variable in variables(config) if use.includes(variable.section)]


def _agreed(found: Sequence[Found], endpoint: Endpoint, *, may_ask: bool) -> bool:
    names = ", ".join(entry.name for entry in found)
    if not may_ask or not sys.stdin.isatty():
        raise InvalidInput(
            f"{names} would be sent to {endpoint.url} for this run, and nobody can be asked here.",
            fix=f"Add --yes to send {'it' if len(found) == 1 else 'them'}, or keep one back: "
            f"env -u {found[0].name} oddish run ...",
        )
    widest = max(len(entry.name) for entry in found)
    say(f"{plural(len(found), 'variable')} for the trials of this run, kept encrypted at {endpoint.url}:", err=True)
    for entry in found:
        say(f"  {entry.name:<{widest}}  from {one_line(entry.origin)}, for {entry.wording()}", err=True)
    return confirmed("Send them?" if len(found) > 1 else "Send it?", "nothing was sent", "--yes", default=True)
