"""What options of ``oddish run`` say about the engine: the ``harbor`` block and the agent's part of a submission."""

from collections.abc import Mapping
from dataclasses import dataclass

import click

from oddish.cli.pairs import split_values
from oddish.cli.tuning import hosts
from oddish.client.types import JSON, AgentConfig
from oddish.errors import InvalidInput
from oddish.variants.reference import PACKAGE, REPOSITORY, Reference

REFERENCE = ("source", "ref", "sha")
ADDED = ("artifacts", "extra_allowed_hosts", "extra_docker_compose")
"""Lists of which there is never one too many."""


@dataclass(frozen=True)
class EngineChoices:
    """None and empty: as the task and the server have it."""

    harbor: str | None = None
    override_cpus: int | None = None
    override_memory_mb: int | None = None
    override_gpus: int | None = None
    override_storage_mb: int | None = None
    force_build: bool | None = None
    environment_kwarg: tuple[str, ...] = ()
    artifact: tuple[str, ...] = ()
    allow_agent_host: tuple[str, ...] = ()
    disable_web_tools: bool | None = None
    unverified: bool | None = None

    def block(self) -> dict[str, JSON]:
        """Raises ``click.BadParameter`` naming the option."""
        block: dict[str, JSON] = {**self._reference()}
        environment: dict[str, JSON] = {
            name: value
            for name in ("override_cpus", "override_memory_mb", "override_gpus", "override_storage_mb", "force_build")
            if (value := getattr(self, name)) is not None
        }
        if self.environment_kwarg:
            environment["kwargs"] = split_values(self.environment_kwarg, "--environment-kwarg")
        if environment:
            block["environment"] = environment
        if self.artifact:
            block["artifacts"] = [_artifact(path) for path in self.artifact]
        if self.unverified is not None:
            block["verifier"] = {"disable": self.unverified}
        return block

    def agent(self) -> AgentConfig:
        """Raises ``click.BadParameter`` naming the option."""
        config: AgentConfig = {}
        if self.allow_agent_host:
            config["extra_allowed_hosts"] = hosts(self.allow_agent_host, "--allow-agent-host")
        if self.disable_web_tools is not None:
            config["disable_web_tools"] = self.disable_web_tools
        return config

    def _reference(self) -> dict[str, JSON]:
        """A branch, tag or commit without a repository is left to the server, which may have one of its own."""
        if self.harbor is None or not self.harbor.strip():
            return {}
        try:
            reference = Reference.parse(self.harbor, repository=REPOSITORY)
        except InvalidInput as error:
            raise _bad("--harbor", f"{error.message} {error.fix or ''}".strip()) from None
        if reference.source != PACKAGE and "@" not in self.harbor:
            return {"ref": reference.ref}
        return {"source": reference.source, "ref": reference.ref}


def overlaid(file: Mapping[str, JSON], flags: Mapping[str, JSON]) -> dict[str, JSON]:
    """The block of a file with what flags say: they win member by member, pair by pair, and add to some lists.

    Another Harbor is named by one of the two as a whole.
    """
    return _merged({name: value for name, value in file.items() if not (name in REFERENCE and "ref" in flags)}, flags)


def unverified(block: Mapping[str, JSON]) -> bool:
    """Nobody looks at what the trials come to."""
    verifier = block.get("verifier")
    return isinstance(verifier, dict) and verifier.get("disable") is True


def _merged(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> dict[str, JSON]:
    merged = dict(one)
    for name, value in other.items():
        there = merged.get(name)
        if isinstance(value, dict) and isinstance(there, dict):
            merged[name] = _merged(there, value)
        elif isinstance(value, list) and isinstance(there, list) and name in ADDED:
            merged[name] = [*there, *(entry for entry in value if entry not in there)]
        else:
            merged[name] = value
    return merged


def _artifact(path: str) -> str:
    if not path.strip() or ".." in path.replace("\\", "/").split("/"):
        raise _bad("--artifact", f"{path!r} is empty or holds '..'; name a path in the sandbox, such as /app/out.")
    return path


def _bad(option: str, message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint=f"'{option}'")
