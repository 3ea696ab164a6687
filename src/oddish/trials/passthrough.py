"""What of a submission may reach Harbor's own configuration.

Members that reach out of the sandbox are open in local mode only, where the caller owns the machine anyway.
"""

from collections.abc import Iterable, Mapping

from oddish.errors import InvalidInput
from oddish.tasks.characters import variable_flaw
from oddish.tasks.timeouts import is_time_limit
from oddish.trials.confidential import refuse_plain_secrets

type Members = frozenset[str]

VARIANT: Members = frozenset({"source", "ref", "sha"})
"""Which Harbor runs the trial, when it is not the workers' own."""
TRIAL: Members = frozenset(
    {
        "artifacts",
        "timeout_multiplier",
        "agent_timeout_multiplier",
        "verifier_timeout_multiplier",
        "agent_setup_timeout_multiplier",
        "environment_build_timeout_multiplier",
        *VARIANT,
    }
)
SECTIONS: Mapping[str, Members] = {
    "agent": frozenset(
        {
            "extra_allowed_hosts",
            "max_timeout_sec",
            "override_setup_timeout_sec",
            "override_timeout_sec",
            "include_logs",
            "exclude_logs",
        }
    ),
    "environment": frozenset(
        {
            "override_cpus",
            "override_memory_mb",
            "override_gpus",
            "override_storage_mb",
            "override_tpu",
            "force_build",
            "kwargs",
            "extra_allowed_hosts",
            "cpu_enforcement_policy",
            "memory_enforcement_policy",
        }
    ),
    "verifier": frozenset({"disable", "max_timeout_sec", "override_timeout_sec", "include_logs", "exclude_logs"}),
}
LOCAL_TRIAL: Members = frozenset({"mcp_servers"})
LOCAL_SECTIONS: Mapping[str, Members] = {
    "agent": frozenset(),
    "environment": frozenset({"mounts", "extra_docker_compose", "env"}),
    "verifier": frozenset({"import_path", "kwargs", "env"}),
}
TIME_LIMITS = ("timeout_sec", "timeout_multiplier")
REACHING_OUT = ("mount", "compose", "import", "volume", "privileged")
FILES = frozenset({"path", "paths", "file", "files", "dir", "dirs", "directory"})
"""Words in arguments that name something on the worker, which Harbor would copy into the sandbox."""
WORKER_FILES = frozenset(
    {"CODEX_AUTH_JSON_PATH", "CODEX_FORCE_AUTH_JSON", "GEMINI_FORCE_OAUTH", "GEMINI_OAUTH_CREDS_PATH"}
)
"""Variables that make Harbor copy a login of the worker's own account, or any file of it, into the sandbox."""


class ClosedPassthrough(InvalidInput):
    """A member that this deployment does not pass on to Harbor."""

    code = "closed_passthrough"


def check_harbor(block: Mapping[str, object], *, local: bool) -> None:
    """Raises ``ClosedPassthrough`` naming the member, and ``PlainSecret`` for credentials among them."""
    _check("harbor", block, TRIAL | SECTIONS.keys(), LOCAL_TRIAL, local=local)
    _check_timeouts("harbor", block)
    for name, members in SECTIONS.items():
        section = block.get(name)
        if section is None:
            continue
        if not isinstance(section, Mapping):
            raise InvalidInput(f"harbor.{name} is not an object.")
        _check(f"harbor.{name}", section, members, LOCAL_SECTIONS[name], local=local)
        _check_timeouts(f"harbor.{name}", section)
        _check_variables(f"harbor.{name}.env", section.get("env"))
        kwargs = section.get("kwargs")
        if isinstance(kwargs, Mapping) and not local:
            check_kwargs(f"harbor.{name}.kwargs", kwargs)
    refuse_plain_secrets("harbor", block)


def check_kwargs(where: str, kwargs: Mapping[str, object]) -> None:
    """Raises ``ClosedPassthrough`` for an argument that could open the machine to the sandbox."""
    for name, value in kwargs.items():
        words = name.lower().split("_")
        file_or_text = "config" in words and isinstance(value, str)
        if file_or_text or FILES & {*words} or any(word in name.lower() for word in REACHING_OUT):
            raise _closed(f"{where}.{name}")


def check_worker_files(where: str, names: Iterable[str]) -> None:
    """Raises ``ClosedPassthrough`` for a variable that would hand files of the worker to the sandbox."""
    for name in names:
        if name in WORKER_FILES:
            raise _closed(f"{where}.{name}")


def _check(where: str, block: Mapping[str, object], always: Members, in_local: Members, *, local: bool) -> None:
    for name in sorted(block):
        if name in always or (local and name in in_local):
            continue
        if name in in_local:
            raise _closed(f"{where}.{name}")
        raise InvalidInput(f"{where}.{name} is not supported.", fix=f"Supported: {', '.join(sorted(always))}.")


def _check_timeouts(where: str, block: Mapping[str, object]) -> None:
    for name, value in block.items():
        if value is None or not name.endswith(TIME_LIMITS):
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_time_limit(value):
            raise InvalidInput(f"{where}.{name} is {value!r}, not a number above 0.", fix="Correct it or leave it out.")


def _check_variables(where: str, env: object) -> None:
    for name, value in env.items() if isinstance(env, Mapping) else ():
        if reason := variable_flaw(name, value if isinstance(value, str) else ""):
            raise InvalidInput(f"{where}: {reason}.")


def _closed(member: str) -> ClosedPassthrough:
    return ClosedPassthrough(f"{member} is not open in this deployment.", fix="Leave it out, or run it in local mode.")
