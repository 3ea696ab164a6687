"""Sandboxes of verifiers are found where the engine finds them."""

from pathlib import Path

import pytest
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_verifier_environment_definition
from harbor.trial.network_policy import resolve_verifier_phase_policy

from oddish.tasks.definition import load_task

CONFIGS = {
    "shared": "",
    "separate": "[verifier]\nenvironment_mode = 'separate'\n",
    "own": "[environment]\ndocker_image = 'x'\n[verifier.environment]\ngpus = 1\ncpus = 2\n",
    "prebuilt": "[verifier.environment]\ndocker_image = 'v'\nnetwork_mode = 'no-network'\n",
    "steps": "[verifier]\nenvironment_mode = 'separate'\n[[steps]]\nname = 'one'\n[[steps]]\nname = 'two'\n"
    "[steps.verifier]\nenvironment_mode = 'shared'\n",
    "step's own": "[verifier]\nnetwork_mode = 'no-network'\n[[steps]]\nname = 'one'\n"
    "[steps.verifier.environment]\nmemory_mb = 64\n[[steps]]\nname = 'two'\n",
    "step's image": "[verifier.environment]\nstorage_mb = 9\n[[steps]]\nname = 'one'\n"
    "[steps.verifier]\nnetwork_mode = 'public'\n[steps.verifier.environment]\ndocker_image = 's'\n"
    "[[steps]]\nname = 'two'\n",
}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("bundled", [(), ("tests/Dockerfile",), ("steps/one/tests/docker-compose.yaml",)])
def test_each_is_where_the_engine_finds_it(tmp_path: Path, name: str, bundled: tuple[str, ...]) -> None:
    files = ["instruction.md", "environment/Dockerfile", "tests/test.sh", *bundled]
    files += [f"steps/{step}/{file}" for step in ("one", "two") for file in ("instruction.md", "tests/test.sh")]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("FROM a\n" if "Docker" in file else "")
    (tmp_path / "task.toml").write_text(CONFIGS[name])
    task = Task(tmp_path)
    wanted = []
    for step in task.config.steps or [None]:
        found = resolve_verifier_environment_definition(task.config, task.paths, step)
        if found is not None:
            baseline = found.config.resolve_baseline()
            phase = resolve_verifier_phase_policy(task.config, step, baseline=baseline)
            wanted.append((found, baseline.network_mode.value, phase.network_mode.value))
    ours = load_task(tmp_path).verifier_environments
    compared = [
        (
            str(found.directory.relative_to(tmp_path)),
            found.config.docker_image,
            found.config.gpus or 0,
            found.config.cpus,
            found.config.memory_mb,
            found.config.storage_mb,
            found.config.os.value,
            baseline,
            phase,
        )
        for found, baseline, phase in wanted
    ]
    assert [
        (
            environment.directory,
            environment.docker_image,
            environment.gpus,
            environment.cpus,
            environment.memory_mb,
            environment.storage_mb,
            environment.os,
            environment.network_mode,
            (*environment.phase_network_modes, environment.network_mode)[0],
        )
        for environment in ours
    ] == list(dict.fromkeys(compared))
