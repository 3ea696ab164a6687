"""Trials that ask for another Harbor than the worker's own: a release, and a commit of a repository."""

import importlib.metadata
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import harbor
import pytest

from oddish.trials.catalogue import ANY_HARBOR
from oddish.variants.building import builder
from oddish.variants.reference import Reference
from oddish.variants.resolution import resolve
from support.deployments import Deployment, RunningWorker

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(builder() is None, reason="There is no uv to install another Harbor with."),
]

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.com")
OLDER = "0.25.0"


@pytest.fixture
def repository(tmp_path: Path) -> str:
    """A bare repository whose ``main`` is the installed Harbor under a version of its own."""
    source, bare = tmp_path / "source", tmp_path / "harbor.git"
    package = Path(harbor.__file__).parent
    shutil.copytree(package, source / "src" / "harbor", ignore=shutil.ignore_patterns("__pycache__"))
    needed = [line for line in importlib.metadata.requires("harbor") or [] if "extra ==" not in line]
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "harbor"\nversion = "0.26.0+fork"\n'
        f"dependencies = {json.dumps(needed)}\n"
        '[tool.hatch.build.targets.wheel]\npackages = ["src/harbor"]\n'
    )
    for command in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        (*AUTHOR, "commit", "--quiet", "--message", "fork"),
        ("clone", "--quiet", "--bare", ".", str(bare)),
    ):
        subprocess.run(["git", "-C", str(source), *command], check=True)
    return f"file://{bare}"


@pytest.fixture
def any_harbor(deployment: Deployment) -> Deployment:
    return replace(deployment, engine_name=ANY_HARBOR)


async def test_a_release_and_a_commit_run_beside_the_workers_own(
    deployment: Deployment, any_harbor: Deployment, examples: Path, repository: str
) -> None:
    fork = await resolve(Reference.of(repository, "main"))
    release = Reference.of("package", OLDER)
    task_id = await deployment.task(examples / "hello-world")
    own = await deployment.submit(task_id, index=0)
    others = [
        await any_harbor.submit(task_id, index=index, harbor=dict(reference.record()))
        for index, reference in enumerate((release, fork, release, fork), start=1)
    ]
    async with RunningWorker(deployment.settings):
        trials = await deployment.finished(own, *others, seconds=240)
    assert [(trial["status"], trial["reward"]) for trial in trials] == [("success", 1.0)] * 5
    built = [path for path in (deployment.settings.home / "work" / "engines").iterdir() if path.is_dir()]
    assert sorted(_version(path) for path in built) == [OLDER, "0.26.0+fork"]


async def test_a_harbor_that_does_not_exist_fails_the_trial_once(any_harbor: Deployment, examples: Path) -> None:
    task_id = await any_harbor.task(examples / "hello-world")
    trial_id = await any_harbor.submit(task_id, harbor=dict(Reference.of("package", "0.999.0").record()))
    async with RunningWorker(any_harbor.settings):
        [trial] = await any_harbor.finished(trial_id, seconds=120)
    assert (trial["status"], trial["attempts"], trial["reasons"]) == ("failed", 1, ["misconfigured"])
    assert "harbor==0.999.0 could not be installed" in trial["error_message"]
    assert not [path for path in (any_harbor.settings.home / "work" / "engines").iterdir() if path.is_dir()]


async def test_a_harbor_that_cannot_be_driven_is_named(any_harbor: Deployment, examples: Path) -> None:
    task_id = await any_harbor.task(examples / "hello-world")
    trial_id = await any_harbor.submit(task_id, harbor=dict(Reference.of("package", "0.24.0").record()))
    async with RunningWorker(any_harbor.settings):
        [trial] = await any_harbor.finished(trial_id, seconds=120)
    assert (trial["status"], trial["attempts"], trial["reasons"]) == ("failed", 1, ["misconfigured"])
    assert "cannot be driven by this worker" in trial["error_message"]


async def test_a_trial_is_cancelled_while_its_harbor_is_installed(
    any_harbor: Deployment, examples: Path, repository: str
) -> None:
    fork = await resolve(Reference.of(repository, "main"))
    task_id = await any_harbor.task(examples / "hello-world")
    trial_id = await any_harbor.submit(task_id, harbor=dict(fork.record()))
    async with RunningWorker(any_harbor.settings):
        await any_harbor.until(lambda row: row["harbor_stage"] == "engine_setup", trial_id)
        await any_harbor.cancel(trial_id)
        [trial] = await any_harbor.finished(trial_id, seconds=30)
    assert (trial["status"], trial["harbor_stage"]) == ("failed", "cancelled")


def _version(environment: Path) -> str:
    [metadata] = environment.glob("lib/python*/site-packages/harbor-*.dist-info")
    return metadata.name.removeprefix("harbor-").removesuffix(".dist-info")
