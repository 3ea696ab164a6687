"""No agent at all: what one might have left in /workspace is put there, for the verifier to judge."""

from pathlib import Path
from typing import Any, override

from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.nop import NopAgent
from harbor.environments.base import BaseEnvironment

from oddish.engine.protocol import WORKSPACE


class SeedingAgent(NopAgent):
    """Copies ``workspace``, a directory on this machine, into the environment before it does nothing.

    While it is set up, not while it runs: what goes wrong then is never graded.
    """

    capabilities = AgentCapabilities(windows=False)

    def __init__(self, *args: Any, workspace: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._workspace = Path(workspace)

    @staticmethod
    @override
    def name() -> str:
        return "workspace"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        await seed(environment, self._workspace)


async def seed(environment: BaseEnvironment, workspace: Path) -> None:
    """Make /workspace and copy the content of ``workspace`` over it, as files of the environment's default user."""
    await environment.ensure_dirs([WORKSPACE])
    await environment.upload_dir(workspace, WORKSPACE)
    await _run(environment, f"chown -hR {await _run(environment, 'echo $(id -u):$(id -g)')} {WORKSPACE}", user="root")


async def _run(environment: BaseEnvironment, command: str, user: str | None = None) -> str:
    result = await environment.exec(command, user=user)
    if result.return_code != 0:
        raise RuntimeError(f"{WORKSPACE} cannot be filled: {command}: {result.stderr or result.stdout}")
    return (result.stdout or "").strip()
