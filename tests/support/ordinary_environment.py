"""A program that uses the local environment as whoever it runs as, and prints what happened as JSON."""

import asyncio
import json
import logging
import tempfile
from pathlib import Path
from typing import Any

from harbor.environments.base import SandboxBuildFailedError
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from oddish.engine.environments.local import LocalEnvironment
from oddish.errors import InvalidInput
from oddish.sandbox import host
from oddish.sandbox.support import support

_DOCKERFILE = """FROM debian
WORKDIR /app
COPY data.txt .
RUN head -c 8 /dev/urandom | od -An -tx1 > made && mkdir /data && cp data.txt /data/
"""


def _environment(base: Path, dockerfile: str) -> LocalEnvironment:
    directory = base / "environment"
    directory.mkdir(exist_ok=True)
    (directory / "Dockerfile").write_text(dockerfile)
    (directory / "data.txt").write_text("data\n")
    paths = TrialPaths(base / "trial")
    paths.mkdir()
    return LocalEnvironment(
        environment_dir=directory,
        environment_name="ordinary",
        session_id="ordinary",
        trial_paths=paths,
        task_env_config=EnvironmentConfig(),
        logger=logging.getLogger("ordinary"),
        scratch=str(base / "scratch"),
    )


async def _made(base: Path) -> str:
    environment = _environment(base, _DOCKERFILE)
    await environment.start(force_build=False)
    result = await environment.exec("id -u; cat made data.txt /data/data.txt; touch made /data/new; ls /logs")
    await environment.upload_dir(base / "environment", "/app/in")
    await environment.download_dir("/app/in", base / "out")
    await environment.stop(delete=True)
    return result.stdout or ""


async def _as_somebody_else(base: Path) -> str:
    environment = _environment(base, "FROM debian\n")
    await environment.start(force_build=False)
    try:
        await environment.exec("true", user="daemon")
    except InvalidInput as error:
        return str(error)
    finally:
        await environment.stop(delete=True)
    return ""


async def _write_to_the_system(base: Path) -> str:
    environment = _environment(base, "FROM debian\nRUN touch /usr/bin/x\n")
    try:
        await environment.start(force_build=False)
    except SandboxBuildFailedError as error:
        return str(error)
    finally:
        await environment.stop(delete=True)
    return ""


async def _run(base: Path) -> dict[str, Any]:
    return {
        "privileged": host.privileged(),
        "reason": support().reason,
        "first": await _made(base),
        "second": await _made(base),
        "downloaded": sorted(path.name for path in (base / "out").iterdir()),
        "somebody": await _as_somebody_else(base),
        "system": await _write_to_the_system(base),
        "left": sorted(path.name for path in (base / "scratch").iterdir()),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="oddish-ordinary-") as name:
        print(json.dumps(asyncio.run(_run(Path(name)))))  # noqa: T201
