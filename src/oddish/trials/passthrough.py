"""What of a submission may reach Harbor's own configuration.

Members that reach out of the sandbox are behind doors (see ``doors``), of which all are open in local mode.
"""

from collections.abc import Iterable, Mapping

from oddish.errors import InvalidInput
from oddish.tasks.characters import variable_flaw
from oddish.tasks.timeouts import is_time_limit
from oddish.trials.confidential import refuse_plain_secrets
from oddish.trials.doors import Door, Doors, require

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
    "verifier": frozenset(
        {"disable", "extra_allowed_hosts", "max_timeout_sec", "override_timeout_sec", "include_logs", "exclude_logs"}
    ),
}
BEHIND_DOORS: Mapping[str, Mapping[str, Door]] = {
    "harbor": {"mcp_servers": Door.HARBOR_VARIABLES},
    "harbor.environment": {
        "mounts": Door.MOUNTS,
        "extra_docker_compose": Door.EXTRA_COMPOSE,
        "env": Door.HARBOR_VARIABLES,
    },
    "harbor.verifier": {
        "import_path": Door.IMPORT_PATHS,
        "kwargs": Door.IMPORT_PATHS,
        "env": Door.HARBOR_VARIABLES,
    },
}
TIME_LIMITS = ("timeout_sec", "timeout_multiplier")
REACHING_OUT: Mapping[str, Door] = {
    "compose": Door.EXTRA_COMPOSE,
    "import": Door.IMPORT_PATHS,
    "mount": Door.MOUNTS,
    "privileged": Door.HOST_ACCESS,
    "volume": Door.MOUNTS,
}
"""Parts of the names of arguments."""
FILES = frozenset({"descriptor", "dir", "directory", "dirs", "file", "files", "path", "paths"})
"""Words in arguments that name something on the worker, which Harbor would copy into the sandbox."""
WORKER_FILES = frozenset(
    {"CODEX_AUTH_JSON_PATH", "CODEX_FORCE_AUTH_JSON", "GEMINI_FORCE_OAUTH", "GEMINI_OAUTH_CREDS_PATH"}
)
"""Variables that make Harbor copy a login of the worker's own account, or any file of it, into the sandbox."""


def check_harbor(block: Mapping[str, object], doors: Doors) -> None:
    """Raises ``ClosedPassthrough`` naming the member, and ``PlainSecret`` for credentials among them."""
    _check("harbor", block, TRIAL | SECTIONS.keys(), doors)
    _check_timeouts("harbor", block)
    for name, members in SECTIONS.items():
        section = block.get(name)
        if section is None:
            continue
        if not isinstance(section, Mapping):
            raise InvalidInput(f"harbor.{name} is not an object.")
        _check(f"harbor.{name}", section, members, doors)
        _check_timeouts(f"harbor.{name}", section)
        _check_variables(f"harbor.{name}.env", section.get("env"))
        kwargs = section.get("kwargs")
        if isinstance(kwargs, Mapping):
            check_kwargs(f"harbor.{name}.kwargs", kwargs, doors)
    refuse_plain_secrets("harbor", block)


def check_kwargs(where: str, kwargs: Mapping[str, object], doors: Doors) -> None:
    """Raises ``ClosedPassthrough`` for an argument that could open the machine to the sandbox."""
    for name, value in kwargs.items():
        words = name.lower().split("_")
        file_or_text = "config" in words and isinstance(value, str)
        if file_or_text or FILES & {*words} or name == "load_trajectory":
            require(Door.WORKER_FILES, doors, f"{where}.{name}")
        for word, door in REACHING_OUT.items():
            if word in name.lower():
                require(door, doors, f"{where}.{name}")
        if isinstance(value, Mapping) and "repo_url" in value:
            check_repository(f"{where}.{name}.repo_url", value["repo_url"], doors)


def check_repository(where: str, url: object, doors: Doors) -> None:
    """Raises ``ClosedPassthrough`` for a repository that the worker itself would fetch, unless by https."""
    if not (isinstance(url, str) and url.startswith("https://")):
        require(Door.GIT_TRANSPORTS, doors, f"{where}, which is no https:// address,")


def check_worker_files(where: str, names: Iterable[str], doors: Doors) -> None:
    """Raises ``ClosedPassthrough`` for a variable that would hand files of the worker to the sandbox."""
    for name in names:
        if name in WORKER_FILES:
            require(Door.WORKER_FILES, doors, f"{where}.{name}")


def _check(where: str, block: Mapping[str, object], always: Members, doors: Doors) -> None:
    behind = BEHIND_DOORS.get(where, {})
    for name in sorted(block):
        if name in behind:
            require(behind[name], doors, f"{where}.{name}")
        elif name not in always:
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
