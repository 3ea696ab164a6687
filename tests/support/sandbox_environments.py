"""Local environments for tests, through Harbor's contract."""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from oddish.engine.environments.local import LocalEnvironment

type StartEnvironment = Callable[..., Coroutine[Any, Any, LocalEnvironment]]


@contextlib.asynccontextmanager
async def environments(base: Path, scratch: Path) -> AsyncIterator[StartEnvironment]:
    """A function that starts one for a Dockerfile; its build context is ``base/environment``."""
    started: list[LocalEnvironment] = []

    async def start(
        dockerfile: str = "FROM debian\nWORKDIR /app\n", *, force_build: bool = False, **changes: Any
    ) -> LocalEnvironment:
        environment = _make(base, scratch, f"made__{len(started)}", dockerfile, changes)
        started.append(environment)
        await environment.start(force_build=force_build)
        return environment

    try:
        yield start
    finally:
        for environment in started:
            await environment.stop(delete=True)


def _make(base: Path, scratch: Path, session: str, dockerfile: str, changes: dict[str, Any]) -> LocalEnvironment:
    directory = base / "environment"
    directory.mkdir(exist_ok=True)
    (directory / "Dockerfile").write_text(dockerfile)
    paths = TrialPaths(base / "trial")
    paths.mkdir()
    return LocalEnvironment(
        environment_dir=directory,
        environment_name="made",
        session_id=session,
        trial_paths=paths,
        task_env_config=changes.pop("task_env_config", EnvironmentConfig()),
        logger=logging.getLogger("test"),
        scratch=str(scratch),
        **changes,
    )
