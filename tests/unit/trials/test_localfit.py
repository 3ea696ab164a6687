"""What the local sandbox can never run is known from the definition of a task."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from oddish.tasks.definition import load_task
from oddish.trials.localfit import obstacle


def definition(directory: Path, toml: str = "", dockerfile: str = "FROM debian\n", **files: str) -> dict[str, Any]:
    """As an upload stores it."""
    contents = {
        "task.toml": toml,
        "instruction.md": "Do it.\n",
        "environment/Dockerfile": dockerfile,
        "tests/test.sh": "#!/bin/sh\n",
        "tests/test.bat": "",
        **files,
    }
    for name, content in contents.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content)
    task = load_task(directory)
    return {
        "environment": asdict(task.environment),
        "verifier_environments": [asdict(environment) for environment in task.verifier_environments],
    }


@pytest.mark.parametrize(
    "toml",
    [
        "",
        "[environment]\nnetwork_mode = 'no-network'\n",
        "[environment]\nnetwork_mode = 'no-network'\n[agent]\nnetwork_mode = 'no-network'\n",
        "[verifier]\nenvironment_mode = 'separate'\nnetwork_mode = 'public'\n",
        "[environment]\ndocker_image = 'x'\n",
        "[environment]\ncpus = 2\nmemory_mb = 100\nstorage_mb = 100\n",
    ],
)
def test_ordinary_tasks_meet_no_obstacle(tmp_path: Path, toml: str) -> None:
    assert obstacle(definition(tmp_path, toml)) is None


def test_a_definition_that_says_nothing_is_no_obstacle() -> None:
    assert obstacle({}) is None
    assert obstacle({"environment": {"gpus": 0}, "verifier_environments": None}) is None


@pytest.mark.parametrize(
    ("toml", "files", "named"),
    [
        ("", {"environment/docker-compose.yaml": ""}, "no services (environment/docker-compose.yaml)"),
        ("[environment]\nos = 'windows'\n", {}, "no Windows (environment.os)"),
        ("[environment]\ngpus = 2\n", {}, "no GPUs (environment.gpus = 2)"),
        ("[environment]\ntpu = {type = 'v5e', topology = '2x4'}\n", {}, "no TPUs (environment.tpu)"),
        (
            "[environment]\nnetwork_mode = 'allowlist'\nallowed_hosts = ['example.org']\n",
            {},
            'no list of allowed hosts (network_mode = "allowlist")',
        ),
        ("[agent]\nnetwork_mode = 'allowlist'\nallowed_hosts = ['example.org']\n", {}, "no list of allowed hosts"),
        ("[agent]\nnetwork_mode = 'no-network'\n", {}, "changes between phases (no-network, public)"),
        ("[verifier]\nnetwork_mode = 'no-network'\n", {}, "changes between phases (no-network, public)"),
        ("[verifier.environment]\ngpus = 1\n", {}, "no GPUs (environment.gpus = 1)"),
        (
            "[verifier]\nenvironment_mode = 'separate'\n",
            {"tests/docker-compose.yaml": ""},
            "no services (tests/docker-compose.yaml)",
        ),
        (
            "[verifier]\nenvironment_mode = 'separate'\n",
            {"tests/Dockerfile": "FROM a\nFROM b\n"},
            "refuses tests/Dockerfile line 2: a second FROM",
        ),
    ],
)
def test_what_only_other_environments_have_is_named(
    tmp_path: Path, toml: str, files: dict[str, str], named: str
) -> None:
    found = obstacle(definition(tmp_path, toml, **files))
    assert found is not None
    assert named in found.message
    assert "-e docker" in (found.fix or "")


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("FROM b", "line 3: a second FROM"),
        ("COPY --from=builder /x /y", "line 3: COPY --from=builder"),
        ("ADD https://example.org/x /y", "line 3: ADD from 'https://example.org/x'"),
        ("RUN --mount=type=secret,id=token true", "line 3: RUN --mount=type=secret,id=token"),
        ("RUN --security=insecure true", "line 3: RUN --security=insecure"),
        ("FETCH x", "line 3: unknown instruction"),
    ],
)
def test_a_line_that_the_sandbox_cannot_honour_is_named(tmp_path: Path, line: str, named: str) -> None:
    found = obstacle(definition(tmp_path, dockerfile=f"FROM a\nRUN true\n{line}\n"))
    assert found is not None
    assert f"refuses environment/Dockerfile {named}" in found.message
    assert found.fix


def test_a_dockerfile_too_long_to_keep_is_left_to_the_build(tmp_path: Path) -> None:
    kept = definition(tmp_path, dockerfile="FROM a\nFROM b\n" + "#" * 70_000)
    assert kept["environment"]["has_dockerfile"]
    assert obstacle(kept) is None


def test_a_platform_of_other_workers_is_no_obstacle_here(tmp_path: Path) -> None:
    assert obstacle(definition(tmp_path, dockerfile="FROM --platform=linux/s390x a\n")) is None
