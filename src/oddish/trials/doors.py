"""What a deployment may open to submissions beyond the sandbox, each by a setting of the same name. Pure.

All of them are closed unless the operator opens them; in local mode, where the caller owns the machine, all are open.
"""

from collections.abc import Mapping
from enum import StrEnum

from oddish.errors import InvalidInput


class Door(StrEnum):
    IMPORT_PATHS = "allow_import_paths"
    """Agents, environments and verifiers as ``module:Class``: code that runs on the worker."""
    MOUNTS = "allow_mounts"
    EXTRA_COMPOSE = "allow_extra_compose"
    HOST_ACCESS = "allow_host_access"
    """Services of tasks that are privileged, share namespaces of the machine or bind something outside the task."""
    WORKER_FILES = "allow_worker_files"
    HARBOR_VARIABLES = "allow_harbor_variables"
    """Variables for environments and verifiers, and MCP servers."""
    ACCOUNT_OPTIONS = "allow_account_options"
    """Options of environments about accounts, addresses and secrets, and what outlives a trial."""
    GIT_TRANSPORTS = "allow_git_transports"
    """Repositories by another way than https."""


type Doors = frozenset[Door]

ALL: Doors = frozenset(Door)
NONE: Doors = frozenset()


class ClosedPassthrough(InvalidInput):
    """A member that this deployment does not pass on to Harbor."""

    code = "closed_passthrough"


def require(door: Door, doors: Doors, what: str) -> None:
    """Raises ``ClosedPassthrough`` naming ``what``, a singular phrase, and the setting that would open it."""
    if door not in doors:
        raise ClosedPassthrough(
            f"{what} is not open in this deployment.",
            fix=f"Leave it out, run it in local mode, or have the operator set ODDISH_{door.upper()}=true.",
        )


def check_services(definition: Mapping[str, object], doors: Doors) -> None:
    """Raises ``ClosedPassthrough`` for a task whose services reach out of their containers."""
    if Door.HOST_ACCESS in doors:
        return
    services = definition.get("services")
    if not isinstance(services, Mapping):
        environment = definition.get("environment")
        if isinstance(environment, Mapping) and environment.get("has_compose"):
            raise ClosedPassthrough(
                "The task has services, and was uploaded before anybody looked at them.",
                fix="Upload it again as a new version (--force-new-version).",
            )
        return
    reaches = services["reaches"]
    if reaches:
        raise ClosedPassthrough(
            f"The task reaches out of its containers: {'; '.join(reaches)}.",
            fix="Change that, run the task in local mode, or have the operator set "
            f"ODDISH_{Door.HOST_ACCESS.upper()}=true.",
        )
