"""From a ``Run`` to Harbor's ``TrialConfig``."""

from collections.abc import Mapping
from typing import Any

from harbor.models.agent.name import AgentName
from harbor.models.trial.config import TrialConfig
from pydantic import ValidationError

from oddish.engine.environments import registry
from oddish.engine.protocol import Run
from oddish.errors import InvalidInput
from oddish.variables import can_be_handed_over

LOCAL_ENVIRONMENT = "oddish.engine.environments.local:LocalEnvironment"
NO_AGENT = AgentName.NOP.value
SEEDING_AGENT = "oddish.engine.agents.seeding:SeedingAgent"
OBSERVING_VERIFIER = "oddish.engine.verifiers.observing:ObservingVerifier"

TRIAL_MEMBERS = frozenset(
    {
        "artifacts",
        "timeout_multiplier",
        "agent_timeout_multiplier",
        "verifier_timeout_multiplier",
        "agent_setup_timeout_multiplier",
        "environment_build_timeout_multiplier",
        "extra_instructions",
    }
)
SECTION_MEMBERS: Mapping[str, frozenset[str]] = {
    "agent": frozenset(
        {
            "base_url",
            "exclude_logs",
            "extra_allowed_hosts",
            "include_logs",
            "max_timeout_sec",
            "model_api_format",
            "model_api_key_name",
            "override_setup_timeout_sec",
            "override_timeout_sec",
            "skip_model_parsing",
        }
    ),
    "environment": frozenset(
        {
            "cpu_enforcement_policy",
            "env",
            "extra_allowed_hosts",
            "extra_docker_compose",
            "force_build",
            "kwargs",
            "memory_enforcement_policy",
            "mounts",
            "override_cpus",
            "override_gpus",
            "override_memory_mb",
            "override_storage_mb",
            "override_tpu",
        }
    ),
    "verifier": frozenset(
        {
            "disable",
            "env",
            "exclude_logs",
            "extra_allowed_hosts",
            "import_path",
            "include_logs",
            "kwargs",
            "max_timeout_sec",
            "override_timeout_sec",
        }
    ),
}
MCP_SERVERS = "mcp_servers"
HANDLED_ELSEWHERE = frozenset({"retry", "source", "ref", "sha"})
"""Members of a harbor block about the queue and the engine's version, not about one attempt."""


def trial_config(run: Run) -> TrialConfig:
    """The configuration of one attempt. Raises InvalidInput, naming the member, for what Harbor would not take."""
    block = dict(run["harbor"])
    refuse_unknown("harbor", block, TRIAL_MEMBERS | SECTION_MEMBERS.keys() | HANDLED_ELSEWHERE | {MCP_SERVERS})
    document = {
        **{name: block[name] for name in block.keys() & TRIAL_MEMBERS},
        "task": {"path": run["task_dir"]},
        "trials_dir": run["trials_dir"],
        "trial_name": run["trial_name"],
        "agent": agent_document(run, section(block, "agent"), block.get(MCP_SERVERS, [])),
        "environment": environment_document(run, section(block, "environment")),
        "verifier": verifier_document(run, section(block, "verifier")),
    }
    try:
        return TrialConfig.model_validate(document)
    except ValidationError as error:
        details = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors(include_url=False, include_context=False, include_input=False)
        )
        raise InvalidInput(f"The run configuration is not valid: {details}.") from None


def agent_document(run: Run, overrides: dict[str, Any], mcp_servers: object) -> dict[str, Any]:
    """Harbor's ``agent`` section; a workspace is put in place by an agent of ours."""
    if "workspace" in run:
        if run["agent"] != NO_AGENT:
            raise InvalidInput(
                f"A workspace is verified without an agent, not with {run['agent']!r}.", fix=f"Ask for {NO_AGENT!r}."
            )
        return {**overrides, "import_path": SEEDING_AGENT, "kwargs": {"workspace": run["workspace"]}}
    kind = "import_path" if ":" in run["agent"] and not run["agent"].startswith("acp:") else "name"
    return {
        **overrides,
        kind: run["agent"],
        "model_name": run["model"],
        "kwargs": run["agent_kwargs"],
        "env": run["agent_env"],
        "mcp_servers": mcp_servers,
    }


def environment_document(run: Run, overrides: dict[str, Any]) -> dict[str, Any]:
    """Harbor's ``environment`` section; ``local`` and ``module:Class`` are import paths there."""
    name = run["environment"]
    kwargs = {**overrides.get("kwargs", {}), **run["environment_kwargs"]}
    if name == "local":
        if "scratch" in run:
            kwargs["scratch"] = run["scratch"]
        return {**overrides, "import_path": LOCAL_ENVIRONMENT, "kwargs": kwargs}
    if ":" in name:
        return {**overrides, "import_path": name, "kwargs": kwargs}
    if name == "docker" and "owner" in run and registry.docker_is_ours():
        kwargs["owner"] = run["owner"]
        kwargs["signed_in"] = bool(run.get("registry_auth"))
    if name not in registry.names():
        raise InvalidInput(
            f"The environment {name!r} is not known to this engine.", fix="See `oddish doctor` for names."
        )
    return {**overrides, "type": name, "kwargs": kwargs}


def verifier_document(run: Run, overrides: dict[str, Any]) -> dict[str, Any]:
    """Harbor's ``verifier`` section."""
    if "workspace" not in run:
        return overrides
    return {**overrides, "import_path": OBSERVING_VERIFIER, "kwargs": {"workspace": run["workspace"]}}


def section(block: Mapping[str, Any], name: str) -> dict[str, Any]:
    """One section of a harbor block, with no member that is not on its list."""
    value = block.get(name) or {}
    if not isinstance(value, dict):
        raise InvalidInput(f"harbor.{name} is {type(value).__name__}, not an object.")
    refuse_unknown(f"harbor.{name}", value, SECTION_MEMBERS[name])
    return value


def refuse_unknown(where: str, value: Mapping[str, object], allowed: frozenset[str]) -> None:
    """Raise InvalidInput for a member that is not allowed."""
    for name in sorted(value.keys() - allowed):
        raise InvalidInput(f"{where}.{name} is not accepted.", fix=f"Accepted: {', '.join(sorted(allowed))}.")


def refuse_reserved_variables(env: Mapping[str, str]) -> None:
    """Raise InvalidInput for a variable that would steer programs on the worker instead of the agent's."""
    for name in sorted(env):
        if not can_be_handed_over(name):
            raise InvalidInput(
                f"The variable {name} cannot be set for a trial.",
                fix="Set it for the agent inside the sandbox instead (agent env).",
            )
