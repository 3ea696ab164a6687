"""Harbor's Docker environment, with containers that are killed instead of asked to stop."""

from typing import Any, override

from harbor.environments.base import ExecResult
from harbor.environments.docker.docker import DockerEnvironment


class PromptDockerEnvironment(DockerEnvironment):
    """The first process of a task's container sleeps and ignores SIGTERM, so that Compose would wait ten seconds for it
    at the end of every trial. Its files have been collected by then."""

    @override
    async def _run_docker_compose_command(self, command: list[str], *args: Any, **kwargs: Any) -> ExecResult:
        return await super()._run_docker_compose_command(promptly(command), *args, **kwargs)


def promptly(command: list[str]) -> list[str]:
    """A Compose command that grants no grace period when it stops containers."""
    verb, *rest = command
    return [verb, "--timeout", "0", *rest] if verb in {"down", "stop"} else command
